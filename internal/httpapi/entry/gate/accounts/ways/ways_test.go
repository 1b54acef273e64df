package ways_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/descope/virtualwebauthn"

	"paddock/internal/auth"
	"paddock/internal/auth/desk"
	"paddock/internal/httpapi/entry"
	"paddock/internal/httpapi/entry/gate/accounts"
	"paddock/internal/store/tables/sqlite"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

type recorder struct{}

func (recorder) Record(context.Context, auth.Event) error { return nil }

const (
	origin = "https://paddock.example.org"
	good   = "correct horse battery"
)

// hub is a provider of GitHub's kind that knows one person.
func hub(t *testing.T) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	answer := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, text) // who asked is gone then
		}
	}
	mux.HandleFunc("POST /login/oauth/access_token", answer(`{"access_token":"at","token_type":"bearer"}`))
	mux.HandleFunc("GET /user", answer(`{"id":7,"login":"Ann","type":"User"}`))
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// A stand is an entrance with accounts, and a browser before it.
type stand struct {
	t       *testing.T
	desk    *desk.Desk
	url     string
	cookies map[string]string
	hub     *httptest.Server
}

func open(t *testing.T) *stand {
	t.Helper()
	kept, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	s := &stand{t: t, cookies: map[string]string{}, hub: hub(t)}
	s.desk, err = desk.New(desk.Config{
		Store: kept, Recorder: recorder{}, Key: desk.NewKey(), Party: desk.Party{ID: "paddock.example.org", Origins: []string{origin}},
		Providers: []desk.Provider{{
			Name: "hub", Kind: "github", Issuer: s.hub.URL, API: s.hub.URL, ClientID: "paddock", ClientSecret: "secret",
			Redirect: origin + "/login/hub", Inside: []string{strings.TrimPrefix(s.hub.URL, "http://")},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	g := accounts.New(s.desk, true, time.Now, nil)
	g.Host = "paddock.example.org"
	in := entry.New(entry.Config{Gate: g, Limits: entry.DefaultLimits(), Now: time.Now})
	g.Routes(in)
	server := httptest.NewServer(in)
	s.url = server.URL
	t.Cleanup(func() {
		server.Close()
		if err := kept.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// ask asks as the browser does, which keeps its cookies.
func (s *stand) ask(method, path string, body any, status int, into any) string {
	s.t.Helper()
	var data io.Reader = http.NoBody
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			s.t.Fatal(err)
		}
		data = strings.NewReader(string(text))
	}
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+"/api/v1/"+path, data)
	if err != nil {
		s.t.Fatal(err)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for name, value := range s.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil || a.StatusCode != status {
		s.t.Fatalf("%s %s: %d, want %d (%v): %s", method, path, a.StatusCode, status, err, text)
	}
	for _, c := range a.Cookies() {
		if !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteLaxMode || c.Path != "/" {
			s.t.Errorf("%s: a cookie %+v", path, c)
		}
		if s.cookies[c.Name] = c.Value; c.MaxAge < 0 {
			delete(s.cookies, c.Name)
		}
	}
	if into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			s.t.Fatalf("%v: %s", err, text)
		}
	}
	return string(text)
}

// enter makes an account and is its browser.
func (s *stand) enter(name string, role auth.Role) {
	s.t.Helper()
	word, _, err := s.desk.People.Invite(s.t.Context(), auth.Local(), role)
	if err != nil {
		s.t.Fatal(err)
	}
	e, err := s.desk.People.Accept(s.t.Context(), desk.From{}, word, name, good)
	if err != nil {
		s.t.Fatal(err)
	}
	s.cookies["__Host-paddock"] = e.Secret
}

type ceremony struct {
	Options json.RawMessage `json:"options"`
	Carried string          `json:"carried"`
}

// newKey makes a key of a device; see package desk's tests.
func newKey(t *testing.T) virtualwebauthn.Credential {
	t.Helper()
	for {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		point, err := key.PublicKey.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		if point[1] == 0 || point[33] == 0 {
			continue
		}
		text, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		return virtualwebauthn.NewCredentialWithImportedKey(virtualwebauthn.KeyTypeEC2, text)
	}
}

// A person makes a passkey, logs in by it, and shows it for what wants a second factor;
// each ceremony works once.
func TestPasskey(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.enter("ann", auth.Approver)
	party := virtualwebauthn.RelyingParty{ID: "paddock.example.org", Name: "Paddock", Origin: origin}
	device, key := virtualwebauthn.NewAuthenticator(), newKey(t)
	answered := func(c ceremony, text string, more map[string]any) map[string]any {
		body := map[string]any{"carried": c.Carried, "answer": json.RawMessage(text)}
		for k, v := range more {
			body[k] = v
		}
		return body
	}
	signs := func(c ceremony) map[string]any {
		t.Helper()
		options, err := virtualwebauthn.ParseAssertionOptions(string(c.Options))
		if err != nil {
			t.Fatal(err)
		}
		key.Counter++
		return answered(c, virtualwebauthn.CreateAssertionResponse(party, device, key, *options), nil)
	}
	var begun ceremony
	s.ask("POST", "passkeys/ask", nil, http.StatusNotFound, nil)
	s.ask("POST", "passkeys/offer", map[string]any{"password": "wrong"}, http.StatusUnauthorized, nil)
	s.ask("POST", "passkeys/offer", map[string]any{"password": good}, http.StatusOK, &begun)
	options, err := virtualwebauthn.ParseAttestationOptions(string(begun.Options))
	if err != nil {
		t.Fatal(err)
	}
	device.Options.UserHandle = []byte(options.UserID)
	made := answered(begun, virtualwebauthn.CreateAttestationResponse(party, device, key, *options), map[string]any{"name": "laptop"})
	before := s.cookies["__Host-paddock"]
	s.ask("POST", "passkeys", made, http.StatusNoContent, nil)
	if s.cookies["__Host-paddock"] == before {
		t.Error("the session goes on by the same word")
	}
	s.ask("POST", "passkeys", made, http.StatusUnauthorized, nil)
	if text := s.ask("GET", "factors", nil, http.StatusOK, nil); !strings.Contains(text, `"kind":"passkey","name":"laptop"`) {
		t.Error(text)
	}
	s.ask("POST", "passkeys/ask", nil, http.StatusOK, &begun)
	shown := signs(begun)
	s.ask("POST", "passkeys/prove", shown, http.StatusNoContent, nil)
	s.ask("POST", "passkeys/prove", shown, http.StatusUnauthorized, nil)
	// In another browser.
	s.cookies = map[string]string{}
	s.ask("GET", "factors", nil, http.StatusUnauthorized, nil)
	s.ask("POST", "login/passkey/ask", nil, http.StatusOK, &begun)
	if strings.Contains(string(begun.Options), "ann") {
		t.Errorf("who isn't known is told of accounts: %s", begun.Options)
	}
	shown = signs(begun)
	s.ask("POST", "login/passkey", shown, http.StatusNoContent, nil)
	s.ask("GET", "factors", nil, http.StatusOK, nil)
	s.cookies = map[string]string{}
	s.ask("POST", "login/passkey", shown, http.StatusUnauthorized, nil)
	s.ask("POST", "login/passkey", map[string]any{"carried": "", "answer": map[string]any{}}, http.StatusUnauthorized, nil)
}

// Who is invited by what a provider calls him logs in there, comes back by a page, and
// that once.
func TestProvider(t *testing.T) {
	t.Parallel()
	s := open(t)
	var ways struct {
		Passkeys  string
		Providers []string
	}
	if s.ask("GET", "login/ways", nil, http.StatusOK, &ways); ways.Passkeys != "paddock.example.org" || len(ways.Providers) != 1 || ways.Providers[0] != "hub" {
		t.Errorf("%+v", ways)
	}
	trip := func() string {
		t.Helper()
		var to struct{ URL string }
		s.ask("POST", "login/providers/hub", nil, http.StatusOK, &to)
		u, err := url.Parse(to.URL)
		if err != nil || !strings.HasPrefix(to.URL, s.hub.URL+"/login/oauth/authorize?") || u.Query().Get("redirect_uri") != origin+"/login/hub" || u.Query().Get("code_challenge") == "" {
			t.Fatalf("%s: %v", to.URL, err)
		}
		return "code=abc&state=" + url.QueryEscape(u.Query().Get("state"))
	}
	back := func(query string, status int) string {
		t.Helper()
		return s.ask("POST", "login/providers/hub/finish", map[string]any{"query": query}, status, nil)
	}
	if text := back(trip(), http.StatusUnauthorized); !strings.Contains(text, "Nobody invited") {
		t.Error(text)
	}
	if _, err := s.desk.People.InviteIdentity(t.Context(), auth.Local(), auth.Viewer, "hub", "login:ann"); err != nil {
		t.Fatal(err)
	}
	query := trip()
	back(query+"&state=x", http.StatusUnauthorized)
	query = trip()
	carried := s.cookies["__Host-paddock-away"]
	back(query, http.StatusNoContent)
	if s.cookies["__Host-paddock-away"] != "" {
		t.Error("what was carried is carried on")
	}
	s.ask("GET", "tokens", nil, http.StatusOK, nil)
	// Not a second time, and not in another browser.
	s.cookies = map[string]string{"__Host-paddock-away": carried}
	back(query, http.StatusUnauthorized)
	query, s.cookies = trip(), map[string]string{}
	back(query, http.StatusUnauthorized)
	back("%zz", http.StatusUnprocessableEntity)
	back(strings.Repeat("a", 9000), http.StatusUnprocessableEntity)
	s.ask("POST", "login/providers/nobody", nil, http.StatusNotFound, nil)
	s.ask("POST", "login/providers/nobody/finish", map[string]any{"query": ""}, http.StatusNotFound, nil)
	// A provider that isn't there is no fault of ours.
	query = trip()
	s.hub.Close()
	back(query, http.StatusBadGateway)
}
