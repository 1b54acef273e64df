package noexec

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"paddock/internal/contain/filter/bpf"
)

// refused is what the calls answer: as if the file could not be executed by anybody.
const refused = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)

// GiveUp gives it up, on all threads of this process at once. What is started later has
// it neither.
func GiveUp() error {
	program, err := build(runtime.GOARCH)
	if err != nil {
		return err
	}
	// Without new privileges, which are the only way round: no thread can have them
	// afterwards, since the filter is laid on all of them.
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("giving up new privileges: %w", err)
	}
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	other, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&filter)))
	runtime.KeepAlive(program)
	if errno != 0 {
		return fmt.Errorf("giving up the right to start programs: %w", errno)
	}
	if other != 0 {
		return fmt.Errorf("giving up the right to start programs: thread %d has a filter of its own", other)
	}
	return nil
}

// calls are the two ways to become a program, as an architecture numbers them.
type calls struct{ audit, execve, execveat uint32 }

func ways(arch string) calls {
	switch arch {
	case "amd64":
		return calls{unix.AUDIT_ARCH_X86_64, 59, 322}
	case "arm64":
		return calls{unix.AUDIT_ARCH_AARCH64, 221, 281}
	}
	return calls{}
}

// build makes the filter for an architecture. Of other ABIs every call is refused: they
// number theirs differently, and a Go program makes none.
func build(arch string) ([]unix.SockFilter, error) {
	of := ways(arch)
	if of.audit == 0 {
		return nil, fmt.Errorf("giving up the right to start programs isn't known for %s: %w", arch, errors.ErrUnsupported)
	}
	const x32 = 0x4000_0000 // the bit of amd64's other ABI, which has the same mark
	a := bpf.New()
	no, yes := a.Ret(refused), a.Ret(unix.SECCOMP_RET_ALLOW)
	numbers := a.Branch(unix.BPF_JEQ, of.execve, no, a.Branch(unix.BPF_JEQ, of.execveat, no, a.Branch(unix.BPF_JGE, x32, no, yes)))
	a.Word(bpf.OffsetArch, a.Branch(unix.BPF_JEQ, of.audit, a.Word(bpf.OffsetNr, numbers), no))
	program := a.Program()
	return program, bpf.Verify(program)
}
