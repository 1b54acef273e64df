package trust

import (
	"errors"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// mostLinks is the kernel's own bound on symbolic links in one path.
const mostLinks = 40

// A Place is where a walk along a path ended.
type Place struct {
	// File is the last thing that exists, opened with O_PATH.
	File *os.File
	Stat unix.Stat_t
	// Path has every link followed.
	Path string
	// parent and name are how a file that isn't a directory was reached; nil and
	// empty for a directory.
	parent *os.File
	name   string
	// Missing is what doesn't exist below Path.
	Missing []string
}

// Close closes what the walk has opened.
func (p *Place) Close() {
	if p.File != nil {
		p.File.Close()
	}
	if p.parent != nil {
		p.parent.Close()
	}
}

// Take returns File, which isn't closed with the place then.
func (p *Place) Take() *os.File {
	f := p.File
	p.File = nil
	return f
}

// A Check looks at one directory, link or file on the way; an error ends
// the walk and is returned as it is.
type Check func(at string, st *unix.Stat_t) error

// Walk follows p one component at a time without ever letting the kernel follow
// a link, so that check sees every directory and every link on the way. It
// starts at the directory base, whose path is basePath, unless p is absolute.
// Components that don't exist end it without an error.
func Walk(base *os.File, basePath, p string, check Check) (*Place, error) {
	return walk(base, basePath, p, walker{check: check})
}

// WalkForOther is Walk for a path that another process is going to open. What a
// link of the proc file system leads to depends on who follows it, /proc/self
// above all, so it is an error: our answer wouldn't be that process's.
func WalkForOther(base *os.File, basePath, p string) (*Place, error) {
	return walk(base, basePath, p, walker{forOther: true})
}

// ErrStray is that a path goes up again from a place that it had nothing to do at.
var ErrStray = errors.New("it goes by way of another place")

// WalkBeside is WalkForOther for a path that somebody wrote who may not learn what there
// is at the places of which strange says yes. Whoever goes up from such a place, by "..",
// asks whether it is there, so that is ErrStray. What a link at such a place says is
// somebody else's word: it may go up from where the link is.
func WalkBeside(base *os.File, basePath, p string, strange func(at string) bool) (*Place, error) {
	return walk(base, basePath, p, walker{forOther: true, strange: strange})
}

// WalkForUs is Walk without a check.
func WalkForUs(base *os.File, basePath, p string) (*Place, error) {
	return walk(base, basePath, p, walker{})
}

func walk(base *os.File, basePath, p string, w walker) (*Place, error) {
	w.todo, w.dir = strings.Split(p, "/"), none
	var err error
	if path.IsAbs(p) {
		err = w.restart()
	} else if base == nil {
		err = unix.EINVAL
	} else {
		err = w.enter(int(base.Fd()), ".", basePath)
	}
	defer w.leave()
	if err != nil {
		return nil, err
	}
	for len(w.todo) > 0 {
		name := w.todo[0]
		w.todo = w.todo[1:]
		if name == "" || name == "." {
			continue
		}
		end, err := w.next(name)
		if err != nil || end != nil {
			return end, err
		}
	}
	end := &Place{File: w.taken(), Path: w.at}
	return end, unix.Fstat(int(end.File.Fd()), &end.Stat)
}

// none is no descriptor.
const none = -1

type walker struct {
	check    Check
	forOther bool // no links of the proc file system
	strange  func(at string) bool
	todo     []string
	dir      int    // where we are, or none: most are open for one step, and need no os.File
	at       string // its path
	links    int
}

// restart goes to the root of the file system.
func (w *walker) restart() error { return w.enter(unix.AT_FDCWD, "/", "/") }

// enter makes the directory name the place where we are.
func (w *walker) enter(fd int, name, at string) error {
	dir, err := openat(fd, name, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	w.move(dir, at)
	var st unix.Stat_t
	if err := unix.Fstat(dir, &st); err != nil {
		return err
	}
	return w.look(at, &st)
}

// move makes the open directory dir the place where we are.
func (w *walker) move(dir int, at string) {
	w.leave()
	w.dir, w.at = dir, at
}

// leave closes the place where we are, if it is still ours.
func (w *walker) leave() {
	if w.dir != none {
		_ = unix.Close(w.dir) // nothing went through
		w.dir = none
	}
}

// taken is the place where we are, which isn't ours any more.
func (w *walker) taken() *os.File {
	f := os.NewFile(uintptr(w.dir), w.at)
	w.dir = none
	return f
}

func (w *walker) look(at string, st *unix.Stat_t) error {
	if w.check == nil {
		return nil
	}
	return w.check(at, st)
}

// next takes one step to name and returns a place when the walk ends there.
func (w *walker) next(name string) (*Place, error) {
	if name == ".." {
		if w.strange != nil && w.strange(w.at) {
			return nil, ErrStray
		}
		return nil, w.enter(w.dir, "..", path.Dir(w.at))
	}
	at := path.Join(w.at, name)
	file, err := openat(w.dir, name, unix.O_PATH|unix.O_NOFOLLOW)
	if errors.Is(err, unix.ENOENT) {
		return &Place{File: w.taken(), Path: w.at, Missing: append([]string{name}, w.todo...)}, nil
	}
	if err != nil {
		return nil, err
	}
	ours := true
	defer func() {
		if ours {
			_ = unix.Close(file) // nothing went through
		}
	}()
	var st unix.Stat_t
	if err := unix.Fstat(file, &st); err != nil {
		return nil, err
	}
	if err := w.look(at, &st); err != nil {
		return nil, err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		ours = false
		w.move(file, at)
		return nil, nil
	case unix.S_IFLNK:
		return nil, w.follow(file)
	}
	for _, rest := range w.todo {
		if rest != "" {
			return nil, unix.ENOTDIR
		}
	}
	ours = false
	return &Place{File: os.NewFile(uintptr(file), name), Stat: st, Path: at, parent: w.taken(), name: name}, nil
}

// follow puts what link leads to in front of what is still to do.
func (w *walker) follow(link int) error {
	if w.links++; w.links > mostLinks {
		return unix.ELOOP
	}
	if w.forOther {
		var fs unix.Statfs_t
		if err := unix.Fstatfs(link, &fs); err != nil {
			return err
		}
		if fs.Type == unix.PROC_SUPER_MAGIC {
			return unix.ELOOP
		}
	}
	buf := make([]byte, unix.PathMax+1)
	n, err := unix.Readlinkat(link, "", buf)
	if err != nil {
		return err
	}
	if n == 0 || n > unix.PathMax {
		return unix.ENAMETOOLONG
	}
	target := string(buf[:n])
	steps := strings.Split(target, "/")
	if path.IsAbs(target) {
		w.todo = append(steps, w.todo...)
		return w.restart()
	}
	if w.strange != nil && w.strange(w.at) {
		for len(steps) > 0 && steps[0] == ".." {
			if err := w.enter(w.dir, "..", path.Dir(w.at)); err != nil {
				return err
			}
			steps = steps[1:]
		}
	}
	w.todo = append(steps, w.todo...)
	return nil
}

// Openat opens with O_CLOEXEC and goes on after interruptions.
func Openat(dir int, name string, flags int) (*os.File, error) {
	fd, err := openat(dir, name, flags)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

func openat(dir int, name string, flags int) (int, error) {
	for {
		fd, err := unix.Openat(dir, name, flags|unix.O_CLOEXEC, 0)
		if err == nil || !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}
