package rundir

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	jsonv1 "encoding/json"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const (
	// maxJSON bounds what is read, and so what may be written: the largest
	// request (256 words of 2 MB are the most an operator allows) stays below.
	maxJSON = 64 << 20
	// version of the JSON files.
	version = 1
	// tempPrefix begins the names of files that aren't in place yet.
	tempPrefix = ".new-"
)

// createFile writes a file that must not exist, and makes it durable.
func createFile(name string, data []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// createTemp writes a durable file beside name, under a name that nobody reads.
func createTemp(name string, data []byte) (string, error) {
	temp := filepath.Join(filepath.Dir(name), tempPrefix+randomHex(8))
	if err := createFile(temp, data); err != nil {
		return "", errors.Join(err, removeFile(temp))
	}
	return temp, nil
}

// replaceFile puts data at name in one step.
func replaceFile(name string, data []byte) error {
	temp, err := createTemp(name, data)
	if err != nil {
		return err
	}
	if err := os.Rename(temp, name); err != nil {
		return errors.Join(err, removeFile(temp))
	}
	return syncDir(filepath.Dir(name))
}

// publishFile puts data at name in one step unless something is there already,
// and says whether it did.
func publishFile(name string, data []byte) (first bool, err error) {
	temp, err := createTemp(name, data)
	if err != nil {
		return false, err
	}
	err = os.Link(temp, name)
	first = err == nil
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	// Whoever came first may not have synced yet, and the caller goes on as if
	// it were there, so the loser syncs too.
	return first, errors.Join(err, removeFile(temp), syncDir(filepath.Dir(name)))
}

// removeFile removes a file; that there is none is fine.
func removeFile(name string) error {
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// makeDir makes an owner-only directory; a real one that is there is fine.
func makeDir(name string) error {
	err := os.Mkdir(name, 0o700)
	if err == nil {
		return syncDir(filepath.Dir(name))
	}
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(name)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return &os.PathError{Op: "open", Path: name, Err: unix.ENOTDIR}
	}
	return nil
}

func syncDir(name string) error {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func exists(name string) (bool, error) {
	_, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// openRegular opens a regular file to read it. A fifo or a link that somebody
// put in its place is an error and not a wait.
func openRegular(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s isn't a regular file", name)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func readFile(name string, most int64) ([]byte, error) {
	f, err := openRegular(name)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	if int64(len(b)) > most {
		return nil, fmt.Errorf("%s is longer than %d bytes", name, most)
	}
	return b, nil
}

// readJSON reads name into v, which has the version that the file must have.
// Unknown, doubled and differently cased names are errors, and so is anything
// after the value: a record is what we wrote or it isn't one.
func readJSON(name string, v interface{ fileVersion() int }) error {
	b, err := readFile(name, maxJSON)
	if err != nil {
		return err
	}
	if err := decodeJSON(b, v); err != nil {
		return fmt.Errorf("%s can't be read: %w", name, err)
	}
	return nil
}

func decodeJSON(b []byte, v interface{ fileVersion() int }) error {
	err := json.Unmarshal(b, v, json.RejectUnknownMembers(true))
	var found struct {
		Version int `json:"version"`
	}
	if err != nil && json.Unmarshal(b, &found) == nil && found.Version > version {
		return fmt.Errorf("it has version %d and this paddock knows %d: use a newer one", found.Version, version)
	}
	if err != nil {
		return err
	}
	if got := v.fileVersion(); got != version {
		return fmt.Errorf("it has version %d and this paddock knows only %d", got, version)
	}
	return nil
}

// encodeJSON returns the text of a record. With exact, a string that JSON can't
// hold as it is (bad UTF-8) is an error; otherwise it is mended, so that no
// stray byte in an error's text can keep an outcome from being written.
func encodeJSON(v any, exact bool) ([]byte, error) {
	var buf bytes.Buffer
	err := json.MarshalWrite(&buf, v, jsonv1.DefaultOptionsV1(), jsontext.EscapeForHTML(false), jsontext.AllowInvalidUTF8(!exact))
	if err != nil {
		return nil, err
	}
	buf.WriteByte('\n')
	if buf.Len() > maxJSON {
		return nil, fmt.Errorf("it would be %d bytes long, more than %d", buf.Len(), maxJSON)
	}
	return buf.Bytes(), nil
}

func randomHex(n int) string {
	b := make([]byte, n)
	rand.Read(b) // never fails: crypto/rand ends the program first
	return hex.EncodeToString(b)
}

// lock takes an exclusive lock without waiting and says whether it got it.
func lock(f *os.File) (bool, error) {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, unix.EINTR):
			return false, &os.PathError{Op: "flock", Path: f.Name(), Err: err}
		}
	}
}
