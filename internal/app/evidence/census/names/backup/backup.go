// Package backup writes a state directory into one file, while others use it; package
// restore makes a state directory of such a file.
//
// The file is a tar archive. Its last entry says what is in it and has a digest over
// everything before, so that one that was cut short or changed isn't taken for whole.
//
// What is written fits together, whatever happens meanwhile. Runs are listed first;
// then the journal is copied, and with it the list has the runs that it tells of and no
// others; then each run is copied, as it is by then. That its end is in the journal is left out where that may have become true
// after the journal was copied: whoever restores looks, and tells what is missing.
// What others refer to is copied after them.
//
// A run that went on is lost where it is restored, with what was kept of its output.
// It is settled before anybody else sees the directory and without a look at what runs
// on this machine: where the run itself still goes on here, it isn't disturbed.
//
// # Limits
//
// What can be made again isn't in it: the index, sums of usage, the stage. Nor are the
// homes of roots, and what runs have changed and keep apart or in quarantine, which is
// their workspaces' and not evidence. The digest tells of damage, not of forgery: the
// journal's checkpoints do. The file holds what the directory holds, keys among it.
package backup

import (
	"archive/tar"
	"bytes"
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
	"syscall"
	"time"

	"paddock"
	"paddock/internal/rundir"
	"paddock/internal/rundir/record"
	"paddock/internal/rundir/record/durable"
	"paddock/internal/rundir/shelf"
)

// The form of the archive: its version, the name of its last entry and how long that can be.
const (
	Version      = 1
	Manifest     = "backup.json"
	MostManifest = 64 << 10
)

// The server's files in a state directory.
const (
	Database = "server.db"
	key      = "server.key"
)

// A Summary says what is in a backup.
type Summary struct {
	Version int       `json:"version"`
	MadeAt  time.Time `json:"made_at"`
	// By is the version of Paddock that made it.
	By   string `json:"by"`
	Runs int    `json:"runs"`
	// Open is how many of them went on.
	Open int `json:"open"`
	// Apart is how many have changes that aren't in the backup.
	Apart int   `json:"apart"`
	Files int64 `json:"files"`
	Bytes int64 `json:"bytes"`
	// Database says whether the server's accounts are in it.
	Database bool   `json:"database"`
	SHA256   string `json:"sha256"`
}

// Options say how to write one.
type Options struct {
	// Database copies the server's database, which may be in use, to a new file.
	Database func(ctx context.Context, from, to string) error
	// Room is a directory of ours alone for that copy.
	Room string
	By   string
	Now  func() time.Time
}

// parts of a state directory that are copied as they lie, in two turns: what runs
// refer to by a link or a name comes after them.
func parts() (before, after []string) {
	return []string{"format"}, []string{"policies", "approvals", "tasks", "delegates", "nonces", key}
}

// Write writes a backup of the state directory.
func Write(ctx context.Context, state *rundir.State, to io.Writer, opt Options) (Summary, error) {
	w := &archive{
		ctx: ctx, root: state.Path(), tar: tar.NewWriter(to), sum: sha256.New(), linked: map[identity]string{}, copied: map[string]int64{},
		Summary: Summary{Version: Version, MadeAt: opt.Now().UTC(), By: opt.By},
	}
	before, after := parts()
	for _, name := range before {
		if err := w.tree(name); err != nil {
			return w.Summary, err
		}
	}
	runs, err := w.told()
	if err != nil {
		return w.Summary, err
	}
	for _, r := range runs {
		if err := w.run(r); err != nil {
			return w.Summary, fmt.Errorf("run %s: %w", r.id, err)
		}
	}
	for _, name := range after {
		if err := w.tree(name); err != nil {
			return w.Summary, err
		}
	}
	if err := w.database(opt); err != nil {
		return w.Summary, err
	}
	return w.Summary, w.finish()
}

// A listed run was there when the journal was copied.
type listed struct {
	id    paddock.RunID
	noted bool // its end was in the journal
}

// told copies the journal and returns the runs that it knows of: those that were listed
// before, and of those that began meanwhile the ones that it tells of.
func (w *archive) told() ([]listed, error) {
	before, err := w.segments()
	if err != nil {
		return nil, err
	}
	runs, err := w.list()
	if err == nil {
		err = w.tree("journal")
	}
	if err != nil {
		return nil, err
	}
	later, err := w.list()
	if err != nil || len(later) == len(runs) {
		return runs, err
	}
	var tail []byte // what the copy has more than was there at first
	for name, size := range w.copied {
		if segment(name) == 0 {
			continue
		}
		f, err := open(filepath.Join(w.root, filepath.FromSlash(name)))
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(io.NewSectionReader(f, before[name], size-before[name]))
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
		tail = append(tail, text...)
	}
	known := map[paddock.RunID]bool{}
	for _, r := range runs {
		known[r.id] = true
	}
	for _, r := range later {
		if !known[r.id] && bytes.Contains(tail, []byte(`"`+string(r.id)+`"`)) {
			runs = append(runs, listed{id: r.id}) // whoever restores finds out whether its end is in the copy
		}
	}
	return runs, nil
}

// segments are the sizes of the journal's.
func (w *archive) segments() (map[string]int64, error) {
	entries, err := os.ReadDir(filepath.Join(w.root, "journal"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	sizes := map[string]int64{}
	for _, e := range entries {
		if info, bad := e.Info(); bad == nil {
			sizes["journal/"+e.Name()] = info.Size()
		}
	}
	return sizes, err
}

type archive struct {
	ctx    context.Context
	root   string
	tar    *tar.Writer
	sum    hash.Hash
	linked map[identity]string // names of files that have several
	copied map[string]int64    // how much of each file of the journal
	Summary
}

// list finds all runs, oldest first.
func (w *archive) list() ([]listed, error) {
	days, err := shelf.Days(filepath.Join(w.root, "runs"), "")
	if err != nil {
		return nil, err
	}
	var all []listed
	for _, day := range days {
		ids, err := shelf.Newest(filepath.Join(w.root, "runs", day), "", int(^uint(0)>>1))
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			r := listed{id: id}
			if d, err := record.Open(w.path(id)); err == nil {
				r.noted, err = d.Noted()
				if err != nil {
					return nil, err
				}
			}
			all = append(all, r)
		}
	}
	slices.Reverse(all)
	return all, w.ctx.Err()
}

func (w *archive) path(id paddock.RunID) string {
	return filepath.Join(w.root, "runs", shelf.Day(id), string(id))
}

// tree copies a file, or a directory with all regular files below it. What is missing
// is left out. Segments of the journal come last: what else is there tells of them.
func (w *archive) tree(name string) error {
	var files []string
	err := filepath.WalkDir(filepath.Join(w.root, filepath.FromSlash(name)), func(p string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(w.root, p)
		if err == nil && e.Type().IsRegular() && !passing(e.Name()) {
			files = append(files, filepath.ToSlash(rel))
		}
		return errors.Join(err, w.ctx.Err())
	})
	if err != nil {
		return err
	}
	slices.SortStableFunc(files, func(a, b string) int { return segment(a) - segment(b) })
	for _, f := range files {
		if err := w.one(f); err != nil {
			return err
		}
	}
	return nil
}

func segment(name string) int {
	if path.Ext(name) == ".jsonl" {
		return 1
	}
	return 0
}

// passing says whether a file is of no use to anybody but who has it open.
func passing(name string) bool {
	return strings.HasPrefix(name, durable.TempPrefix) || strings.HasSuffix(name, ".lock")
}

func (w *archive) one(name string) error {
	f, err := open(filepath.Join(w.root, filepath.FromSlash(name)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // just now
	}
	if err != nil {
		return err
	}
	return errors.Join(w.add(name, f), f.Close())
}

// open opens a regular file and nothing else.
func open(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|durable.NoFollow|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s isn't a regular file; paddock state check says more", name)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// add writes one file, as long as it is now. A second name of one that is there
// already becomes a link.
func (w *archive) add(name string, f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: info.Size(), Mode: 0o600, ModTime: info.ModTime().Truncate(time.Second)}
	if id, several := identify(info); several {
		if h.Linkname = w.linked[id]; h.Linkname != "" {
			h.Typeflag, h.Size = tar.TypeLink, 0
		} else {
			w.linked[id] = name
		}
	}
	if err := w.tar.WriteHeader(h); err != nil {
		return err
	}
	Note(w.sum, h)
	n, err := io.CopyN(io.MultiWriter(w.tar, w.sum), f, h.Size)
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("%s became shorter while it was copied; make the backup again", name)
	}
	w.Files++
	w.Bytes += n
	if strings.HasPrefix(name, "journal/") {
		w.copied[name] = n
	}
	return errors.Join(err, w.ctx.Err())
}

// Note adds what an entry is to the digest; its content follows.
func Note(sum hash.Hash, h *tar.Header) {
	fmt.Fprintf(sum, "%q %q %d\n", h.Name, h.Linkname, h.Size)
}

// database copies the server's database, if there is one.
func (w *archive) database(opt Options) error {
	from := filepath.Join(w.root, Database)
	if there, err := durable.Exists(from); err != nil || !there {
		return err
	}
	copied := filepath.Join(opt.Room, Database)
	if err := opt.Database(w.ctx, from, copied); err != nil {
		return err
	}
	f, err := open(copied)
	if err != nil {
		return err
	}
	w.Database = true
	return errors.Join(w.add(Database, f), f.Close(), os.Remove(copied))
}

func (w *archive) finish() error {
	w.SHA256 = hex.EncodeToString(w.sum.Sum(nil))
	text, err := json.Marshal(w.Summary)
	if err != nil {
		return err
	}
	if err := w.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: Manifest, Size: int64(len(text)), Mode: 0o600, ModTime: w.MadeAt.Truncate(time.Second)}); err != nil {
		return err
	}
	_, err = w.tar.Write(text)
	return errors.Join(err, w.tar.Close())
}
