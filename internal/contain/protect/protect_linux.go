package protect

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
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
	places []place // locked placeholders
	paths  []Path
	// above is what is known of what the places lie in, while they are readied.
	above map[string]above
	// temp is how the names of what isn't in place yet begin, and made how many there were.
	temp string
	made int
}

// A place is a placeholder that is held open by its descriptor: a file of package os is
// more than a dozen of them need.
type place struct {
	name string
	fd   int
}

// An above is what a directory above a place is.
type above struct {
	st  unix.Stat_t
	err error
}

// Keep makes everything ready for a run in the workspace root, which the Guard
// owns from then on. The paths of except, relative to it, are left alone.
func Keep(root *os.File, except []string) (*Guard, error) {
	g := &Guard{root: root, above: map[string]above{}}
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
		info, err := g.parent(parent)
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

// parent is stat of a directory in which several places are. In one that isn't there is
// none.
func (g *Guard) parent(name string) (unix.Stat_t, error) {
	if dir := path.Dir(name); dir != "." {
		if st, err := g.parent(dir); errors.Is(err, os.ErrNotExist) {
			return st, err
		}
	}
	known, ok := g.above[name]
	if !ok {
		known.st, known.err = g.stat(name)
		g.above[name] = known
	}
	return known.st, known.err
}

func (g *Guard) add(p Path) {
	if !slices.ContainsFunc(g.paths, func(have Path) bool { return have.Name == p.Name }) {
		g.paths = append(g.paths, p)
	}
}

const beneath = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS

var errLink = errors.New("a symbolic link is on the way")

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
			err = errLink
		}
		return st, err
	}
	defer unix.Close(fd)
	return st, unix.Fstat(fd, &st)
}

// isPlaceholder reports whether st is of one. At the top they are directories, whatever they
// stand for: an empty file of that date is somebody's, whose tools date everything so.
func isPlaceholder(name string, st unix.Stat_t) bool {
	kind := st.Mode & unix.S_IFMT
	empty := kind == unix.S_IFDIR || kind == unix.S_IFREG && strings.Contains(name, "/") && st.Size == int64(len(filling[name]))
	return empty && st.Mtim.Sec == date.Unix() && st.Mtim.Nsec == 0
}

// Whoever takes a placeholder away has it for himself for a moment, and is waited for so
// long. Anybody who can open it can lock it, programs of other runs in the workspace among
// them, so nobody is waited for any longer.
const (
	tryAgain  = time.Millisecond
	mostTries = 50
)

// hold makes a placeholder, or joins those who rely on the one that is there. One that
// somebody keeps to himself is kept as anybody's directory would be: none of ours takes it
// away meanwhile, as he who has it isn't one.
func (g *Guard) hold(name string, dir bool) error {
	tries := 0
	for range 100 {
		fd, ours, err := g.open(name, dir)
		if errors.Is(err, unix.ENOENT) {
			continue // one that sweeps took it before it was in place
		}
		if err != nil {
			return err
		}
		if ours {
			g.places = append(g.places, place{name, fd})
			g.add(Path{Name: name, File: !dir})
			return nil
		}
		if err := flock(fd, unix.LOCK_SH|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
			if err := unix.Close(fd); err != nil {
				return err
			}
			if tries++; tries == mostTries {
				g.add(Path{Name: name, File: !dir})
				return nil
			}
			<-time.After(tryAgain)
			continue
		} else if err != nil {
			return errors.Join(err, unix.Close(fd))
		}
		// Another run may have taken it away before we had the lock.
		var opened, there unix.Stat_t
		if err := unix.Fstat(fd, &opened); err != nil {
			return errors.Join(err, unix.Close(fd))
		}
		there, err = g.stat(name)
		if err == nil && opened.Ino == there.Ino && opened.Dev == there.Dev {
			g.places = append(g.places, place{name, fd})
			g.add(Path{Name: name, File: !dir})
			return nil
		}
		if err := unix.Close(fd); err != nil {
			return err
		}
	}
	return errors.New("it comes and goes")
}

// open opens the placeholder, which it puts there, locked, if there is none: then it
// is ours.
func (g *Guard) open(name string, dir bool) (fd int, ours bool, err error) {
	fd, err = g.make(name, dir)
	if !errors.Is(err, unix.EEXIST) {
		return fd, true, err
	}
	how := unix.OpenHow{Flags: unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NOFOLLOW | unix.O_NONBLOCK, Resolve: beneath}
	if dir {
		how.Flags |= unix.O_DIRECTORY
	}
	fd, err = unix.Openat2(int(g.root.Fd()), name, &how)
	return fd, false, err
}

// flock waits for a lock, or doesn't if how says so.
func flock(fd, how int) error {
	for {
		if err := unix.Flock(fd, how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// temporary is a name for what isn't at the place name yet.
func (g *Guard) temporary(name string) string {
	if g.temp == "" {
		g.temp = tempPrefix + rand.Text()
	}
	g.made++
	return path.Join(path.Dir(name), g.temp+strconv.Itoa(g.made))
}

// make puts a placeholder in place, dated and locked: one that is ended while it
// does so must leave nothing that nobody knows for a placeholder, and nobody may
// come by and take one that has no date yet for something else, or one that nobody
// has locked yet away.
func (g *Guard) make(name string, dir bool) (int, error) {
	at, temp := int(g.root.Fd()), g.temporary(name)
	how := unix.OpenHow{Flags: unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NOFOLLOW | unix.O_DIRECTORY, Resolve: beneath}
	flags := unix.AT_REMOVEDIR
	if dir {
		if err := unix.Mkdirat(at, temp, 0o755); err != nil {
			return -1, err
		}
	} else {
		how = unix.OpenHow{Flags: unix.O_WRONLY | unix.O_CLOEXEC | unix.O_NOFOLLOW | unix.O_CREAT | unix.O_EXCL, Mode: 0o644, Resolve: beneath}
		flags = 0
	}
	fd, err := unix.Openat2(at, temp, &how)
	if err != nil {
		return -1, errors.Join(err, unlink(at, temp, flags))
	}
	if fill := filling[name]; !dir && fill != "" {
		_, err = unix.Write(fd, []byte(fill))
	}
	if err == nil {
		err = date1970(fd)
	}
	if err == nil {
		err = flock(fd, unix.LOCK_SH)
	}
	if err == nil {
		err = unix.Renameat2(at, temp, at, name, unix.RENAME_NOREPLACE)
	}
	if err != nil {
		return -1, errors.Join(err, unix.Close(fd), unlink(at, temp, flags))
	}
	return fd, nil
}

// unlink removes what is there, if it is.
func unlink(at int, name string, flags int) error {
	if err := unix.Unlinkat(at, name, flags); !errors.Is(err, unix.ENOENT) {
		return err
	}
	return nil
}

func date1970(fd int) error {
	times := []unix.Timespec{{Sec: date.Unix()}, {Sec: date.Unix()}}
	if err := unix.UtimesNanoAt(fd, "", times, unix.AT_EMPTY_PATH); err != nil {
		// Before Linux 6.? an empty path needs /proc.
		return os.Chtimes(fmt.Sprintf("/proc/self/fd/%d", fd), date, date)
	}
	return nil
}

// Release takes away the placeholders that no other run relies on, and closes
// the workspace.
func (g *Guard) Release() error {
	var errs []error
	for _, p := range g.places {
		errs = append(errs, errors.Join(g.release(p), unix.Close(p.fd)))
	}
	g.places = nil
	return errors.Join(append(errs, g.root.Close())...)
}

func (g *Guard) release(p place) error {
	err := flock(p.fd, unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil // another run's last one will
	}
	if err != nil {
		return err
	}
	var ours unix.Stat_t
	if err := unix.Fstat(p.fd, &ours); err != nil {
		return err
	}
	there, err := g.stat(p.name)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, errLink) {
		return nil // somebody made something of it, or of what it is in
	}
	if err != nil {
		return err
	}
	if ours.Ino != there.Ino || ours.Dev != there.Dev || !isPlaceholder(p.name, there) {
		return nil // the same
	}
	flags := 0
	if there.Mode&unix.S_IFMT == unix.S_IFDIR {
		flags = unix.AT_REMOVEDIR
	}
	err = unix.Unlinkat(int(g.root.Fd()), p.name, flags)
	if errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}
