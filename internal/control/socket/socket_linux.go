// Package socket makes, and finds, the Unix socket by which a run's supervisor
// is spoken to.
//
// # Limits
//
// Who is at the other end is asked by package peer, and what is said is package
// control's. Linux only: elsewhere there are no supervisors.
package socket

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	socketName = "control"
	queue      = 4096 // connections that wait to be accepted
)

// A Listener removes its socket when it is closed, and keeps the directory open
// for that.
type Listener struct {
	net.Listener
	dir  *os.File
	once sync.Once
	own  unix.Stat_t // of the socket as we made it
	err  error
}

// Listen makes the socket "control" in dir, for this user only. One that a
// supervisor left behind is replaced: the caller has the run's lock, so nobody
// is listening on it. Closing the listener removes the socket.
func Listen(dir string) (net.Listener, error) {
	d, err := openDir(dir)
	if err != nil {
		return nil, err
	}
	l, err := listenIn(d)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("control socket in %s: %w", dir, err), d.Close())
	}
	return l, nil
}

func listenIn(d *os.File) (*Listener, error) {
	if err := removeStale(d); err != nil {
		return nil, err
	}
	l, err := bind(pathThrough(d))
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstatat(int(d.Fd()), socketName, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return &Listener{Listener: l, dir: d, own: st}, nil
}

// bind makes the socket by hand: the mode of the unbound socket becomes that of
// its file, so that it is never there with another.
func bind(path string) (net.Listener, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), socketName)
	err = unix.Fchmod(fd, 0o600)
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrUnix{Name: path})
	}
	if err == nil {
		err = unix.Listen(fd, queue)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	l, err := net.FileListener(f)
	return l, errors.Join(err, f.Close())
}

func removeStale(d *os.File) error {
	var st unix.Stat_t
	err := unix.Fstatat(int(d.Fd()), socketName, &st, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return errors.New("something that isn't a socket is in its place")
	}
	return unix.Unlinkat(int(d.Fd()), socketName, 0)
}

// Close ends the listening and removes the socket if it is still ours.
func (l *Listener) Close() error {
	l.once.Do(func() {
		l.err = l.Listener.Close()
		var st unix.Stat_t
		err := unix.Fstatat(int(l.dir.Fd()), socketName, &st, unix.AT_SYMLINK_NOFOLLOW)
		// Inode numbers are used again; with the same time of change it is ours.
		if err == nil && st.Ino == l.own.Ino && st.Ctim == l.own.Ctim {
			err = unix.Unlinkat(int(l.dir.Fd()), socketName, 0)
		}
		if errors.Is(err, unix.ENOENT) {
			err = nil
		}
		l.err = errors.Join(l.err, err, l.dir.Close())
	})
	return l.err
}

func openDir(dir string) (*os.File, error) {
	return os.OpenFile(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
}

// pathThrough is a short way to the socket: the kernel takes no socket path of
// more than 107 bytes.
func pathThrough(d *os.File) string {
	return filepath.Join("/proc/self/fd", fmt.Sprint(d.Fd()), socketName)
}

// Connect reaches the supervisor of the run in dir. fs.ErrNotExist or
// ECONNREFUSED in the error mean that there is none.
func Connect(ctx context.Context, dir string) (net.Conn, error) {
	d, err := openDir(dir)
	if err != nil {
		return nil, err
	}
	conn, err := connect(ctx, pathThrough(d))
	if err := errors.Join(err, d.Close()); err != nil {
		if conn != nil {
			conn.Close()
		}
		return nil, fmt.Errorf("control socket in %s: %w", dir, err)
	}
	return conn, nil
}

// connect dials, and waits while the supervisor's queue of connections is full,
// which a Unix socket answers with EAGAIN.
func connect(ctx context.Context, path string) (net.Conn, error) {
	var dialer net.Dialer
	retry := time.NewTicker(2 * time.Millisecond)
	defer retry.Stop()
	for {
		conn, err := dialer.DialContext(ctx, "unix", path)
		if !errors.Is(err, unix.EAGAIN) || ctx.Err() != nil {
			return conn, err
		}
		select {
		case <-retry.C:
		case <-ctx.Done():
		}
	}
}
