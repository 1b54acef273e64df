package desk_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json/v2"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"

	"paddock/internal/auth/desk"
)

const (
	clientID     = "paddock"
	clientSecret = "client secret of the test"
	redirect     = "https://paddock.example.org/auth/callback"
)

// idp is a provider of identity: the authorization code flow with PKCE, registered
// redirects and codes that work once, of OpenID and as GitHub has it.
type idp struct {
	*httptest.Server
	t     *testing.T
	clock func() time.Time

	mu     sync.Mutex
	key    *ecdsa.PrivateKey // signs; the public part is served as "k"
	signer *ecdsa.PrivateKey
	person map[string]any // what it says of who is logged in there
	claims map[string]any // change the ID token
	codes  map[string]url.Values
	tokens map[string]bool
	asked  map[string]int
	broken string // answered instead by the token endpoint
	down   bool   // nothing is said of itself
}

func newIDP(t *testing.T, clock func() time.Time) *idp {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p := &idp{
		t: t, clock: clock, key: key, signer: key, codes: map[string]url.Values{}, tokens: map[string]bool{}, asked: map[string]int{},
		person: map[string]any{"sub": "subject-1", "email": "Ann@example.org", "email_verified": true, "preferred_username": "Ann"},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.discovery)
	mux.HandleFunc("GET /keys", p.keys)
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("GET /login/oauth/authorize", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	mux.HandleFunc("POST /login/oauth/access_token", p.token)
	mux.HandleFunc("GET /user", p.user)
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

func (p *idp) answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.MarshalWrite(w, v); err != nil {
		p.t.Error(err)
	}
}

// gone answers that there is nothing, if that is so.
func (p *idp) gone(w http.ResponseWriter, what string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked[what]++
	if p.down {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	return p.down
}

func (p *idp) discovery(w http.ResponseWriter, _ *http.Request) {
	if p.gone(w, "discovery") {
		return
	}
	p.answer(w, http.StatusOK, map[string]any{
		"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys",
		"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"}, "id_token_signing_alg_values_supported": []string{"ES256"},
	})
}

func (p *idp) keys(w http.ResponseWriter, _ *http.Request) {
	if p.gone(w, "keys") {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	b64 := base64.RawURLEncoding.EncodeToString
	raw, err := p.key.PublicKey.Bytes() // 4, X, Y
	if err != nil {
		p.t.Error(err)
	}
	p.answer(w, http.StatusOK, map[string]any{"keys": []any{map[string]any{
		"kty": "EC", "crv": "P-256", "kid": "k", "use": "sig", "alg": "ES256", "x": b64(raw[1:33]), "y": b64(raw[33:]),
	}}})
}

// authorize is as if somebody is logged in there already.
func (p *idp) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("client_id") != clientID || q.Get("redirect_uri") != redirect || q.Get("code_challenge_method") != "S256" || q.Get("state") == "" || len(q.Get("code_challenge")) != 43 {
		http.Error(w, "that isn't registered here", http.StatusBadRequest)
		return
	}
	code := rand.Text()
	p.mu.Lock()
	p.codes[code] = q
	p.mu.Unlock()
	back := url.Values{"code": {code}, "state": {q.Get("state")}}
	if r.URL.Path == "/authorize" {
		back.Set("iss", p.URL)
	}
	http.Redirect(w, r, redirect+"?"+back.Encode(), http.StatusFound)
}

func (p *idp) token(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked["token"]++
	id, secret, basic := r.BasicAuth()
	if !basic {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	} else {
		id, secret = unescape(id), unescape(secret)
	}
	asked, known := p.codes[r.PostFormValue("code")]
	delete(p.codes, r.PostFormValue("code"))
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	switch {
	case p.broken != "":
		http.Error(w, p.broken, http.StatusBadGateway)
		return
	case !known, id != clientID, secret != clientSecret, r.PostFormValue("redirect_uri") != redirect, r.PostFormValue("grant_type") != "authorization_code",
		base64.RawURLEncoding.EncodeToString(sum[:]) != asked.Get("code_challenge"):
		p.answer(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant"})
		return
	}
	access := rand.Text()
	p.tokens[access] = true
	answer := map[string]any{"access_token": access, "token_type": "Bearer"}
	if r.URL.Path == "/token" {
		answer["id_token"] = p.idToken(asked.Get("nonce"))
	}
	p.answer(w, http.StatusOK, answer)
}

func unescape(s string) string {
	out, err := url.QueryUnescape(s)
	if err != nil {
		return s
	}
	return out
}

func (p *idp) idToken(nonce string) string {
	now := p.clock()
	c := map[string]any{"iss": p.URL, "aud": clientID, "exp": now.Add(time.Minute).Unix(), "iat": now.Unix(), "nonce": nonce}
	maps.Copy(c, p.person)
	maps.Copy(c, p.claims)
	for name, v := range c {
		if v == nil {
			delete(c, name)
		}
	}
	text, err := json.Marshal(c)
	if err != nil {
		p.t.Error(err)
	}
	return oidctest.SignIDToken(p.signer, "k", oidc.ES256, string(text))
}

func (p *idp) user(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	bearer := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !p.tokens[bearer] {
		http.Error(w, "no", http.StatusUnauthorized)
		return
	}
	p.answer(w, http.StatusOK, p.person)
}

func (p *idp) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// provider is how the operator configures it.
func (p *idp) provider(name, kind string) desk.Provider {
	return desk.Provider{
		Name: name, Kind: kind, Issuer: p.URL, API: p.URL, ClientID: clientID, ClientSecret: clientSecret, Redirect: redirect,
		Inside: []string{strings.TrimPrefix(p.URL, "http://")},
	}
}

// browse goes where the browser is sent, and returns what it comes back with.
func (p *idp) browse(to string) url.Values {
	p.t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, to, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	res, err := client.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	_ = res.Body.Close()
	back, err := res.Location()
	if err != nil || !strings.HasPrefix(back.String(), redirect+"?") {
		p.t.Fatalf("%s: %v, %v", res.Status, back, err)
	}
	return back.Query()
}
