// Package tricks has the attempts to escape that take more than one call.
//
// # Limits
//
// Like those of package escape, they are harmless when they succeed.
package tricks

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Setuid leaves a program behind that would run as the user of this run for
// whoever starts it.
func Setuid(root string) error {
	path := filepath.Join(root, "setuid")
	defer os.Remove(path)
	fd, err := unix.Open(path, unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o755)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	ways := []func() error{
		func() error { return unix.Chmod(path, 0o4755) },
		func() error { return unix.Fchmod(fd, 0o4755) },
		func() error { return unix.Fchmodat(unix.AT_FDCWD, path, 0o4755, 0) },
		func() error { return unix.Fchmodat(unix.AT_FDCWD, path, 0o4755, unix.AT_SYMLINK_NOFOLLOW) },
		func() error { return created(path, 0o4755) },
	}
	var refused error = errors.New("no effect")
	for _, way := range ways {
		if err := way(); err != nil {
			refused = err
		}
		var st unix.Stat_t
		if err := unix.Stat(path, &st); err == nil && st.Mode&unix.S_ISUID != 0 {
			return nil
		}
	}
	return refused
}

func created(path string, mode uint32) error {
	if err := os.Remove(path); err != nil {
		return err
	}
	fd, err := unix.Open(path, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, mode)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// Race exchanges a directory with a link to the outside while it makes files
// below that name.
func Race(root, outside string) error {
	dir, link := filepath.Join(root, "race"), filepath.Join(root, "race-link")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	if err := os.Symlink(outside, link); err != nil {
		return err
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, dir, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE)
			}
		}
	}()
	for i := range 2000 {
		// Some land in the directory, some meet the link.
		_ = os.WriteFile(filepath.Join(dir, fmt.Sprint("raced", i%10)), nil, 0o600)
		_, _ = os.ReadFile(filepath.Join(dir, "secret"))
	}
	close(stop)
	<-stopped
	_, inDir := os.ReadFile(filepath.Join(dir, "secret"))
	_, inLink := os.ReadFile(filepath.Join(link, "secret"))
	if inDir == nil || inLink == nil {
		return nil
	}
	return inLink
}
