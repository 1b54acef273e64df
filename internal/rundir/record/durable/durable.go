// Package durable writes small files so that they are there whole or not at
// all, also after a power cut, and reads them without trusting what is there.
//
// # Limits
//
// It knows nothing of what the files say. A directory that somebody else can
// write to is beyond it.
package durable

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	jsonv1 "encoding/json"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	gosync "sync"
	"sync/atomic"
	"syscall"

	"paddock/internal/failpoint"
)

const (
	// MaxJSON bounds what is read, and so what may be written. The kernel takes
	// no more than 6 MiB of arguments, which JSON at most multiplies by six.
	MaxJSON = 64 << 20
	// Version of the JSON files.
	Version = 1
	// TempPrefix begins the names of files that aren't in place yet.
	TempPrefix = ".new-"
)

// Create writes a file that must not exist, and makes it durable.
func Create(name string, data []byte) error {
	f, err := Write(name, data)
	if err != nil {
		return err
	}
	return errors.Join(sync(f), f.Close())
}

// Write writes a file that must not exist. It becomes durable by [SyncAll], to
// which it is given; its name becomes so with its directory.
func Write(name string, data []byte) (*os.File, error) {
	f, err := OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|NoFollow, 0o600)
	if err != nil {
		return nil, err
	}
	if err = failpoint.At("record/write"); err == nil {
		_, err = f.Write(data)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// SyncAll makes files, and the names in dirs, durable and closes the files. It
// asks for all at once, which takes a disk hardly longer than one. Where there is no disk
// to wait for that would only take others' processors.
func SyncAll(files []*os.File, dirs ...string) error {
	errs := make([]error, len(files)+len(dirs))
	var all gosync.WaitGroup
	ask := func(i int) {
		if i < len(files) {
			errs[i] = errors.Join(sync(files[i]), files[i].Close())
		} else {
			errs[i] = SyncDir(dirs[i-len(files)])
		}
	}
	beside := len(errs) > 1 && Waits(filepath.Dir(append(names(files), dirs...)[0]))
	for i := range len(errs) - 1 {
		if beside {
			all.Go(func() { ask(i) })
		} else {
			ask(i)
		}
	}
	if len(errs) > 0 { // the last by ourselves, who would only wait
		ask(len(errs) - 1)
	}
	all.Wait()
	return errors.Join(errs...)
}

func names(files []*os.File) (all []string) {
	for _, f := range files {
		all = append(all, f.Name())
	}
	return all
}

// watcher is told of each file and directory that is made durable.
var watcher atomic.Pointer[func(name string)]

// Watch has tell called with the name of each file and directory that is made
// durable, for tests that count them; nil ends it.
func Watch(tell func(name string)) {
	if tell == nil {
		watcher.Store(nil)
		return
	}
	watcher.Store(&tell)
}

// sync makes what is written to f durable, and to a directory the names in it.
func sync(f *os.File) error {
	if tell := watcher.Load(); tell != nil {
		(*tell)(f.Name())
	}
	if err := failpoint.At("record/sync"); err != nil {
		return err
	}
	return f.Sync()
}

// createTemp writes a file beside name, under a name that nobody reads.
func createTemp(name string, data []byte) (*os.File, error) {
	temp := filepath.Join(filepath.Dir(name), TempPrefix+RandomHex(8))
	f, err := Write(temp, data)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		err = errors.Join(err, Remove(temp))
	}
	return f, err
}

// Place puts data at name in one step, for every process that lives. It isn't
// durable before [Publish] takes it along: after a power cut there may be
// nothing, or something [Torn].
func Place(name string, data []byte) error {
	f, err := createTemp(name, data)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Close(), failpoint.At("record/place"), os.Rename(f.Name(), name)); err != nil {
		return errors.Join(err, Remove(f.Name()))
	}
	return nil
}

// Replace puts data at name in one step, durably, whatever is there.
func Replace(name string, data []byte) error {
	f, err := createTemp(name, data)
	if err != nil {
		return err
	}
	if err = errors.Join(sync(f), f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, Remove(f.Name()))
	}
	return SyncDir(filepath.Dir(name))
}

// Torn reports whether b, from a text that [EncodeJSON] made, is what a power
// cut leaves of a file that nobody had made durable: less than all of it, or
// holes.
func Torn(b []byte) bool {
	return !bytes.HasPrefix(b, []byte("{")) || !bytes.HasSuffix(b, []byte("\n")) || bytes.IndexByte(b, 0) >= 0
}

// Publish puts data at name in one step unless something is there already,
// and says whether it did. Before it appears it is durable, and so are the files
// along, as far as they exist; after that, so are all names beside it.
func Publish(name string, data []byte, along ...string) (first bool, err error) {
	p, err := Prepare(name, data, along...)
	if err != nil {
		return false, err
	}
	return p.Publish()
}

// A Pending is a file that is durable, and so is what goes along with it, and not at
// its place yet. It is to be published or dropped.
type Pending struct{ temp, name string }

// Prepare does of [Publish] all that nobody sees.
func Prepare(name string, data []byte, along ...string) (*Pending, error) {
	f, err := createTemp(name, data)
	if err != nil {
		return nil, err
	}
	temp, files := f.Name(), []*os.File{f}
	for _, name := range along {
		f, openErr := Open(name)
		if openErr == nil {
			files = append(files, f)
		}
		err = errors.Join(err, IgnoreMissing(openErr))
	}
	if err := errors.Join(err, SyncAll(files)); err != nil {
		return nil, errors.Join(err, Remove(temp))
	}
	return &Pending{temp, name}, nil
}

// Publish puts it at its place, once.
func (p *Pending) Publish() (first bool, err error) {
	if err = failpoint.At("record/link"); err == nil {
		err = os.Link(p.temp, p.name)
	}
	first = err == nil
	failpoint.Here("record/linked")
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	// Whoever came first may not have synced yet, and the caller goes on as if
	// it were there, so the loser syncs too.
	return first, errors.Join(err, p.Drop(), SyncDir(filepath.Dir(p.name)))
}

// Drop takes it away, unless it was published.
func (p *Pending) Drop() error { return Remove(p.temp) }

// Tidy removes from a directory what isn't in place yet, and what is named. Only
// one who knows that nobody is about to place it may.
func Tidy(dir string, named ...string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), TempPrefix) || slices.Contains(named, e.Name()) {
			err = errors.Join(err, Remove(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

// Remove removes a file; that there is none is fine.
func Remove(name string) error {
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// MakeDir makes an owner-only directory; a real one that is there is fine.
func MakeDir(name string) error {
	err := os.Mkdir(name, 0o700)
	if err == nil {
		return SyncDir(filepath.Dir(name))
	}
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(name)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return &os.PathError{Op: "open", Path: name, Err: syscall.ENOTDIR}
	}
	return nil
}

// Exists says whether there is anything at name.
func Exists(name string) (bool, error) {
	_, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// IgnoreMissing drops an error that says that there is no such file.
func IgnoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Open opens a regular file to read it. A fifo or a link that somebody
// put in its place is an error and not a wait.
func Open(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|NoFollow|syscall.O_NONBLOCK, 0)
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

// Read returns the content of a regular file of at most most bytes.
func Read(name string, most int64) ([]byte, error) {
	b, err := read(name, most)
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > most {
		return nil, fmt.Errorf("%s is longer than %d bytes", name, most)
	}
	return b, nil
}

// ReadJSON reads name into v, which has the version that the file must have.
// Unknown, doubled and differently cased names are errors, and so is anything
// after the value: a record is what we wrote or it isn't one.
func ReadJSON(name string, v Versioned) error {
	b, err := Read(name, MaxJSON)
	if err != nil {
		return err
	}
	if err := DecodeJSON(b, v); err != nil {
		return fmt.Errorf("%s can't be read: %w", name, err)
	}
	return nil
}

// Versioned is what a JSON file is read into.
type Versioned interface{ FileVersion() int }

// DecodeJSON is ReadJSON of the text b.
func DecodeJSON(b []byte, v Versioned) error {
	err := json.Unmarshal(b, v, json.RejectUnknownMembers(true))
	var found struct {
		Version int `json:"version"`
	}
	if err != nil && json.Unmarshal(b, &found) == nil && found.Version > Version {
		return fmt.Errorf("it has version %d and this paddock knows %d: use a newer one", found.Version, Version)
	}
	if err != nil {
		return err
	}
	if got := v.FileVersion(); got != Version {
		return fmt.Errorf("it has version %d and this paddock knows only %d", got, Version)
	}
	return nil
}

// EncodeJSON returns the text of a record. With exact, a string that JSON can't
// hold as it is (bad UTF-8) is an error; otherwise it is mended, so that no
// stray byte in an error's text can keep an outcome from being written.
func EncodeJSON(v any, exact bool) ([]byte, error) {
	var buf bytes.Buffer
	err := json.MarshalWrite(&buf, v, jsonv1.DefaultOptionsV1(), jsontext.EscapeForHTML(false), jsontext.AllowInvalidUTF8(!exact))
	if err != nil {
		return nil, err
	}
	buf.WriteByte('\n')
	if buf.Len() > MaxJSON {
		return nil, fmt.Errorf("it would be %d bytes long, more than %d", buf.Len(), MaxJSON)
	}
	return buf.Bytes(), nil
}

// RandomHex returns n random bytes as 2n digits.
func RandomHex(n int) string {
	b := make([]byte, n)
	rand.Read(b) // never fails: crypto/rand ends the program first
	return hex.EncodeToString(b)
}

// HashOf names something by what it stands for. The parts are separated by NUL,
// which none of them may contain.
func HashOf(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])
}
