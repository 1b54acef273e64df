// Package openid asks an OpenID provider who somebody is: by code, with PKCE and a nonce,
// from an ID token whose signature, issuer, audience and time are checked.
//
// # Limits
//
// The provider's keys and places are read when somebody logs in and kept; they are read
// again when a key isn't known. Nothing else is asked of the provider than the token:
// groups and roles there mean nothing here.
package openid

import (
	"context"
	"crypto/subtle"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"paddock/internal/auth/desk/internal/hall"
)

// algorithms are those that signatures may have: none of them has a secret that is
// shared, and "none" isn't one.
var algorithms = []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.EdDSA}

// A Source is an OpenID provider.
type Source struct {
	conf   hall.Provider
	client *http.Client
	clock  func() time.Time

	mu    sync.Mutex
	found *oidc.Provider // guarded by mu
	keys  *keySet        // guarded by mu; by which access tokens are checked

	asking sync.Mutex // by seldom, and before mu
	tried  time.Time  // guarded by asking
	fault  error      // guarded by asking; why it couldn't be asked then
}

// New returns the provider, which is asked by client.
func New(p hall.Provider, client *http.Client, clock func() time.Time) (*Source, error) {
	u, err := url.Parse(p.Issuer)
	if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("its issuer %.100q isn't an absolute URL", p.Issuer)
	}
	return &Source{conf: p, client: client, clock: clock}, nil
}

// Issuer is the provider's own name.
func (s *Source) Issuer() string { return s.conf.Issuer }

// discovered returns what the provider says of itself.
func (s *Source) discovered(ctx context.Context) (*oidc.Provider, context.Context, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx = oidc.ClientContext(ctx, s.client)
	if s.found == nil {
		// Its keys are read by this context for as long as the server runs.
		found, err := oidc.NewProvider(context.WithoutCancel(ctx), s.conf.Issuer)
		if err != nil {
			return nil, nil, err
		}
		s.found = found
	}
	return s.found, ctx, nil
}

func (s *Source) oauth(p *oidc.Provider) *oauth2.Config {
	return &oauth2.Config{
		ClientID: s.conf.ClientID, ClientSecret: s.conf.ClientSecret, Endpoint: p.Endpoint(),
		RedirectURL: s.conf.Redirect, Scopes: []string{oidc.ScopeOpenID, "profile", "email"},
	}
}

// URL is where the browser is sent.
func (s *Source) URL(ctx context.Context, a hall.Ask) (string, error) {
	p, _, err := s.discovered(ctx)
	if err != nil {
		return "", err
	}
	return s.oauth(p).AuthCodeURL(a.State, oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)), nil
}

// claims are what of an ID token is looked at beside what the library checks.
type claims struct {
	AuthorizedParty string `json:"azp"`
	Email           string `json:"email"`
	Verified        any    `json:"email_verified"` // some send it as text
	Preferred       string `json:"preferred_username"`
	Name            string `json:"name"`
}

// Proof is what the provider says to the code.
func (s *Source) Proof(ctx context.Context, code string, a hall.Ask) (hall.Proof, error) {
	p, ctx, err := s.discovered(ctx)
	if err != nil {
		return hall.Proof{}, err
	}
	answer, err := s.oauth(p).Exchange(ctx, code, oauth2.VerifierOption(a.Verifier))
	if err != nil {
		return hall.Proof{}, hall.Exchanged(err)
	}
	raw, ok := answer.Extra("id_token").(string)
	if !ok {
		return hall.Proof{}, denied("there is no ID token")
	}
	token, err := p.VerifierContext(ctx, &oidc.Config{ClientID: s.conf.ClientID, SupportedSigningAlgs: algorithms, Now: s.clock}).Verify(ctx, raw)
	if err != nil {
		return hall.Proof{}, denied("%v", err)
	}
	var c claims
	switch {
	case token.Subject == "" || len(token.Subject) > 255:
		return hall.Proof{}, denied("it has no subject")
	case subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(a.Nonce)) != 1:
		return hall.Proof{}, denied("its nonce isn't the one that was sent")
	case !exact(token):
		return hall.Proof{}, denied("it has a claim twice, or one that differs from another's name by capitals alone")
	case token.Claims(&c) != nil:
		return hall.Proof{}, denied("its claims have wrong types")
	case c.AuthorizedParty != "" && c.AuthorizedParty != s.conf.ClientID, c.AuthorizedParty == "" && len(token.Audience) > 1:
		return hall.Proof{}, denied("it was made for somebody else")
	}
	proof := hall.Proof{
		Issuer: s.conf.Issuer, Subject: token.Subject, Keys: []string{hall.InviteeKey("sub", token.Subject)},
		Label: firstOf(c.Email, c.Preferred, c.Name, token.Subject),
	}
	local, _, _ := strings.Cut(c.Email, "@")
	proof.Suggests = firstOf(c.Preferred, local, c.Name)
	if c.Verified == true || c.Verified == "true" {
		proof.Keys = append(proof.Keys, hall.InviteeKey("email", c.Email))
	}
	return proof, nil
}

func denied(format string, args ...any) error {
	return fmt.Errorf("%w: %s", hall.ErrDenied, fmt.Sprintf(format, args...))
}

func firstOf(list ...string) string {
	if i := slices.IndexFunc(list, func(s string) bool { return s != "" }); i >= 0 {
		return list[i]
	}
	return ""
}
