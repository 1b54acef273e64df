// Package presented says how a credential comes in by HTTP, and how it goes out: a
// session in a cookie, an API token in an Authorization header, and nothing in a URL.
//
// Under TLS the cookie is called __Host-paddock: browsers then send it back to this
// host alone, take it from nobody else, and never send it unencrypted. A browser doesn't
// take such a cookie over plain HTTP. There, and only where both ends of the connection
// are this machine's loopback, it is called paddock and has the same attributes but
// Secure. Over anything else no cookie is set or read.
//
// # Limits
//
// Whether a proxy that may say so says that its client came by TLS is found out by who
// calls. Requests that other sites make a browser send are refused elsewhere, by their
// origin: the cookie is SameSite=Lax beside that, not instead of it. A login link's word
// comes in a body.
package presented

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"paddock"
	"paddock/internal/auth"
)

// The names of the cookie.
const (
	Secure = "__Host-paddock"
	Plain  = "paddock"
	// away is added to the name of the cookie that is carried to a provider and back.
	away = "-away"
)

// A Way is how a request reached us, as far as cookies care. The zero Way is open: it
// has no cookies.
type Way int

// The ways.
const (
	Open     Way = iota // unencrypted, and not from this machine
	Loopback            // from this machine to itself
	TLS                 // encrypted up to us, or up to a proxy that we trust
)

// WayOf says how r came; secured says that a trusted proxy tells of TLS.
func WayOf(r *http.Request, secured bool) Way {
	if r.TLS != nil || secured {
		return TLS
	}
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	remote, err := netip.ParseAddrPort(r.RemoteAddr)
	if local == nil || err != nil || !remote.Addr().Unmap().IsLoopback() {
		return Open
	}
	here, err := netip.ParseAddrPort(local.String())
	if err != nil || !here.Addr().Unmap().IsLoopback() {
		return Open
	}
	return Loopback
}

func (w Way) name() string {
	switch w {
	case TLS:
		return Secure
	case Loopback:
		return Plain
	case Open:
	}
	return ""
}

// A Credential is what a request shows. The zero Credential is none.
type Credential struct {
	Kind auth.Kind
	Word string
}

// Of returns what r shows, which isn't yet believed. What is ambiguous is refused: two
// headers, two cookies of our name, a header and a cookie; as is anything in the URL
// that looks like a credential.
func Of(r *http.Request, way Way) (Credential, error) {
	if err := InURL(r.URL); err != nil {
		return Credential{}, err
	}
	headers := r.Header.Values("Authorization")
	var cookies []*http.Cookie
	if name := way.name(); name != "" {
		cookies = r.CookiesNamed(name)
	}
	switch {
	case len(headers)+len(cookies) > 1:
		return Credential{}, paddock.Refused(paddock.InvalidRequest, "The request shows more than one credential; send one.")
	case len(headers) == 1:
		return bearer(headers[0])
	case len(cookies) == 1:
		if !auth.IsWord(auth.SessionWord, cookies[0].Value) {
			return Credential{}, paddock.Refused(paddock.Unauthenticated, "The session is over. Log in again.")
		}
		return Credential{auth.SessionWord, cookies[0].Value}, nil
	}
	return Credential{}, nil
}

func bearer(header string) (Credential, error) {
	scheme, word, ok := strings.Cut(header, " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") || !auth.IsWord(auth.TokenWord, word) {
		return Credential{}, paddock.Refused(paddock.Unauthenticated, "The Authorization header isn't `Bearer` and an API token of this server.")
	}
	return Credential{auth.TokenWord, word}, nil
}

// keys are names of what people put into URLs that belongs elsewhere. `code` and `state`
// aren't among them: providers of identity send those, they are good once, and for
// nothing without the browser's own part.
var keys = map[string]bool{
	"access_token": true, "token": true, "api_key": true, "apikey": true, "key": true, "auth": true, "authorization": true,
	"bearer": true, "bearer_token": true, "jwt": true, "password": true, "passwd": true, "secret": true, "session": true,
	"sessionid": true, "session_id": true, "id_token": true, "refresh_token": true, "client_secret": true, "invitation": true, "link": true,
}

// InURL refuses a URL that has a credential in it, or what is named like one: URLs are
// written to logs, histories and referrers. The refusal doesn't repeat it.
func InURL(u *url.URL) error {
	bad := paddock.Refused(paddock.InvalidRequest, "The URL has a credential in it. Nothing is taken from there, and if it was a real one it is known to others now: revoke it.")
	bad.Hint = "Send an API token as `Authorization: Bearer …`, and everything else in the body."
	if u.User != nil {
		return bad
	}
	for _, text := range []string{u.EscapedPath(), u.Opaque, u.RawQuery, u.Fragment} {
		if within(text) {
			return bad
		}
	}
	for part := range strings.FieldsFuncSeq(u.RawQuery, func(r rune) bool { return r == '&' || r == ';' }) {
		name, _, _ := strings.Cut(part, "=")
		if keys[strings.ToLower(unescape(name))] {
			return bad
		}
	}
	return nil
}

// within says whether a credential is in text, however often that is escaped.
func within(text string) bool {
	for range 4 {
		if auth.Within(text) {
			return true
		}
		again := unescape(text)
		if again == text {
			return false
		}
		text = again
	}
	return true // nobody escapes that often who has nothing to hide
}

// unescape reads what it can: a URL that is badly escaped is looked at as it is.
func unescape(s string) string {
	if out, err := url.QueryUnescape(s); err == nil {
		return out
	}
	return s
}

// ForLog is what may be written of a URL: its path, unless something in it looks like a
// credential, and the names of its parameters that we know.
func ForLog(u *url.URL, known ...string) string {
	out := u.EscapedPath()
	if within(out) {
		out = "/…"
	}
	var names []string
	for _, name := range known {
		if u.Query().Has(name) {
			names = append(names, name)
		}
	}
	if names != nil {
		out += "?" + strings.Join(names, "&")
	}
	return out
}

// Cookie carries a session's word to the browser; nil where the way has no cookies.
func Cookie(way Way, word string, now, expires time.Time) *http.Cookie {
	c := cookie(way)
	if c != nil {
		c.Value, c.MaxAge = word, max(1, int(expires.Sub(now)/time.Second))
	}
	return c
}

// Gone takes the session's word away from the browser.
func Gone(way Way) *http.Cookie {
	c := cookie(way)
	if c != nil {
		c.MaxAge = -1
	}
	return c
}

// Away carries what must come back with somebody who logs in elsewhere. That it lasts
// less than a second takes it away.
func Away(way Way, carried string, lasts time.Duration) *http.Cookie {
	c := cookie(way)
	if c != nil {
		c.Name, c.Value, c.MaxAge = c.Name+away, carried, int(max(lasts/time.Second, -1))
		if c.MaxAge == 0 {
			c.MaxAge = -1
		}
	}
	return c
}

// Back is what Away carried; empty if nothing or more than one thing comes back.
func Back(r *http.Request, way Way) string {
	if way.name() == "" {
		return ""
	}
	if c := r.CookiesNamed(way.name() + away); len(c) == 1 {
		return c[0].Value
	}
	return ""
}

func cookie(way Way) *http.Cookie {
	if way.name() == "" {
		return nil
	}
	return &http.Cookie{Name: way.name(), Path: "/", HttpOnly: true, Secure: way == TLS, SameSite: http.SameSiteLaxMode}
}
