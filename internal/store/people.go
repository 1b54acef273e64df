package store

// Ids are a letter and 26 characters of Crockford's base 32 ([NewID]); they sort
// by time and can't be guessed.
type (
	UserID       string // u
	SessionID    string // s: names a session to its owner; it isn't the secret
	TokenID      string // t
	InvitationID string // i
	FactorID     string // f
	WorkspaceID  string // w
	WorkerID     string // k
)

// A Role says what a person may do at most. What each may is app's table.
type Role string

// The roles, weakest first.
const (
	Viewer   Role = "viewer"
	Operator Role = "operator"
	Approver Role = "approver"
	Admin    Role = "admin"
)

// A User is a person with an account.
type User struct {
	ID UserID
	// Name is unique and is what one logs in by.
	Name string
	Role Role
	// Password is a slow hash with its parameters in it; empty means that there is
	// no password, not that none is needed.
	Password string
	Disabled bool
	Created  Moment
	Changed  Moment
	// Revision counts the changes; an update must name the one that it is of.
	Revision int64
}

// An Identity says that who is Subject to Issuer is a user here.
type Identity struct {
	Issuer, Subject string
	Owner           UserID
	// Label is what the issuer calls the person, for people to read.
	Label    string
	Created  Moment
	LastUsed Moment
}

// An Invitation lets one person make an account.
type Invitation struct {
	ID   InvitationID
	Code Hash
	Role Role
	// Invitee is the only identity that may use it, in the words of auth; empty
	// lets whoever has the code.
	Invitee string
	Owner   UserID // who invited
	Created Moment
	Expires Moment
	// UsedBy and Used say who used it up.
	UsedBy UserID
	Used   Moment
}

// A Session is a browser that is logged in.
type Session struct {
	ID     SessionID
	Secret Hash
	Owner  UserID
	// Device and Address are what the owner knows it by in the list of devices.
	Device, Address string
	Created         Moment
	LastSeen        Moment
	Expires         Moment
	// Proven is when a second factor was last shown in it.
	Proven  Moment
	Revoked Moment
}

// A Token lets a program ask in its owner's name.
type Token struct {
	ID     TokenID
	Secret Hash
	// Prefix is the beginning of the secret, by which its owner knows it.
	Prefix, Name string
	Owner        UserID
	// Scopes are verbs, Workspaces names; an empty list is of nothing.
	Scopes, Workspaces Words
	Created            Moment
	Expires            Moment
	LastUsed           Moment
	Revoked            Moment
}

// A LoginLink logs in once.
type LoginLink struct {
	Secret Hash
	Owner  UserID
	// Purpose is a word of auth's: what the link was made for.
	Purpose string
	Created Moment
	Expires Moment
	Used    Moment
}

// A Factor is a passkey, or what a second factor is checked by.
type Factor struct {
	ID    FactorID
	Owner UserID
	// Kind is a word of auth's, as is the form of Data.
	Kind, Name string
	// Handle finds a passkey whose owner isn't known yet; unique where there is one.
	Handle string
	Data   Blob
	// Counter only ever goes up: of signatures, or of the step of a one-time password.
	Counter  int64
	Created  Moment
	LastUsed Moment
}
