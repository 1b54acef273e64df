package desk

import (
	"fmt"

	"paddock"
	"paddock/cmd/paddock/internal/desk/rules/lookup"
)

// mostSession bounds the name of a session, which stands in every record.
const mostSession = 200

// SessionWants is what a session may be called.
var SessionWants = fmt.Sprintf("want one line of at most %d bytes without \" > \"", mostSession)

// SessionName reports whether a session may be called so.
func SessionName(name string) bool {
	return len(name) <= mostSession && Plain(name) == name && (paddock.Principal{ID: name}).Named()
}

// Session is who asks over MCP on standard input and output, in the session of a name or,
// without one, the workspace's. The id is the same whenever the same client comes back,
// and another for every other user, policy and workspace.
func (d *Desk) Session(source *lookup.Source, name string) paddock.Principal {
	digest, where := "none", d.Dir
	if p, err := source.Load(); err == nil {
		digest = p.Digest().Short()
		roots := p.Roots()
		if len(roots) > 0 {
			where = roots[0]
		}
		for _, root := range roots {
			if lookup.Within(lookup.RealPath(d.Dir), lookup.RealPath(root)) {
				where = root
			}
		}
	}
	if name != "" {
		where = "session " + name
	}
	return paddock.Principal{Kind: paddock.Agent, ID: fmt.Sprintf("stdio:uid=%d:policy=%s:%s", d.UID, digest, where)}
}

// SessionHere is the session of that name under the policy that applies here.
func (d *Desk) SessionHere(name string) paddock.Principal {
	return d.Session(&lookup.Source{Places: d.PolicyPlaces(d.Policy)}, name)
}

// OutputLimit is how much of one stream the policy that applies here has kept.
func (d *Desk) OutputLimit() (int64, error) {
	rules, err := (&lookup.Source{Places: d.PolicyPlaces(d.Policy)}).Load()
	if err != nil {
		return 0, err
	}
	return rules.Limits().Output, nil
}
