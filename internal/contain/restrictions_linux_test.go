package contain

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/testproc"
)

// What Landlock holds beside files is held by nothing else where there is no namespace of
// processes, and by the filter of system calls where there is: so each is tried by itself.
func TestRestrictionsHold(t *testing.T) {
	t.Parallel()
	abi := Probe().LandlockABI
	if abi < 6 {
		testproc.Skip(t, "Landlock holds less here")
	}
	_, port := listening(t, unix.AF_INET, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	_, abstract := listening(t, unix.AF_UNIX, &unix.SockaddrUnix{Name: "@paddock-restrictions-" + strconv.Itoa(os.Getpid())})
	for _, tc := range []struct {
		level   paddock.Level
		network string
		tcp     bool // it is held
	}{{paddock.Standard, "none", true}, {paddock.Standard, "host", false}, {paddock.Full, "none", false}} {
		for name, held := range map[string]struct {
			want error
			do   func() error
		}{
			"connect by TCP":                {denied(tc.tcp), func() error { return connected(unix.AF_INET, port) }},
			"listen by TCP":                 {denied(tc.tcp), func() error { return bound(&unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}) }},
			"connect to an abstract socket": {unix.EPERM, func() error { return connected(unix.AF_UNIX, abstract) }},
			"signal a process outside":      {unix.EPERM, func() error { return unix.Kill(os.Getppid(), 0) }},
		} {
			if err := restricted(restrictions(tc.level, tc.network, abi), held.do); !errors.Is(err, held.want) {
				t.Errorf("%s at %s with network %s: %v, want %v", name, tc.level, tc.network, err, held.want)
			}
			if err := held.do(); err != nil && name != "signal a process outside" { // an ordinary user's parent may be root's
				t.Errorf("%s without restrictions: %v", name, err)
			}
		}
	}
}

func denied(held bool) error {
	if held {
		return unix.EACCES
	}
	return nil
}

// restricted does something in a thread that is restricted.
func restricted(attr []byte, do func() error) error {
	return inThread(func() error {
		fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(unsafe.SliceData(attr))), uintptr(len(attr)), 0)
		if errno != 0 {
			return errno
		}
		defer unix.Close(int(fd))
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return err
		}
		if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
			return errno
		}
		return do()
	})
}

// inThread does something in a thread of its own, which ends with it.
func inThread(do func() error) error {
	said := make(chan error)
	go func() {
		runtime.LockOSThread() // for ever
		said <- do()
	}()
	return <-said
}

// listening is a socket that listens, and where.
func listening(t *testing.T, family int, at unix.Sockaddr) (int, unix.Sockaddr) {
	t.Helper()
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		t.Cleanup(func() { unix.Close(fd) })
		err = errors.Join(unix.Bind(fd, at), unix.Listen(fd, 100))
	}
	if err == nil {
		at, err = unix.Getsockname(fd)
	}
	if err != nil {
		t.Fatal(err)
	}
	return fd, at
}

func connected(family int, to unix.Sockaddr) error {
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Connect(fd, to)
}

func bound(at unix.Sockaddr) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Bind(fd, at)
}
