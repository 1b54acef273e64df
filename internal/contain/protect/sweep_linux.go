package protect

import (
	"errors"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

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
	g.settle()
	return errors.Join(append(errs, g.Release())...)
}

// settle waits a moment for who is on his way out: a process that ends lets go of what it
// had open one by one, of its run's lock perhaps before the placeholders.
func (g *Guard) settle() {
	tries := mostTries
	for _, p := range g.places {
		for tries > 0 && errors.Is(flock(p.fd, unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK) {
			tries--
			<-time.After(tryAgain)
		}
	}
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
