package diff

import (
	"slices"
	"strings"

	"paddock"
	"paddock/internal/policy"
	"paddock/internal/policy/compiled"
	"paddock/internal/policy/compiled/pattern/language"
	"paddock/internal/review/diff/asked"
)

// mostTries is how many commands the judge is asked about for each rule.
const mostTries = 20

// arguments compares all commands that the argument rules allow.
func (d *differ) arguments(at, word string, o, n *compiled.Executable) {
	if slices.Equal(asked.Said(o), asked.Said(n)) {
		return
	}
	before, after := asked.Lists(o), asked.Lists(n)
	turn, all := len(before), len(before)+len(after)
	space, err := language.New(slices.Concat(before, after), language.Options{Breaks: n.LineBreaks})
	wide, tight := map[int]*found{}, map[int]*found{}
	if err == nil {
		err = space.Search(nil, func(f language.Found) bool {
			was, is := asked.Allowed(space, f, 0, turn), asked.Allowed(space, f, turn, all)
			switch {
			case is && !was:
				d.try(wide, f.Deciders[turn], word, f, d.old, d.new)
			case was && !is:
				d.try(tight, f.Deciders[0], word, f, d.new, d.old)
			}
			return true
		})
	}
	if err != nil {
		d.add(Unclear, at+".args", n.ArgsAt, "The rules differ in a way that isn't compared here: %v.", err)
		return
	}
	for i := range len(after[0]) {
		d.tell(Widened, at, asked.At(n, i), wide[i])
	}
	for i := range len(before[0]) {
		d.tell(Narrowed, at, asked.At(o, i), tight[i])
	}
	if len(wide)+len(tight) == 0 {
		d.add(Changed, at+".args", n.ArgsAt, "The rules say the same in other words.")
	}
}

// shown adds a command to what was said of a program that is newly permitted.
func (d *differ) shown(word string, o, n *compiled.Executable) {
	before, after := asked.Lists(o), asked.Lists(n)
	turn, all := len(before), len(before)+len(after)
	space, err := language.New(slices.Concat(before, after), language.Options{})
	if err != nil {
		return // that it is permitted is said
	}
	wide := map[int]*found{}
	err = space.Search(nil, func(f language.Found) bool {
		if asked.Allowed(space, f, turn, all) {
			d.try(wide, 0, word, f, d.old, d.new)
		}
		return wide[0] == nil || !wide[0].proved && wide[0].tries < mostTries
	})
	if last := &d.changes[len(d.changes)-1]; err == nil && wide[0] != nil && wide[0].proved {
		last.Example, last.Outside = wide[0].argv, wide[0].outside
	}
}

// found is a command that is judged otherwise.
type found struct {
	argv, outside []string
	// proved is set when the judge says so too.
	proved bool
	tries  int
}

// try keeps the first command of a rule that the judge refuses under one policy and
// allows under the other.
func (d *differ) try(by map[int]*found, rule int, word string, f language.Found, refuses, allows side) {
	known := by[rule]
	if known == nil {
		known = &found{}
		by[rule] = known
	}
	if known.proved || known.tries >= mostTries {
		return
	}
	known.tries++
	one := found{argv: []string{word}, tries: known.tries}
	for _, l := range f.Args {
		one.argv = append(one.argv, l.Word)
		if !l.Inside {
			one.outside = append(one.outside, l.Word)
		}
	}
	one.proved = !refuses.allows(one) && allows.allows(one)
	if one.proved || known.argv == nil {
		*known = one
	}
}

func (d *differ) tell(e Effect, at string, where paddock.Position, f *found) {
	if f == nil {
		return
	}
	verb := "allowed"
	if e == Narrowed {
		verb = "refused"
	}
	command := strings.Join(f.argv, " ")
	if len(f.outside) > 0 {
		command += "` (" + strings.Join(f.outside, ", ") + " outside of every root)"
	} else {
		command += "`"
	}
	c := Change{Effect: e, At: at + ".args", Position: where, Message: "`" + command + " is " + verb + " now.", Example: f.argv, Outside: f.outside}
	if !f.proved {
		c.Message = "The argument rules have `" + command + " " + verb + " now; whether other rules let it be so can't be told."
		if e == Widened {
			c.Effect = Unclear
		}
	}
	d.changes = append(d.changes, c)
}

// allows asks the judge about a command, on a machine where everything is as it
// should be and words lead where the command says.
func (s side) allows(f found) bool {
	req := paddock.Request{
		Principal: paddock.Principal{Kind: paddock.Agent, ID: "agent"}, Door: paddock.DoorCLI,
		Command: paddock.Command{Argv: f.argv},
	}
	wanted := s.policy.Wanted(req)
	facts := policy.Facts{
		Executable: policy.ExecutableFacts{Found: true, Digest: wanted.Pins[wanted.Executable]},
		Paths:      map[string]policy.PathFacts{},
		Levels:     []paddock.Level{paddock.Full, paddock.Standard, paddock.Off},
		Held:       []string{"memory", "processes", "cpus"},
		Account:    &paddock.Account{},
		Home:       "/home",
	}
	if e := s.file.Find(f.argv); e != nil && e.Pin != "" {
		facts.Executable.Digest = e.Pin
	}
	if roots := s.policy.Roots(); len(roots) > 0 {
		facts.Dir = policy.DirFacts{Found: true, Real: roots[0], Root: roots[0]}
	}
	for _, p := range wanted.Paths {
		outside := slices.ContainsFunc(f.outside, func(w string) bool { return w == p || strings.HasSuffix(w, "="+p) })
		facts.Paths[p] = policy.PathFacts{Real: p, Inside: !outside}
	}
	return policy.Decide(s.policy, req, facts).Effect == paddock.Allow
}
