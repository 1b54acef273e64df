package backup

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
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"paddock"
	"paddock/internal/app/evidence"
	"paddock/internal/app/evidence/census"
	"paddock/internal/executor/notes"
	"paddock/internal/journal/writer"
	"paddock/internal/rundir/record"
	"paddock/internal/rundir/shelf"
)

// ErrNotWhole is the error about what isn't a whole backup.
var ErrNotWhole = errors.New("not a whole backup")

// ErrInTheWay is the error about a directory that holds something.
var ErrInTheWay = errors.New("isn't empty")

// RestoreOptions say how a backup is made a state directory.
type RestoreOptions struct {
	// As is who restores, an operator.
	As paddock.Principal
	// Database makes a database of a copy of one, where there is none, and looks whether
	// it is whole.
	Database func(ctx context.Context, from, to string) error
	Now      func() time.Time
}

// Restored is what came of it.
type Restored struct {
	Summary
	// Lost are runs that went on when the backup was made.
	Lost []paddock.RunID `json:"lost"`
}

// Restore makes the state directory dir, which must be missing or empty, of a backup.
// Until all of it is there, right and on the disk, dir stays as it was.
func Restore(ctx context.Context, from io.Reader, dir string, opt RestoreOptions) (r Restored, err error) {
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
	Summary
	settled map[paddock.RunID]bool // runs with an outcome; whether the journal has it
}

// all unpacks everything and compares it with what the last entry says.
func (x *reader) all() (said Summary, err error) {
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
		if h.Name == manifest {
			return x.end(h)
		}
		if err := errors.Join(x.entry(h), x.ctx.Err()); err != nil {
			return said, err
		}
	}
}

// entry unpacks one file.
func (x *reader) entry(h *tar.Header) error {
	if !known(h.Name) {
		return fmt.Errorf("%w: nothing called %.200q is in one", ErrNotWhole, h.Name)
	}
	if err := x.root.MkdirAll(path.Dir(h.Name), 0o700); err != nil {
		return err
	}
	note(x.sum, h)
	x.Files++
	x.settle1(h.Name)
	switch {
	case h.Typeflag == tar.TypeLink && known(h.Linkname) && h.Size == 0:
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
	case outcome:
		x.settled[id] = x.settled[id]
	case noted:
		x.settled[id] = true
	}
}

// known says whether a backup has something of this name: a path that leads nowhere
// else, of a part that is copied.
func known(name string) bool {
	if !fs.ValidPath(name) || len(name) > 1000 || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) || strings.ContainsRune(name, '\\') {
		return false
	}
	words := strings.Split(name, "/")
	if words[0] == "runs" {
		if len(words) != 4 || !copied(words[3], true) {
			return false
		}
		id, err := paddock.ParseRunID(words[2])
		return err == nil && shelf.Day(id) == words[1]
	}
	before, after := parts()
	single := words[0] == "format" || words[0] == key || words[0] == database
	if single {
		return len(words) == 1
	}
	return len(words) > 1 && len(words) < 8 && slices.Contains(append(append(before, after...), "journal"), words[0])
}

// end compares what was unpacked with what was written.
func (x *reader) end(h *tar.Header) (said Summary, err error) {
	if h.Size > mostManifest {
		return said, fmt.Errorf("%w: its %s is too long", ErrNotWhole, manifest)
	}
	text, err := io.ReadAll(x.tar)
	if err == nil {
		err = json.Unmarshal(text, &said)
	}
	if err != nil {
		return said, fmt.Errorf("%w: %w", ErrNotWhole, err)
	}
	if said.Version != version {
		return said, fmt.Errorf("the backup is of version %d, this Paddock knows %d", said.Version, version)
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
func (x *reader) database(opt RestoreOptions, there bool) error {
	if !there {
		return nil
	}
	copied := filepath.Join(x.room, database)
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
func (x *reader) settle(opt RestoreOptions) (lost []paddock.RunID, err error) {
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
