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
	p.File.Close()
	if p.parent != nil {
		p.parent.Close()
	}
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

// WalkForUs is Walk without a check.
func WalkForUs(base *os.File, basePath, p string) (*Place, error) {
	return walk(base, basePath, p, walker{})
}

func walk(base *os.File, basePath, p string, w walker) (*Place, error) {
	w.todo = strings.Split(p, "/")
	var err error
	if path.IsAbs(p) {
		err = w.restart()
	} else if base == nil {
		err = unix.EINVAL
	} else {
		err = w.enter(int(base.Fd()), ".", basePath)
	}
	if err != nil {
		return nil, err
	}
	defer func() {
		if w.dir != nil {
			w.dir.Close()
		}
	}()
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
	end := &Place{File: w.dir, Path: w.at}
	w.dir = nil
	return end, unix.Fstat(int(end.File.Fd()), &end.Stat)
}

type walker struct {
	check    Check
	forOther bool // no links of the proc file system
	todo     []string
	dir      *os.File // where we are
	at       string   // its path
	links    int
}

// restart goes to the root of the file system.
func (w *walker) restart() error { return w.enter(unix.AT_FDCWD, "/", "/") }

// enter makes the directory name the place where we are.
func (w *walker) enter(fd int, name, at string) error {
	dir, err := Openat(fd, name, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	if w.dir != nil {
		w.dir.Close()
	}
	w.dir, w.at = dir, at
	var st unix.Stat_t
	if err := unix.Fstat(int(dir.Fd()), &st); err != nil {
		return err
	}
	return w.look(at, &st)
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
		return nil, w.enter(int(w.dir.Fd()), "..", path.Dir(w.at))
	}
	at := path.Join(w.at, name)
	file, err := Openat(int(w.dir.Fd()), name, unix.O_PATH|unix.O_NOFOLLOW)
	if errors.Is(err, unix.ENOENT) {
		return w.end(&Place{File: w.dir, Path: w.at, Missing: append([]string{name}, w.todo...)})
	}
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil {
		file.Close()
		return nil, err
	}
	if err := w.look(at, &st); err != nil {
		file.Close()
		return nil, err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		w.dir.Close()
		w.dir, w.at = file, at
		return nil, nil
	case unix.S_IFLNK:
		defer file.Close()
		return nil, w.follow(file)
	}
	for _, rest := range w.todo {
		if rest != "" {
			file.Close()
			return nil, unix.ENOTDIR
		}
	}
	return w.end(&Place{File: file, Stat: st, Path: at, parent: w.dir, name: name})
}

// end hands the directory over to p, which holds it in one of its fields.
func (w *walker) end(p *Place) (*Place, error) {
	w.dir = nil
	return p, nil
}

// follow puts what link leads to in front of what is still to do.
func (w *walker) follow(link *os.File) error {
	if w.links++; w.links > mostLinks {
		return unix.ELOOP
	}
	if w.forOther {
		var fs unix.Statfs_t
		if err := unix.Fstatfs(int(link.Fd()), &fs); err != nil {
			return err
		}
		if fs.Type == unix.PROC_SUPER_MAGIC {
			return unix.ELOOP
		}
	}
	buf := make([]byte, unix.PathMax+1)
	n, err := unix.Readlinkat(int(link.Fd()), "", buf)
	if err != nil {
		return err
	}
	if n == 0 || n > unix.PathMax {
		return unix.ENAMETOOLONG
	}
	target := string(buf[:n])
	w.todo = append(strings.Split(target, "/"), w.todo...)
	if path.IsAbs(target) {
		return w.restart()
	}
	return nil
}

// Openat opens with O_CLOEXEC and goes on after interruptions.
func Openat(dir int, name string, flags int) (*os.File, error) {
	for {
		fd, err := unix.Openat(dir, name, flags|unix.O_CLOEXEC, 0)
		if err == nil {
			return os.NewFile(uintptr(fd), name), nil
		}
		if !errors.Is(err, unix.EINTR) {
			return nil, err
		}
	}
}
