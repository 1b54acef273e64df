package auth

import (
	"fmt"
	"slices"
	"strings"
)

// A Verb is one thing that can be done through the server's doors.
type Verb string

// The verbs. A door's route names one of them.
const (
	WhoAmI         Verb = "whoami"
	SessionsList   Verb = "sessions.list"
	SessionsRevoke Verb = "sessions.revoke"
	PasswordChange Verb = "password.change"
	FactorsChange  Verb = "factors.change"
	TokensList     Verb = "tokens.list"
	TokensCreate   Verb = "tokens.create"
	TokensRevoke   Verb = "tokens.revoke"

	RunsStart      Verb = "runs.start"
	RunsList       Verb = "runs.list"
	RunsRead       Verb = "runs.read"
	RunsOutput     Verb = "runs.output"
	RunsFollow     Verb = "runs.follow"
	RunsRaw        Verb = "runs.raw"
	RunsKill       Verb = "runs.kill"
	RunsAttach     Verb = "runs.attach" // sits at its terminal
	RunsKeep       Verb = "runs.keep"
	RunsRemove     Verb = "runs.remove"
	ChangesRead    Verb = "changes.read"
	ChangesApply   Verb = "changes.apply"
	ChangesDiscard Verb = "changes.discard"
	GitRead        Verb = "git.read"
	TasksRead      Verb = "tasks.read"
	TasksWrite     Verb = "tasks.write"

	DelegatesStart  Verb = "delegates.start"
	DelegatesRead   Verb = "delegates.read"
	DelegatesCancel Verb = "delegates.cancel"

	MCPUse Verb = "mcp.use"

	PolicyRead    Verb = "policy.read"
	PolicyExplain Verb = "policy.explain"
	PolicyReload  Verb = "policy.reload"
	ApprovalsList Verb = "approvals.list"
	ApprovalsRead Verb = "approvals.read"
	ApprovalsVote Verb = "approvals.vote"

	WorkspacesRead   Verb = "workspaces.read"
	WorkspacesCreate Verb = "workspaces.create"
	WorkspacesClone  Verb = "workspaces.clone"
	WorkspacesRemove Verb = "workspaces.remove"

	QuotasRead        Verb = "quotas.read"
	QuotasSet         Verb = "quotas.set"
	UsersRead         Verb = "users.read"
	UsersChange       Verb = "users.change"
	InvitationsRead   Verb = "invitations.read"
	InvitationsChange Verb = "invitations.change"
	WorkersRead       Verb = "workers.read"
	WorkersChange     Verb = "workers.change"
	AuditRead         Verb = "audit.read"
	MetricsRead       Verb = "metrics.read"
	ProfilesRead      Verb = "profiles.read"
	ConfigRead        Verb = "config.read"
)

// Marks of verbs.
const (
	starts = 1 << iota // a program may be started by it
	second             // wants a second factor
	person             // never given to a token
	placed             // held to the workspaces of a token that is for some alone
)

type row struct {
	verb  Verb
	reach [4]Reach // of viewer, operator, approver, admin
	marks int
}

// table is the whole of who may do what.
var table = []row{
	{WhoAmI, [4]Reach{Own, Own, Own, Own}, placed},
	{SessionsList, [4]Reach{Own, Own, Own, All}, person},
	{SessionsRevoke, [4]Reach{Own, Own, Own, All}, person},
	{PasswordChange, [4]Reach{Own, Own, Own, Own}, person},
	{FactorsChange, [4]Reach{Own, Own, Own, All}, person},
	{TokensList, [4]Reach{Own, Own, Own, All}, person},
	{TokensCreate, [4]Reach{Own, Own, Own, Own}, person},
	{TokensRevoke, [4]Reach{Own, Own, Own, All}, person},

	{RunsStart, [4]Reach{Nothing, Own, Own, All}, starts | placed},
	{RunsList, [4]Reach{Own, Own, Own, All}, placed},
	{RunsRead, [4]Reach{Own, Own, Own, All}, placed},
	{RunsOutput, [4]Reach{Own, Own, Own, All}, placed},
	{RunsFollow, [4]Reach{Own, Own, Own, All}, placed},
	{RunsRaw, [4]Reach{Nothing, Nothing, Nothing, All}, 0},
	{RunsKill, [4]Reach{Nothing, Own, Own, All}, placed},
	{RunsAttach, [4]Reach{Nothing, Own, Own, All}, placed},
	{RunsKeep, [4]Reach{Nothing, Own, Own, All}, 0},
	{RunsRemove, [4]Reach{Nothing, Own, Own, All}, 0},
	{ChangesRead, [4]Reach{Own, Own, Own, All}, 0},
	{ChangesApply, [4]Reach{Nothing, Own, Own, All}, 0},
	{ChangesDiscard, [4]Reach{Nothing, Own, Own, All}, 0},
	{GitRead, [4]Reach{Nothing, Own, Own, All}, starts},
	{TasksRead, [4]Reach{Own, Own, Own, All}, 0},
	{TasksWrite, [4]Reach{Nothing, Own, Own, All}, 0},

	{DelegatesStart, [4]Reach{Nothing, Own, Own, All}, starts},
	{DelegatesRead, [4]Reach{Own, Own, Own, All}, 0},
	{DelegatesCancel, [4]Reach{Nothing, Own, Own, All}, 0},

	{MCPUse, [4]Reach{Own, Own, Own, Own}, placed},

	{PolicyRead, [4]Reach{Nothing, Nothing, Nothing, All}, 0},
	{PolicyExplain, [4]Reach{Nothing, All, All, All}, placed},
	{PolicyReload, [4]Reach{Nothing, Nothing, Nothing, All}, 0},
	{ApprovalsList, [4]Reach{Own, Own, All, All}, placed},
	{ApprovalsRead, [4]Reach{Own, Own, All, All}, placed},
	{ApprovalsVote, [4]Reach{Nothing, Nothing, Others, All}, starts | second},

	{WorkspacesRead, [4]Reach{Own, Own, Own, All}, placed},
	{WorkspacesCreate, [4]Reach{Nothing, Own, Own, All}, placed},
	{WorkspacesClone, [4]Reach{Nothing, Own, Own, All}, starts | placed},
	{WorkspacesRemove, [4]Reach{Nothing, Own, Own, All}, placed},

	{QuotasRead, [4]Reach{Own, Own, Own, All}, placed},
	{QuotasSet, [4]Reach{Nothing, Nothing, Nothing, All}, 0},
	{UsersRead, [4]Reach{Nothing, Nothing, Nothing, All}, person},
	{UsersChange, [4]Reach{Nothing, Nothing, Nothing, All}, person},
	{InvitationsRead, [4]Reach{Nothing, Nothing, Nothing, All}, person},
	{InvitationsChange, [4]Reach{Nothing, Nothing, Nothing, All}, person},
	{WorkersRead, [4]Reach{Nothing, All, All, All}, 0},
	{WorkersChange, [4]Reach{Nothing, Nothing, Nothing, All}, 0},
	{AuditRead, [4]Reach{Nothing, Nothing, Nothing, All}, 0},
	{MetricsRead, [4]Reach{Nothing, Nothing, Nothing, All}, 0},
	{ProfilesRead, [4]Reach{Nothing, Nothing, Nothing, All}, 0},
	{ConfigRead, [4]Reach{Nothing, Nothing, Nothing, All}, 0},
}

func rowOf(v Verb) (row, bool) {
	at := slices.IndexFunc(table, func(r row) bool { return r.verb == v })
	if at < 0 {
		return row{}, false
	}
	return table[at], true
}

// Verbs returns every verb, in the order of the table.
func Verbs() []Verb {
	out := make([]Verb, len(table))
	for i, r := range table {
		out[i] = r.verb
	}
	return out
}

// Scope returns the verbs that words name, for a token of somebody with a role, narrow if
// it is for some workspaces alone: verbs, or `runs.*` for those of that beginning that such
// a token may have today. What is written down are the verbs, so that a verb of tomorrow
// widens no token of today, and no other role of its owner does. A verb that no token may
// have is an error when it is named; whether this one may is for who makes it to ask.
func Scope(words []string, owner Role, narrow bool) ([]Verb, error) {
	fits := func(v Verb) bool {
		return v.Delegable() && Reaches(owner, v) != Nothing && (!narrow || v.Placed())
	}
	var out []Verb
	for _, w := range words {
		var some []Verb
		group, star := strings.CutSuffix(w, ".*")
		for _, v := range Verbs() {
			switch {
			case star && strings.HasPrefix(string(v), group+".") && fits(v):
				some = append(some, v)
			case w == string(v) && !v.Delegable():
				return nil, fmt.Errorf("%s can't be done by a token", v)
			case w == string(v):
				some = append(some, v)
			}
		}
		if some == nil {
			return nil, fmt.Errorf("%.40q is nothing that such a token can do", w)
		}
		out = append(out, some...)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}
