package desk_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json/v2"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"

	"paddock"
	"paddock/internal/auth"
)

const mcp = "https://paddock.example.org/mcp"

// raw is a token with any head, claims and signature.
func raw(t *testing.T, head, claims map[string]any, sign func([]byte) []byte) string {
	t.Helper()
	part := func(v any) string {
		text, err := json.Marshal(v, json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString(text)
	}
	text := part(head) + "." + part(claims)
	return text + "." + base64.RawURLEncoding.EncodeToString(sign([]byte(text)))
}

// es256 signs as the provider does.
func es256(t *testing.T, key *ecdsa.PrivateKey) func([]byte) []byte {
	return func(text []byte) []byte {
		sum := sha256.Sum256(text)
		r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
		if err != nil {
			t.Fatal(err)
		}
		return append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
	}
}

// with is a copy of claims with others; nil takes one away.
func with(claims map[string]any, more map[string]any) map[string]any {
	c := maps.Clone(claims)
	maps.Copy(c, more)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	return c
}

// A program that an authorization server gave an access token for /mcp is who that says,
// as far as its scopes and its owner's role reach. Nothing else lets anybody in.
func TestAccessTokens(t *testing.T) {
	t.Parallel()
	w := keyed(t)
	p := newIDP(t, w.clock)
	corp := p.provider("corp", "oidc")
	corp.Access = true
	w.config.Providers = append(w.config.Providers, corp)
	w.restart()
	admin := w.admin()
	if _, err := w.People.InviteIdentity(t.Context(), admin, auth.Operator, "corp", "sub:subject-1"); err != nil {
		t.Fatal(err)
	}
	now := w.clock()
	claims := map[string]any{"iss": p.URL, "aud": mcp, "sub": "subject-1", "exp": now.Add(time.Minute).Unix(), "iat": now.Unix(), "scope": "mcp.use runs.start openid tokens.create runs.raw", "client_id": "an-agent"}
	head := map[string]any{"alg": "ES256", "kid": "k", "typ": "at+jwt"}
	good := es256(t, p.key)
	token := raw(t, head, claims, good)
	_, err := w.Providers.Access(t.Context(), token, mcp)
	refused(t, err, paddock.Unauthenticated, "access token") // invited, and has no account yet
	e, err := w.trip(p, "corp", nil)
	w.must(err)
	who, err := w.Providers.Access(t.Context(), token, mcp)
	if err != nil || who.User != e.Who.User || who.Role != auth.Operator || who.Session != "" {
		t.Fatalf("%+v, %v", who, err)
	}
	for v, may := range map[auth.Verb]bool{auth.MCPUse: true, auth.RunsStart: true, auth.RunsKill: false, auth.TokensCreate: false, auth.RunsRaw: false, auth.PolicyRead: false} {
		if (who.May(v, auth.Mine) == nil) != may {
			t.Errorf("%s: %v", v, who.May(v, auth.Mine))
		}
	}
	for _, kind := range []any{nil, "JWT", "application/at+jwt"} {
		if _, err := w.Providers.Access(t.Context(), raw(t, with(head, map[string]any{"typ": kind}), claims, good), mcp); err != nil {
			t.Errorf("typ %v: %v", kind, err)
		}
	}
	list := raw(t, head, with(claims, map[string]any{"aud": []string{"https://other.example.org", mcp}}), good)
	if _, err := w.Providers.Access(t.Context(), list, mcp); err != nil {
		t.Errorf("one audience of two: %v", err)
	}

	stranger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	w.must(err)
	public, err := p.key.PublicKey.Bytes()
	w.must(err)
	secret := func(key []byte) func([]byte) []byte {
		return func(text []byte) []byte {
			m := hmac.New(sha256.New, key)
			m.Write(text)
			return m.Sum(nil)
		}
	}
	none := func([]byte) []byte { return nil }
	said, err := json.Marshal(claims)
	w.must(err)
	id, parts := e.Who.User, strings.Split(token, ".")
	for what, bad := range map[string]string{
		"another audience":         raw(t, head, with(claims, map[string]any{"aud": clientID}), good),
		"an audience that is like": raw(t, head, with(claims, map[string]any{"aud": mcp + "/"}), good),
		"no audience":              raw(t, head, with(claims, map[string]any{"aud": nil}), good),
		"expired":                  raw(t, head, with(claims, map[string]any{"exp": now.Unix() - 1}), good),
		"no end":                   raw(t, head, with(claims, map[string]any{"exp": nil}), good),
		"not yet":                  raw(t, head, with(claims, map[string]any{"nbf": now.Add(time.Hour).Unix()}), good),
		"another issuer":           raw(t, head, with(claims, map[string]any{"iss": "https://evil.example.org"}), good),
		"an issuer that is like":   raw(t, head, with(claims, map[string]any{"iss": p.URL + "/"}), good),
		"no issuer":                raw(t, head, with(claims, map[string]any{"iss": nil}), good),
		"somebody unknown":         raw(t, head, with(claims, map[string]any{"sub": "subject-2"}), good),
		"our own id":               raw(t, head, with(claims, map[string]any{"sub": string(id)}), good),
		"nobody":                   raw(t, head, with(claims, map[string]any{"sub": nil}), good),
		"a subject that is long":   raw(t, head, with(claims, map[string]any{"sub": strings.Repeat("s", 300)}), good),
		"a scope that is a list":   raw(t, head, with(claims, map[string]any{"scope": []string{"mcp.use"}}), good),
		"an ID token":              raw(t, head, with(claims, map[string]any{"nonce": "n"}), good),
		"a logout token":           raw(t, with(head, map[string]any{"typ": "logout+jwt"}), claims, good),
		"a key of nobody":          raw(t, head, claims, es256(t, stranger)),
		"a kid of nobody":          raw(t, with(head, map[string]any{"kid": "../../k"}), claims, good),
		"no kid":                   raw(t, with(head, map[string]any{"kid": nil}), claims, good),
		"its own key":              raw(t, with(head, map[string]any{"kid": "mine", "jku": "https://evil.example.org/keys"}), claims, es256(t, stranger)),
		"something critical":       raw(t, with(head, map[string]any{"crit": []string{"x"}, "x": 1}), claims, good),
		"no signature":             raw(t, with(head, map[string]any{"alg": "none"}), claims, none),
		"No signature":             raw(t, with(head, map[string]any{"alg": "None"}), claims, none),
		"an empty signature":       raw(t, head, claims, none),
		"the public key as secret": raw(t, with(head, map[string]any{"alg": "HS256"}), claims, secret(public)),
		"another algorithm":        raw(t, with(head, map[string]any{"alg": "ES384"}), claims, good),
		"too long":                 raw(t, head, with(claims, map[string]any{"more": strings.Repeat("x", 9000)}), good),
		"two dots":                 "..", "not even that": "a.b", "no base64": "!.!.!", "more parts": token + ".x", "a space": token + " ", "nothing": "",
		"as JSON":                   `{"protected":"` + parts[0] + `","payload":"` + parts[1] + `","signature":"` + parts[2] + `"}`,
		"as JSON with two dots":     `{"x":".` + parts[1] + `.","protected":"` + parts[0] + `","payload":"` + parts[1] + `","signature":"` + parts[2] + `"}`,
		"a subject by another case": raw(t, head, with(claims, map[string]any{"SUB": "subject-1", "sub": "subject-2"}), good),
		"a claim of another case":   raw(t, head, with(claims, map[string]any{"ſcope": "mcp.use"}), good),
		"two subjects":              oidctest.SignIDToken(p.key, "k", oidc.ES256, `{"sub":"subject-2",`+string(said[1:])),
		"a flipped bit":             token[:len(token)-4] + "AAAA",
	} {
		who, err := w.Providers.Access(t.Context(), bad, mcp)
		if err == nil || who.User != "" {
			t.Errorf("%s lets in %+v", what, who)
			continue
		}
		refused(t, err, paddock.Unauthenticated, "access token")
	}
	_, err = w.Providers.Access(t.Context(), token, "")
	refused(t, err, paddock.Unauthenticated, "access token")

	_, err = w.People.Disable(t.Context(), admin, e.Who.User)
	w.must(err)
	_, err = w.Providers.Access(t.Context(), token, mcp)
	refused(t, err, paddock.Unauthenticated, "access token")
}

// Whatever tokens are shown, the provider is asked for its keys seldom; a new key is found
// when its time has come, and one that was taken away no longer counts an hour later.
func TestKeysOfAccessTokens(t *testing.T) {
	t.Parallel()
	w := keyed(t)
	p := newIDP(t, w.clock)
	corp := p.provider("corp", "oidc")
	corp.Access = true
	w.config.Providers = append(w.config.Providers, corp, p.provider("also", "oidc"))
	w.restart()
	admin := w.admin()
	if _, err := w.People.InviteIdentity(t.Context(), admin, auth.Viewer, "corp", "sub:subject-1"); err != nil {
		t.Fatal(err)
	}
	_, err := w.trip(p, "corp", nil)
	w.must(err)
	p.set(func() { p.asked["keys"] = 0 })
	claims := func() map[string]any {
		return map[string]any{"iss": p.URL, "aud": mcp, "sub": "subject-1", "exp": w.clock().Add(time.Minute).Unix(), "scope": "mcp.use"}
	}
	stranger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	w.must(err)
	for range 50 {
		_, err := w.Providers.Access(t.Context(), raw(t, map[string]any{"alg": "ES256", "kid": rand.Text()}, claims(), es256(t, stranger)), mcp)
		refused(t, err, paddock.Unauthenticated, "access token")
	}
	asked := func() (n int) {
		p.set(func() { n = p.asked["keys"] })
		return n
	}
	if n := asked(); n != 1 {
		t.Errorf("the provider was asked %d times", n)
	}
	old := p.key
	head := map[string]any{"alg": "ES256", "kid": "k"}
	if _, err := w.Providers.Access(t.Context(), raw(t, head, claims(), es256(t, old)), mcp); err != nil {
		t.Fatal(err)
	}
	p.set(func() { p.key = stranger })
	if _, err := w.Providers.Access(t.Context(), raw(t, head, claims(), es256(t, old)), mcp); err != nil {
		t.Errorf("meanwhile: %v", err)
	}
	w.pass(2 * time.Hour)
	_, err = w.Providers.Access(t.Context(), raw(t, head, claims(), es256(t, old)), mcp)
	refused(t, err, paddock.Unauthenticated, "access token")
	if _, err := w.Providers.Access(t.Context(), raw(t, head, claims(), es256(t, stranger)), mcp); err != nil {
		t.Errorf("the new key: %v", err)
	}
}

// A provider that is away isn't asked by strangers at their pace; who has a good token is
// told to try again, and not that it is bad. Keys that nobody could read again for a day
// are none.
func TestProviderOfAccessTokensIsAway(t *testing.T) {
	t.Parallel()
	w := keyed(t)
	p := newIDP(t, w.clock)
	corp := p.provider("corp", "oidc")
	corp.Access = true
	w.config.Providers = append(w.config.Providers, corp)
	w.restart()
	if _, err := w.People.InviteIdentity(t.Context(), w.admin(), auth.Viewer, "corp", "sub:subject-1"); err != nil {
		t.Fatal(err)
	}
	_, err := w.trip(p, "corp", nil)
	w.must(err)
	w.restart() // nothing is known of it
	down := func(is bool) { p.set(func() { p.down, p.asked = is, map[string]int{} }) }
	show := func() error {
		claims := map[string]any{"iss": p.URL, "aud": mcp, "sub": "subject-1", "exp": w.clock().Add(time.Minute).Unix(), "scope": "mcp.use"}
		_, err := w.Providers.Access(t.Context(), raw(t, map[string]any{"alg": "ES256", "kid": "k"}, claims, es256(t, p.key)), mcp)
		return err
	}
	away := func(what string) {
		t.Helper()
		for range 20 {
			refused(t, show(), paddock.Busy, "try again")
		}
		p.set(func() {
			if p.asked[what] != 1 {
				t.Errorf("it was asked %v", p.asked)
			}
		})
	}
	down(true)
	away("discovery")
	down(false)
	w.pass(time.Minute)
	w.must(show())
	down(true)
	w.pass(2 * time.Hour)
	w.must(show())
	w.pass(23 * time.Hour)
	p.set(func() { p.asked = map[string]int{} })
	away("keys")
	down(false)
	w.pass(time.Minute)
	w.must(show())
}
