// Package alone is a gate for a server with one person: whoever has the link that was
// printed when it started, or the token in a file that only its owner can read.
//
// The link's code is good once and for an hour. Sessions are kept in memory: a restart
// ends them and prints a new link. Only digests are kept, of codes, sessions and the
// token, and they are compared in constant time.
//
// # Limits
//
// It knows no passwords and no second person.
package alone

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"strings"
	"sync"
	"time"

	"paddock"
	"paddock/internal/httpapi/entry/gate"
)

// How long things are good for.
const (
	LinkLasts    = time.Hour
	SessionIdle  = 12 * time.Hour
	SessionLasts = 7 * 24 * time.Hour
)

const (
	mostSessions = 64
	mostProof    = 256 // bytes of a code, a cookie or a token that are looked at
	leastToken   = 32
	bearer       = "Bearer "
)

// Config says how a Gate works.
type Config struct {
	// Name is of the one account.
	Name string
	// Token, when not empty, is accepted as a bearer token.
	Token string
	// Secure says that browsers reach us by TLS. Without it cookies can't have the
	// attributes that only TLS gives, which is for loopback alone.
	Secure bool
	Now    func() time.Time
}

// A Gate lets one person in.
type Gate struct {
	cfg   Config
	token [32]byte

	mu       sync.Mutex
	code     [32]byte            // guarded by mu
	until    time.Time           // of code; guarded by mu
	sessions map[[32]byte]period // guarded by mu
}

type period struct{ seen, until time.Time }

// New returns a Gate. A token that is too short to be one is refused.
func New(cfg Config) (*Gate, error) {
	g := &Gate{cfg: cfg, sessions: map[[32]byte]period{}}
	if cfg.Token != "" {
		if len(cfg.Token) < leastToken || len(cfg.Token) > mostProof {
			return nil, paddock.Refused(paddock.InvalidRequest, "The token has %d characters; %d to %d are wanted.", len(cfg.Token), leastToken, mostProof)
		}
		g.token = sha256.Sum256([]byte(cfg.Token))
	}
	return g, nil
}

// secret is 256 random bits.
func secret() (string, [32]byte) {
	var b [32]byte
	_, _ = rand.Read(b[:]) // it never fails; it crashes the program instead
	s := base64.RawURLEncoding.EncodeToString(b[:])
	return s, sha256.Sum256([]byte(s))
}

// Link makes the code of a new link. An earlier one is good no more.
func (g *Gate) Link() string {
	code, digest := secret()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.code, g.until = digest, g.cfg.Now().Add(LinkLasts)
	return code
}

func unauthenticated(format string) error {
	return paddock.Refused(paddock.Unauthenticated, "%s", format)
}

// Login takes the code of the link.
func (g *Gate) Login(_ context.Context, _ string, p gate.Proof) (gate.Session, error) {
	if p.Code == "" {
		return gate.Session{}, unauthenticated("This server has no passwords: it is entered by the link that it printed when it started.")
	}
	digest := sha256.Sum256([]byte(p.Code[:min(len(p.Code), mostProof)]))
	now := g.cfg.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	if subtle.ConstantTimeCompare(digest[:], g.code[:]) != 1 || !now.Before(g.until) {
		return gate.Session{}, unauthenticated("The link isn't valid: it is good once and for an hour. A restart of the server prints a new one.")
	}
	g.until = time.Time{}
	g.sweep(now)
	value, key := secret()
	g.sessions[key] = period{now, now.Add(SessionLasts)}
	cookie := g.cookie(value)
	cookie.MaxAge = int(SessionLasts / time.Second)
	return gate.Session{Caller: g.caller(now.Add(SessionLasts)), Cookie: cookie}, nil
}

// sweep takes out sessions that are over, and the oldest when there are too many. The
// caller holds mu.
func (g *Gate) sweep(now time.Time) {
	for key, p := range g.sessions {
		if p.over(now) {
			delete(g.sessions, key)
		}
	}
	for len(g.sessions) >= mostSessions {
		var oldest [32]byte
		var at time.Time
		for key, p := range g.sessions {
			if at.IsZero() || p.seen.Before(at) {
				oldest, at = key, p.seen
			}
		}
		delete(g.sessions, oldest)
	}
}

func (p period) over(now time.Time) bool {
	return !now.Before(p.until) || now.Sub(p.seen) >= SessionIdle
}

func (g *Gate) caller(until time.Time) gate.Caller {
	return gate.Caller{Name: g.cfg.Name, Role: gate.Admin, Until: until}
}

func (g *Gate) cookie(value string) *http.Cookie {
	c := &http.Cookie{Name: "paddock_session", Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode}
	if g.cfg.Secure {
		c.Name, c.Secure = "__Host-paddock_session", true
	}
	return c
}

// Identify believes a bearer token before a cookie.
func (g *Gate) Identify(r *http.Request) (gate.Caller, error) {
	if header := r.Header.Values("Authorization"); len(header) > 0 {
		given, ok := strings.CutPrefix(header[0], bearer)
		digest := sha256.Sum256([]byte(given[:min(len(given), mostProof+1)]))
		if !ok || len(header) > 1 || g.cfg.Token == "" || subtle.ConstantTimeCompare(digest[:], g.token[:]) != 1 {
			return gate.Caller{}, unauthenticated("The token isn't valid.")
		}
		return g.caller(time.Time{}), nil
	}
	cookies := r.CookiesNamed(g.cookie("").Name)
	if len(cookies) == 0 {
		return gate.Caller{}, nil
	}
	now := g.cfg.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	key := digestOf(cookies[0].Value)
	p, ok := g.sessions[key]
	if !ok || len(cookies) > 1 || p.over(now) {
		return gate.Caller{}, unauthenticated("The session is over.")
	}
	p.seen = now
	g.sessions[key] = p
	return g.caller(p.until), nil
}

func digestOf(s string) [32]byte { return sha256.Sum256([]byte(s[:min(len(s), mostProof)])) }

// Logout ends the session of r.
func (g *Gate) Logout(r *http.Request) (*http.Cookie, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range r.CookiesNamed(g.cookie("").Name) {
		delete(g.sessions, digestOf(c.Value))
	}
	gone := g.cookie("")
	gone.MaxAge = -1
	return gone, nil
}
