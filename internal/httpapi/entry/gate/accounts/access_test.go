package accounts_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"

	"paddock/internal/auth"
	"paddock/internal/auth/desk"
	"paddock/internal/httpapi/entry/gate/accounts"
	"paddock/internal/store"
	"paddock/internal/store/tables/sqlite"
)

type unheard struct{}

func (unheard) Record(context.Context, auth.Event) error { return nil }

// An access token of a provider opens /mcp and nothing else, and only beside no other
// credential.
func TestAccessTokenIsForMCP(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	provider := &oidctest.Server{PublicKeys: []oidctest.PublicKey{{PublicKey: key.Public(), KeyID: "k", Algorithm: oidc.ES256}}}
	server := httptest.NewServer(provider)
	defer server.Close()
	provider.SetIssuer(server.URL)
	kept, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := kept.Close(); err != nil {
			t.Error(err)
		}
	}()
	d, err := desk.New(desk.Config{Store: kept, Recorder: unheard{}, Key: desk.NewKey(), Providers: []desk.Provider{{
		Name: "corp", Kind: "oidc", Issuer: server.URL, ClientID: "paddock", ClientSecret: "secret", Redirect: "https://paddock.example.org/login/corp",
		Inside: []string{strings.TrimPrefix(server.URL, "http://")}, Access: true,
	}}})
	if err != nil {
		t.Fatal(err)
	}
	now := store.At(time.Now())
	id, err := store.NewID[store.UserID]('u', now.Time, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.People.InviteIdentity(t.Context(), auth.Local(), auth.Operator, "corp", "sub:s")
	if err == nil {
		code := store.Hash(sha256.Sum256([]byte("paddock invitee\ncorp sub:s")))
		_, err = kept.AcceptInvitation(t.Context(), code, store.User{ID: id, Name: "ann", Created: now, Changed: now}, &store.Identity{Issuer: server.URL, Subject: "s", Owner: id, Label: "ann", Created: now, LastUsed: now}, now)
	}
	if err != nil {
		t.Fatal(err)
	}
	g := accounts.New(d, true, time.Now, nil)
	token := oidctest.SignIDToken(key, "k", oidc.ES256, fmt.Sprintf(`{"iss":%q,"aud":"https://paddock.example.org/mcp","sub":"s","exp":%d,"scope":"mcp.use runs.list"}`, server.URL, time.Now().Add(time.Minute).Unix()))
	ask := func(path string, change func(*http.Request)) (string, error) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, http.NoBody)
		r.Header.Set("Authorization", "Bearer "+token)
		if change != nil {
			change(r)
		}
		c, err := g.Identify(r)
		if c.May(auth.RunsStart) {
			t.Error("more than its scopes")
		}
		return c.Name, err
	}
	if name, err := ask("/mcp", nil); err == nil || name != "" {
		t.Errorf("a server without an address lets in %q", name)
	}
	g.Audience = "https://paddock.example.org/mcp"
	if name, err := ask("/mcp", nil); err != nil || name != "ann" {
		t.Fatalf("%q, %v", name, err)
	}
	for what, path := range map[string]string{"the API": "/api/v1/runs", "like it": "/mcp/", "like it, too": "/MCP", "in a URL": "/mcp?access_token=" + token} {
		if name, err := ask(path, nil); err == nil || name != "" {
			t.Errorf("%s lets in %q", what, name)
		}
	}
	for what, change := range map[string]func(*http.Request){
		"two headers":      func(r *http.Request) { r.Header.Add("Authorization", "Bearer "+token) },
		"a cookie, too":    func(r *http.Request) { r.AddCookie(&http.Cookie{Name: "__Host-paddock", Value: "x"}) },
		"another scheme":   func(r *http.Request) { r.Header.Set("Authorization", "DPoP "+token) },
		"no scheme":        func(r *http.Request) { r.Header.Set("Authorization", token) },
		"two spaces":       func(r *http.Request) { r.Header.Set("Authorization", "Bearer  "+token) },
		"something behind": func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token+",x") },
		"another audience": func(*http.Request) { g.Audience = "https://other.example.org/mcp" },
	} {
		if name, err := ask("/mcp", change); err == nil || name != "" {
			t.Errorf("%s lets in %q", what, name)
		}
	}
}
