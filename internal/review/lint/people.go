package lint

import (
	"fmt"
	"slices"
	"strings"

	"paddock"
	"paddock/internal/policy/compiled"
)

// forms are how the ids of each kind of principal begin; a host program chooses its own.
var forms = []struct {
	kind   paddock.PrincipalKind
	begins string
}{
	{paddock.User, "user:"}, {paddock.Operator, "operator:uid="}, {paddock.Agent, "stdio:uid="},
}

// somebody reports whether a principal of that kind, or of any if it is empty, can have the
// id.
func somebody(kind, id string) bool {
	if kind == string(paddock.Host) || strings.Contains(id, " > ") { // whom a delegate works for may be a host
		return true
	}
	for _, f := range forms {
		if rest, ok := strings.CutPrefix(id, f.begins); ok && rest != "" && (kind == "" || kind == string(f.kind)) {
			return true
		}
	}
	return false
}

// principals looks for parts that hold for nobody, as far as their ids are written out.
func (l *linter) principals(narrow []compiled.Narrowing) {
	for _, n := range narrow {
		if n.ID == nil {
			continue
		}
		ids := n.ID.Literals()
		if len(ids) == 0 || slices.ContainsFunc(ids, func(id string) bool { return somebody(n.Kind, id) }) {
			continue
		}
		kind := n.Kind
		if kind == "" {
			kind = "user, operator or agent"
		}
		l.add("L039", "principals."+ids[0], n.At, fmt.Sprintf("No %s has the id %q, so what stands there narrows nothing.", kind, ids[0]), nil)
	}
	for _, k := range l.source.Approvals.Keys {
		if k.Principal != "" && !somebody("", k.Principal) {
			l.add("L039", "approvals."+k.Name, l.source.Sections["approvals"], fmt.Sprintf("The key of %s is said to be that of %q, which is nobody's id: who holds it can approve what they ask for themselves.", k.Name, k.Principal), nil)
		}
	}
}

// approvals looks for questions that nobody can answer.
func (l *linter) approvals() {
	a := l.source.Approvals
	if len(a.Keys) == 0 {
		for _, r := range l.file.Rules {
			if r.Ask {
				l.add("L036", "rules."+r.Name, r.At, fmt.Sprintf("Rule `%s` asks, and the policy lists nobody who can approve.", r.Name), nil)
			}
		}
		return
	}
	told := map[string]bool{}
	for _, k := range a.Keys {
		others := slices.DeleteFunc(slices.Clone(a.Keys), func(o paddock.ApprovalKey) bool { return o.Principal == k.Principal })
		if k.Principal == "" || told[k.Principal] || len(others) >= a.Approvers {
			continue
		}
		told[k.Principal] = true
		l.add("L037", "approvals", l.source.Sections["approvals"], fmt.Sprintf("What %s asks for can't be approved: %d must, and %d others have a key.", k.Principal, a.Approvers, len(others)), nil)
	}
}

// factors looks for second factors that nobody, or too few, can show.
func (l *linter) factors() {
	a, people := l.source.Approvals, map[string]bool{}
	for _, k := range a.Keys {
		if k.Account != "" {
			people[k.Person()] = true
		}
	}
	for _, r := range l.file.Rules {
		if !r.SecondFactor || len(a.Keys) == 0 {
			continue // without keys nobody is asked
		}
		switch at := "rules." + r.Name; {
		case len(a.Verifiers) == 0:
			l.add("L038", at, r.At, fmt.Sprintf("Rule `%s` wants a second factor of who approves, and the policy lists no `verifiers` to which one is shown.", r.Name), nil)
		case len(people) < a.Approvers:
			l.add("L038", at, r.At, fmt.Sprintf("Rule `%s` wants a second factor of who approves: %d must, and %d have an `account` beside their key.", r.Name, a.Approvers, len(people)), nil)
		}
	}
}
