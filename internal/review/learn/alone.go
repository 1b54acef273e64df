package learn

import (
	"fmt"
	"path"

	"paddock/internal/policy/compiled/layered"
	"paddock/internal/policy/propose"
)

// Alone returns for each command of what was learned a policy that allows it and nothing
// else, by the program that the proposal, for the policy called name, has for it: what is
// to be said of that command hides behind nothing that is allowed, or accepted, already.
func (p Proposal) Alone(name string) ([][]byte, error) {
	file, faults := layered.Load(name, p.Text)
	if len(faults) > 0 {
		return nil, fmt.Errorf("line %d: %s", faults[0].At.Line, faults[0].Message)
	}
	var out [][]byte
	for _, l := range p.Learned {
		e := file.Find(l.Argv)
		if e == nil {
			return nil, fmt.Errorf("bug: the proposal has no program %q", l.Argv)
		}
		program := "path: " + propose.Word(e.Path)
		if !path.IsAbs(e.Word()) {
			program = "name: " + propose.Word(e.Word()) + ", " + program
		}
		out = append(out, fmt.Appendf(nil, "version: 1\nroots: [{path: /nowhere}]\nexecutables: [{%s, args: [%s]}]\ncontainment: {require: off}\n",
			program, rule([]Command{{Argv: l.Argv}}, -1)))
	}
	return out, nil
}
