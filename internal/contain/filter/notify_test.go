//go:build linux

package filter

import (
	"errors"
	"os"
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// As struct seccomp_notif and seccomp_notif_resp.
type notice struct {
	ID    uint64
	PID   uint32
	Flags uint32
	Data  SeccompData
}

type reply struct {
	ID    uint64
	Val   int64
	Error int32
	Flags uint32
}

// TestNotify listens to a filter as a supervisor does: a denied call arrives
// with its words, and fails with what the listener says.
func TestNotify(t *testing.T) {
	t.Parallel()
	f := build(t, "", Options{Network: "none", TCPOnly: true, Notify: true})
	listener, result := make(chan int), make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread goes, and the filter with it
		fd, err := installHere(f, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER)
		if err != nil {
			fd = -1
		}
		listener <- fd
		if err == nil {
			// Not unix.Socket: that is a raw call, which keeps the scheduler
			// waiting, and the listener is in this very process.
			_, _, errno := unix.Syscall(unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			err = errno
		}
		result <- err
	}()
	fd := <-listener
	if fd < 0 {
		t.Fatalf("installing with a listener: %v", <-result)
	}
	defer unix.Close(fd)
	// A signal makes the kernel take the call back and ask again, under a new
	// ID; then the one at hand is gone.
	for errno := unix.ENOENT; errno == unix.ENOENT; {
		var n notice
		if errno = control(fd, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)); errno != 0 {
			continue
		}
		name, args := Describe(runtime.GOARCH, n.Data)
		if name != "socket" || args != "AF_INET, SOCK_STREAM, 0" || n.Data.Arch != audit(runtime.GOARCH) {
			t.Errorf("heard %s %s (arch %#x)", name, args, n.Data.Arch)
		}
		r := reply{ID: n.ID, Error: -int32(Denied)}
		if errno = control(fd, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r)); errno != 0 && errno != unix.ENOENT {
			t.Fatalf("answering: %v", errno)
		}
	}
	if err := <-result; !errors.Is(err, unix.EPERM) {
		t.Errorf("the call returned %v, want EPERM", err)
	}
}

func control(fd int, command uint, what unsafe.Pointer) syscall.Errno {
	for {
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), uintptr(command), uintptr(what))
		if errno != unix.EINTR {
			return errno
		}
	}
}

// installHere puts the filter on the calling thread, or with TSYNC on all, for
// good.
func installHere(f Filter, flags uintptr) (int, error) {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return -1, os.NewSyscallError("prctl", err)
	}
	prog := unix.SockFprog{Len: uint16(len(f.Program)), Filter: &f.Program[0]}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return -1, os.NewSyscallError("seccomp", errno)
	}
	return int(fd), nil
}

// BenchmarkBuild is what a run pays when its filter isn't at hand.
func BenchmarkBuild(b *testing.B) {
	for b.Loop() {
		if _, err := Build(Options{Network: "none", Notify: true}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkInstall is what every run pays. The filter of no conditions is the
// floor; a new thread for each keeps filters from piling up.
func BenchmarkInstall(b *testing.B) {
	none, err := Build(Options{Network: "none"})
	if err != nil {
		b.Fatal(err)
	}
	tcp, err := Build(Options{Network: "allowlist", TCPOnly: true, Notify: true})
	if err != nil {
		b.Fatal(err)
	}
	floor := Filter{Program: []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}}}
	for name, f := range map[string]Filter{"floor": floor, "none": none, "tcp": tcp} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				ready, start, done := make(chan struct{}), make(chan struct{}), make(chan error)
				go func() {
					runtime.LockOSThread()
					close(ready)
					<-start
					_, err := installHere(f, 0)
					done <- err
				}()
				<-ready
				b.StartTimer()
				close(start)
				if err := <-done; err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
