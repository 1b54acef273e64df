//go:build linux

package bpf

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Data is what the kernel shows a filter of a call, in its own layout.
type Data struct {
	Nr   int32
	Arch uint32
	IP   uint64 // where the program was; no filter of ours looks
	Args [6]uint64
}

// word returns the 32 bits at an offset that Verify has accepted.
func (d Data) word(offset uint32) uint32 {
	switch {
	case offset == OffsetNr:
		return uint32(d.Nr)
	case offset == OffsetArch:
		return d.Arch
	case offset < offsetArgs:
		return uint32(d.IP >> (8 * (offset % 8)))
	}
	return uint32(d.Args[(offset-offsetArgs)/8] >> (8 * (offset % 8)))
}

// Run returns what the kernel would answer a call with, an action with its
// data. A program that the kernel would refuse to install, such as the empty
// one, kills.
func Run(program []unix.SockFilter, data Data) uint32 {
	if Verify(program) != nil {
		return unix.SECCOMP_RET_KILL_PROCESS
	}
	var acc uint32
	for pc := 0; ; pc++ {
		switch in := program[pc]; in.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			acc = data.word(in.K)
		case unix.BPF_ALU | unix.BPF_AND | unix.BPF_K:
			acc &= in.K
		case unix.BPF_JMP | unix.BPF_JA:
			pc += int(in.K)
		case unix.BPF_RET | unix.BPF_K:
			return in.K
		default: // a comparison; Verify knows no other
			if holds(in.Code, acc, in.K) {
				pc += int(in.Jt)
			} else {
				pc += int(in.Jf)
			}
		}
	}
}

func holds(code uint16, acc, k uint32) bool {
	switch code {
	case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
		return acc == k
	case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
		return acc >= k
	case unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K:
		return acc > k
	}
	return acc&k != 0 // JSET
}

// maxProgram is the kernel's limit, BPF_MAXINSNS.
const maxProgram = 4096

// Verify accepts a program that surely ends with an answer: it has only
// instructions that Run knows, loads lie within the data, jumps go forward and
// stay inside, and the last instruction returns. The kernel checks the same;
// here a mistake is found before a run depends on it.
func Verify(program []unix.SockFilter) error {
	n := len(program)
	switch {
	case n == 0:
		return errors.New("the program is empty")
	case n > maxProgram:
		return fmt.Errorf("the program has %d instructions, more than the kernel's %d", n, maxProgram)
	case program[n-1].Code != unix.BPF_RET|unix.BPF_K:
		return errors.New("the program doesn't end with a return")
	}
	for pc, in := range program {
		left := uint64(n - pc - 1) // a jump skips fewer than these
		ok := true
		switch in.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			ok = in.K%4 == 0 && in.K < sizeOfData
		case unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, unix.BPF_RET | unix.BPF_K:
		case unix.BPF_JMP | unix.BPF_JA:
			ok = uint64(in.K) < left
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K,
			unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K, unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K:
			ok = uint64(in.Jt) < left && uint64(in.Jf) < left
		default:
			ok = false
		}
		if !ok {
			return fmt.Errorf("instruction %d is invalid: %+v", pc, in)
		}
	}
	return nil
}
