// Package providers lets people in whom somebody else's server knows: any OpenID
// provider, or GitHub. Who isn't invited isn't let in, whoever he is there.
//
// What must be the same when the browser comes back (state, nonce, the verifier of PKCE)
// is carried by it in a cookie, encrypted. It is for one provider, works once and for ten
// minutes.
//
// # Limits
//
// It believes what a provider that the operator configured says of its people, among it
// that an address of mail is verified. What a person may do there isn't asked, and access
// tokens that logging in gives are forgotten at once. That a state is used once is seen to by each server for
// itself; the code that comes with it works once at the provider.
package providers

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"

	"paddock"
	"paddock/internal/auth"
	"paddock/internal/auth/desk/internal/hall"
	"paddock/internal/auth/desk/internal/hall/providers/github"
	"paddock/internal/auth/desk/internal/hall/providers/openid"
	"paddock/internal/store"
)

// Lasts is how long somebody has to log in elsewhere and come back.
const Lasts = 10 * time.Minute

// A source is a provider, spoken to.
type source interface {
	// URL is where the browser is sent.
	URL(ctx context.Context, a hall.Ask) (string, error)
	// Proof is what the provider says to the code.
	Proof(ctx context.Context, code string, a hall.Ask) (hall.Proof, error)
	// Issuer is what the provider calls itself, if it says so when it sends people back.
	Issuer() string
}

// A Desk lets people in by providers.
type Desk struct {
	hall    *hall.Hall
	sources map[string]source
	names   []string
	access  []*openid.Source // those whose access tokens are taken
}

var nameForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`) })

// New returns a Desk for the providers. Nobody is asked anything before somebody logs in.
func New(h *hall.Hall, list []hall.Provider) (*Desk, error) {
	d := &Desk{hall: h, sources: map[string]source{}}
	for _, p := range list {
		if !nameForm().MatchString(p.Name) || d.sources[p.Name] != nil {
			return nil, fmt.Errorf("auth: the name %.40q of a provider isn't one, or is another's too", p.Name)
		}
		redirect, err := url.Parse(p.Redirect)
		if err != nil || redirect.Host == "" || redirect.RawQuery != "" || p.ClientID == "" || p.ClientSecret == "" {
			return nil, fmt.Errorf("auth: the provider %s needs a redirect, which is an absolute URL, a client's id and its secret", p.Name)
		}
		var s source
		client := d.hall.Outbound(p.Inside, p.Roots)
		switch p.Kind {
		case "oidc":
			s, err = openid.New(p, client, h.Clock)
		case "github":
			s, err = github.New(p, client)
		default:
			err = fmt.Errorf("%.40q is no kind of provider: want oidc or github", p.Kind)
		}
		if err != nil {
			return nil, fmt.Errorf("auth: the provider %s: %w", p.Name, err)
		}
		if p.Access {
			o, ok := s.(*openid.Source)
			if !ok || slices.Contains(d.Servers(), p.Issuer) {
				return nil, fmt.Errorf("auth: the provider %s gives no access to programs: one of the kind oidc does, and of its issuer there is one", p.Name)
			}
			d.access = append(d.access, o)
		}
		d.sources[p.Name] = s
		d.names = append(d.names, p.Name)
	}
	return d, nil
}

// Names are those of the providers, in the operator's order.
func (d *Desk) Names() []string { return slices.Clone(d.names) }

// A Trip is where the browser is sent, and what it carries until it is back.
type Trip struct {
	URL     string
	Carried string
}

type carried struct {
	Provider string   `json:"provider"`
	Ask      hall.Ask `json:"ask"`
}

// Begin sends somebody to a provider.
func (d *Desk) Begin(ctx context.Context, from hall.From, provider string) (Trip, error) {
	s := d.sources[provider]
	if s == nil {
		return Trip{}, paddock.Refused(paddock.NotFound, "There is no such provider here.")
	}
	if err := d.hall.Try(from, ""); err != nil {
		return Trip{}, err
	}
	a := hall.Ask{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier()}
	to, err := s.URL(ctx, a)
	if err != nil {
		return Trip{}, fmt.Errorf("%w: %s: %w", hall.ErrProvider, provider, err)
	}
	c, err := hall.Seal(d.hall, "provider", carried{provider, a}, Lasts)
	if err != nil {
		return Trip{}, err
	}
	d.hall.Forgive(from, "")
	return Trip{URL: to, Carried: c}, nil
}

// Finish lets in who comes back from a provider, if he is invited or has an account.
// back are the parameters of the URL that he comes back by.
func (d *Desk) Finish(ctx context.Context, from hall.From, provider, carriedText string, back url.Values) (hall.Entry, error) {
	s := d.sources[provider]
	if s == nil {
		return hall.Entry{}, paddock.Refused(paddock.NotFound, "There is no such provider here.")
	}
	if err := d.hall.Try(from, ""); err != nil {
		return hall.Entry{}, err
	}
	p, err := d.proof(ctx, s, provider, carriedText, back)
	var r *paddock.Refusal
	if errors.As(err, &r) {
		if err := d.hall.Record(ctx, auth.Who{}, auth.Event{What: auth.LoginRefused, From: from.Address, Detail: provider}); err != nil {
			return hall.Entry{}, err
		}
	}
	if err != nil {
		return hall.Entry{}, err
	}
	user, err := d.user(ctx, from, provider, p)
	if err != nil {
		return hall.Entry{}, err
	}
	d.hall.Forgive(from, "")
	return d.hall.Begin(ctx, from, user, provider, store.Moment{})
}

// proof checks what came back against what was sent, and has the provider say who it is.
func (d *Desk) proof(ctx context.Context, s source, provider, text string, back url.Values) (hall.Proof, error) {
	c, err := hall.Open[carried](d.hall, "provider", text)
	if err != nil && !errors.Is(err, hall.ErrUnsealed) {
		return hall.Proof{}, err
	}
	one := func(name string) string {
		if len(back[name]) != 1 || len(back[name][0]) > 4096 {
			return ""
		}
		return back[name][0]
	}
	switch {
	case err != nil, c.Provider != provider, c.Ask.State == "",
		subtle.ConstantTimeCompare([]byte(one("state")), []byte(c.Ask.State)) != 1:
		return hall.Proof{}, hall.Unproven("That login wasn't begun in this browser, or too long ago. Begin again.")
	case !d.hall.Once(c.Ask.State, Lasts):
		return hall.Proof{}, hall.Unproven("That login was finished before. Begin again.")
	case back.Has("iss") && one("iss") != s.Issuer():
		return hall.Proof{}, hall.Unproven("Another provider answers than was asked.")
	case back.Has("error"):
		return hall.Proof{}, hall.Unproven("The provider let nobody in: %s.", auth.Label(one("error")))
	case one("code") == "":
		return hall.Proof{}, hall.Unproven("The provider's answer has no code. Begin again.")
	}
	p, err := s.Proof(ctx, one("code"), c.Ask)
	if errors.Is(err, hall.ErrDenied) {
		return hall.Proof{}, hall.Unproven("The provider's answer isn't good: %v.", err)
	}
	if err != nil {
		return hall.Proof{}, fmt.Errorf("%w: %s: %w", hall.ErrProvider, provider, err)
	}
	if p.Issuer == "" || p.Subject == "" {
		return hall.Proof{}, hall.Unproven("The provider doesn't say who it is.")
	}
	return p, nil
}

// user returns whose identity it is, or makes the account of whom that was invited.
func (d *Desk) user(ctx context.Context, from hall.From, provider string, p hall.Proof) (store.User, error) {
	now := d.hall.Now()
	known, err := d.hall.Store.Identity(ctx, p.Issuer, p.Subject, now)
	if err == nil {
		user, err := d.hall.Store.User(ctx, known.Owner)
		if err == nil && user.Disabled {
			err = hall.Unproven("The account is disabled.")
		}
		return user, err
	}
	if !errors.Is(err, store.ErrNotFound) {
		return store.User{}, err
	}
	for _, key := range p.Keys {
		if key == "" {
			continue
		}
		code := hall.InviteeCode(provider, key)
		i, err := d.hall.Store.Invitation(ctx, code, now)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return store.User{}, err
		}
		if i.Invitee != hall.InviteeWord(provider, key) {
			continue // it isn't of this form
		}
		return d.join(ctx, from, code, p)
	}
	if err := d.hall.Record(ctx, auth.Who{}, auth.Event{What: auth.IdentityUnused, From: from.Address, Detail: provider}); err != nil {
		return store.User{}, err
	}
	return store.User{}, hall.Unproven("Nobody invited this identity. An admin does it by what the provider %s calls you.", provider)
}

// join makes the account, by a name that is like the one that the provider gives.
func (d *Desk) join(ctx context.Context, from hall.From, code store.Hash, p hall.Proof) (store.User, error) {
	now := d.hall.Now()
	id, err := store.NewID[store.UserID]('u', now.Time, d.hall.Random)
	if err != nil {
		return store.User{}, err
	}
	if err := d.hall.Record(ctx, auth.Who{}, auth.Event{What: auth.IdentityBound, User: id, From: from.Address, Detail: p.Issuer}); err != nil {
		return store.User{}, err
	}
	base := Name(p.Suggests)
	for n := 1; n < 10; n++ {
		name := base
		if n > 1 {
			name = fmt.Sprintf("%s-%d", base, n)
		}
		as := &store.Identity{Issuer: p.Issuer, Subject: p.Subject, Owner: id, Label: auth.Label(p.Label), Created: now, LastUsed: now}
		user, err := d.hall.Store.AcceptInvitation(ctx, code, store.User{ID: id, Name: name, Created: now, Changed: now}, as, now)
		switch {
		case errors.Is(err, store.ErrExists):
			continue
		case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrOver):
			return store.User{}, hall.Unproven("The invitation was used at the same time. Log in again.")
		}
		return user, err
	}
	return store.User{}, paddock.Refused(paddock.Conflict, "No name like %s is free, or this identity is of an account that is disabled.", base)
}

// Name makes a name of ours that is like text.
func Name(text string) string {
	text = strings.ToLower(text[:min(len(text), 100)])
	text = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, text)
	text = strings.TrimLeft(text, "-0123456789")
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '-' }), "-")
	text = strings.TrimRight(text[:min(len(text), 28)], "-")
	if _, err := auth.ParseName(text); err != nil {
		return "user"
	}
	return text
}
