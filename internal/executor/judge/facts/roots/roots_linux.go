package roots

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"paddock/internal/policy"
	"paddock/internal/trust"
)

// A root is a directory of the policy, opened before anything inside it.
type root struct {
	name string // as the policy says it
	real string // with links followed
	file *os.File
}

// Roots are those of the policy that exist.
type Roots struct {
	list  []root
	first *root  // of the policy, for relative paths; nil if it doesn't exist
	left  []root // in which nothing is found; see Leave
	fault error  // the first that says nothing of what was looked at
}

// Fault returns an error that says nothing of any path, as when no descriptors
// are left. Then nothing that was found, or not, means anything.
func (r *Roots) Fault() error { return r.fault }

func (r *Roots) note(err error) {
	if r.fault == nil && trust.Fault(err) {
		r.fault = err
	}
}

// Open opens the roots that exist.
func Open(names []string) *Roots {
	r := &Roots{}
	for _, name := range names {
		file, err := trust.Openat(unix.AT_FDCWD, name, unix.O_PATH|unix.O_DIRECTORY)
		r.note(err)
		if err != nil {
			continue
		}
		real, err := RealPath(file)
		r.note(err)
		if err != nil {
			file.Close()
			continue
		}
		r.list = append(r.list, root{name, real, file})
	}
	var kept []root
	for _, one := range r.list {
		if r.plantable(one) {
			one.file.Close()
			continue
		}
		kept = append(kept, one)
	}
	r.list = kept
	if len(r.list) > 0 && len(names) > 0 && r.list[0].name == names[0] {
		r.first = &r.list[0]
	}
	return r
}

// Confine puts a directory inside one of the roots in the place of all of them: by its
// own name, of which no link is a part, so that nobody who may run elsewhere in the root
// can put another in its place. What isn't such a directory leaves no roots.
func (r *Roots) Confine(workspace string) {
	of := r.list
	r.list, r.first = nil, nil
	var in *root
	for i := range of {
		if _, ok := inside(of[i].name, workspace); ok && (in == nil || len(of[i].name) > len(in.name)) {
			in = &of[i]
		}
	}
	if in != nil && path.Clean(workspace) == workspace {
		rest, _ := inside(in.name, workspace)
		file, err := openat2(int(in.file.Fd()), rest, unix.O_PATH|unix.O_DIRECTORY, unix.RESOLVE_BENEATH|unix.RESOLVE_NO_MAGICLINKS|unix.RESOLVE_NO_SYMLINKS)
		r.note(err)
		if err == nil {
			real, err := RealPath(file)
			r.note(err)
			if err == nil {
				r.list = []root{{workspace, real, file}}
				r.first = &r.list[0]
			} else {
				file.Close()
			}
		}
	}
	for _, one := range of {
		one.file.Close()
	}
}

// Leave leaves out the roots that have one of some directories in them or around them, by
// their names or where those lead. What is relative to the first root is nowhere then.
func (r *Roots) Leave(apart []string) {
	if len(apart) == 0 {
		return
	}
	dirs := slices.Clone(apart)
	for _, name := range apart {
		file, err := trust.Openat(unix.AT_FDCWD, name, unix.O_PATH|unix.O_DIRECTORY)
		r.note(err)
		if err != nil {
			continue // its name counts
		}
		real, err := RealPath(file)
		r.note(err)
		file.Close()
		dirs = append(dirs, real)
	}
	var kept []root
	for _, one := range r.list {
		if slices.ContainsFunc(dirs, func(dir string) bool { return one.touches(dir) }) {
			r.left = append(r.left, one)
			continue
		}
		kept = append(kept, one)
	}
	isFirst := r.first != nil && len(kept) > 0 && kept[0].name == r.first.name
	if r.list, r.first = kept, nil; isFirst {
		r.first = &r.list[0]
	}
}

// touches reports whether dir is in the root or the root in dir.
func (one root) touches(dir string) bool {
	for _, name := range []string{one.name, one.real} {
		_, in := inside(name, dir)
		_, around := inside(dir, name)
		if in || around {
			return true
		}
	}
	return false
}

// apart reports whether p lies in a root that was left out.
func (r *Roots) apart(p string) bool {
	return p != "" && slices.ContainsFunc(r.left, func(one root) bool { return one.holds(p) })
}

// holds reports whether p lies in the root, by its name or by where that leads.
func (one root) holds(p string) bool {
	_, byName := inside(one.name, p)
	_, byReal := inside(one.real, p)
	return byName || byReal
}

// plantable reports whether one is a link inside another root: whoever runs
// there could have put it in the place of the directory that was meant.
func (r *Roots) plantable(one root) bool {
	return one.real != one.name && slices.ContainsFunc(r.list, func(other root) bool {
		return other.name != one.name && other.holds(one.name)
	})
}

func (r *Roots) Close() {
	for _, one := range slices.Concat(r.list, r.left) {
		one.file.Close()
	}
}

// holding returns the root that holds the real path p, and the rest of p below
// it. Of roots inside one another the innermost is meant.
func (r *Roots) holding(p string) (found *root, rest string) {
	for i := range r.list {
		one := &r.list[i]
		below, ok := inside(one.real, p)
		if ok && (found == nil || len(one.real) > len(found.real)) {
			found, rest = one, below
		}
	}
	return found, rest
}

// inside reports whether the clean path p is dir or below it, by components,
// and where; "." is dir itself.
func inside(dir, p string) (rest string, ok bool) {
	if p == dir {
		return ".", true
	}
	if dir != "/" {
		dir += "/"
	}
	rest, ok = strings.CutPrefix(p, dir)
	return rest, ok && rest != ""
}

var errOutside = errors.New("outside every root")

// tries bounds how often a path that changes under our hands is looked at.
const tries = 64

// open opens what p leads to from base, with flags, provided that it lies
// inside a root. It finds out where that is, and then opens it a second time
// from the root's own descriptor and without following any link, so that at
// that moment it was inside whatever anyone did to the path. kind is the file
// type that it must have.
func (r *Roots) open(base *os.File, basePath, p string, flags int, kind uint32) (*os.File, string, *root, error) {
	var err error
	for range tries {
		var seen *os.File
		seen, err = r.openFrom(base, basePath, p)
		r.note(err)
		if err != nil {
			return nil, "", nil, err
		}
		file, real, in, again := r.reopen(seen, flags, kind)
		r.note(again)
		seen.Close()
		if !moved(again) {
			return file, real, in, again
		}
		err = again
	}
	return nil, "", nil, err
}

// moved reports whether an error may come from a path that was changed between
// two looks at it.
func moved(err error) bool {
	return errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.EXDEV)
}

// reopen opens seen again beneath the root that holds it.
func (r *Roots) reopen(seen *os.File, flags int, kind uint32) (*os.File, string, *root, error) {
	var was, is unix.Stat_t
	if err := unix.Fstat(int(seen.Fd()), &was); err != nil {
		return nil, "", nil, err
	}
	real, err := RealPath(seen)
	if err != nil {
		return nil, "", nil, err
	}
	in, rest := r.holding(real)
	if in == nil {
		return nil, "", nil, errOutside
	}
	if was.Mode&unix.S_IFMT != kind {
		if kind == unix.S_IFDIR {
			return nil, real, in, unix.ENOTDIR
		}
		return nil, real, in, unix.EINVAL
	}
	file, err := openat2(int(in.file.Fd()), rest, flags, unix.RESOLVE_BENEATH|unix.RESOLVE_NO_MAGICLINKS|unix.RESOLVE_NO_SYMLINKS)
	if err != nil {
		return nil, real, in, err
	}
	if err := unix.Fstat(int(file.Fd()), &is); err != nil {
		file.Close()
		return nil, real, in, err
	}
	if was.Dev != is.Dev || was.Ino != is.Ino {
		file.Close()
		return nil, real, in, unix.EAGAIN
	}
	return file, real, in, nil
}

// Dir finds the working directory. A directory outside every root looks the
// same whether it exists or not, so that asking for it tells nothing.
func (r *Roots) Dir(name string) (policy.DirFacts, *os.File) {
	if r.first == nil && !path.IsAbs(name) {
		return policy.DirFacts{Apart: len(r.left) > 0}, nil
	}
	if name == "" {
		name = "."
	}
	var base *os.File
	basePath := ""
	if r.first != nil {
		base, basePath = r.first.file, r.first.real
	}
	file, real, in, err := r.open(base, basePath, name, unix.O_PATH|unix.O_DIRECTORY, unix.S_IFDIR)
	if err == nil {
		return policy.DirFacts{Found: true, Real: real, Root: in.name}, file
	}
	leads := r.leads(base, basePath, name)
	return policy.DirFacts{Found: !leads.Inside && leads.Real != "", Real: leads.Real, Apart: r.apart(leads.Real)}, nil
}

// Real is where the root of that name was found, with links followed; empty if it wasn't.
func (r *Roots) Real(name string) string {
	for _, one := range r.list {
		if one.name == name {
			return one.real
		}
	}
	return ""
}

// Path says where the argument p leads for a program that runs in dir.
func (r *Roots) Path(dir *os.File, dirPath, p string) policy.PathFacts {
	if p == "" {
		return policy.PathFacts{}
	}
	return r.leads(dir, dirPath, p)
}

// Stdin opens a regular file inside a root for reading.
func (r *Roots) Stdin(dir *os.File, dirPath, p string) (policy.StdinFacts, *os.File) {
	facts := policy.StdinFacts{Checked: true}
	// Not blocking, for the case that a pipe takes the file's place meanwhile.
	file, _, _, err := r.open(dir, dirPath, p, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, unix.S_IFREG)
	if err == nil {
		if err := unix.SetNonblock(int(file.Fd()), false); err != nil {
			file.Close()
			facts.Problem = fmt.Sprintf("%s can't be read: %v", p, err)
			return facts, nil
		}
		return facts, file
	}
	leads := r.leads(dir, dirPath, p)
	switch {
	case !leads.Inside && leads.Real != "":
		facts.Problem = fmt.Sprintf("%s leads to %s, which is outside every root", p, leads.Real)
	case errors.Is(err, unix.EINVAL):
		facts.Problem = p + " is not a regular file"
	default:
		facts.Problem = fmt.Sprintf("%s can't be read: %v", p, err)
	}
	return facts, nil
}

// RealPath asks the kernel where an open file is.
func RealPath(f *os.File) (string, error) {
	return os.Readlink("/proc/self/fd/" + strconv.Itoa(int(f.Fd())))
}

// openat2 opens with O_CLOEXEC. The kernel answers EAGAIN when a rename
// elsewhere made it unsure whether ".." stayed beneath; then it is asked again.
func openat2(dir int, p string, flags int, resolve uint64) (*os.File, error) {
	how := unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC), Resolve: resolve}
	var err error
	for range tries {
		var fd int
		fd, err = unix.Openat2(dir, p, &how)
		if err == nil {
			return os.NewFile(uintptr(fd), p), nil
		}
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
			break
		}
	}
	return nil, err
}
