package gate

import (
	"slices"

	"paddock/internal/auth"
)

// A Role is what an account is for. The zero Role may nothing that not everybody may.
type Role = auth.Role

// The roles.
const (
	// Anybody is whoever can reach the address, logged in or not.
	Anybody  Role = ""
	Viewer        = auth.Viewer
	Operator      = auth.Operator // starts runs and ends its own
	Approver      = auth.Approver // brings votes on what others ask
	Admin         = auth.Admin    // sees and ends everybody's runs
)

// Roles lists those that accounts have.
func Roles() []Role { return auth.Roles() }

// A Verb is something that can be asked of the door.
type Verb = auth.Verb

// The verbs that are the door's own: of everybody, to log out, of everybody who is logged
// in, and to connect, of workers.
const (
	Health  Verb = "health"
	APIRead Verb = "api.read"
	Login   Verb = "login"
	Logout  Verb = "logout"
	// Connect is a worker's, who is nobody's account: it proves itself by its own word.
	Connect Verb = "workers.connect"
)

// The verbs of package auth's table that have routes.
const (
	WhoAmI            = auth.WhoAmI
	SessionsList      = auth.SessionsList
	SessionsRevoke    = auth.SessionsRevoke
	PasswordChange    = auth.PasswordChange
	FactorsChange     = auth.FactorsChange
	TokensList        = auth.TokensList
	TokensCreate      = auth.TokensCreate
	TokensRevoke      = auth.TokensRevoke
	RunsStart         = auth.RunsStart
	RunsList          = auth.RunsList
	RunsRead          = auth.RunsRead
	RunsOutput        = auth.RunsOutput
	RunsFollow        = auth.RunsFollow
	RunsKill          = auth.RunsKill
	RunsAttach        = auth.RunsAttach
	PolicyRead        = auth.PolicyRead
	PolicyExplain     = auth.PolicyExplain
	ApprovalsList     = auth.ApprovalsList
	ApprovalsRead     = auth.ApprovalsRead
	ApprovalsVote     = auth.ApprovalsVote
	UsersRead         = auth.UsersRead
	UsersChange       = auth.UsersChange
	InvitationsRead   = auth.InvitationsRead
	InvitationsChange = auth.InvitationsChange
	WorkersRead       = auth.WorkersRead
	WorkersChange     = auth.WorkersChange
	WorkspacesRead    = auth.WorkspacesRead
	WorkspacesCreate  = auth.WorkspacesCreate
	WorkspacesClone   = auth.WorkspacesClone
	WorkspacesRemove  = auth.WorkspacesRemove
	MetricsRead       = auth.MetricsRead
	MCPUse            = auth.MCPUse
	ProfilesRead      = auth.ProfilesRead
	PolicyReload      = auth.PolicyReload
	AuditRead         = auth.AuditRead
	QuotasRead        = auth.QuotasRead
)

// OfTools lists the verbs that have no route of their own: there are tools at /mcp for
// them, and for some that have routes.
func OfTools() []Verb {
	return []Verb{
		auth.GitRead, auth.TasksRead, auth.TasksWrite, auth.DelegatesStart, auth.DelegatesRead, auth.DelegatesCancel,
	}
}

func approvals(v Verb) bool { return v == ApprovalsList || v == ApprovalsRead || v == ApprovalsVote }

// Verbs lists every verb that has a route, and those of tools. A route with another one
// fails a test, and so does one of these without a route.
func Verbs() []Verb {
	return append([]Verb{
		Health, APIRead, Login, Logout, WhoAmI,
		SessionsList, SessionsRevoke, PasswordChange, FactorsChange, TokensList, TokensCreate, TokensRevoke,
		RunsStart, RunsList, RunsRead, RunsOutput, RunsFollow, RunsKill, RunsAttach,
		PolicyRead, PolicyExplain, ApprovalsList, ApprovalsRead, ApprovalsVote,
		UsersRead, UsersChange, InvitationsRead, InvitationsChange, Connect, WorkersRead, WorkersChange, MetricsRead, ProfilesRead, MCPUse,
		PolicyReload, AuditRead, QuotasRead,
		WorkspacesRead, WorkspacesCreate, WorkspacesClone, WorkspacesRemove,
	}, OfTools()...)
}

// Permits reports whether a role may use a verb at all. What the roles are for stands in
// package auth's table; what one may not see isn't decided here: see [Caller.For].
func Permits(role Role, v Verb) bool {
	switch v {
	case Health, APIRead, Login, Connect:
		return true
	case Logout:
		return slices.Contains(Roles(), role)
	}
	return auth.Reaches(role, v) != auth.Nothing
}
