package protect

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A Path is one place to keep, relative to the workspace.
type Path struct {
	Name string
	// Pinned paths stay writable; only they themselves can't be moved or removed.
	Pinned bool
	// File is set when it isn't a directory.
	File bool
}

// Usual is what is kept in a workspace in which nothing of it is.
func Usual() (paths []Path) {
	for _, name := range names {
		if dir := strings.TrimSuffix(name, "/"); !strings.Contains(dir, "/") {
			paths = append(paths, Path{Name: dir})
		}
	}
	return paths
}

// filling is what placeholders contain that must not be empty. Git dies of an
// empty commondir; this one says where the configuration is anyway. Without it
// a run could say that it is elsewhere.
var filling = map[string]string{".git/commondir": "."}

// date is the time of modification by which a placeholder is known: no tool
// gives a file the first second of 1970.
var date = time.Unix(0, 0)

// tempPrefix begins the names of placeholders that aren't in place yet.
const tempPrefix = ".paddock-new-"

// A Guard keeps the places of one run. Release must be called at its end.
type Guard struct {
	root   *os.File
	places []*os.File // locked placeholders
	paths  []Path
}

// Keep makes everything ready for a run in the workspace root, which the Guard
// owns from then on. The paths of except, relative to it, are left alone.
func Keep(root *os.File, except []string) (*Guard, error) {
	g := &Guard{root: root}
	for _, name := range names {
		clean := strings.TrimSuffix(name, "/")
		if slices.ContainsFunc(except, func(e string) bool { return e == clean || strings.HasPrefix(clean, e+"/") }) {
			continue
		}
		if err := g.keep(clean, strings.HasSuffix(name, "/")); err != nil {
			return nil, errors.Join(fmt.Errorf("protect %s: %w", clean, err), g.Release())
		}
	}
	return g, nil
}

// Paths returns what is to be kept, outermost first.
func (g *Guard) Paths() []Path { return g.paths }

func (g *Guard) keep(name string, dir bool) error {
	parent := path.Dir(name)
	if parent != "." {
		info, err := g.stat(parent)
		switch {
		case errors.Is(err, os.ErrNotExist), errors.Is(err, unix.ENOTDIR):
			return nil
		case err != nil:
			return err
		case info.Mode&unix.S_IFMT == unix.S_IFREG: // the .git of a linked worktree
			g.add(Path{Name: parent, File: true})
			return nil
		case info.Mode&unix.S_IFMT != unix.S_IFDIR:
			return errors.New(parent + " is neither a directory nor a file; list it in containment.write, or remove it")
		}
		g.add(Path{Name: parent, Pinned: true})
	}
	info, err := g.stat(name)
	if errors.Is(err, os.ErrNotExist) {
		// A directory, whatever it stands for: git doesn't see an empty one, so
		// it can't get into a commit.
		err := g.hold(name, dir || parent == ".")
		if errors.Is(err, unix.EROFS) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
			return nil // what we can't make there the run can't make either
		}
		return err
	}
	if err != nil {
		return err
	}
	switch info.Mode & unix.S_IFMT {
	case unix.S_IFDIR, unix.S_IFREG:
	default:
		return errors.New("it is a symbolic link or no file at all, which can't be kept; list it in containment.write, or remove it")
	}
	if isPlaceholder(name, info) {
		return g.hold(name, info.Mode&unix.S_IFMT == unix.S_IFDIR)
	}
	g.add(Path{Name: name, File: info.Mode&unix.S_IFMT == unix.S_IFREG})
	return nil
}

func (g *Guard) add(p Path) {
	if !slices.ContainsFunc(g.paths, func(have Path) bool { return have.Name == p.Name }) {
		g.paths = append(g.paths, p)
	}
}

const beneath = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS

// stat looks at name without following it.
func (g *Guard) stat(name string) (unix.Stat_t, error) {
	var st unix.Stat_t
	if !strings.Contains(name, "/") { // nothing is on the way
		err := unix.Fstatat(int(g.root.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW)
		return st, err
	}
	fd, err := unix.Openat2(int(g.root.Fd()), name, &unix.OpenHow{Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS})
	if err != nil {
		if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.EXDEV) {
			err = errors.New("a symbolic link is on the way")
		}
		return st, err
	}
	defer unix.Close(fd)
	return st, unix.Fstat(fd, &st)
}

func isPlaceholder(name string, st unix.Stat_t) bool {
	empty := st.Size == int64(len(filling[name])) || st.Mode&unix.S_IFMT == unix.S_IFDIR
	return empty && st.Mtim.Sec == date.Unix() && st.Mtim.Nsec == 0
}

// hold makes a placeholder, or joins those who rely on the one that is there.
func (g *Guard) hold(name string, dir bool) error {
	for range 100 {
		f, ours, err := g.open(name, dir)
		if errors.Is(err, unix.ENOENT) {
			continue // one that sweeps took it before it was in place
		}
		if err != nil {
			return err
		}
		if ours {
			g.places = append(g.places, f)
			g.add(Path{Name: name, File: !dir})
			return nil
		}
		if err := unix.Flock(int(f.Fd()), unix.LOCK_SH); err != nil {
			return errors.Join(err, f.Close())
		}
		// Another run may have taken it away before we had the lock.
		var opened, there unix.Stat_t
		if err := unix.Fstat(int(f.Fd()), &opened); err != nil {
			return errors.Join(err, f.Close())
		}
		there, err = g.stat(name)
		if err == nil && opened.Ino == there.Ino && opened.Dev == there.Dev {
			g.places = append(g.places, f)
			g.add(Path{Name: name, File: !dir})
			return nil
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return errors.New("it comes and goes")
}

// open opens the placeholder, which it puts there, locked, if there is none: then it
// is ours.
func (g *Guard) open(name string, dir bool) (_ *os.File, ours bool, err error) {
	f, err := g.make(name, dir)
	if !errors.Is(err, unix.EEXIST) {
		return f, true, err
	}
	how := unix.OpenHow{Flags: unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NOFOLLOW | unix.O_NONBLOCK, Resolve: beneath}
	if dir {
		how.Flags |= unix.O_DIRECTORY
	}
	fd, err := unix.Openat2(int(g.root.Fd()), name, &how)
	if err != nil {
		return nil, false, err
	}
	return os.NewFile(uintptr(fd), name), false, nil
}

// make puts a placeholder in place, dated and locked: one that is ended while it
// does so must leave nothing that nobody knows for a placeholder, and nobody may
// come by and take one that has no date yet for something else, or one that nobody
// has locked yet away.
func (g *Guard) make(name string, dir bool) (*os.File, error) {
	at, temp := int(g.root.Fd()), path.Join(path.Dir(name), tempPrefix+rand.Text())
	how := unix.OpenHow{Flags: unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NOFOLLOW | unix.O_DIRECTORY, Resolve: beneath}
	flags := unix.AT_REMOVEDIR
	if dir {
		if err := unix.Mkdirat(at, temp, 0o755); err != nil {
			return nil, err
		}
	} else {
		how = unix.OpenHow{Flags: unix.O_WRONLY | unix.O_CLOEXEC | unix.O_NOFOLLOW | unix.O_CREAT | unix.O_EXCL, Mode: 0o644, Resolve: beneath}
		flags = 0
	}
	fd, err := unix.Openat2(at, temp, &how)
	if err != nil {
		return nil, errors.Join(err, unlink(at, temp, flags))
	}
	f := os.NewFile(uintptr(fd), name)
	if !dir {
		_, err = f.WriteString(filling[name])
	}
	if err == nil {
		err = date1970(f)
	}
	if err == nil {
		err = unix.Flock(fd, unix.LOCK_SH)
	}
	if err == nil {
		err = unix.Renameat2(at, temp, at, name, unix.RENAME_NOREPLACE)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close(), unlink(at, temp, flags))
	}
	return f, nil
}

// unlink removes what is there, if it is.
func unlink(at int, name string, flags int) error {
	if err := unix.Unlinkat(at, name, flags); !errors.Is(err, unix.ENOENT) {
		return err
	}
	return nil
}

func date1970(f *os.File) error {
	times := []unix.Timespec{{Sec: date.Unix()}, {Sec: date.Unix()}}
	if err := unix.UtimesNanoAt(int(f.Fd()), "", times, unix.AT_EMPTY_PATH); err != nil {
		// Before Linux 6.? an empty path needs /proc.
		return os.Chtimes(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), date, date)
	}
	return nil
}

// Release takes away the placeholders that no other run relies on, and closes
// the workspace.
func (g *Guard) Release() error {
	var errs []error
	for _, f := range g.places {
		errs = append(errs, g.release(f))
	}
	g.places = nil
	return errors.Join(append(errs, g.root.Close())...)
}

func (g *Guard) release(f *os.File) error {
	defer f.Close()
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil // another run's last one will
	}
	if err != nil {
		return err
	}
	var ours unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &ours); err != nil {
		return err
	}
	there, err := g.stat(f.Name())
	if err != nil || ours.Ino != there.Ino || ours.Dev != there.Dev || !isPlaceholder(f.Name(), there) {
		return nil // somebody made something of it
	}
	flags := 0
	if there.Mode&unix.S_IFMT == unix.S_IFDIR {
		flags = unix.AT_REMOVEDIR
	}
	err = unix.Unlinkat(int(g.root.Fd()), f.Name(), flags)
	if errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}

// Sweep takes away what crashed runs left in the workspace root, and closes it.
func Sweep(root *os.File) error {
	g := &Guard{root: root}
	var errs []error
	for _, name := range names {
		clean := strings.TrimSuffix(name, "/")
		st, err := g.stat(clean)
		if err != nil || !isPlaceholder(clean, st) {
			continue
		}
		errs = append(errs, g.hold(clean, st.Mode&unix.S_IFMT == unix.S_IFDIR))
	}
	var parents []string
	for _, name := range names {
		if dir := path.Dir(strings.TrimSuffix(name, "/")); !slices.Contains(parents, dir) {
			parents = append(parents, dir)
			errs = append(errs, g.sweepNew(dir))
		}
	}
	return errors.Join(append(errs, g.Release())...)
}

// Left lists the placeholders in the workspace root on which no run relies, and
// takes none away.
func Left(root *os.File) []string {
	g := &Guard{root: root}
	var left []string
	for _, name := range names {
		clean := strings.TrimSuffix(name, "/")
		st, err := g.stat(clean)
		if err != nil || !isPlaceholder(clean, st) {
			continue
		}
		fd, err := unix.Openat2(int(root.Fd()), clean, &unix.OpenHow{Flags: unix.O_RDONLY | unix.O_NONBLOCK | unix.O_CLOEXEC, Resolve: beneath})
		if err != nil {
			continue
		}
		if unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) == nil {
			left = append(left, clean)
		}
		_ = unix.Close(fd)
	}
	return left
}

// sweepNew takes away what was to become a placeholder in dir. Whoever is about
// to make one begins again.
func (g *Guard) sweepNew(dir string) error {
	fd, err := unix.Openat2(int(g.root.Fd()), dir, &unix.OpenHow{Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: beneath})
	if err != nil {
		return nil //nolint:nilerr // there is none, or none that we would have made one in
	}
	f := os.NewFile(uintptr(fd), dir)
	names, err := f.Readdirnames(-1)
	for _, name := range names {
		if !strings.HasPrefix(name, tempPrefix) {
			continue
		}
		// What isn't empty, nobody made for us.
		var st unix.Stat_t
		if e := unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); e != nil {
			continue
		}
		switch {
		case st.Mode&unix.S_IFMT == unix.S_IFDIR:
			_ = unlink(fd, name, unix.AT_REMOVEDIR)
		case st.Mode&unix.S_IFMT == unix.S_IFREG && st.Size <= 1:
			err = errors.Join(err, unlink(fd, name, 0))
		}
	}
	return errors.Join(err, f.Close())
}
