package workspace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"paddock/internal/workspace/apply/tree"
	"paddock/internal/workspace/apply/tree/change"
)

// about says what was set up for a run.
type about struct {
	Version int    `json:"version"`
	Root    string `json:"root"`
	Device  uint64 `json:"device"`
	Inode   uint64 `json:"inode"`
	Kind    string `json:"kind"`
}

// A Layout is what was made for a run that is about to start.
type Layout struct {
	// Kind is Overlay or Copy; Why says why it is no overlay.
	Kind, Why string
	// Dir has the directories upper and work, where Kind is Overlay.
	Dir string
	// Stand is what the run is shown in the root's place, where Kind is Copy.
	Stand string

	root string
	seen tree.Seen
	self change.Entry
	dev  uint64
}

// Prepare makes what keeps the writes of the run in runDir out of root, an
// absolute path without links.
func Prepare(root, runDir string) (*Layout, error) {
	base, err := tree.Open(root)
	if err != nil {
		return nil, err
	}
	defer base.Close()
	l := &Layout{Kind: Overlay, Dir: filepath.Join(runDir, dirName), root: root}
	if l.self, l.dev, err = base.Self(); err != nil {
		return nil, err
	}
	if l.seen, err = base.Walk(mostFiles, false); err != nil {
		return nil, fmt.Errorf("copy-on-write of %s: %w; use a narrower root, or `workspace: direct`", root, err)
	}
	if err := os.Mkdir(l.Dir, 0o700); err != nil {
		return nil, err
	}
	if err := l.write("base", l.seen.Entries); err != nil {
		return nil, err
	}
	for _, name := range []string{"upper", "work"} {
		if err := os.Mkdir(filepath.Join(l.Dir, name), 0o700); err != nil {
			return nil, err
		}
	}
	if why := l.impossible(); why != "" {
		return l, l.FallBack(why)
	}
	// The root of the view has the permissions of the upper one.
	if err := os.Chmod(filepath.Join(l.Dir, "upper"), fs.FileMode(l.self.Mode&0o777)); err != nil {
		return nil, err
	}
	return l, l.settle()
}

// impossible says why no overlay can be laid over the root, as far as that can
// be seen; the kernel may know more.
func (l *Layout) impossible() string {
	var of unix.Statfs_t
	if err := unix.Statfs(l.root, &of); err == nil && of.Type == unix.OVERLAYFS_SUPER_MAGIC {
		return "the root is on an overlay itself"
	}
	upper := filepath.Join(l.Dir, "upper")
	if err := unix.Statfs(upper, &of); err == nil && of.Type == unix.OVERLAYFS_SUPER_MAGIC {
		return "the state directory is on an overlay"
	}
	if err := unix.Setxattr(upper, "user.overlay.probe", []byte("y"), 0); err != nil {
		return "the state directory is on a file system without extended attributes: " + err.Error()
	}
	if err := unix.Removexattr(upper, "user.overlay.probe"); err != nil {
		return err.Error()
	}
	// The run has one user and one group; the kernel can't copy up what belongs
	// to any other.
	uid, gid := uint32(os.Geteuid()), uint32(os.Getegid())
	for _, e := range append([]change.Entry{l.self}, l.seen.Entries...) {
		if e.UID != uid || e.GID != gid {
			return fmt.Sprintf("%q belongs to user %d and group %d, and the run has only user %d and group %d", e.Path, e.UID, e.GID, uid, gid)
		}
	}
	return ""
}

// FallBack makes a copy instead of a layer, because of why.
func (l *Layout) FallBack(why string) error {
	l.Kind, l.Why, l.Stand = Copy, why, filepath.Join(l.Dir, "copy")
	refused := func(err error) error {
		return fmt.Errorf("copy-on-write of %s needs a copy, since %s: %w; use a narrower root, or `workspace: direct`", l.root, why, err)
	}
	if n := len(l.seen.Entries); n > copiedFiles {
		return refused(fmt.Errorf("%d files are more than %d", n, copiedFiles))
	}
	from, err := tree.Open(l.root)
	if err != nil {
		return err
	}
	defer from.Close()
	if err := os.Mkdir(l.Stand, 0o700); err != nil {
		return err
	}
	to, err := tree.Open(l.Stand)
	if err != nil {
		return err
	}
	defer to.Close()
	left, err := from.Copy(l.seen, to, mostCopied)
	if err != nil {
		return errors.Join(refused(err), tree.Remove(l.Stand))
	}
	if left > 0 {
		l.Why += fmt.Sprintf("; %d special files aren't in the copy", left)
	}
	if err := os.Chmod(l.Stand, fs.FileMode(l.self.Mode&0o777)); err != nil {
		return err
	}
	if os.Geteuid() == 0 { // it is shown as the run's own by whose it is
		if err := os.Lchown(l.Stand, int(l.self.UID), int(l.self.GID)); err != nil {
			return err
		}
	}
	start, err := to.Walk(mostFiles, false)
	if err != nil {
		return err
	}
	if err := l.write("start", start.Entries); err != nil {
		return err
	}
	return l.settle()
}

// settle writes down what was made; without it there are no changes to be had.
func (l *Layout) settle() error {
	text, err := json.Marshal(about{1, l.root, l.dev, l.self.Ino, l.Kind})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(l.Dir, "about.json"), text, 0o600)
}

func (l *Layout) write(name string, entries []change.Entry) error {
	f, err := os.OpenFile(filepath.Join(l.Dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(change.Write(f, entries), f.Close())
}

// A Kept is what a settled run left to be looked at.
type Kept struct {
	// Root is the path of the root; Base is it, From what has the new content.
	Root       string
	Base, From *tree.Root

	kind, dir string
}

// Open opens what the run in runDir left.
func Open(runDir string) (*Kept, error) {
	k := &Kept{dir: filepath.Join(runDir, dirName)}
	text, err := os.ReadFile(filepath.Join(k.dir, "about.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrGone
	}
	if err != nil {
		return nil, err
	}
	var a about
	if err := json.Unmarshal(text, &a); err != nil || a.Version != 1 {
		return nil, errors.Join(err, fmt.Errorf("%s isn't of this version", filepath.Join(k.dir, "about.json")))
	}
	k.Root, k.kind = a.Root, a.Kind
	if k.Base, err = tree.Open(a.Root); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMoved, err)
	}
	self, dev, err := k.Base.Self()
	if err == nil && (self.Ino != a.Inode || dev != a.Device) {
		err = ErrMoved
	}
	if err == nil {
		name := map[string]string{Overlay: "upper", Copy: "copy"}[k.kind]
		k.From, err = tree.Open(filepath.Join(k.dir, name))
	}
	if err != nil {
		return nil, errors.Join(err, k.Base.Close())
	}
	return k, nil
}

// Close lets go of it.
func (k *Kept) Close() error { return errors.Join(k.Base.Close(), k.From.Close()) }

// Changes finds out what the run changed, but for what the root has by now.
func (k *Kept) Changes() (Changes, error) {
	base, err := k.read("base")
	if err != nil {
		return Changes{}, err
	}
	seen, err := k.From.Walk(mostFiles, k.kind == Overlay)
	if err != nil {
		return Changes{}, err
	}
	out := Changes{Unreadable: seen.Unreadable}
	inside := func(p string) bool { // nobody knows, so nothing is said of it
		return slices.ContainsFunc(seen.Unreadable, func(dir string) bool { return p != dir && change.Below(dir, p) })
	}
	var all []change.Change
	if k.kind == Overlay {
		all = change.Over(base, seen.Entries)
	} else {
		start, err := k.read("start")
		if err != nil {
			return Changes{}, err
		}
		all = change.Between(base, start, seen.Entries)
	}
	for _, c := range all {
		switch {
		case k.there(c):
			out.There = append(out.There, c)
		case !inside(c.Path()):
			out.All = append(out.All, c)
		}
	}
	return out, nil
}

func (k *Kept) read(name string) ([]change.Entry, error) {
	f, err := os.Open(filepath.Join(k.dir, name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return change.Read(f, mostFiles)
}

// there reports whether the root is by now as the change wants it: because it
// was applied, or the file was only touched.
func (k *Kept) there(c change.Change) bool {
	now, err := k.Base.Stat(c.Path())
	if errors.Is(err, fs.ErrNotExist) {
		return c.After == nil
	}
	// Where it can't be told it counts as changed.
	return err == nil && c.After != nil && tree.Reached(k.Base, now, k.From, *c.After)
}

// Exists reports whether anything is kept for the run in runDir.
func Exists(runDir string) bool {
	_, err := os.Lstat(filepath.Join(runDir, dirName))
	return err == nil
}

// Discard removes everything that was kept of the changes of the run in runDir.
func Discard(runDir string) error { return tree.Remove(filepath.Join(runDir, dirName)) }
