package quarantine

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/workspace/apply/tree"
)

// A Kept is what was put into the quarantine of one run.
type Kept struct {
	list list
	dir  *tree.Root
	name string
}

// Open opens what of the run in runDir was put into quarantine.
func Open(runDir string) (*Kept, error) {
	k := &Kept{name: Dir(runDir)}
	err := read(filepath.Join(k.name, listName), &k.list)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNone
	}
	if err == nil {
		k.dir, err = tree.Open(k.name)
	}
	if err != nil {
		return nil, err
	}
	return k, nil
}

// Close lets go of it.
func (k *Kept) Close() error { return k.dir.Close() }

// Root is the path of the root that it is from.
func (k *Kept) Root() string { return k.list.Root }

// Items lists what was moved there.
func (k *Kept) Items() []paddock.Item {
	out := []paddock.Item{}
	for i, it := range k.list.Items {
		if !it.Quarantined {
			continue
		}
		shown := paddock.Item{Found: it.Found}
		if _, err := k.dir.Stat(file(i)); err == nil {
			shown.At = filepath.Join(k.name, file(i))
		}
		out = append(out, shown)
	}
	return out
}

// Restore moves what came from the paths back there, after do is told that it is
// about to. Nothing is replaced, and no link is followed. It is all of it, unless
// the root changes meanwhile: what is done then comes with the error.
func (k *Kept) Restore(paths []string, do func() error) (done []string, err error) {
	root, err := tree.Open(k.list.Root)
	if err != nil {
		return nil, errors.Join(ErrMoved, err)
	}
	defer root.Close()
	if self, dev, err := root.Self(); err != nil || self.Ino != k.list.Inode || dev != k.list.Device {
		return nil, errors.Join(ErrMoved, err)
	}
	var chosen []int
	for _, p := range paths {
		i := slices.IndexFunc(k.list.Items, func(it item) bool { return it.Quarantined && it.Path == p })
		if err := k.restorable(root, i, p); err != nil {
			return nil, err
		}
		if !slices.Contains(chosen, i) {
			chosen = append(chosen, i)
		}
	}
	if err := do(); err != nil {
		return nil, err
	}
	for _, i := range chosen {
		it := k.list.Items[i]
		if err := k.restore(root, i); err != nil {
			return done, err
		}
		done = append(done, it.Path)
	}
	return done, nil
}

// restorable refuses what can't be moved back.
func (k *Kept) restorable(root *tree.Root, i int, p string) error {
	if i < 0 {
		r := paddock.Refused(paddock.InvalidRequest, "Nothing from %q is in the run's quarantine.", p)
		r.Hint = "`paddock quarantine RUN` lists what is there; paths are relative to the root and written as it shows them."
		return r
	}
	it := k.list.Items[i]
	if _, err := k.dir.Stat(file(i)); err != nil {
		return conflict("What was at %q isn't in the quarantine any more: it was restored before.", "See what is at that path now.", it.Path)
	}
	parent, err := root.Sub(path.Dir(it.path()))
	if err != nil {
		return conflict("The directory that %q was in isn't there any more, or a symbolic link is on the way.", "Make the directory first, or copy by hand what you need.", it.Path)
	}
	defer parent.Close()
	if _, err := parent.Stat(path.Base(it.path())); err == nil {
		return occupied(it.Path)
	}
	return nil
}

func occupied(p string) error {
	return conflict("There is something at %q, and nothing is replaced.", "Move that away first, or copy by hand what you need.", p)
}

func conflict(message, hint, p string) error {
	r := paddock.Refused(paddock.Conflict, message, p)
	r.Hint = hint
	return r
}

func (k *Kept) restore(root *tree.Root, i int) error {
	it := k.list.Items[i]
	parent, err := root.Sub(path.Dir(it.path()))
	if err != nil {
		return err
	}
	defer parent.Close()
	room := tree.Bounds{Bytes: mostCopied, Files: copiedFiles}
	base := path.Base(it.path())
	if err := k.dir.Move(file(i), parent, base, &room); err != nil {
		if errors.Is(err, unix.EEXIST) {
			return occupied(it.Path)
		}
		return err
	}
	return harmless(parent, base, it)
}

// harmless gives what was restored the permissions that it had, but for those that
// set ids.
func harmless(parent *tree.Root, base string, it item) error {
	mode, err := strconv.ParseUint(it.Mode, 8, 32)
	if err != nil || it.Kind != "file" && it.Kind != "directory" {
		return err
	}
	f, err := parent.OpenAt(base, unix.O_PATH, 0)
	if err != nil {
		return err
	}
	return errors.Join(os.Chmod("/proc/self/fd/"+strconv.Itoa(int(f.Fd())), os.FileMode(mode&0o777)), f.Close())
}
