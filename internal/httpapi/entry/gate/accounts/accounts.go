// Package accounts is a gate for a server with many persons: the desk of package auth says
// who they are.
//
// # Limits
//
// It begins sessions by links and by passwords; passkeys, second factors and other
// providers of identity have routes of their own to come. Workspaces that a token is
// for aren't looked at, since the door knows none yet.
package accounts

import (
	"context"
	"net/http"
	"net/netip"
	"time"

	"paddock"
	"paddock/internal/auth"
	"paddock/internal/auth/desk"
	"paddock/internal/auth/presented"
	"paddock/internal/httpapi/entry/gate"
)

// A Gate lets in whom a desk knows.
type Gate struct {
	desk   *desk.Desk
	secure bool
	now    func() time.Time
}

// New returns a Gate. secure says that browsers reach us by TLS.
func New(d *desk.Desk, secure bool, now func() time.Time) *Gate { return &Gate{d, secure, now} }

// Identify says whose session or token r shows.
func (g *Gate) Identify(r *http.Request) (gate.Caller, error) {
	who, err := g.who(r)
	if err != nil || who.User == "" {
		return gate.Caller{}, err
	}
	return caller(who, time.Time{}), nil
}

func (g *Gate) who(r *http.Request) (auth.Who, error) {
	shown, err := presented.Of(r, presented.WayOf(r, g.secure))
	if err != nil || shown.Word == "" {
		return auth.Who{}, err
	}
	return g.desk.Authenticate(r.Context(), shown.Kind, shown.Word)
}

// caller is who, as the door wants him. Verbs are what he may with what he showed: a
// token's scopes, and of a session all but what wants a second factor, until one was
// shown.
func caller(who auth.Who, until time.Time) gate.Caller {
	c := gate.Caller{Name: who.Name, Role: gate.Role(who.Role), Until: until, Verbs: []gate.Verb{}}
	for _, v := range gate.Verbs() {
		if allowed(who, auth.Verb(v)) {
			c.Verbs = append(c.Verbs, v)
		}
	}
	return c
}

func allowed(who auth.Who, v auth.Verb) bool {
	if !known(v) { // the door's own: logging out, what everybody may
		return who.Token == ""
	}
	return who.May(v, auth.Mine) == nil || who.May(v, auth.Foreign) == nil
}

func known(v auth.Verb) bool {
	for _, k := range auth.Verbs() {
		if k == v {
			return true
		}
	}
	return false
}

// Login takes the word of a link, or a name and a password.
func (g *Gate) Login(ctx context.Context, addr string, p gate.Proof) (gate.Session, error) {
	from := desk.From{}
	if at, err := netip.ParseAddr(addr); err == nil {
		from.Address = at
	} else if at, err := netip.ParseAddrPort(addr); err == nil {
		from.Address = at.Addr()
	}
	var e desk.Entry
	var err error
	switch {
	case p.Code != "" && (p.Name != "" || p.Password != ""):
		return gate.Session{}, paddock.Refused(paddock.InvalidRequest, "One logs in by a link or by a name and a password, not by both.")
	case p.Code != "":
		e, err = g.desk.Redeem(ctx, from, p.Code)
	default:
		e, err = g.desk.Login(ctx, from, p.Name, p.Password)
	}
	if err != nil {
		return gate.Session{}, err
	}
	return gate.Session{Caller: caller(e.Who, e.Expires.Time), Cookie: presented.Cookie(g.way(), e.Secret, g.now(), e.Expires.Time)}, nil
}

// way is how cookies go out. A server without TLS is reached by loopback alone, or
// doesn't start.
func (g *Gate) way() presented.Way {
	if g.secure {
		return presented.TLS
	}
	return presented.Loopback
}

// Logout ends the session that r shows.
func (g *Gate) Logout(r *http.Request) (*http.Cookie, error) {
	who, err := g.who(r)
	if err != nil {
		return nil, err
	}
	if who.Session != "" {
		if err := g.desk.Logout(r.Context(), who); err != nil {
			return nil, err
		}
	}
	return presented.Gone(g.way()), nil
}
