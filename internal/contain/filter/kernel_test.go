//go:build linux

package filter

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"paddock/internal/testproc"
)

// insideVariable tells a test binary which option set it is to put itself under.
const insideVariable = "PADDOCK_FILTER_INSIDE"

// TestKernel puts whole test processes under each filter, as the user we are and
// as an ordinary one, and has TestInside try things there.
func TestKernel(t *testing.T) {
	t.Parallel()
	for _, set := range sets {
		for _, uid := range []int{os.Geteuid(), testproc.Nobody} {
			t.Run(fmt.Sprintf("%s as %d", set.name, uid), func(t *testing.T) {
				t.Parallel()
				cmd := testproc.Self(t, "-test.run=^TestInside$", "-test.v")
				cmd.Env = append(cmd.Env, insideVariable+"="+set.name)
				testproc.AsUser(t, cmd, uid)
				out, err := cmd.CombinedOutput()
				if err != nil || !strings.Contains(string(out), "--- PASS: TestInside/programs") {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
	}
}

// TestInside does nothing unless TestKernel has started it.
func TestInside(t *testing.T) {
	inside := os.Getenv(insideVariable)
	if inside == "" {
		return
	}
	scratch, others := t.TempDir(), listen(t)
	for _, set := range sets {
		if set.name == inside {
			if _, err := installHere(build(t, "", set.options), unix.SECCOMP_FILTER_FLAG_TSYNC); err != nil {
				t.Fatal(err)
			}
		}
	}
	in := func(names string) bool { return strings.Contains(" "+names+" ", " "+inside+" ") }
	t.Run("denials", func(t *testing.T) {
		for name := range denials {
			if errno := attempt(t, name, ^uintptr(0), ^uintptr(0), ^uintptr(0)); errno != unix.EPERM && errno != noSuchCall {
				t.Errorf("%s: got %v, want EPERM", name, errno)
			}
		}
		for name := range absences {
			if errno := attempt(t, name, ^uintptr(0), ^uintptr(0), ^uintptr(0)); errno != unix.ENOSYS && errno != noSuchCall {
				t.Errorf("%s: got %v, want ENOSYS", name, errno)
			}
		}
	})
	t.Run("operations", func(t *testing.T) { operations(t, in) })
	t.Run("pairs", func(t *testing.T) { pairs(t, in, others) })
	t.Run("files", func(t *testing.T) { files(t, scratch) })
	t.Run("runtime", func(t *testing.T) { goRuntime(t, in) })
	t.Run("programs", func(t *testing.T) { programs(t, scratch) })
}

// noSuchCall stands for a name that this architecture lacks.
const noSuchCall = syscall.Errno(^uintptr(0))

func attempt(t *testing.T, name string, args ...uintptr) syscall.Errno {
	t.Helper()
	n, ok := nr(runtime.GOARCH, name)
	if !ok {
		return noSuchCall
	}
	var a [6]uintptr
	copy(a[:], args)
	_, _, errno := unix.Syscall6(uintptr(n), a[0], a[1], a[2], a[3], a[4], a[5])
	return errno
}

// operations are tried with arguments that the kernel itself answers otherwise:
// the last column is what it says when the filter lets the call through.
func operations(t *testing.T, in func(string) bool) {
	const inets = "none allowlist host tcp unix namespaces listed"
	const udp = "none allowlist host unix namespaces listed"
	for _, op := range []struct {
		call    string
		args    []uintptr
		allowed string
		refused syscall.Errno
		through []syscall.Errno // any of these; none is success
	}{
		{"socket", []uintptr{unix.AF_INET, unix.SOCK_STREAM | unix.SOCK_CLOEXEC, 0}, inets, unix.EPERM, nil},
		{"socket", []uintptr{unix.AF_INET, unix.SOCK_DGRAM | unix.SOCK_NONBLOCK, 0}, udp, unix.EPERM, nil},
		{"socket", []uintptr{unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP}, "", unix.EPERM, nil},
		{"socket", []uintptr{unix.AF_UNIX, unix.SOCK_STREAM, 0}, "unix", unix.EPERM, nil},
		{"socket", []uintptr{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE}, all, unix.EPERM, nil},
		{"socket", []uintptr{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT}, "", unix.EPERM, nil},
		{"socket", []uintptr{unix.AF_VSOCK, unix.SOCK_STREAM, 0}, "", unix.EPERM, nil},
		{"socket", []uintptr{unix.AF_PACKET, unix.SOCK_RAW, 0}, "", unix.EPERM, nil},
		{"socket", []uintptr{unix.AF_ALG, unix.SOCK_SEQPACKET, 0}, "", unix.EPERM, nil},
		{"sendto", []uintptr{^uintptr(0), 0, 0, unix.MSG_FASTOPEN}, udp, unix.EPERM, []syscall.Errno{unix.EBADF}},
		{"sendmsg", []uintptr{^uintptr(0), 0, unix.MSG_FASTOPEN}, udp, unix.EPERM, []syscall.Errno{unix.EBADF}},
		{"sendto", []uintptr{^uintptr(0), 0, 0, 0}, all, unix.EPERM, []syscall.Errno{unix.EBADF}},
		{"setsockopt", []uintptr{^uintptr(0), unix.IPPROTO_TCP, unix.TCP_FASTOPEN_CONNECT}, udp, unix.EPERM, []syscall.Errno{unix.EBADF}},
		// CLONE_FS beside a new user namespace is an error to the kernel, so
		// nothing is made when the filter fails.
		{"clone", []uintptr{unix.CLONE_NEWUSER | unix.CLONE_FS}, "namespaces", unix.EPERM, []syscall.Errno{unix.EINVAL}},
		{"clone3", []uintptr{0, 0}, "namespaces", unix.ENOSYS, []syscall.Errno{unix.EINVAL}},
		{"unshare", []uintptr{unix.CLONE_NEWUSER}, "namespaces", unix.EPERM, []syscall.Errno{unix.EINVAL}}, // we have threads
		{"unshare", []uintptr{1 << 32}, "namespaces", unix.EPERM, []syscall.Errno{unix.EINVAL}},
		{"unshare", []uintptr{0}, all, unix.EPERM, nil},
		{"setns", []uintptr{^uintptr(0), 0}, "namespaces", unix.EPERM, []syscall.Errno{unix.EBADF}},
		{"ioctl", []uintptr{^uintptr(0), unix.TIOCSTI}, "", unix.EPERM, nil},
		{"ioctl", []uintptr{^uintptr(0), 1<<32 | unix.TIOCSTI}, "", unix.EPERM, nil},
		{"ioctl", []uintptr{^uintptr(0), tiocLinux}, "", unix.EPERM, nil},
		{"ioctl", []uintptr{^uintptr(0), unix.TCGETS}, all, unix.EPERM, []syscall.Errno{unix.EBADF}},
		{"personality", []uintptr{0xffffffff}, all, unix.EPERM, nil},
		{"personality", []uintptr{0x400000}, "", unix.EPERM, nil},
		{"memfd_create", []uintptr{0, 0}, strings.TrimSuffix(all, " listed"), unix.EPERM, []syscall.Errno{unix.EFAULT}},
		{"seccomp", []uintptr{unix.SECCOMP_GET_ACTION_AVAIL, 0, 0}, all, unix.EPERM, []syscall.Errno{unix.EFAULT}},
		{"landlock_create_ruleset", []uintptr{0, 0, 1 << 20}, all, unix.EPERM, []syscall.Errno{unix.EINVAL, unix.ENOSYS, unix.EOPNOTSUPP}},
	} {
		n, _ := nr(runtime.GOARCH, op.call)
		var a [6]uintptr
		copy(a[:], op.args)
		fd, _, errno := unix.Syscall6(uintptr(n), a[0], a[1], a[2], a[3], a[4], a[5])
		if op.call == "socket" && errno == 0 {
			unix.Close(int(fd))
		}
		ok := errno == op.refused
		if in(op.allowed) {
			ok = len(op.through) == 0 && errno == 0
			for _, e := range op.through {
				ok = ok || errno == e
			}
		}
		if !ok {
			t.Errorf("%s %#x: got %v (%d), allowed %t", op.call, op.args, errno, errno, in(op.allowed))
		}
	}
	for _, n := range []uintptr{600, 1 << 30, 1<<30 | 39} { // the last is getpid by x32
		if _, _, errno := unix.Syscall(n, 0, 0, 0); errno != unix.ENOSYS {
			t.Errorf("call %#x: got %v, want ENOSYS", n, errno)
		}
	}
	mptcp, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP)
	if err == nil {
		unix.Close(mptcp)
	}
	if want := map[bool]error{true: unix.EPERM, false: unix.EPROTONOSUPPORT}[in("closed")]; !errors.Is(err, want) {
		t.Errorf("multipath TCP: got %v, want %v", err, want)
	}
}

// outsiders are sockets that somebody else listens to, made before the filter:
// one for streams, one for datagrams.
type outsiders struct{ stream, datagram string }

func listen(t *testing.T) outsiders {
	t.Helper()
	o := outsiders{fmt.Sprintf("@paddock-stream-%d", os.Getpid()), fmt.Sprintf("@paddock-datagram-%d", os.Getpid())}
	stream, err := net.Listen("unix", o.stream)
	if err != nil {
		t.Fatal(err)
	}
	datagram, err := net.ListenPacket("unixgram", o.datagram)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(stream.Close(), datagram.Close()); err != nil {
			t.Error(err)
		}
	})
	return o
}

// pairs shows why only some pairs are given: a stream can't leave its twin for
// an outsider, a datagram socket can.
func pairs(t *testing.T, in func(string) bool, o outsiders) {
	leave := func(kind int, name string) error {
		fds, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("socketpair: %w", err)
		}
		defer unix.Close(fds[0])
		defer unix.Close(fds[1])
		return unix.Connect(fds[0], &unix.SockaddrUnix{Name: name})
	}
	if err := leave(unix.SOCK_STREAM, o.stream); !errors.Is(err, unix.EISCONN) && !errors.Is(err, unix.EINVAL) {
		t.Errorf("leaving a pair of streams: got %v, want that it is connected already", err)
	}
	switch err := leave(unix.SOCK_DGRAM, o.datagram); {
	case in("unix") && err != nil:
		t.Errorf("leaving a pair of datagram sockets: %v; if the kernel refuses it now, the filter needn't", err)
	case !in("unix") && !errors.Is(err, unix.EPERM):
		t.Errorf("leaving a pair of datagram sockets: got %v, want EPERM", err)
	}
}

func files(t *testing.T, dir string) {
	for _, tc := range []struct {
		name string
		mode uint32
		want error
	}{
		{"fifo", unix.S_IFIFO | 0o600, nil},
		{"file", unix.S_IFREG | 0o600, nil},
		{"null", unix.S_IFCHR | 0o600, unix.EPERM},
		{"block", unix.S_IFBLK | 0o600, unix.EPERM},
		{"hidden", 1<<16 | unix.S_IFCHR | 0o600, unix.EPERM},
	} {
		if err := unix.Mknodat(unix.AT_FDCWD, filepath.Join(dir, tc.name), tc.mode, int(unix.Mkdev(1, 3))); !errors.Is(err, tc.want) {
			t.Errorf("mknod %s: got %v, want %v", tc.name, err, tc.want)
		}
	}
}

// goRuntime uses what Go's runtime asks of the kernel: threads, timers, the
// poller, signals, memory.
func goRuntime(t *testing.T, in func(string) bool) {
	done := make(chan struct{})
	for range 8 {
		go func() {
			runtime.LockOSThread() // ends its thread with it
			_ = make([]byte, 8<<20)
			done <- struct{}{}
		}()
	}
	for range 8 {
		<-done
	}
	runtime.GC()
	<-time.After(time.Millisecond)
	got := make(chan os.Signal, 1)
	signal.Notify(got, unix.SIGUSR1)
	if err := unix.Kill(os.Getpid(), unix.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	<-got
	signal.Stop(got)

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if in("closed") {
		if !errors.Is(err, unix.EPERM) {
			t.Errorf("listening: got %v, want EPERM", err)
		}
		return
	}
	if err != nil {
		t.Fatalf("listening: %v", err)
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err == nil {
			_, err = io.WriteString(c, "hello")
		}
		if err == nil {
			err = c.Close()
		}
		if err != nil {
			t.Error(err)
		}
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatalf("dialling: %v", err)
	}
	defer c.Close()
	if text, err := io.ReadAll(c); string(text) != "hello" || err != nil {
		t.Errorf("got %q, %v", text, err)
	}
}

// programs runs what is installed of the tools that must work in a run.
func programs(t *testing.T, dir string) {
	for _, argv := range [][]string{
		{"sh", "-c", "echo a | cat | { read x; test $x = a; } & wait $! && ls -la / >/dev/null"},
		{"git", "--version"},
		{"git", "init", "-q", filepath.Join(dir, "repository")},
		{"python3", "-c", "import threading, subprocess, socket, tempfile; threading.Thread(target=print).start(); " +
			"assert subprocess.run(['true']).returncode == 0; a, b = socket.socketpair(); a.send(b'x'); assert b.recv(1) == b'x'"},
		{"go", "version"},
		{"node", "-e", "require('child_process').execFileSync('true'); require('fs').readFileSync('/proc/self/stat')"},
		{"gcc", "-x", "c", "-o", "/dev/null", "/dev/null", "-c"},
		{"perl", "-e", "fork // die; wait"},
		{"make", "--version"},
	} {
		path := ""
		for _, dir := range []string{"/usr/local/go/bin", "/usr/local/bin", "/usr/bin", "/bin"} {
			if info, err := os.Stat(filepath.Join(dir, argv[0])); err == nil && info.Mode().IsRegular() {
				path = filepath.Join(dir, argv[0])
				break
			}
		}
		if path == "" {
			t.Logf("%s isn't installed", argv[0])
			continue
		}
		cmd := testproc.Command(t, path, argv[1:]...)
		cmd.Dir = "/"
		cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/nonexistent", "GOTOOLCHAIN=local", "GOENV=off"}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", strings.Join(argv, " "), err, out)
		}
	}
}
