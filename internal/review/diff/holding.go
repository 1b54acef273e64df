package diff

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"paddock"
	"paddock/internal/policy/compiled"
	"paddock/internal/policy/compiled/environ"
	"paddock/internal/policy/compiled/pattern"
	"paddock/internal/policy/compiled/pattern/language"
	"paddock/internal/review/diff/change/asking"
	"paddock/internal/review/diff/measure"
)

// number compares a bound, where more is wider.
func (d *differ) number(at, of string, o, n int64, where paddock.Position) {
	switch {
	case n > o:
		d.add(Widened, at, where, "%s %s are allowed, before at most %s.", measure.Bound(n), of, measure.Bound(o))
	case n < o:
		d.add(Narrowed, at, where, "At most %s %s are allowed, before %s.", measure.Bound(n), of, measure.Bound(o))
	}
}

// duration compares times.
func (d *differ) duration(at, may string, o, n int64, where paddock.Position) {
	say := func(n int64) string {
		if n == math.MaxInt64 {
			return "any time"
		}
		return paddock.Duration(n).String()
	}
	switch {
	case n > o:
		d.add(Widened, at, where, "%s %s, before at most %s.", may, say(n), say(o))
	case n < o:
		d.add(Narrowed, at, where, "%s at most %s, before %s.", may, say(n), say(o))
	}
}

// limits compares those that hold, defaults included.
func (d *differ) limits(at string, o, n paddock.Limits, where paddock.Position) {
	if at != "limits" && d.old.file.Limits == o && d.new.file.Limits == n {
		return // said of all
	}
	d.duration(at+".timeout", "A run may take", int64(o.Timeout), int64(n.Timeout), where)
	d.duration(at+".idle", "A run may print nothing for", measure.Unbounded(int64(o.Idle)), measure.Unbounded(int64(n.Idle)), where)
	d.number(at+".output", "bytes of each stream", o.Output, n.Output, where)
	d.number(at+".disk", "bytes written to disks", measure.Unbounded(o.Disk), measure.Unbounded(n.Disk), where)
	d.number(at+".file_size", "bytes of one file", measure.Unbounded(o.FileSize), measure.Unbounded(n.FileSize), where)
	d.number(at+".open_files", "open files", int64(o.OpenFiles), int64(n.OpenFiles), where)
	d.number(at+".memory", "bytes of memory", measure.Unbounded(o.Memory), measure.Unbounded(n.Memory), where)
	d.number(at+".processes", "processes", measure.Unbounded(int64(o.Processes)), measure.Unbounded(int64(n.Processes)), where)
	d.number(at+".cpus", "thousandths of a processor", measure.Unbounded(int64(o.CPUs*1000)), measure.Unbounded(int64(n.CPUs*1000)), where)
	if was, is := cmp.Or(o.AtLimit, paddock.AtLimitEnd), cmp.Or(n.AtLimit, paddock.AtLimitEnd); was != is {
		e := map[string]Effect{paddock.AtLimitDrop: Widened, paddock.AtLimitEnd: Narrowed}[is]
		d.add(e, at+".at_limit", where, "At a limit of output a run is `%s`, before `%s`: ended, or going on with the rest dropped.", is, was)
	}
	for _, l := range []struct {
		name     string
		old, new bool // demanded, so that nothing runs where it can't be enforced
	}{
		{"memory", o.Memory > 0 && !o.MemoryByDefault, n.Memory > 0 && !n.MemoryByDefault},
		{"processes", o.Processes > 0 && !o.ProcessesByDefault, n.Processes > 0 && !n.ProcessesByDefault},
	} {
		switch {
		case l.old && !l.new:
			d.add(Widened, at+"."+l.name, where, "A limit of %s isn't demanded any more: where it can't be enforced, runs go on without.", l.name)
		case l.new && !l.old:
			d.add(Narrowed, at+"."+l.name, where, "A limit of %s is demanded: where it can't be enforced, nothing runs.", l.name)
		}
	}
}

// places compares lists of directories.
func (d *differ) places(at, may string, o, n []string, where paddock.Position) {
	for _, p := range n {
		switch {
		case !measure.Covered(p, o):
			d.add(Widened, at, where, "%s %s.", may, p)
		case !slices.Contains(o, p):
			d.add(Changed, at, where, "%s %s, which lies in what was listed before.", may, p)
		}
	}
	for _, p := range o {
		if !measure.Covered(p, n) {
			d.add(Narrowed, at, where, "No more: %s %s.", strings.ToLower(may[:1])+may[1:], p)
		}
	}
}

func (d *differ) roots() {
	o, n, where := d.old.file.Roots, d.new.file.Roots, d.new.section("roots")
	d.places("roots", "Commands may run in", o, n, where)
	if o[0] != n[0] {
		d.add(Unclear, "roots", where, "The first root is %s, before it was %s: a command without a directory runs there, and its paths lead elsewhere.", n[0], o[0])
	}
}

func (d *differ) containment() {
	o, n, where := d.old.file.Contain, d.new.file.Contain, d.new.section("containment")
	ranked := func(at, what string, order []string, was, is string) {
		switch i, j := slices.Index(order, was), slices.Index(order, is); {
		case j > i:
			d.add(Widened, at, where, "%s `%s`, before `%s`.", what, is, was)
		case j < i:
			d.add(Narrowed, at, where, "%s `%s`, before `%s`.", what, is, was)
		}
	}
	ranked("containment.require", "What must hold programs is", []string{string(paddock.Full), string(paddock.Standard), string(paddock.Off)}, string(o.Level), string(n.Level))
	ranked("containment.network", "The network is", []string{"none", "allowlist", "host"}, o.Network, n.Network)
	d.places("containment.read", "Programs may read", slices.Concat(o.Read, o.Write), slices.Concat(n.Read, n.Write), where)
	d.places("containment.write", "Programs may write in", o.Write, n.Write, where)
	if o.RunAs != n.RunAs {
		d.add(Unclear, "containment.run_as", where, "Programs get another account, `%s`, before `%s`.", n.RunAs, o.RunAs)
	}
}

// rules compares the rules in CEL by their text.
func (d *differ) rules() {
	for _, c := range asking.Rules(d.old.rules, d.new.rules) {
		d.add(c.Effect, c.At, c.Position, "%s", c.Message)
	}
}

func (d *differ) environment() {
	o, n, where := d.old.file.Environment, d.new.file.Environment, d.new.section("environment")
	d.variables("environment", o, n, where)
	for _, name := range n.Accepted() {
		at := "environment.accept." + name
		was, before := o.Accept[name]
		is := n.Accept[name]
		if !before {
			d.add(Widened, at, where, "A caller may set %s to `%s`.", name, is.Text())
			continue
		}
		d.token(at, name, was, is, where)
	}
	for _, name := range o.Accepted() {
		if _, still := n.Accept[name]; !still {
			d.add(Narrowed, "environment.accept."+name, where, "A caller may not set %s any more.", name)
		}
	}
}

// token compares what the value of a variable may be.
func (d *differ) token(at, name string, o, n pattern.Token, where paddock.Position) {
	if o.Text() == n.Text() {
		return
	}
	words, err := language.Kinds([]pattern.Token{o, n})
	if err != nil {
		d.add(Unclear, at, where, "What %s may be isn't compared here: %v.", name, err)
		return
	}
	for _, side := range []struct {
		effect Effect
		less   pattern.Token
		more   pattern.Token
		say    string
	}{{Widened, o, n, "A caller may set %s to %q."}, {Narrowed, n, o, "A caller may not set %s to %q any more."}} {
		for _, w := range words {
			if side.more.Match(w) && (!side.less.Match(w) || side.less.IsPath() && !side.more.IsPath()) {
				d.add(side.effect, at, where, side.say, name, w)
				break
			}
		}
	}
}

// variables compares what programs get.
func (d *differ) variables(at string, o, n compiled.Environment, where paddock.Position) {
	for _, name := range n.Pass {
		if !slices.Contains(o.Pass, name) {
			d.add(Widened, at+".pass", where, "Programs get %s of Paddock's own environment.", name)
		}
	}
	for _, name := range o.Pass {
		if !slices.Contains(n.Pass, name) {
			d.add(Narrowed, at+".pass", where, "Programs don't get %s any more.", name)
		}
	}
	was, is := measure.Values(o), measure.Values(n)
	for _, name := range slices.Sorted(maps.Keys(measure.Merged(was, is))) {
		before, had := was[name]
		after, has := is[name]
		if had == has && before == after {
			continue
		}
		if environ.IsSteering(name) {
			d.add(Unclear, at+".set", where, "The value of %s differs, and it can change what programs do.", name)
		} else {
			d.add(Changed, at+".set", where, "The value of %s differs.", name)
		}
	}
}
