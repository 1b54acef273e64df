//go:build linux

package filter

import (
	"slices"

	"golang.org/x/sys/unix"
)

// Where the words of struct seccomp_data are. Both architectures are little
// endian: the low word of an argument comes first.
const (
	offsetNr   = 0
	offsetArch = 4
	offsetArgs = 16
	sizeOfData = 64
)

// A label is an instruction that can be jumped to: its place counted from the
// end of the program.
type label int

// reach is how far a conditional jump may go. The kernel's limit is 255; a jump
// may grow by the two steps that are put in its way.
const reach = 250

// An assembler builds a program from its last instruction to its first, since
// BPF jumps forward only: whatever is jumped to exists already, so a distance
// is known when it is needed.
type assembler struct {
	reversed []unix.SockFilter
	returns  map[uint32]label
}

func newAssembler() *assembler { return &assembler{returns: map[uint32]label{}} }

func (a *assembler) emit(code uint16, k uint32) label {
	a.reversed = append(a.reversed, unix.SockFilter{Code: code, K: k})
	return label(len(a.reversed) - 1)
}

// distance is how many instructions the next one would skip to get to l.
func (a *assembler) distance(l label) int { return len(a.reversed) - 1 - int(l) }

// ret returns an instruction near by that ends the program with value.
func (a *assembler) ret(value uint32) label {
	if l, ok := a.returns[value]; ok && a.distance(l) < reach {
		return l
	}
	l := a.emit(unix.BPF_RET|unix.BPF_K, value)
	a.returns[value] = l
	return l
}

// near returns l, or what leads to the same and can be reached.
func (a *assembler) near(l label) label {
	if a.distance(l) < reach {
		return l
	}
	if target := a.reversed[l]; target.Code == unix.BPF_RET|unix.BPF_K {
		return a.ret(target.K)
	}
	return a.jump(l)
}

func (a *assembler) jump(l label) label {
	return a.emit(unix.BPF_JMP|unix.BPF_JA, uint32(a.distance(l)))
}

// same reports whether two labels are one, or end the program alike.
func (a *assembler) same(x, y label) bool {
	return x == y || a.reversed[x].Code == unix.BPF_RET|unix.BPF_K && a.reversed[x] == a.reversed[y]
}

// branch goes to yes if the word compares with k, else to no.
func (a *assembler) branch(comparison uint16, k uint32, yes, no label) label {
	yes, no = a.near(yes), a.near(no)
	jt, jf := a.distance(yes), a.distance(no)
	l := a.emit(unix.BPF_JMP|comparison|unix.BPF_K, k)
	a.reversed[l].Jt, a.reversed[l].Jf = uint8(jt), uint8(jf)
	return l
}

// before makes an instruction that goes on to next.
func (a *assembler) before(next label, code uint16, k uint32) label {
	if a.distance(next) > 0 {
		a.jump(next)
	}
	return a.emit(code, k)
}

// word loads the 32 bits at an offset of seccomp_data and goes on to next.
func (a *assembler) word(offset uint32, next label) label {
	return a.before(next, unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset)
}

// A choice is where to go when a word has one of the values.
type choice struct {
	values []uint32
	to     label
}

// low compares the low 32 bits of an argument, as far as mask shows them. The
// kernel takes most arguments as an int and drops the rest; a filter that
// compared all 64 bits could be passed by setting some of them.
func (a *assembler) low(arg int, mask uint32, choices []choice, otherwise label) label {
	next := otherwise
	for _, c := range slices.Backward(choices) {
		for _, v := range slices.Backward(c.values) {
			next = a.branch(unix.BPF_JEQ, v, c.to, next)
		}
	}
	if mask != everyBit {
		next = a.before(next, unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, mask)
	}
	return a.word(offsetArgs+8*uint32(arg), next)
}

// highZero goes to yes if the high 32 bits of an argument are zero, else to no.
func (a *assembler) highZero(arg int, yes, no label) label {
	return a.word(offsetArgs+8*uint32(arg)+4, a.branch(unix.BPF_JEQ, 0, yes, no))
}

const everyBit = ^uint32(0)

// A span is neighbouring numbers with the same answer; it ends where the next
// one begins.
type span struct {
	from uint32
	to   label
}

// tree looks the number up by halving: the program stays short to run, and the
// kernel, which runs it once for every number when it is installed, installs it
// quickly.
func (a *assembler) tree(spans []span) label {
	if len(spans) == 1 {
		return spans[0].to
	}
	half := len(spans) / 2
	right := a.tree(spans[half:])
	left := a.tree(spans[:half])
	return a.branch(unix.BPF_JGE, spans[half].from, right, left)
}

// program returns the instructions in the kernel's order.
func (a *assembler) program() []unix.SockFilter {
	p := slices.Clone(a.reversed)
	slices.Reverse(p)
	return p
}
