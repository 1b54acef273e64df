// Package github asks GitHub, or a server of one's own that speaks like it, who somebody
// is: by code, with PKCE, and then by its number of the user, which never is another's.
//
// # Limits
//
// One is invited by the login that one has at that time; from the first time on it is the
// number that counts. Logins can be given up and taken by others, so an invitation by
// login is for soon. Organisations and teams there mean nothing here.
package github

import (
	"context"
	"encoding/json/v2"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"golang.org/x/oauth2"

	"paddock/internal/auth/desk/internal/hall"
)

// A Source is GitHub.
type Source struct {
	oauth  oauth2.Config
	api    string
	issuer string
	client *http.Client
}

// New returns the provider, which is asked by client.
func New(p hall.Provider, client *http.Client) (*Source, error) {
	if p.Issuer == "" {
		p.Issuer = "https://github.com"
	}
	if p.API == "" {
		p.API = "https://api.github.com"
	}
	for _, s := range []string{p.Issuer, p.API} {
		if u, err := url.Parse(s); err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
			return nil, fmt.Errorf("%.100q isn't an absolute URL", s)
		}
	}
	return &Source{
		oauth: oauth2.Config{
			ClientID: p.ClientID, ClientSecret: p.ClientSecret, RedirectURL: p.Redirect,
			Endpoint: oauth2.Endpoint{AuthURL: p.Issuer + "/login/oauth/authorize", TokenURL: p.Issuer + "/login/oauth/access_token", AuthStyle: oauth2.AuthStyleInParams},
		},
		api: p.API, issuer: p.Issuer, client: client,
	}, nil
}

// Issuer is GitHub's URL.
func (s *Source) Issuer() string { return s.issuer }

// URL is where the browser is sent. GitHub knows no nonce.
func (s *Source) URL(_ context.Context, a hall.Ask) (string, error) {
	return s.oauth.AuthCodeURL(a.State, oauth2.S256ChallengeOption(a.Verifier), oauth2.SetAuthURLParam("allow_signup", "false")), nil
}

// Proof is what GitHub says to the code.
func (s *Source) Proof(ctx context.Context, code string, a hall.Ask) (hall.Proof, error) {
	ctx = context.WithValue(ctx, oauth2.HTTPClient, s.client)
	token, err := s.oauth.Exchange(ctx, code, oauth2.VerifierOption(a.Verifier))
	if err != nil {
		return hall.Proof{}, hall.Exchanged(err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.api+"/user", nil)
	if err != nil {
		return hall.Proof{}, err
	}
	r.Header.Set("Authorization", "Bearer "+token.AccessToken)
	r.Header.Set("Accept", "application/vnd.github+json")
	res, err := s.client.Do(r)
	if err != nil {
		return hall.Proof{}, err
	}
	defer func() { _ = res.Body.Close() }() // it was read, or the error is another's
	var user struct {
		ID    int64  `json:"id"`
		Login string `json:"login"`
		Type  string `json:"type"`
	}
	if res.StatusCode != http.StatusOK {
		return hall.Proof{}, fmt.Errorf("it answers %s when it is asked for the user", res.Status)
	}
	if err := json.UnmarshalRead(res.Body, &user); err != nil {
		return hall.Proof{}, fmt.Errorf("what it says of the user can't be read: %w", err)
	}
	if user.ID <= 0 || user.Login == "" || user.Type != "User" {
		return hall.Proof{}, fmt.Errorf("%w: it isn't a person", hall.ErrDenied)
	}
	id := strconv.FormatInt(user.ID, 10)
	return hall.Proof{
		Issuer: s.issuer, Subject: id, Keys: []string{hall.InviteeKey("id", id), hall.InviteeKey("login", user.Login)},
		Label: user.Login, Suggests: user.Login,
	}, nil
}
