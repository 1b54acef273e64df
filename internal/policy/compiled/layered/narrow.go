package layered

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"paddock"
	"paddock/internal/policy/compiled"
)

type token = compiled.Token

// executables takes away what the part doesn't list, and has its argument rules
// asked, too.
func (n *narrowing) executables(f compiled.File) {
	type pair struct{ own, part *compiled.Executable }
	made := map[pair]*compiled.Executable{}
	words := map[string]*compiled.Executable{}
	barred := maps.Clone(f.Barred)
	for word, e := range f.Called() {
		p := pair{own: e}
		if n.part.Says["executables"] {
			p.part = n.part.Find([]string{word})
			if why := n.bars(p.part, e); why != "" {
				if barred == nil {
					barred = map[string]compiled.Bar{}
				}
				barred[word] = compiled.Bar{At: n.at(p.part), Why: why}
				continue
			}
		}
		if made[p] == nil {
			made[p] = n.executable(f, e, p.part)
		}
		words[word] = made[p]
	}
	var left []*compiled.Executable
	for _, e := range f.Executables {
		if x := words[e.Word()]; x != nil && x.Path == e.Path {
			left = append(left, x)
		}
	}
	rest := n.out
	rest.Executables = f.Executables
	n.out = rest.Left(left, words)
	n.out.Barred = barred
}

// bars says why the part doesn't permit e.
func (n *narrowing) bars(p, e *compiled.Executable) string {
	switch {
	case p == nil:
		return fmt.Sprintf("The policy permits it, but %s, which narrows it, doesn't.", n.part.Name)
	case p.Path != e.Path:
		return fmt.Sprintf("For the policy it is %s, but for %s, which narrows it, it is %s.", e.Path, n.part.Name, p.Path)
	}
	return ""
}

func (n *narrowing) at(p *compiled.Executable) paddock.Position {
	if p != nil {
		return p.At
	}
	return n.part.Sections["executables"]
}

// executable is e as far as the part allows it, by its entry p if it has one.
func (n *narrowing) executable(f compiled.File, e, p *compiled.Executable) *compiled.Executable {
	x := *e
	limits, limitsAt := n.part.Limits, n.part.Sections["limits"]
	pass, passes := n.part.Environment.Pass, n.part.Says["environment.pass"]
	x.Reach = n.reach(f.Contain.Network, e, p)
	if p != nil {
		x.Layers = append(slices.Clip(e.Layers), p)
		if len(e.Layers) == 0 {
			x.Layers = []*compiled.Executable{e, p}
		}
		limits, limitsAt = p.Limits, cmp.Or(p.LimitsAt, limitsAt)
		x.MaxArgs, x.MaxArgBytes = min(x.MaxArgs, p.MaxArgs), min(x.MaxArgBytes, p.MaxArgBytes)
		x.LineBreaks, x.PTY = x.LineBreaks && p.LineBreaks, x.PTY && p.PTY
		if p.Environment.Pass != nil {
			pass, passes = slices.Concat(pass, p.Environment.Pass), true
		}
		switch {
		case p.Pin == "" || p.Pin == x.Pin:
		case x.Pin == "":
			x.Pin = p.Pin
		default:
			n.fault("executables", "%s is pinned to another content by the policy that this narrows; pin it once, or to the same", x.Path)
		}
	}
	if passes {
		x.Environment.Withheld = withheld(e.Environment.Withheld, slices.Concat(f.Environment.Pass, e.Environment.Pass), pass)
	}
	if x.Limits = lower(e.Limits, limits); x.Limits != e.Limits {
		x.LimitsAt = cmp.Or(limitsAt, x.LimitsAt)
	}
	return &x
}

// reach is what runs of e may reach where the network is an allowlist.
func (n *narrowing) reach(was string, e, p *compiled.Executable) []string {
	if n.part.Contain.Network != "allowlist" {
		return e.Reach
	}
	switch {
	case p == nil && was == "allowlist": // nothing is said of places
		return e.Reach
	case p == nil:
		return nil
	case was != "allowlist":
		return p.Reach
	}
	var out []string
	for _, own := range e.Reach {
		for _, other := range p.Reach {
			switch {
			case covers(other, own) && !slices.Contains(out, own):
				out = append(out, own)
			case covers(own, other) && !slices.Contains(out, other):
				out = append(out, other)
			}
		}
	}
	return out
}

// covers reports whether every place that inner stands for is one of outer's.
func covers(outer, inner string) bool {
	suffix, below := strings.CutPrefix(outer, "*")
	name := strings.TrimPrefix(inner, "*")
	return outer == inner || below && strings.HasSuffix(name, suffix) && !isAddress(name)
}

// isAddress reports whether an entry is an address: no suffix has those.
func isAddress(entry string) bool {
	host := entry[:strings.LastIndexByte(entry, ':')]
	return strings.HasPrefix(host, "[") || strings.Trim(host, "0123456789.") == ""
}

var (
	levels   = []paddock.Level{paddock.Full, paddock.Standard, paddock.Off}
	networks = []string{"none", "allowlist", "host"}
)

// contain takes the stronger of what both require.
func (n *narrowing) contain(was paddock.ContainAs) {
	p, as := n.part.Contain, was
	if p.Level != "" {
		as.Level = levels[min(slices.Index(levels, was.Level), slices.Index(levels, p.Level))]
	}
	if p.Network == "allowlist" || p.Workspace != "" {
		as.Level = paddock.Full // which alone has these
	}
	if p.Network != "" {
		as.Network = networks[min(slices.Index(networks, was.Network), slices.Index(networks, p.Network))]
	}
	as.Workspace = cmp.Or(p.Workspace, was.Workspace)
	as.Write = n.places("write", was.Level, was.Write, p.Write)
	as.Read = n.places("read", was.Level, slices.Concat(was.Read, was.Write), slices.Concat(p.Read, p.Write))
	if !n.part.Says["containment.read"] && was.Level != paddock.Off {
		as.Read = was.Read
	}
	as.Read = slices.DeleteFunc(slices.Clone(as.Read), func(dir string) bool { return slices.Contains(as.Write, dir) })
	n.listed(was, &as)
	if as.Level == paddock.Off && (as.Network != "host" || as.Exec != "" || len(p.Read)+len(p.Write) > 0) {
		n.fault("containment", "the policy that this narrows contains nothing (`require: off`), so this would promise what isn't kept; say `require: full` here")
	}
	if p.RunAs != "" && p.RunAs != was.RunAs {
		n.fault("containment", "`run_as: %s` is neither narrower nor wider than another account, so only the policy that extends no other chooses one", p.RunAs)
	}
	n.out.Contain = as
}

// places returns what is listed by both. Where nothing was contained, everything
// was.
func (n *narrowing) places(key string, was paddock.Level, own, part []string) []string {
	switch {
	case was == paddock.Off:
		return part
	case !n.part.Says["containment."+key]:
		return own
	}
	return within(own, part)
}

// listed says what may be executed where that is listed.
func (n *narrowing) listed(was paddock.ContainAs, as *paddock.ContainAs) {
	if n.part.Contain.Exec == "" {
		return
	}
	executes := slices.Clone(n.part.Contain.Executes)
	if !n.part.Says["executables"] {
		executes = append(executes, n.out.Paths()...)
	}
	as.Exec, as.Executes = paddock.ListedExec, executes
	if was.Exec != "" {
		as.Executes = within(was.Executes, executes)
	}
}

// git narrows what the git tools may, which no list of programs is about.
func (n *narrowing) git(f compiled.File) {
	if f.Git == nil {
		return
	}
	g := *f.Git
	g.Rules, g.Concurrent, g.Quotas = n.out.Rules, n.out.Concurrent, n.out.Quotas
	if n.part.Says["roots"] {
		g.Roots = within(g.Roots, n.part.Roots)
	}
	x := *g.Executables[0]
	x.Limits = lower(x.Limits, n.part.Limits)
	g.Limits = x.Limits
	g = g.Left([]*compiled.Executable{&x}, map[string]*compiled.Executable{x.Word(): &x})
	if g.Contain.Level = n.out.Contain.Level; g.Contain.Level != paddock.Off {
		g.Contain.Network, g.Contain.ReadOnly = "none", true
	}
	n.out.Git = &g
}

// lower takes the lower of each limit. Zero is none. Whatever says that runs end at a
// limit of output prevails.
func lower(a, b paddock.Limits) paddock.Limits {
	if b.AtLimit == paddock.AtLimitEnd {
		a.AtLimit = b.AtLimit
	}
	return paddock.Limits{
		AtLimit: a.AtLimit,
		Timeout: least(a.Timeout, b.Timeout), Idle: least(a.Idle, b.Idle), Output: least(a.Output, b.Output),
		OpenFiles: least(a.OpenFiles, b.OpenFiles), Memory: least(a.Memory, b.Memory), Processes: least(a.Processes, b.Processes),
		CPUs: least(a.CPUs, b.CPUs), Disk: least(a.Disk, b.Disk), FileSize: least(a.FileSize, b.FileSize),
		MemoryByDefault:    a.MemoryByDefault && b.Memory == 0,
		ProcessesByDefault: a.ProcessesByDefault && b.Processes == 0,
		DiskByDefault:      a.DiskByDefault && b.Disk == 0,
	}
}

func least[T cmp.Ordered](a, b T) T {
	var none T
	if a == none || b != none && b < a {
		return b
	}
	return a
}

// asksAsFloor marks what f's rules and those of its parts ask as the floor's.
func asksAsFloor(f *compiled.File) {
	for i := range f.Rules {
		f.Rules[i].Floor = true
	}
	for i := range f.Narrow {
		asksAsFloor(&f.Narrow[i].Part)
	}
}
