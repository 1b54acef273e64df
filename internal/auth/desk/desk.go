// Package desk is where credentials are made and believed: accounts, sessions, API
// tokens, invitations and login links.
//
// Only digests of words are kept; passwords are kept as argon2id hashes. Each thing that
// is done is given to the recorder before it is done. Nobody makes an account for
// himself: the first start makes that of the first admin, everybody else is invited.
//
// # Limits
//
// What a stolen session can do until it is ended isn't prevented but by second factors,
// which approvals want. Tries are counted by each server for itself, and forgotten when
// it ends. How words come in and go out by HTTP is package presented's.
package desk

import (
	"context"

	"paddock"
	"paddock/internal/auth"
	"paddock/internal/auth/desk/internal/hall"
	"paddock/internal/auth/desk/internal/hall/factors"
	"paddock/internal/auth/desk/internal/hall/login"
	"paddock/internal/auth/desk/internal/hall/passkeys"
	"paddock/internal/auth/desk/internal/hall/people"
	"paddock/internal/auth/desk/internal/hall/providers"
	"paddock/internal/auth/desk/internal/hall/tokens"
)

// The words of this package, which its parts share.
type (
	// Config is what a Desk works with.
	Config = hall.Config
	// Store is what it needs of the store.
	Store = hall.Store
	// From is where a request came from.
	From = hall.From
	// Entry is a session that was just begun.
	Entry = hall.Entry
	// Limited is a refusal that says how long to wait.
	Limited = hall.Limited
	// Party is how browsers know a server.
	Party = hall.Party
	// Provider is somebody else's server that says who people are.
	Provider = hall.Provider
	// Ceremony is the first half of what is done with a passkey.
	Ceremony = passkeys.Ceremony
	// TokenRequest asks for an API token.
	TokenRequest = tokens.Request
)

// ProviderLasts is how long somebody has to log in at a provider and come back.
const ProviderLasts = providers.Lasts

// ErrProvider wraps why a provider couldn't be asked.
var ErrProvider = hall.ErrProvider

// NewKey makes a key for [Config].
func NewKey() []byte { return hall.NewKey() }

// A Desk makes credentials and says whose they are.
type Desk struct {
	*login.Desk // persons in and out
	People      *people.Desk
	Tokens      *tokens.Desk
	// Factors are what is proven beside what one logged in by.
	Factors *factors.Desk
	// Passkeys let in, and are second factors.
	Passkeys *passkeys.Desk
	// Providers let people in whom other servers know.
	Providers *providers.Desk
}

// New returns a Desk.
func New(c Config) (*Desk, error) {
	h, err := hall.New(c)
	if err != nil {
		return nil, err
	}
	keys, err := passkeys.New(h)
	if err != nil {
		return nil, err
	}
	others, err := providers.New(h, c.Providers)
	if err != nil {
		return nil, err
	}
	return &Desk{login.New(h), people.New(h), tokens.New(h), factors.New(h), keys, others}, nil
}

// Authenticate says who shows the word of a session or of an API token.
func (d *Desk) Authenticate(ctx context.Context, kind auth.Kind, word string) (auth.Who, error) {
	switch kind {
	case auth.SessionWord:
		return d.Desk.Authenticate(ctx, word)
	case auth.TokenWord:
		return d.Tokens.Authenticate(ctx, word)
	case auth.InvitationWord, auth.LinkWord:
	}
	return auth.Who{}, paddock.Refused(paddock.Unauthenticated, "Nobody is let in by a word of that kind.")
}
