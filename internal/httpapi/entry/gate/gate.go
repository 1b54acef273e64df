// Package gate is the seam between the HTTP door and whoever knows accounts: who a
// request is from, and what each role may do.
//
// A [Gate] is asked once for each request. What it answers, a [Caller], is all that
// the door goes by: the role opens verbs ([Permits]), the principal owns runs. A role
// never widens what a policy allows, and nothing here starts anything.
//
// # Limits
//
// The package keeps no accounts and hashes nothing: implementations do. It doesn't
// look at requests beside handing them over.
package gate

import (
	"context"
	"net/http"
	"slices"
	"time"

	"paddock"
	"paddock/internal/auth"
)

// A Gate knows who asks. Its methods may be called concurrently. What a caller is to
// be told is a [*paddock.Refusal]; any other error is a fault of ours.
type Gate interface {
	// Identify says who a request is from, by its headers alone: a cookie of a
	// session or a bearer token, never the URL. Without any credential the Caller is
	// the zero one and there is no error; one that isn't valid is refused with
	// [paddock.Unauthenticated].
	Identify(r *http.Request) (Caller, error)
	// Login exchanges what proves who somebody is for a session.
	Login(ctx context.Context, from From, proof Proof) (Session, error)
	// Logout ends the session that r is part of and returns the cookie that takes it
	// out of the browser, or ends the token that r shows; then there is no cookie.
	Logout(r *http.Request) (*http.Cookie, error)
}

// From is where a request is from.
type From struct {
	Addr string
	// Device is what the client says that it is, as it says it.
	Device string
}

// A Provider is a server of somebody else's that says who people are, as the operator
// configured it; see docs/server.md.
type Provider struct {
	Name, Kind, Issuer, API string
	ClientID, SecretFile    string
	Inside                  []string // hosts that may have addresses which aren't public
	Agents                  bool     // its access tokens are taken at /mcp
}

// A Proof is what somebody logs in with: the code of a one-time link, a name and a
// password, or the code of an invitation with the name and the password to be.
type Proof struct {
	Code     string
	Name     string
	Password string
}

// A Session is what a login gave.
type Session struct {
	Caller Caller
	Cookie *http.Cookie
}

// A Caller is who asks. The zero Caller is nobody.
type Caller struct {
	// Name is the account's. It is part of principals and records, and so it never
	// names another person later.
	Name string
	Role Role
	// Verbs, when not nil, are the only ones that the credential is good for.
	Verbs []Verb
	// Who is the account for those who keep accounts; zero elsewhere.
	Who auth.Who
	// Until is when the credential ends by itself; zero means that it doesn't.
	Until time.Time
}

// Nobody reports whether no credential was shown.
func (c Caller) Nobody() bool { return c.Name == "" }

// Self is the principal that the caller's runs belong to.
func (c Caller) Self() paddock.Principal {
	if c.Nobody() {
		return paddock.Principal{}
	}
	return paddock.Principal{Kind: paddock.User, ID: "user:" + c.Name}
}

// For is the principal that the caller asks as with a verb that looks at things or
// ends them: an admin sees everybody's, and an approver sees what everybody asked.
func (c Caller) For(v Verb) paddock.Principal {
	p := c.Self()
	if c.Role == Admin || c.Role == Approver && approvals(v) {
		p.Kind = paddock.Operator
	}
	return p
}

// May reports whether the caller may use a verb at all.
func (c Caller) May(v Verb) bool {
	if Permits(Anybody, v) {
		return true
	}
	if c.Who.Narrow() && !v.Placed() && v != Logout { // it would reach further than the credential is for
		return false
	}
	return !c.Nobody() && Permits(c.Role, v) && (c.Verbs == nil || slices.Contains(c.Verbs, v))
}
