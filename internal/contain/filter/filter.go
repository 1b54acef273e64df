//go:build linux

package filter

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/contain/filter/bpf"
)

// Options says what a run may do beyond the base. The zero Options is invalid,
// since it names no network.
type Options struct {
	// Arch is the architecture, "amd64" or "arm64"; "" is the one we run on.
	Arch string

	// Network is "none", "allowlist" or "host". With the first two the run is
	// in a network namespace of its own, where TCP and UDP reach nothing, or it
	// has TCPOnly. With "host" pings are allowed too.
	Network string

	// TCPOnly is for a run without a network namespace, which only Landlock's
	// TCP rules hold: what those rules don't see is denied, that is UDP and
	// connecting by sending (TCP Fast Open). With the network "none" no
	// internet socket is allowed at all.
	TCPOnly bool

	// UnixSockets allows unix sockets with a name. Without it only connected
	// pairs can be made, by socketpair.
	UnixSockets bool

	// Namespaces allows new namespaces, and entering others. Without it they
	// are denied, and clone3, whose flags lie behind a pointer, is absent: the
	// C libraries then use clone.
	Namespaces bool

	// Listed denies files in memory, which could be executed whatever is listed.
	Listed bool

	// Notify hands denied calls to whoever listens to the filter. Without it
	// they fail with Denied by themselves.
	Notify bool
}

// Denied is what a denied call fails with. Whoever listens answers with it too.
const Denied = unix.EPERM

// A Filter is a program for seccomp(2). The zero Filter isn't one.
type Filter struct {
	Program []unix.SockFilter

	// Digest is that of the program's bytes, for the run's record: equal
	// digests mean equal filters.
	Digest paddock.Digest
}

// SeccompData is what the kernel shows a filter of a call.
type SeccompData = bpf.Data

// Run returns what the kernel would answer a call with: an action with its data.
// The zero Filter kills.
func (f Filter) Run(data SeccompData) uint32 { return bpf.Run(f.Program, data) }

// built remembers filters by their options. A supervisor makes the one that most runs
// have before it has a job.
var built sync.Map

// Build makes the filter that the options ask for. The same options give the
// same program, which nobody may change.
func Build(o Options) (Filter, error) {
	if f, ok := built.Load(o); ok {
		return f.(Filter), nil //nolint:errcheck // nothing else is stored
	}
	f, err := assemble(o)
	if err == nil {
		built.Store(o, f)
	}
	return f, err
}

func assemble(o Options) (Filter, error) {
	if o.Arch == "" {
		o.Arch = runtime.GOARCH
	}
	arch, err := findArch(o.Arch)
	if err != nil {
		return Filter{}, err
	}
	switch o.Network {
	case "none", "allowlist", "host":
	default:
		return Filter{}, fmt.Errorf("filter: the network is %q; it must be none, allowlist or host", o.Network)
	}
	a := bpf.New()
	tree := a.Tree(spans(a, arch, o))
	native := a.Word(bpf.OffsetNr, tree)
	// Another ABI numbers its calls differently. To those who try it, it looks
	// like a kernel built without: nothing needs it, and nothing has to die.
	foreign := a.Ret(absentCall)
	a.Word(bpf.OffsetArch, a.Branch(unix.BPF_JEQ, arch.audit, native, foreign))

	f := Filter{Program: a.Program()}
	if err := bpf.Verify(f.Program); err != nil {
		return Filter{}, fmt.Errorf("filter: built wrongly for %+v: %w", o, err)
	}
	f.Digest = digest(f.Program)
	return f, nil
}

// spans returns the answers to all numbers. Numbers without a name are absent;
// that covers those past the end, x32 (bit 30) and negative ones.
func spans(a *bpf.Assembler, arch architecture, o Options) []bpf.Span {
	none := a.Ret(absentCall)
	c := conditions{Assembler: a, Options: o, modes: map[int]bpf.Label{}}
	all := []bpf.Span{{From: 0, To: none}}
	put := func(s bpf.Span) {
		last := &all[len(all)-1]
		if last.From == s.From {
			last.To = s.To // a gap of no length
		} else {
			all = append(all, s)
		}
	}
	for _, call := range arch.calls() {
		put(bpf.Span{From: uint32(call.nr), To: c.answer(arch.name, call.name)})
		put(bpf.Span{From: uint32(call.nr) + 1, To: none})
	}
	return slices.CompactFunc(all, func(x, y bpf.Span) bool { return a.Same(x.To, y.To) })
}

func digest(program []unix.SockFilter) paddock.Digest {
	var raw []byte
	for _, in := range program {
		raw = binary.LittleEndian.AppendUint16(raw, in.Code)
		raw = append(raw, in.Jt, in.Jf)
		raw = binary.LittleEndian.AppendUint32(raw, in.K)
	}
	return paddock.DigestOf(sha256.Sum256(raw))
}
