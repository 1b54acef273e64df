package noexec

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"paddock/internal/contain/filter/bpf"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, map[string]func() int{"renouncer": renouncer}) }

// renouncer gives it up while other threads are there, and then has each try.
func renouncer() int {
	var ready, done sync.WaitGroup
	gone := make(chan bool)
	faults := make(chan error, 8)
	execve, execveat := ways(runtime.GOARCH).execve, ways(runtime.GOARCH).execveat
	try := func() {
		path := []byte("/bin/true\x00")
		at := uintptr(unsafe.Pointer(&path[0]))
		if _, _, errno := unix.Syscall(uintptr(execve), at, 0, 0); errno != unix.EPERM {
			faults <- fmt.Errorf("execve: %w", errno)
		}
		if _, _, errno := unix.Syscall6(uintptr(execveat), ^uintptr(99), at, 0, 0, 0, 0); errno != unix.EPERM {
			faults <- fmt.Errorf("execveat: %w", errno)
		}
		runtime.KeepAlive(path)
	}
	for range 3 {
		ready.Add(1)
		done.Go(func() {
			runtime.LockOSThread()
			ready.Done()
			<-gone
			try()
		})
	}
	ready.Wait()
	if err := GiveUp(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	close(gone)
	try()
	done.Wait()
	if err := GiveUp(); err != nil { // once more does no harm
		faults <- err
	}
	if err := (&testproc.Cmd{Path: "/bin/true", Args: []string{"true"}}).Run(); !errors.Is(err, unix.EPERM) {
		faults <- errors.Join(errors.New("a program was started"), err)
	}
	if text, err := os.ReadFile("/proc/self/status"); err != nil || len(text) == 0 {
		faults <- errors.Join(errors.New("nothing else works"), err)
	}
	close(faults)
	status := 0
	_, _ = os.Stdout.WriteString("still here\n") // whoever became true says nothing
	for err := range faults {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	return status
}

// Who gave it up starts nothing any more, from any thread, and works otherwise.
func TestGiveUp(t *testing.T) {
	t.Parallel()
	out, err := testproc.Command(t, testproc.Program(t, "renouncer")).CombinedOutput()
	if err != nil || string(out) != "still here\n" {
		t.Errorf("%v\n%s", err, out)
	}
}

// The filter refuses the two calls by whichever number, and lets all others through.
func TestFilter(t *testing.T) {
	t.Parallel()
	for arch, c := range map[string]struct {
		audit uint32
		no    []uint32
	}{
		"amd64": {unix.AUDIT_ARCH_X86_64, []uint32{59, 322, 0x40000000 + 520, 0x40000000 + 545, 0x40000000}},
		"arm64": {unix.AUDIT_ARCH_AARCH64, []uint32{221, 281}},
	} {
		program, err := build(arch)
		if err != nil {
			t.Fatal(err)
		}
		for nr := range uint32(600) {
			want := uint32(unix.SECCOMP_RET_ALLOW)
			for _, no := range c.no {
				if nr == no {
					want = refused
				}
			}
			if got := bpf.Run(program, bpf.Data{Nr: int32(nr), Arch: c.audit}); got != want {
				t.Errorf("%s: call %d is answered with %#x", arch, nr, got)
			}
		}
		for _, no := range c.no {
			if bpf.Run(program, bpf.Data{Nr: int32(no), Arch: c.audit}) != refused {
				t.Errorf("%s: %d goes through", arch, no)
			}
		}
		if bpf.Run(program, bpf.Data{Nr: 11, Arch: unix.AUDIT_ARCH_I386}) != refused { // its execve
			t.Errorf("%s: another ABI goes through", arch)
		}
	}
	if _, err := build("mips"); err == nil {
		t.Error("an architecture without a filter is fine")
	}
}
