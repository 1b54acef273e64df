package desk_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"paddock"
	"paddock/internal/auth"
	"paddock/internal/auth/desk"
	"paddock/internal/auth/desk/internal/hall/providers"
)

// away is a world with providers.
func away(t *testing.T) (*world, *idp) {
	t.Helper()
	w := keyed(t)
	p := newIDP(t, w.clock)
	w.config.Providers = []desk.Provider{p.provider("corp", "oidc"), p.provider("github", "github")}
	w.restart()
	return w, p
}

// trip logs in by a provider; change may tamper with what comes back.
func (w *world) trip(p *idp, name string, change func(*providers.Trip, url.Values)) (desk.Entry, error) {
	w.t.Helper()
	trip, err := w.Providers.Begin(w.t.Context(), home, name)
	w.must(err)
	back := p.browse(trip.URL)
	if change != nil {
		change(&trip, back)
	}
	return w.Providers.Finish(w.t.Context(), home, name, trip.Carried, back)
}

func TestOpenID(t *testing.T) {
	t.Parallel()
	w, p := away(t)
	admin := w.admin()
	_, err := w.trip(p, "corp", nil)
	refused(t, err, paddock.Unauthenticated, "Nobody invited this identity")
	if l := w.last(); l.What != auth.IdentityUnused || w.users() != 1 {
		t.Errorf("%+v, %d users", l, w.users())
	}
	i, err := w.People.InviteIdentity(t.Context(), admin, auth.Approver, "corp", "email:ANN@example.org")
	if err != nil || i.Invitee != "corp email:ann@example.org" {
		t.Fatalf("%+v, %v", i, err)
	}
	e, err := w.trip(p, "corp", nil)
	if err != nil || e.Who.Name != "ann" || e.Who.Role != auth.Approver || w.in(e.Secret).User != e.Who.User {
		t.Fatalf("%+v, %v", e, err)
	}
	// From then on it is the subject that counts, and not the address.
	p.set(func() { p.person["email"], p.person["preferred_username"] = "other@example.org", "other" })
	again, err := w.trip(p, "corp", nil)
	if err != nil || again.Who.User != e.Who.User || w.users() != 2 {
		t.Errorf("%+v, %v", again, err)
	}
	p.set(func() { p.person["sub"], p.person["email"] = "subject-2", "ann@example.org" })
	_, err = w.trip(p, "corp", nil)
	refused(t, err, paddock.Unauthenticated, "Nobody invited this identity")
	// Who is disabled here is out, whatever is said there.
	p.set(func() { p.person["sub"] = "subject-1" })
	w.all(w.People.Disable(t.Context(), admin, e.Who.User))
	_, err = w.trip(p, "corp", nil)
	refused(t, err, paddock.Unauthenticated, "")
	if text := w.everything(); strings.Contains(text, clientSecret) || strings.Contains(text, "example.org@") {
		t.Errorf("%s", text)
	}
}

func TestGitHub(t *testing.T) {
	t.Parallel()
	w, p := away(t)
	admin := w.admin()
	p.set(func() {
		p.person = map[string]any{"id": 4711, "login": "Ann-Smith", "type": "User", "extra": map[string]any{"a": 1}}
	})
	_, err := w.trip(p, "github", nil)
	refused(t, err, paddock.Unauthenticated, "Nobody invited")
	w.all(w.People.InviteIdentity(t.Context(), admin, auth.Viewer, "github", "login:ann-smith"))
	e, err := w.trip(p, "github", nil)
	if err != nil || e.Who.Name != "ann-smith" || e.Who.Role != auth.Viewer {
		t.Fatalf("%+v, %v", e, err)
	}
	// Somebody else takes the login that she gave up.
	p.set(func() { p.person["id"] = 4712 })
	_, err = w.trip(p, "github", nil)
	refused(t, err, paddock.Unauthenticated, "Nobody invited")
	p.set(func() { p.person["id"], p.person["login"] = 4711, "renamed" })
	if again, err := w.trip(p, "github", nil); err != nil || again.Who.User != e.Who.User {
		t.Errorf("%+v, %v", again, err)
	}
	for _, bad := range []map[string]any{
		{"id": 1, "login": "bot", "type": "Bot"}, {"id": 0, "login": "x", "type": "User"}, {"id": 2, "type": "User"}, {"login": "x", "type": "User"},
	} {
		p.set(func() { p.person = bad })
		_, err := w.trip(p, "github", nil)
		refused(t, err, paddock.Unauthenticated, "it isn't a person")
	}
	p.set(func() { p.person = map[string]any{"id": "4711", "login": "x", "type": "User"} })
	if _, err := w.trip(p, "github", nil); err == nil {
		t.Error("a number that is text is a number")
	}
}

// What one provider calls somebody says nothing of whom another one calls so: neither an
// invitation nor an account is his.
func TestSameNameElsewhere(t *testing.T) {
	t.Parallel()
	w, p := away(t)
	other := newIDP(t, w.clock)
	w.config.Providers = append(w.config.Providers, other.provider("other", "oidc"))
	w.restart()
	for _, key := range []string{"email:ann@example.org", "sub:subject-1"} {
		w.all(w.People.InviteIdentity(t.Context(), auth.Local(), auth.Admin, "corp", key))
	}
	_, err := w.trip(other, "other", nil)
	refused(t, err, paddock.Unauthenticated, "Nobody invited")
	ann, err := w.trip(p, "corp", nil)
	w.must(err)
	_, err = w.trip(other, "other", nil)
	refused(t, err, paddock.Unauthenticated, "Nobody invited")
	w.all(w.People.InviteIdentity(t.Context(), auth.Local(), auth.Viewer, "other", "sub:subject-1"))
	if e, err := w.trip(other, "other", nil); err != nil || e.Who.User == ann.Who.User || e.Who.Role != auth.Viewer {
		t.Errorf("%+v, %v", e, err)
	}
}

// What comes back must be what was sent, once, in the same browser.
func TestComingBack(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(w *world, p *idp, trip *providers.Trip, back url.Values)
		words  string
	}{
		"no state":       {func(_ *world, _ *idp, _ *providers.Trip, q url.Values) { q.Del("state") }, "wasn't begun in this browser"},
		"another state":  {func(_ *world, _ *idp, _ *providers.Trip, q url.Values) { q.Set("state", rand.Text()) }, "wasn't begun in this browser"},
		"two states":     {func(_ *world, _ *idp, _ *providers.Trip, q url.Values) { q.Add("state", q.Get("state")) }, "wasn't begun in this browser"},
		"an empty state": {func(_ *world, _ *idp, _ *providers.Trip, q url.Values) { q.Set("state", "") }, "wasn't begun in this browser"},
		"a long state":   {func(_ *world, _ *idp, _ *providers.Trip, q url.Values) { q.Set("state", strings.Repeat("x", 1<<20)) }, "wasn't begun in this browser"},
		"no cookie":      {func(_ *world, _ *idp, trip *providers.Trip, _ url.Values) { trip.Carried = "" }, "wasn't begun in this browser"},
		"a changed cookie": {func(_ *world, _ *idp, trip *providers.Trip, _ url.Values) {
			trip.Carried = "A" + trip.Carried[1:] + "A"
		}, "wasn't begun in this browser"},
		"another's cookie": {func(w *world, _ *idp, trip *providers.Trip, _ url.Values) {
			other, err := w.Providers.Begin(w.t.Context(), home, "corp")
			w.must(err)
			trip.Carried = other.Carried
		}, "wasn't begun in this browser"},
		"another provider's": {func(w *world, p *idp, trip *providers.Trip, q url.Values) {
			other, err := w.Providers.Begin(w.t.Context(), home, "github")
			w.must(err)
			trip.Carried = other.Carried
			q.Set("state", p.browse(other.URL).Get("state"))
		}, "wasn't begun in this browser"},
		"too late":       {func(w *world, _ *idp, _ *providers.Trip, _ url.Values) { w.pass(10 * time.Minute) }, "too long ago"},
		"another issuer": {func(_ *world, _ *idp, _ *providers.Trip, q url.Values) { q.Set("iss", "https://evil.example.org") }, "Another provider answers"},
		"two issuers":    {func(_ *world, _ *idp, _ *providers.Trip, q url.Values) { q.Add("iss", q.Get("iss")) }, "Another provider answers"},
		"an error":       {func(_ *world, _ *idp, _ *providers.Trip, q url.Values) { q.Set("error", "access_denied\r\n\x00") }, "let nobody in: access_denied."},
		"no code":        {func(_ *world, _ *idp, _ *providers.Trip, q url.Values) { q.Del("code") }, "has no code"},
		"two codes":      {func(_ *world, _ *idp, _ *providers.Trip, q url.Values) { q.Add("code", "x") }, "has no code"},
		"another code":   {func(_ *world, _ *idp, _ *providers.Trip, q url.Values) { q.Set("code", "x") }, "doesn't take the code (invalid_grant)"},
		"another's code": {func(w *world, p *idp, _ *providers.Trip, q url.Values) { // injected: PKCE sees it
			other, err := w.Providers.Begin(w.t.Context(), home, "corp")
			w.must(err)
			q.Set("code", p.browse(other.URL).Get("code"))
		}, "doesn't take the code (invalid_grant)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, p := away(t)
			w.all(w.People.InviteIdentity(t.Context(), auth.Local(), auth.Viewer, "corp", "sub:subject-1"))
			e, err := w.trip(p, "corp", func(trip *providers.Trip, back url.Values) { tc.change(w, p, trip, back) })
			refused(t, err, paddock.Unauthenticated, tc.words)
			if e.Secret != "" || w.users() != 1 {
				t.Errorf("%+v, %d users", e, w.users())
			}
			if l := w.last(); l.What != auth.LoginRefused || l.Detail != "corp" {
				t.Errorf("%+v", l)
			}
		})
	}
}

func TestComingBackOnce(t *testing.T) {
	t.Parallel()
	w, p := away(t)
	w.all(w.People.InviteIdentity(t.Context(), auth.Local(), auth.Viewer, "corp", "sub:subject-1"))
	trip, err := w.Providers.Begin(t.Context(), home, "corp")
	w.must(err)
	back := p.browse(trip.URL)
	w.all(w.Providers.Finish(t.Context(), home, "corp", trip.Carried, back))
	_, err = w.Providers.Finish(t.Context(), home, "corp", trip.Carried, back)
	refused(t, err, paddock.Unauthenticated, "was finished before")
	if p.asked["token"] != 1 {
		t.Errorf("the provider was asked %d times", p.asked["token"])
	}
	// What is sent has everything that is needed, and nothing of ours.
	u, err := url.Parse(trip.URL)
	w.must(err)
	q := u.Query()
	if q.Get("redirect_uri") != redirect || q.Get("response_type") != "code" || q.Get("nonce") == "" || q.Get("code_challenge_method") != "S256" || strings.Contains(trip.URL, url.QueryEscape(clientSecret)) {
		t.Errorf("%s", trip.URL)
	}
	if strings.Contains(trip.Carried, q.Get("state")) {
		t.Error("the cookie can be read")
	}
}

func TestBadIDTokens(t *testing.T) {
	t.Parallel()
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		claims map[string]any
		words  string
	}{
		"another nonce":      {map[string]any{"nonce": "x"}, "its nonce isn't"},
		"no nonce":           {map[string]any{"nonce": nil}, "its nonce isn't"},
		"for another":        {map[string]any{"aud": "somebody"}, "isn't good"},
		"for several":        {map[string]any{"aud": []string{clientID, "somebody"}}, "somebody else"},
		"of another party":   {map[string]any{"azp": "somebody"}, "somebody else"},
		"of another issuer":  {map[string]any{"iss": "https://evil.example.org"}, "isn't good"},
		"expired":            {map[string]any{"exp": 1}, "isn't good"},
		"of the future":      {map[string]any{"nbf": 1 << 40}, "isn't good"},
		"without subject":    {map[string]any{"sub": nil}, "no subject"},
		"an empty subject":   {map[string]any{"sub": ""}, "no subject"},
		"a long subject":     {map[string]any{"sub": strings.Repeat("x", 256)}, "no subject"},
		"a number":           {map[string]any{"sub": 1}, "isn't good"},
		"claims of no type":  {map[string]any{"email": 1}, "wrong types"},
		"of another case":    {map[string]any{"EMAIL": "ann@example.org"}, "by capitals alone"},
		"another signature":  {map[string]any{}, "isn't good"},
		"mail not verified":  {map[string]any{"email_verified": false}, "Nobody invited"},
		"mail not said so":   {map[string]any{"email_verified": nil}, "Nobody invited"},
		"mail that is alike": {map[string]any{"email": "аnn@example.org"}, "Nobody invited"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, p := away(t)
			w.all(w.People.InviteIdentity(t.Context(), auth.Local(), auth.Viewer, "corp", "email:ann@example.org"))
			p.set(func() {
				p.claims = tc.claims
				if name == "another signature" {
					p.signer = other
				}
			})
			_, err := w.trip(p, "corp", nil)
			refused(t, err, paddock.Unauthenticated, tc.words)
			if w.users() != 1 || len(w.store.sessions) != 0 {
				t.Error("somebody was let in")
			}
		})
	}
}

// What the provider can't do is no refusal, and none of its words are repeated.
func TestProviderFails(t *testing.T) {
	t.Parallel()
	w, p := away(t)
	w.all(w.People.InviteIdentity(t.Context(), auth.Local(), auth.Viewer, "corp", "sub:subject-1"))
	p.set(func() { p.broken = "a secret of the provider's" })
	for _, name := range []string{"corp", "github"} {
		_, err := w.trip(p, name, nil)
		var r *paddock.Refusal
		if err == nil || errors.As(err, &r) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	p.Close()
	w.restart()
	if _, err := w.Providers.Begin(t.Context(), home, "corp"); err == nil {
		t.Error("a provider that is gone is found")
	}
	_, err := w.Providers.Begin(t.Context(), home, "nobody")
	refused(t, err, paddock.NotFound, "no such provider")
	_, err = w.Providers.Finish(t.Context(), home, "nobody", "", nil)
	refused(t, err, paddock.NotFound, "no such provider")
}

func TestInvitedIdentities(t *testing.T) {
	t.Parallel()
	w, p := away(t)
	admin := w.admin()
	ann := w.user("ann", auth.Operator)
	for _, bad := range [][2]string{
		{"corp", ""}, {"corp", "email:"}, {"corp", "email"}, {"corp", "login:ann"}, {"github", "email:a@b"}, {"nobody", "email:a@b"}, {"", "email:a@b"},
		{"corp", "email:a b@c"}, {"corp", "email:\x00"}, {"corp", "email:\xff"}, {"corp", "email:аnn@example.org"}, {"corp", "sub:" + strings.Repeat("x", 1000)},
	} {
		_, err := w.People.InviteIdentity(t.Context(), admin, auth.Viewer, bad[0], bad[1])
		refused(t, err, paddock.InvalidRequest, "is nobody who can be invited")
	}
	_, err := w.People.InviteIdentity(t.Context(), ann.Who, auth.Admin, "corp", "sub:1")
	refused(t, err, paddock.Forbidden, "")
	w.all(w.People.InviteIdentity(t.Context(), admin, auth.Viewer, "corp", "sub:Subject-1"))
	_, err = w.People.InviteIdentity(t.Context(), admin, auth.Viewer, "corp", "sub:Subject-1")
	refused(t, err, paddock.Conflict, "exists already")
	_, err = w.trip(p, "corp", nil) // subjects are exact
	refused(t, err, paddock.Unauthenticated, "Nobody invited")
	// The invitation of one provider is none at another, and expires.
	w.all(w.People.InviteIdentity(t.Context(), admin, auth.Viewer, "corp", "sub:subject-1"))
	w.pass(8 * 24 * time.Hour)
	_, err = w.trip(p, "corp", nil)
	refused(t, err, paddock.Unauthenticated, "Nobody invited")
	// A name that is taken isn't taken over.
	w.all(w.People.InviteIdentity(t.Context(), auth.Local(), auth.Viewer, "corp", "email:ann@example.org"))
	e, err := w.trip(p, "corp", nil)
	if err != nil || e.Who.Name != "ann-2" || e.Who.User == ann.Who.User {
		t.Errorf("%+v, %v", e, err)
	}
	// By what an identity is invited can't be used as a code.
	_, err = w.People.Accept(t.Context(), home, "corp email:ann@example.org", "bob", good)
	refused(t, err, paddock.Unauthenticated, "")
}

func TestProviderNames(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Ann": "ann", "ann.smith": "ann-smith", "  ann  ": "ann", "1ann": "ann", "--a--b--": "a-b", "": "user", "a": "user", "аnn": "nn", "\xff\x00": "user", "日本": "user",
		strings.Repeat("ab", 1<<20): strings.Repeat("ab", 14),
	} {
		got := providers.Name(text)
		if _, err := auth.ParseName(got); got != want || err != nil {
			t.Errorf("%.40q: %q, want %q", text, got, want)
		}
	}
}

func TestProviderConfig(t *testing.T) {
	t.Parallel()
	w := keyed(t)
	good := desk.Provider{Name: "corp", Kind: "oidc", Issuer: "https://id.example.org", ClientID: "a", ClientSecret: "b", Redirect: redirect}
	for name, change := range map[string]func(*desk.Provider){
		"no name":        func(p *desk.Provider) { p.Name = "" },
		"a bad name":     func(p *desk.Provider) { p.Name = "a b" },
		"another kind":   func(p *desk.Provider) { p.Kind = "saml" },
		"no issuer":      func(p *desk.Provider) { p.Issuer = "" },
		"a bad issuer":   func(p *desk.Provider) { p.Issuer = "https://id.example.org?x=1" },
		"no client":      func(p *desk.Provider) { p.ClientID = "" },
		"no secret":      func(p *desk.Provider) { p.ClientSecret = "" },
		"no redirect":    func(p *desk.Provider) { p.Redirect = "" },
		"a half address": func(p *desk.Provider) { p.Redirect = "/auth/callback" },
		"a bad API":      func(p *desk.Provider) { p.Kind, p.API = "github", "api" },
	} {
		c := w.config
		p := good
		change(&p)
		c.Providers = []desk.Provider{p}
		if _, err := desk.New(c); err == nil || strings.Contains(fmt.Sprint(err), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
	c := w.config
	c.Providers = []desk.Provider{good, good}
	if _, err := desk.New(c); err == nil {
		t.Error("two of one name")
	}
	c.Providers = []desk.Provider{good}
	d, err := desk.New(c)
	if err != nil || len(d.Providers.Names()) != 1 || d.Providers.Names()[0] != "corp" {
		t.Errorf("%v", err)
	}
}

// Without its own leave a provider that is inside isn't asked.
func TestProviderInside(t *testing.T) {
	t.Parallel()
	w := keyed(t)
	p := newIDP(t, w.clock)
	c := p.provider("corp", "oidc")
	c.Inside = nil
	w.config.Providers = []desk.Provider{c}
	w.restart()
	if _, err := w.Providers.Begin(t.Context(), home, "corp"); err == nil || !strings.Contains(err.Error(), "isn't asked without TLS") {
		t.Errorf("%v", err)
	}
}
