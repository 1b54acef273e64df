// Package restore makes a state directory of a backup.
//
// # Limits
//
// It looks at nothing outside of the directory that it makes: what went on when the
// backup was made may go on, on this machine, and isn't disturbed.
package restore

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"paddock"
	"paddock/internal/app/evidence"
	"paddock/internal/app/evidence/census"
	"paddock/internal/app/evidence/census/names/backup"
	"paddock/internal/executor/notes"
	"paddock/internal/journal/writer"
	"paddock/internal/rundir/record"
	"paddock/internal/rundir/shelf"
)

// ErrNotWhole is the error about what isn't a whole backup.
var ErrNotWhole = errors.New("not a whole backup")

// ErrInTheWay is the error about a directory that holds something.
var ErrInTheWay = errors.New("isn't empty")

// Options say how a backup is made a state directory.
type Options struct {
	// As is who restores, an operator.
	As paddock.Principal
	// Database makes a database of a copy of one, where there is none, and looks whether
	// it is whole.
	Database func(ctx context.Context, from, to string) error
	Now      func() time.Time
}

// Restored is what came of it.
type Restored struct {
	backup.Summary
	// Lost are runs that went on when the backup was made.
	Lost []paddock.RunID `json:"lost"`
}

// Into makes the state directory dir, which must be missing or empty, of a backup.
// Until all of it is there, right and on the disk, dir stays as it was.
func Into(ctx context.Context, from io.Reader, dir string, opt Options) (r Restored, err error) {
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) > 0 {
		return r, fmt.Errorf("%s %w", dir, ErrInTheWay)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return r, err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return r, err
	}
	room, err := os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+".restoring-")
	if err != nil {
		return r, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(room))
		}
	}()
	x := &reader{ctx: ctx, room: room, tar: tar.NewReader(from), sum: sha256.New(), settled: map[paddock.RunID]bool{}}
	if r.Summary, err = x.all(); err != nil {
		return r, err
	}
	if err := x.database(opt, r.Database); err != nil {
		return r, err
	}
	if r.Lost, err = x.settle(opt); err != nil {
		return r, err
	}
	if err := syncAll(room); err != nil {
		return r, err
	}
	return r, os.Rename(room, dir)
}

type reader struct {
	ctx  context.Context
	room string
	root *os.Root
	tar  *tar.Reader
	sum  hash.Hash
	backup.Summary
	settled map[paddock.RunID]bool // runs with an outcome; whether the journal has it
}

// all unpacks everything and compares it with what the last entry says.
func (x *reader) all() (said backup.Summary, err error) {
	if x.root, err = os.OpenRoot(x.room); err != nil {
		return said, err
	}
	defer func() { err = errors.Join(err, x.root.Close()) }()
	for {
		h, err := x.tar.Next()
		if errors.Is(err, io.EOF) {
			return said, fmt.Errorf("%w: its end is missing", ErrNotWhole)
		}
		if err != nil {
			return said, fmt.Errorf("%w: %w", ErrNotWhole, err)
		}
		if h.Name == backup.Manifest {
			return x.end(h)
		}
		if err := errors.Join(x.entry(h), x.ctx.Err()); err != nil {
			return said, err
		}
	}
}

// entry unpacks one file.
func (x *reader) entry(h *tar.Header) error {
	if !backup.Known(h.Name) {
		return fmt.Errorf("%w: nothing called %.200q is in one", ErrNotWhole, h.Name)
	}
	if err := x.root.MkdirAll(path.Dir(h.Name), 0o700); err != nil {
		return err
	}
	backup.Note(x.sum, h)
	x.Files++
	x.settle1(h.Name)
	switch {
	case h.Typeflag == tar.TypeLink && backup.Known(h.Linkname) && h.Size == 0:
		if err := x.root.Link(h.Linkname, h.Name); err != nil {
			return fmt.Errorf("%w: %w", ErrNotWhole, err)
		}
		return nil
	case h.Typeflag != tar.TypeReg:
		return fmt.Errorf("%w: %.200q isn't a file", ErrNotWhole, h.Name)
	}
	f, err := x.root.OpenFile(h.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: %.200q is in it twice", ErrNotWhole, h.Name)
	}
	if err != nil {
		return err
	}
	n, err := io.Copy(io.MultiWriter(f, x.sum), x.tar)
	x.Bytes += n
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("%w: its end is missing", ErrNotWhole)
	}
	return errors.Join(err, f.Close(), x.root.Chtimes(h.Name, h.ModTime, h.ModTime))
}

// settle1 notes what a file says about how far its run is.
func (x *reader) settle1(name string) {
	words := strings.Split(name, "/")
	if words[0] != "runs" {
		return
	}
	id := paddock.RunID(words[2])
	switch words[3] {
	case backup.Outcome:
		x.settled[id] = x.settled[id] || false // known, and settled only if something says so
	case backup.Noted:
		x.settled[id] = true
	}
}

// end compares what was unpacked with what was written.
func (x *reader) end(h *tar.Header) (said backup.Summary, err error) {
	if h.Size > backup.MostManifest {
		return said, fmt.Errorf("%w: its %s is too long", ErrNotWhole, backup.Manifest)
	}
	text, err := io.ReadAll(x.tar)
	if err == nil {
		err = json.Unmarshal(text, &said)
	}
	if err != nil {
		return said, fmt.Errorf("%w: %w", ErrNotWhole, err)
	}
	if said.Version != backup.Version {
		return said, fmt.Errorf("the backup is of version %d, this Paddock knows %d", said.Version, backup.Version)
	}
	if sum := hex.EncodeToString(x.sum.Sum(nil)); sum != said.SHA256 || x.Files != said.Files || x.Bytes != said.Bytes {
		return said, fmt.Errorf("%w: it was changed or damaged; %d files of %d bytes are in it, %d of %d were written", ErrNotWhole, x.Files, x.Bytes, said.Files, said.Bytes)
	}
	if _, err := x.tar.Next(); !errors.Is(err, io.EOF) {
		return said, fmt.Errorf("%w: something follows its end", ErrNotWhole)
	}
	return said, nil
}

// database has the copy looked at, and brought up to date.
func (x *reader) database(opt Options, there bool) error {
	if !there {
		return nil
	}
	copied := filepath.Join(x.room, backup.Database)
	if err := os.Rename(copied, copied+".copy"); err != nil {
		return err
	}
	if err := opt.Database(x.ctx, copied+".copy", copied); err != nil {
		return fmt.Errorf("the server's database: %w", err)
	}
	return os.Remove(copied + ".copy")
}

// settle makes the index, settles what went on, and tells the journal what it hasn't.
// It looks at nothing outside of the directory.
func (x *reader) settle(opt Options) (lost []paddock.RunID, err error) {
	e, err := evidence.Open(opt.As, x.room, opt.Now)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	if _, err := census.Of(e).Rebuild(x.ctx, func(ch census.Change) error {
		if ch.Fault != "" {
			return fmt.Errorf("%s: %s", ch.Path, ch.Fault)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	told, err := notes.Open(x.ctx, e.State(), opt.Now, func(error) {}, writer.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, told.Close()) }()
	if lost, err = e.State().Reconcile(x.ctx, opt.Now); err != nil {
		return lost, err
	}
	for id, done := range x.settled {
		if done {
			continue
		}
		d, err := record.Open(filepath.Join(x.room, "runs", shelf.Day(id), string(id)))
		if err == nil {
			err = told.Ended(d)
		}
		if err != nil {
			return lost, fmt.Errorf("run %s: %w", id, err)
		}
	}
	return lost, nil
}
