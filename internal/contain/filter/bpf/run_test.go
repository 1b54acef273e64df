//go:build linux

package bpf

import (
	"encoding/binary"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// TestInterpreter gives each kind of instruction both ways.
func TestInterpreter(t *testing.T) {
	t.Parallel()
	const ld, and = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_ALU | unix.BPF_AND | unix.BPF_K
	ret := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }
	compare := func(code uint16, k uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | code | unix.BPF_K, Jt: 0, Jf: 1, K: k}
	}
	data := Data{Nr: 7, Arch: 8, IP: 10<<32 | 9, Args: [6]uint64{12<<32 | 11, 0, 0, 0, 0, 14<<32 | 13}}
	words := map[uint32]uint32{0: 7, 4: 8, 8: 9, 12: 10, 16: 11, 20: 12, 56: 13, 60: 14}
	for offset, want := range words {
		for _, c := range []struct {
			code uint16
			k    uint32
			yes  bool
		}{
			{unix.BPF_JEQ, want, true}, {unix.BPF_JEQ, want + 1, false},
			{unix.BPF_JGE, want, true}, {unix.BPF_JGE, want + 1, false},
			{unix.BPF_JGT, want - 1, true}, {unix.BPF_JGT, want, false},
			{unix.BPF_JSET, want, true}, {unix.BPF_JSET, ^want, false},
		} {
			f := []unix.SockFilter{
				{Code: ld, K: offset}, {Code: and, K: 0xff},
				{Code: unix.BPF_JMP | unix.BPF_JA, K: 1}, ret(3), compare(c.code, c.k), ret(1), ret(2),
			}
			if got := Run(f, data); (got == 1) != c.yes || got > 2 {
				t.Errorf("word %d, %#x %d: got %d, want yes=%t", offset, c.code, c.k, got, c.yes)
			}
		}
	}
}

func TestVerify(t *testing.T) {
	t.Parallel()
	ret := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K}
	ja := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JA, K: k} }
	jeq := func(t, f uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: t, Jf: f}
	}
	ld := func(k uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: k}
	}
	for _, tc := range []struct {
		name    string
		program []unix.SockFilter
		ok      bool
	}{
		{"only a return", []unix.SockFilter{ret}, true},
		{"empty", nil, false},
		{"no return", []unix.SockFilter{ld(0)}, false},
		{"longest", slices.Repeat([]unix.SockFilter{ret}, 4096), true},
		{"too long", slices.Repeat([]unix.SockFilter{ret}, 4097), false},
		{"jump to the last", []unix.SockFilter{ja(1), ret, ret}, true},
		{"jump past the end", []unix.SockFilter{ja(2), ret, ret}, false},
		{"jump around the world", []unix.SockFilter{ja(^uint32(0)), ret}, false},
		{"yes past the end", []unix.SockFilter{jeq(1, 0), ret}, false},
		{"no past the end", []unix.SockFilter{jeq(0, 1), ret}, false},
		{"both inside", []unix.SockFilter{jeq(0, 1), ret, ret}, true},
		{"last word", []unix.SockFilter{ld(60), ret}, true},
		{"past the data", []unix.SockFilter{ld(64), ret}, false},
		{"askew", []unix.SockFilter{ld(2), ret}, false},
		{"unknown instruction", []unix.SockFilter{{Code: unix.BPF_ST}, ret}, false},
		{"division", []unix.SockFilter{{Code: unix.BPF_ALU | unix.BPF_DIV | unix.BPF_K}, ret}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if err := Verify(tc.program); (err == nil) != tc.ok {
				t.Errorf("got %v, want ok=%t", err, tc.ok)
			}
			if got := Run(tc.program, Data{}); !tc.ok && got != unix.SECCOMP_RET_KILL_PROCESS {
				t.Errorf("Run: got %#x, want a kill", got)
			}
		})
	}
}

// TestAssemblerReachesFar: jumps of more than 255 are led on, or end early.
func TestAssemblerReachesFar(t *testing.T) {
	t.Parallel()
	for _, values := range []int{1, 200, 251, 254, 300, 1500} {
		a := New()
		other := a.Word(offsetArgs, a.Branch(unix.BPF_JEQ, 5, a.Ret(1), a.Ret(2)))
		var numbers []uint32
		for v := range values {
			numbers = append(numbers, uint32(v))
		}
		a.Low(1, EveryBit, []Choice{{numbers, a.Ret(3)}}, other)
		f := a.Program()
		if err := Verify(f); err != nil {
			t.Fatalf("%d values: %v", values, err)
		}
		for v := range values + 3 {
			want := uint32(3)
			if v >= values {
				want = 2
			}
			if got := Run(f, Data{Args: [6]uint64{0, uint64(v)}}); got != want {
				t.Fatalf("%d values, %d: got %d, want %d", values, v, got, want)
			}
		}
		if got := Run(f, Data{Args: [6]uint64{5, uint64(values)}}); got != 1 {
			t.Errorf("%d values, past them all: got %d, want 1", values, got)
		}
	}
}

// FuzzRun: any program is refused, or runs to an answer.
func FuzzRun(f *testing.F) {
	a := New()
	a.Low(0, 0xf, []Choice{{[]uint32{1, 2}, a.Ret(1)}}, a.HighZero(1, a.Ret(2), a.Ret(3)))
	var seed []byte
	for _, in := range a.Program() {
		seed = binary.LittleEndian.AppendUint16(seed, in.Code)
		seed = append(seed, in.Jt, in.Jf)
		seed = binary.LittleEndian.AppendUint32(seed, in.K)
	}
	f.Add(seed, int32(41), uint64(2))
	f.Add([]byte{6, 0, 0, 0, 0, 0, 0, 0}, int32(-1), uint64(0))
	f.Fuzz(func(t *testing.T, raw []byte, nr int32, arg uint64) {
		var g []unix.SockFilter
		for ; len(raw) >= 8; raw = raw[8:] {
			g = append(g, unix.SockFilter{
				Code: binary.LittleEndian.Uint16(raw), Jt: raw[2], Jf: raw[3], K: binary.LittleEndian.Uint32(raw[4:]),
			})
		}
		got := Run(g, Data{Nr: nr, Arch: unix.AUDIT_ARCH_X86_64, Args: [6]uint64{arg, arg, arg, arg, arg, arg}})
		ends := slices.ContainsFunc(g, func(in unix.SockFilter) bool {
			return in.Code == unix.BPF_RET|unix.BPF_K && in.K == got
		})
		if Verify(g) == nil && !ends || Verify(g) != nil && got != unix.SECCOMP_RET_KILL_PROCESS {
			t.Errorf("the answer %#x comes from nowhere", got)
		}
	})
}
