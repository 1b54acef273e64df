package gate

import "slices"

// A Role is what an account is for. The zero Role may nothing that not everybody may.
type Role string

// The roles.
const (
	// Anybody is whoever can reach the address, logged in or not.
	Anybody  Role = ""
	Viewer   Role = "viewer"
	Operator Role = "operator" // starts runs and ends its own
	Approver Role = "approver" // brings votes on what others ask
	Admin    Role = "admin"    // sees and ends everybody's runs
)

// Roles lists those that accounts have.
func Roles() []Role { return []Role{Viewer, Operator, Approver, Admin} }

// A Verb is something that can be asked of the door.
type Verb string

// The verbs.
const (
	Health         Verb = "health"
	APIRead        Verb = "api.read"
	Login          Verb = "login"
	Logout         Verb = "logout"
	WhoAmI         Verb = "whoami"
	RunsStart      Verb = "runs.start"
	RunsList       Verb = "runs.list"
	RunsRead       Verb = "runs.read"
	RunsOutput     Verb = "runs.output"
	RunsFollow     Verb = "runs.follow"
	RunsKill       Verb = "runs.kill"
	PolicyRead     Verb = "policy.read"
	PolicyExplain  Verb = "policy.explain"
	ApprovalsList  Verb = "approvals.list"
	ApprovalsRead  Verb = "approvals.read"
	ApprovalsVote  Verb = "approvals.vote"
	MetricsRead    Verb = "metrics.read"
	ReadinessTells Verb = "readiness.details"
)

func approvals(v Verb) bool { return v == ApprovalsList || v == ApprovalsRead || v == ApprovalsVote }

// A row says which roles a verb is for. What one may not see isn't decided here: see
// [Caller.For].
type row struct {
	verb  Verb
	roles []Role
}

// matrix is the whole truth about roles. A route without a row here fails a test, and
// so does a row without a route.
func matrix() []row {
	all := []Role{Viewer, Operator, Approver, Admin}
	// A vote starts what waits for it, so who may vote may start, too.
	starters := []Role{Operator, Approver, Admin}
	return []row{
		{Health, []Role{Anybody, Viewer, Operator, Approver, Admin}},
		{APIRead, []Role{Anybody, Viewer, Operator, Approver, Admin}},
		{Login, []Role{Anybody, Viewer, Operator, Approver, Admin}},
		{Logout, all},
		{WhoAmI, all},
		{RunsStart, starters},
		{RunsList, all},
		{RunsRead, all},
		{RunsOutput, all},
		{RunsFollow, all},
		{RunsKill, starters},
		{PolicyRead, []Role{Admin}},
		{PolicyExplain, starters},
		{ApprovalsList, all},
		{ApprovalsRead, all},
		{ApprovalsVote, []Role{Approver, Admin}},
		{MetricsRead, []Role{Admin}},
		{ReadinessTells, []Role{Admin}},
	}
}

// Verbs lists every verb.
func Verbs() []Verb {
	var all []Verb
	for _, r := range matrix() {
		all = append(all, r.verb)
	}
	return all
}

// Permits reports whether a role may use a verb. An unknown verb is for nobody.
func Permits(role Role, v Verb) bool {
	for _, r := range matrix() {
		if r.verb == v {
			return slices.Contains(r.roles, role)
		}
	}
	return false
}
