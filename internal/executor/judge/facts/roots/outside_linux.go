package roots

import (
	"errors"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"paddock/internal/policy"
	"paddock/internal/trust"
)

// What there is outside of the roots is not for the caller to learn: neither whether a
// name is there, nor what it is, nor where a link leads. So a path that goes out and comes
// back by ".." leads nowhere, and of one that stays outside only that is told which is
// known without a look there.

// openFrom opens what p leads to, without going by way of strange places.
func (r *Roots) openFrom(base *os.File, basePath, p string) (*os.File, error) {
	dir := unix.AT_FDCWD
	if !path.IsAbs(p) {
		if base == nil {
			return nil, unix.ENOENT
		}
		dir = int(base.Fd())
	}
	if everything, _ := r.holding("/"); everything != nil {
		return openat2(dir, p, unix.O_PATH, unix.RESOLVE_NO_MAGICLINKS)
	}
	if !slices.Contains(strings.Split(p, "/"), "..") {
		file, err := openat2(dir, p, unix.O_PATH, unix.RESOLVE_NO_MAGICLINKS|unix.RESOLVE_NO_SYMLINKS)
		if !errors.Is(err, unix.ELOOP) {
			return file, err
		}
	}
	end, err := trust.WalkBeside(base, basePath, p, r.strange)
	if err != nil {
		return nil, err
	}
	defer end.Close()
	if len(end.Missing) > 0 {
		return nil, unix.ENOENT
	}
	return end.Take(), nil
}

// strange reports whether a place, with links followed, is neither in a root nor above one.
func (r *Roots) strange(at string) bool {
	return !slices.ContainsFunc(r.list, func(one root) bool {
		return one.holds(at) || root{name: at, real: at}.holds(one.name) || root{name: at, real: at}.holds(one.real)
	})
}

// leads follows p, for a program, as far as it exists. A link whose target is missing
// leads to where the target would be. Outside of the roots nothing is followed.
func (r *Roots) leads(base *os.File, basePath, p string) policy.PathFacts {
	everything, _ := r.holding("/")
	end, err := r.walk(base, basePath, p, everything != nil) // it is inside, whoever follows it
	r.note(err)
	if err == nil {
		defer end.Close()
		real, err := RealPath(end.File)
		r.note(err)
		if err != nil {
			return policy.PathFacts{}
		}
		back := slices.Index(end.Missing, "..")
		if back < 0 {
			back = len(end.Missing)
		}
		real = path.Join(append([]string{real}, end.Missing[:back]...)...)
		if in, _ := r.holding(real); in != nil {
			return policy.PathFacts{Real: real, Inside: back == len(end.Missing)} // what would it leave? nobody can say
		}
	}
	return policy.PathFacts{Real: r.outside(basePath, p)}
}

func (r *Roots) walk(base *os.File, basePath, p string, everything bool) (*trust.Place, error) {
	if everything {
		return trust.WalkForUs(base, basePath, p)
	}
	return trust.WalkBeside(base, basePath, p, r.strange)
}

// mostLinks is the kernel's own bound on symbolic links in one path.
const mostLinks = 40

// outside returns where p, from basePath, leaves the roots to: links of the roots are
// followed, and what lies outside is told as it is written, up to where it would be left
// again. It is empty where p doesn't leave them, or isn't a path.
func (r *Roots) outside(basePath, p string) string {
	if strings.ContainsRune(p, 0) || !path.IsAbs(p) && basePath == "" {
		return ""
	}
	at, todo, links := basePath, strings.Split(p, "/"), 0
	if path.IsAbs(p) {
		at = "/"
	}
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		switch {
		case name == "" || name == ".":
		case name == ".." && r.strange(at):
			return at
		case name == "..":
			at = path.Dir(at)
		default:
			target, ok := r.link(path.Join(at, name))
			if !ok {
				at = r.named(path.Join(at, name))
				break
			}
			if links++; links > mostLinks {
				return ""
			}
			if todo = append(strings.Split(target, "/"), todo...); path.IsAbs(target) {
				at = "/"
			}
		}
	}
	if in, _ := r.holding(at); in != nil {
		return ""
	}
	return at
}

// named returns where the root that is called p is, else p.
func (r *Roots) named(p string) string {
	for _, one := range r.list {
		if one.name == p {
			return one.real
		}
	}
	return p
}

// link returns what the link at p, below a root, says.
func (r *Roots) link(p string) (target string, ok bool) {
	in, rest := r.holding(p)
	if in == nil {
		return "", false
	}
	file, err := openat2(int(in.file.Fd()), rest, unix.O_PATH|unix.O_NOFOLLOW, unix.RESOLVE_BENEATH|unix.RESOLVE_NO_MAGICLINKS|unix.RESOLVE_NO_SYMLINKS)
	r.note(err)
	if err != nil {
		return "", false
	}
	defer file.Close()
	buf := make([]byte, unix.PathMax+1)
	n, err := unix.Readlinkat(int(file.Fd()), "", buf)
	if err != nil || n == 0 || n > unix.PathMax {
		return "", false
	}
	return string(buf[:n]), true
}
