//go:build linux

package bpf

import (
	"slices"

	"golang.org/x/sys/unix"
)

// Where the words of [Data] are. Both architectures are little
// endian: the low word of an argument comes first.
const (
	OffsetNr   = 0
	OffsetArch = 4
	offsetArgs = 16
	sizeOfData = 64
)

// A Label is an instruction that can be jumped to: its place counted from the
// end of the program.
type Label int

// reach is how far a conditional jump may go. The kernel's limit is 255; a jump
// may grow by the two steps that are put in its way.
const reach = 250

// An Assembler builds a program from its last instruction to its first, since
// BPF jumps forward only: whatever is jumped to exists already, so a distance
// is known when it is needed.
type Assembler struct {
	reversed []unix.SockFilter
	returns  map[uint32]Label
}

// New returns an Assembler of an empty program.
func New() *Assembler { return &Assembler{returns: map[uint32]Label{}} }

func (a *Assembler) emit(code uint16, k uint32) Label {
	a.reversed = append(a.reversed, unix.SockFilter{Code: code, K: k})
	return Label(len(a.reversed) - 1)
}

// distance is how many instructions the next one would skip to get to l.
func (a *Assembler) distance(l Label) int { return len(a.reversed) - 1 - int(l) }

// Ret returns an instruction near by that ends the program with value.
func (a *Assembler) Ret(value uint32) Label {
	if l, ok := a.returns[value]; ok && a.distance(l) < reach {
		return l
	}
	l := a.emit(unix.BPF_RET|unix.BPF_K, value)
	a.returns[value] = l
	return l
}

// near returns l, or what leads to the same and can be reached.
func (a *Assembler) near(l Label) Label {
	if a.distance(l) < reach {
		return l
	}
	if target := a.reversed[l]; target.Code == unix.BPF_RET|unix.BPF_K {
		return a.Ret(target.K)
	}
	return a.jump(l)
}

func (a *Assembler) jump(l Label) Label {
	return a.emit(unix.BPF_JMP|unix.BPF_JA, uint32(a.distance(l)))
}

// Same reports whether two labels are one, or end the program alike.
func (a *Assembler) Same(x, y Label) bool {
	return x == y || a.reversed[x].Code == unix.BPF_RET|unix.BPF_K && a.reversed[x] == a.reversed[y]
}

// Branch goes to yes if the word compares with k, else to no.
func (a *Assembler) Branch(comparison uint16, k uint32, yes, no Label) Label {
	yes, no = a.near(yes), a.near(no)
	jt, jf := a.distance(yes), a.distance(no)
	l := a.emit(unix.BPF_JMP|comparison|unix.BPF_K, k)
	a.reversed[l].Jt, a.reversed[l].Jf = uint8(jt), uint8(jf)
	return l
}

// before makes an instruction that goes on to next.
func (a *Assembler) before(next Label, code uint16, k uint32) Label {
	if a.distance(next) > 0 {
		a.jump(next)
	}
	return a.emit(code, k)
}

// Word loads the 32 bits at an offset of seccomp_data and goes on to next.
func (a *Assembler) Word(offset uint32, next Label) Label {
	return a.before(next, unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset)
}

// A Choice is where to go when a word has one of the values.
type Choice struct {
	Values []uint32
	To     Label
}

// Low compares the low 32 bits of an argument, as far as mask shows them. The
// kernel takes most arguments as an int and drops the rest; a filter that
// compared all 64 bits could be passed by setting some of them.
func (a *Assembler) Low(arg int, mask uint32, choices []Choice, otherwise Label) Label {
	next := otherwise
	for _, c := range slices.Backward(choices) {
		for _, v := range slices.Backward(c.Values) {
			next = a.Branch(unix.BPF_JEQ, v, c.To, next)
		}
	}
	if mask != EveryBit {
		next = a.before(next, unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, mask)
	}
	return a.Word(offsetArgs+8*uint32(arg), next)
}

// HighZero goes to yes if the high 32 bits of an argument are zero, else to no.
func (a *Assembler) HighZero(arg int, yes, no Label) Label {
	return a.Word(offsetArgs+8*uint32(arg)+4, a.Branch(unix.BPF_JEQ, 0, yes, no))
}

// EveryBit is the mask that hides nothing.
const EveryBit = ^uint32(0)

// A Span is neighbouring numbers with the same answer; it ends where the next
// one begins.
type Span struct {
	From uint32
	To   Label
}

// Tree looks the number up by halving: the program stays short to run, and the
// kernel, which runs it once for every number when it is installed, installs it
// quickly.
func (a *Assembler) Tree(spans []Span) Label {
	if len(spans) == 1 {
		return spans[0].To
	}
	half := len(spans) / 2
	right := a.Tree(spans[half:])
	left := a.Tree(spans[:half])
	return a.Branch(unix.BPF_JGE, spans[half].From, right, left)
}

// Program returns the instructions in the kernel's order.
func (a *Assembler) Program() []unix.SockFilter {
	p := slices.Clone(a.reversed)
	slices.Reverse(p)
	return p
}
