// Package accounts is a gate for a server with many persons, and the routes by which they
// are kept: the desk of package auth says who they are and does what is asked.
//
// # Limits
//
// Passkeys and providers of identity are package ways's. Which workspaces a token is for is
// looked at by package narrow.
package accounts

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"strings"
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
	other  gate.Gate
	// Audience is for what access tokens of providers are made that are taken at /mcp: its
	// address. Empty takes none.
	Audience string
	// Host is the name by which browsers have passkeys of the server; empty means none.
	Host string
}

// New returns a Gate. secure says that browsers reach us by TLS. Bearers that aren't
// tokens of the desk are left to other, which may be nil.
func New(d *desk.Desk, secure bool, now func() time.Time, other gate.Gate) *Gate {
	return &Gate{desk: d, secure: secure, now: now, other: other}
}

// Identify says whose session or token r shows.
func (g *Gate) Identify(r *http.Request) (gate.Caller, error) {
	if word, ok := g.elsewhere(r); ok {
		who, err := g.desk.Providers.Access(r.Context(), word, g.Audience)
		if err != nil {
			return gate.Caller{}, err
		}
		return caller(who, time.Time{}), nil
	}
	if g.others(r) {
		return g.other.Identify(r)
	}
	who, err := g.who(r)
	if err != nil || who.User == "" {
		return gate.Caller{}, err
	}
	return caller(who, time.Time{}), nil
}

// elsewhere is the access token that r shows, if it may be one that a provider made for
// /mcp, and r shows nothing else.
func (g *Gate) elsewhere(r *http.Request) (string, bool) {
	header := r.Header.Values("Authorization")
	if g.Audience == "" || r.URL.Path != "/mcp" || len(header) != 1 || len(g.desk.Providers.Servers()) == 0 || len(r.CookiesNamed(g.cookieName())) > 0 || presented.InURL(r.URL) != nil {
		return "", false
	}
	scheme, word, ok := strings.Cut(header[0], " ")
	return word, ok && strings.EqualFold(scheme, "Bearer") && strings.Count(word, ".") == 2 && !auth.Within(word)
}

// others reports whether r shows a bearer that isn't one of ours, and nothing else.
func (g *Gate) others(r *http.Request) bool {
	header := r.Header.Values("Authorization")
	return g.other != nil && len(header) == 1 && !auth.Within(header[0]) && len(r.CookiesNamed(g.cookieName())) == 0 && presented.InURL(r.URL) == nil
}

func (g *Gate) cookieName() string {
	if g.secure {
		return presented.Secure
	}
	return presented.Plain
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
	c := gate.Caller{Name: who.Name, Role: who.Role, Until: until, Verbs: []gate.Verb{}, Who: who}
	for _, v := range gate.Verbs() {
		if allowed(who, v) {
			c.Verbs = append(c.Verbs, v)
		}
	}
	return c
}

func allowed(who auth.Who, v auth.Verb) bool {
	if !slices.Contains(auth.Verbs(), v) { // the door's own: logging out, what everybody may
		return who.Token == "" || v == gate.Logout
	}
	return who.May(v, auth.Mine) == nil || who.May(v, auth.Foreign) == nil
}

// from is where a request came from, of which addr is the client's address.
func from(addr, device string) desk.From {
	f := desk.From{Device: device}
	if at, err := netip.ParseAddr(addr); err == nil {
		f.Address = at
	} else if at, err := netip.ParseAddrPort(addr); err == nil {
		f.Address = at.Addr()
	}
	return f
}

// Login takes the word of a link, a name and a password, or the word of an invitation
// with both.
func (g *Gate) Login(ctx context.Context, f gate.From, p gate.Proof) (gate.Session, error) {
	var e desk.Entry
	var err error
	switch at := from(f.Addr, f.Device); {
	case strings.HasPrefix(p.Code, string(auth.InvitationWord)):
		e, err = g.desk.People.Accept(ctx, at, p.Code, p.Name, p.Password)
	case p.Code != "" && (p.Name != "" || p.Password != ""):
		return gate.Session{}, paddock.Refused(paddock.InvalidRequest, "One logs in by a link or by a name and a password, not by both.")
	case p.Code != "":
		e, err = g.desk.Redeem(ctx, at, p.Code)
	default:
		e, err = g.desk.Login(ctx, at, p.Name, p.Password)
	}
	if err != nil {
		return gate.Session{}, err
	}
	return g.session(e), nil
}

// session is what a browser gets of an entry.
func (g *Gate) session(e desk.Entry) gate.Session {
	return gate.Session{Caller: caller(e.Who, e.Expires.Time), Cookie: presented.Cookie(g.way(), e.Secret, g.now(), e.Expires.Time)}
}

// way is how cookies go out. A server without TLS is reached by loopback alone, or
// doesn't start.
func (g *Gate) way() presented.Way {
	if g.secure {
		return presented.TLS
	}
	return presented.Loopback
}

// Logout ends the session that r shows, or the token.
func (g *Gate) Logout(r *http.Request) (*http.Cookie, error) {
	if g.others(r) {
		return g.other.Logout(r)
	}
	who, err := g.who(r)
	if err != nil {
		return nil, err
	}
	if who.Token != "" {
		return nil, g.desk.Tokens.End(r.Context(), who)
	}
	if who.Session != "" {
		if err := g.desk.Logout(r.Context(), who); err != nil {
			return nil, err
		}
	}
	return presented.Gone(g.way()), nil
}
