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
	// old is when they are read again although nothing is missing: some were revoked. When
	// they can't be read for as long as stale, they count no longer.
	old   = time.Hour
	stale = 24 * time.Hour
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
	p, ctx, err := s.seldom(ctx)
	if err != nil {
		return Access{}, err
	}
	keys, err := s.keysOf(p)
	if err != nil {
		return Access{}, err
	}
	shown := &showing{keySet: keys}
	token, err := oidc.NewVerifier(s.conf.Issuer, shown, &oidc.Config{ClientID: audience, SupportedSigningAlgs: algorithms, Now: s.clock}).Verify(ctx, raw)
	if shown.fault != nil {
		return Access{}, shown.fault
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
	case !exact(token):
		return Access{}, denied("it has a claim twice, or one that differs from another's name by capitals alone")
	case token.Claims(&c) != nil:
		return Access{}, denied("its claims have wrong types")
	case c.Nonce != "":
		return Access{}, denied("it is an ID token")
	}
	return Access{token.Subject, strings.Fields(c.Scope)}, nil
}

// seldom is discovered for what anybody can ask for: who couldn't be asked isn't asked again
// at once.
func (s *Source) seldom(ctx context.Context) (*oidc.Provider, context.Context, error) {
	s.asking.Lock()
	defer s.asking.Unlock()
	now := s.clock()
	if s.fault != nil && now.Sub(s.tried) < again {
		return nil, nil, s.fault
	}
	p, ctx, err := s.discovered(ctx)
	s.tried, s.fault = now, err
	return p, ctx, err
}

// exact says whether a token names what is looked at once, and as it is written. The
// library takes SUB for sub, and of two the last, where a provider lets people add claims
// to their tokens and others read the first.
func exact(token *oidc.IDToken) bool {
	var text jsontext.Value
	var all map[string]jsontext.Value
	if token.Claims(&text) != nil || json.Unmarshal(text, &all) != nil {
		return false
	}
	for name := range all {
		for _, ours := range []string{
			"iss", "sub", "aud", "exp", "nbf", "iat", "nonce", "azp", "scope", "at_hash", "_claim_names", "_claim_sources",
			"email", "email_verified", "preferred_username", "name",
		} {
			if name != ours && strings.EqualFold(name, ours) {
				return false
			}
		}
	}
	return true
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

	asking sync.Mutex // by who asks the provider, which may take long

	mu    sync.Mutex
	keys  []jose.JSONWebKey // guarded by mu
	read  time.Time         // guarded by mu; when they were asked for last
	got   time.Time         // guarded by mu; when there was an answer
	fault error             // guarded by mu; why there was none the last time
}

// A showing is the keys, as one token is held to them.
type showing struct {
	*keySet
	fault error // why there are no keys to compare with; the library makes a text of what is returned
}

// VerifySignature returns what is signed by a key of the provider. No token is JSON, in which
// there may be headers that nobody signed.
func (k *showing) VerifySignature(ctx context.Context, raw string) ([]byte, error) {
	signed, err := jose.ParseSignedCompact(raw, allowed())
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
			k.fault = err
			return nil, err
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
// too soon. Who needs none waits for nobody.
func (k *keySet) current(ctx context.Context, fresh bool) ([]jose.JSONWebKey, error) {
	if keys, err, ok := k.had(fresh); ok {
		return keys, err
	}
	k.asking.Lock()
	defer k.asking.Unlock()
	if keys, err, ok := k.had(fresh); ok { // somebody asked meanwhile
		return keys, err
	}
	got, err := k.ask(ctx)
	k.mu.Lock()
	k.read, k.fault = k.clock(), err // also if it failed
	if err == nil {
		k.keys, k.got = got, k.read
	}
	k.mu.Unlock()
	keys, err, _ := k.had(false)
	return keys, err
}

// had are the keys that are there; ok says that they needn't be asked for now.
func (k *keySet) had(fresh bool) (keys []jose.JSONWebKey, err error, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.clock()
	if k.got.IsZero() || now.Sub(k.got) >= stale {
		err = k.fault
	} else {
		keys = k.keys
	}
	since := now.Sub(k.read)
	return keys, err, !k.read.IsZero() && (since < again || !fresh && since < old && err == nil)
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
