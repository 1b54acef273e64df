package record

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"paddock"
	"paddock/internal/rundir/record/durable"
	"paddock/internal/rundir/record/durable/links"
	"paddock/internal/rundir/record/durable/outcome/reserve"
	"paddock/internal/rundir/record/durable/sealed"
	"paddock/internal/rundir/record/durable/waiting"
	"paddock/internal/rundir/record/process"
)

const (
	tokenBytes = 32
	// maxArgv is more bytes of arguments than Linux gives a program. Held to
	// it, request.json stays far below what is read, however it is escaped.
	maxArgv = 6 << 20
)

// Prepare writes a run down, durably, in a directory of its own within tmp that
// is locked and that nobody sees yet. It calls at after each step that a crash
// could follow.
func Prepare(tmp string, id paddock.RunID, rec Intent, at func(step string)) (*Dir, error) {
	if _, err := paddock.ParseRunID(string(id)); err != nil {
		return nil, fmt.Errorf("run %q: %w", id, err)
	}
	d, err := makeLocked(tmp, id, at)
	if err != nil {
		return nil, err
	}
	if err := durable.Mark(d.lock, rec.Root); err != nil {
		return nil, errors.Join(err, d.Abandon())
	}
	if rec.Locked != nil {
		rec.Locked(d.lock)
	}
	files, err := Seal(id, rec)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("run %q: %w", id, err), d.Abandon())
	}
	d.principal = Hash(rec.Request.Principal)
	if rec.Beside != nil {
		rec.Beside(d.path)
	}
	err = reserve.Take(d.path)
	if err == nil {
		err = d.fill(files, at)
	}
	if err != nil {
		return nil, errors.Join(err, d.Abandon())
	}
	return d, nil
}

// A File is one of a new run.
type File struct {
	Name string
	Data []byte
}

// Seal composes the files of a new run. Only what was judged and allowed can
// become one.
func Seal(id paddock.RunID, rec Intent) ([]File, error) {
	req, dec := rec.Request, rec.Decision
	if _, err := paddock.ParseRunID(string(id)); err != nil {
		return nil, err
	}
	if id.Time().Year() > 9999 {
		return nil, errors.New("its time is past the year 9999")
	}
	if req.Principal.Kind == "" || req.Principal.ID == "" {
		return nil, errors.New("nobody asks for it")
	}
	if dec.Effect != paddock.Allow || dec.Grant() == nil {
		return nil, fmt.Errorf("its decision is %q and not to allow it", dec.Effect)
	}
	size := 0
	for _, word := range req.Command.Argv {
		size += len(word)
	}
	if size > maxArgv {
		return nil, fmt.Errorf("its %d bytes of arguments are more than %d", size, maxArgv)
	}
	digest := req.Digest()
	if dec.RequestDigest != digest {
		return nil, errors.New("its decision is of another request")
	}
	var files []File
	r := sealed.Request{
		Version: durable.Version, ID: id, CreatedAt: rec.CreatedAt, BootID: process.BootID(), RequestDigest: digest, Request: req,
		EnvironmentNames: req.Command.EnvironmentNames(), ReplacesEnvironment: req.Command.ReplaceEnv != nil,
	}
	r.Request.Command.Env, r.Request.Command.ReplaceEnv = nil, nil
	if text := req.Command.Stdin.Text; text != nil {
		r.Request.Command.Stdin.Text = nil
		r.Stdin = &paddock.StreamSummary{Bytes: int64(len(*text)), Digest: paddock.DigestOf(sha256.Sum256([]byte(*text)))}
		files = append(files, File{"stdin", []byte(*text)})
	}
	claim := links.EntryOf(durable.Version, id, req.Principal, digest)
	for _, f := range []struct {
		name string
		v    any
	}{{"request.json", r}, {"decision.json", sealed.Decision{Version: durable.Version, Decision: dec}}, {"claim.json", claim}} {
		b, err := durable.EncodeJSON(f.v, true)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		files = append(files, File{f.name, b})
	}
	if rec.Waits {
		files = append(files, File{waiting.Name, []byte("\n")})
	}
	return append(files, File{"token", []byte(durable.RandomHex(tokenBytes) + "\n")}), nil
}

// makeLocked makes the temporary directory and takes its lock. Between the two
// a sweeper may take the directory for one that was left behind; then it has
// the lock, or made or removed the file, and we begin again beside it.
func makeLocked(tmp string, id paddock.RunID, at func(string)) (*Dir, error) {
	for try := range 100 {
		path := filepath.Join(tmp, string(id))
		if try > 0 {
			path += "." + strconv.Itoa(try)
		}
		if err := os.Mkdir(path, 0o700); errors.Is(err, fs.ErrExist) && try > 0 {
			continue
		} else if err != nil {
			return nil, err
		}
		at("made")
		f, err := durable.LockNew(filepath.Join(path, "lock"), at)
		if err != nil {
			return nil, err
		}
		if f != nil {
			return &Dir{id: id, path: path, lock: f}, nil
		}
	}
	return nil, fmt.Errorf("run %s: its temporary directory is taken away again and again", id)
}

// fill writes the files down and makes them durable, all but the token: that is
// for processes that a power cut would end, so it needn't outlive one.
func (d *Dir) fill(files []File, at func(string)) error {
	var last []*os.File
	for _, f := range files {
		made, err := durable.Write(d.file(f.Name), f.Data)
		if err != nil {
			return errors.Join(err, durable.SyncAll(last))
		}
		if f.Name == "token" {
			err = made.Close()
		} else {
			last = append(last, made)
		}
		if err != nil {
			return errors.Join(err, durable.SyncAll(last))
		}
		at("wrote-" + f.Name)
	}
	return durable.SyncAll(last, d.path)
}
