package openid

import (
	"context"
	"encoding/base64"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
)

const (
	// mostToken bounds an access token before anything of it is read.
	mostToken = 8 << 10
	mostKeys  = 256 << 10
	// again is how long the provider isn't asked for its keys again, whatever is shown.
	again = 30 * time.Second
	// old is when they are read again although nothing is missing: some were revoked.
	old = time.Hour
)

// An Access is what an access token says.
type Access struct {
	Subject string
	Scopes  []string
}

// IssuerOf is whom a token claims to be of, which nobody has shown yet. What can't be an
// access token at all has none.
func IssuerOf(raw string) string {
	parts := strings.Split(raw, ".")
	if len(raw) > mostToken || len(parts) != 3 || strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return ""
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	var c struct {
		Issuer string `json:"iss"`
	}
	if err != nil || json.Unmarshal(text, &c) != nil {
		return ""
	}
	return c.Issuer
}

// Access checks an access token (RFC 9068) that the provider made for the audience:
// signature, algorithm, kind, issuer, audience, and both times.
func (s *Source) Access(ctx context.Context, raw, audience string) (Access, error) {
	if len(raw) > mostToken || audience == "" {
		return Access{}, denied("it is too long")
	}
	p, ctx, err := s.discovered(ctx)
	if err != nil {
		return Access{}, err
	}
	keys, err := s.keysOf(p)
	if err != nil {
		return Access{}, err
	}
	token, err := oidc.NewVerifier(s.conf.Issuer, keys, &oidc.Config{ClientID: audience, SupportedSigningAlgs: algorithms, Now: s.clock}).Verify(ctx, raw)
	var asked *unasked
	if errors.As(err, &asked) {
		return Access{}, asked
	}
	if err != nil {
		return Access{}, denied("%v", err)
	}
	var c struct {
		Scope string `json:"scope"`
		Nonce string `json:"nonce"`
	}
	switch {
	case token.Subject == "" || len(token.Subject) > 255:
		return Access{}, denied("it has no subject")
	case token.Claims(&c) != nil:
		return Access{}, denied("its claims have wrong types")
	case c.Nonce != "":
		return Access{}, denied("it is an ID token")
	}
	return Access{token.Subject, strings.Fields(c.Scope)}, nil
}

// keysOf are the keys by which the provider signs.
func (s *Source) keysOf(p *oidc.Provider) (*keySet, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys == nil {
		var c struct {
			Keys string `json:"jwks_uri"`
		}
		if err := p.Claims(&c); err != nil || c.Keys == "" {
			return nil, errors.Join(errors.New("the provider doesn't say where its keys are"), err)
		}
		s.keys = &keySet{url: c.Keys, client: s.client, clock: s.clock}
	}
	return s.keys, nil
}

// A keySet is the keys of a provider, which is asked for them seldom: anybody can show
// tokens that name keys which aren't there.
type keySet struct {
	url    string
	client *http.Client
	clock  func() time.Time

	mu   sync.Mutex
	keys []jose.JSONWebKey // guarded by mu
	read time.Time         // guarded by mu; when they were asked for
}

// unasked says why there are no keys to compare with.
type unasked struct{ error }

func (u *unasked) Unwrap() error { return u.error }

// VerifySignature returns what is signed by a key of the provider.
func (k *keySet) VerifySignature(ctx context.Context, raw string) ([]byte, error) {
	signed, err := jose.ParseSigned(raw, allowed())
	if err != nil {
		return nil, err
	}
	if len(signed.Signatures) != 1 {
		return nil, errors.New("it isn't signed once")
	}
	head := signed.Signatures[0].Protected
	if kind, _ := head.ExtraHeaders[jose.HeaderType].(string); !slices.Contains([]string{"", "jwt", "at+jwt", "application/at+jwt"}, strings.ToLower(kind)) {
		return nil, fmt.Errorf("it is a token of the kind %.40q, which gives no access", kind)
	}
	for _, fresh := range []bool{false, true} {
		keys, err := k.current(ctx, fresh)
		if err != nil {
			return nil, &unasked{err}
		}
		known := false
		for _, key := range keys {
			if key.KeyID != head.KeyID || key.Use != "" && key.Use != "sig" || key.Algorithm != "" && key.Algorithm != head.Algorithm || !key.IsPublic() {
				continue
			}
			known = true
			if text, err := signed.Verify(key); err == nil {
				return text, nil
			}
		}
		if known {
			break // a key of that name signed something else
		}
	}
	return nil, errors.New("no key of the provider signed it")
}

// current are the keys as they were read last; fresh asks for newer ones, if that isn't
// too soon.
func (k *keySet) current(ctx context.Context, fresh bool) ([]jose.JSONWebKey, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	since := k.clock().Sub(k.read)
	if !k.read.IsZero() && (since < again || !fresh && since < old) {
		return k.keys, nil
	}
	k.read = k.clock() // also if that fails
	got, err := k.ask(ctx)
	if err != nil && k.keys == nil {
		return nil, err
	}
	if err == nil {
		k.keys = got
	}
	return k.keys, nil
}

func (k *keySet) ask(ctx context.Context) ([]jose.JSONWebKey, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, k.url, nil)
	if err != nil {
		return nil, err
	}
	a, err := k.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer a.Body.Close()
	text, err := io.ReadAll(io.LimitReader(a.Body, mostKeys+1))
	if err != nil {
		return nil, err
	}
	if a.StatusCode != http.StatusOK || len(text) > mostKeys {
		return nil, fmt.Errorf("the provider's keys: %s, %d bytes", a.Status, len(text))
	}
	var set struct {
		Keys []jsontext.Value `json:"keys"`
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, fmt.Errorf("the provider's keys: %w", err)
	}
	keys := []jose.JSONWebKey{}
	for _, one := range set.Keys {
		var key jose.JSONWebKey
		if key.UnmarshalJSON(one) == nil { // others are of kinds that sign nothing here
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// allowed are the algorithms as the library of signatures calls them.
func allowed() (all []jose.SignatureAlgorithm) {
	for _, a := range algorithms {
		all = append(all, jose.SignatureAlgorithm(a))
	}
	return all
}
