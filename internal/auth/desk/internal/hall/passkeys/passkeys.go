// Package passkeys lets persons in by passkeys, and takes them as second factors: keys of
// a device that sign for our origin alone and only after the device knew its owner, so
// that a passkey is two factors by itself.
//
// Each ceremony has a challenge, which the browser carries encrypted; it works once and for five
// minutes. What is kept of a passkey is sealed with the server's key and bound to its
// owner, so that whoever can write to the database can't give a user one.
//
// # Limits
//
// It doesn't ask of what make a device is (no attestation). That a challenge is used once
// is seen to by each server for itself. A key that was copied is found by its counter, if
// it counts.
package passkeys

import (
	"context"
	"encoding/base64"
	"encoding/json/v2"
	"errors"
	"fmt"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"paddock"
	"paddock/internal/auth"
	"paddock/internal/auth/desk/internal/hall"
	"paddock/internal/store"
)

const (
	// Kind is that of the factors.
	Kind = "passkey"
	// Lasts is how long a ceremony may take.
	Lasts = 5 * time.Minute
	// mostAnswer is the longest answer of a browser.
	mostAnswer = 16 << 10
	mostKeys   = 10
)

// A Desk makes passkeys of users and believes them.
type Desk struct {
	hall *hall.Hall
	lib  *webauthn.WebAuthn // nil: there are none
}

// New returns a Desk. Without a party there are no passkeys.
func New(h *hall.Hall) (*Desk, error) {
	party := h.Party
	if party.ID == "" {
		return &Desk{hall: h}, nil
	}
	lib, err := webauthn.New(&webauthn.Config{
		RPID: party.ID, RPDisplayName: "Paddock", RPOrigins: party.Origins, AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementRequired, UserVerification: protocol.VerificationRequired,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("auth: passkeys: %w", err)
	}
	return &Desk{h, lib}, nil
}

// A Ceremony is what the browser is told, as JSON for its own functions, and what it
// carries meanwhile.
type Ceremony struct {
	Options []byte
	Carried string
}

// carried is what must be the same at the end of a ceremony.
type carried struct {
	For     string               `json:"for"` // "add", "login", or "prove"
	User    store.UserID         `json:"user,omitempty"`
	Session webauthn.SessionData `json:"session"`
}

func (d *Desk) has() error {
	if d.lib == nil {
		return paddock.Refused(paddock.Conflict, "This server has no passkeys: it isn't told by what name browsers reach it.")
	}
	return nil
}

func (d *Desk) ceremony(options any, s *webauthn.SessionData, what string, user store.UserID) (Ceremony, error) {
	text, err := json.Marshal(options)
	if err != nil {
		return Ceremony{}, err
	}
	c, err := hall.Seal(d.hall, "passkey", carried{what, user, *s}, Lasts)
	return Ceremony{Options: text, Carried: c}, err
}

// back opens what was carried, which works once.
func (d *Desk) back(text, what string, user store.UserID) (webauthn.SessionData, error) {
	c, err := hall.Open[carried](d.hall, "passkey", text)
	if err != nil && !errors.Is(err, hall.ErrUnsealed) {
		return webauthn.SessionData{}, err
	}
	if err != nil || c.For != what || c.User != user || c.Session.Challenge == "" || !d.hall.Once(c.Session.Challenge, Lasts) {
		return webauthn.SessionData{}, hall.Unproven("That wasn't begun here, or was finished before, or too long ago. Begin again.")
	}
	return c.Session, nil
}

// Offer begins to make a passkey of who's own.
func (d *Desk) Offer(ctx context.Context, who auth.Who, from hall.From, password string) (Ceremony, error) {
	if err := d.has(); err != nil {
		return Ceremony{}, err
	}
	if err := d.hall.MayAddFactor(ctx, who, from, password); err != nil {
		return Ceremony{}, err
	}
	p, err := d.person(ctx, who.User, who.Name)
	if err != nil {
		return Ceremony{}, err
	}
	options, s, err := d.lib.BeginRegistration(p, webauthn.WithExclusions(webauthn.Credentials(p.keys).CredentialDescriptors()))
	if err != nil {
		return Ceremony{}, err
	}
	return d.ceremony(options, s, "add", who.User)
}

// Add keeps the passkey that the browser made. The session in which it was made gets
// another word.
func (d *Desk) Add(ctx context.Context, who auth.Who, from hall.From, word, carriedText string, answer []byte, name string) (hall.Entry, error) {
	if err := d.has(); err != nil {
		return hall.Entry{}, err
	}
	if err := who.May(auth.FactorsChange, auth.Mine); err != nil {
		return hall.Entry{}, err
	}
	if !auth.Printable(name) || who.Session == "" {
		return hall.Entry{}, paddock.Refused(paddock.InvalidRequest, "A passkey has a name of one line and at most %d bytes, and is made by who is logged in.", auth.MostLabel)
	}
	s, err := d.back(carriedText, "add", who.User)
	if err != nil {
		return hall.Entry{}, err
	}
	p, err := d.person(ctx, who.User, who.Name)
	if err != nil {
		return hall.Entry{}, err
	}
	key, err := d.made(p, s, answer)
	if err != nil {
		return hall.Entry{}, err
	}
	now := d.hall.Now()
	id, err := store.NewID[store.FactorID]('f', now.Time, d.hall.Random)
	if err != nil {
		return hall.Entry{}, err
	}
	f := store.Factor{
		ID: id, Owner: who.User, Kind: Kind, Name: name, Handle: handle(key.ID), Counter: int64(key.Authenticator.SignCount), Created: now, LastUsed: now,
	}
	if f.Data, err = d.seal(f, *key); err != nil {
		return hall.Entry{}, err
	}
	if err := d.hall.AddFactor(ctx, who, from, f, mostKeys); err != nil {
		return hall.Entry{}, err
	}
	return d.hall.Prove(ctx, who, from, word, Kind)
}

func (d *Desk) made(p *person, s webauthn.SessionData, answer []byte) (*webauthn.Credential, error) {
	if len(answer) > mostAnswer {
		return nil, hall.Unproven("The browser's answer is too long.")
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes(answer)
	if err != nil {
		return nil, hall.Unproven("The browser's answer isn't that of a passkey that was made.")
	}
	key, err := d.lib.CreateCredential(p, s, parsed)
	if err != nil {
		return nil, hall.Unproven("The passkey isn't good: it was made for another place or question, or its owner wasn't asked.")
	}
	return key, nil
}

// Ask begins a login by passkey. Which one it is, the browser asks its owner.
func (d *Desk) Ask(from hall.From) (Ceremony, error) {
	if err := d.has(); err != nil {
		return Ceremony{}, err
	}
	if err := d.hall.Try(from, ""); err != nil {
		return Ceremony{}, err
	}
	options, s, err := d.lib.BeginDiscoverableLogin(webauthn.WithUserVerification(protocol.VerificationRequired))
	if err != nil {
		return Ceremony{}, err
	}
	d.hall.Forgive(from, "")
	return d.ceremony(options, s, "login", "")
}

// Login lets in who has a passkey. It counts as a second factor, too: the device asked
// for its owner.
func (d *Desk) Login(ctx context.Context, from hall.From, carriedText string, answer []byte) (hall.Entry, error) {
	if err := d.has(); err != nil {
		return hall.Entry{}, err
	}
	if err := d.hall.Try(from, ""); err != nil {
		return hall.Entry{}, err
	}
	s, err := d.back(carriedText, "login", "")
	if err != nil {
		return hall.Entry{}, err
	}
	user, err := d.believe(ctx, from, auth.Who{}, s, answer)
	if err != nil {
		return hall.Entry{}, err
	}
	d.hall.Forgive(from, "")
	return d.hall.Begin(ctx, from, user, Kind, d.hall.Now())
}

// AskAgain begins to have a passkey of who's shown as a second factor.
func (d *Desk) AskAgain(ctx context.Context, who auth.Who) (Ceremony, error) {
	if err := d.has(); err != nil {
		return Ceremony{}, err
	}
	if who.Session == "" {
		return Ceremony{}, paddock.Refused(paddock.Forbidden, "A second factor is shown by who is logged in.")
	}
	p, err := d.person(ctx, who.User, who.Name)
	if err != nil {
		return Ceremony{}, err
	}
	if len(p.keys) == 0 {
		return Ceremony{}, paddock.Refused(paddock.NotFound, "There is no passkey of this account.")
	}
	options, s, err := d.lib.BeginLogin(p, webauthn.WithUserVerification(protocol.VerificationRequired))
	if err != nil {
		return Ceremony{}, err
	}
	return d.ceremony(options, s, "prove", who.User)
}

// Prove believes a passkey of who's as a second factor. The session whose word it is gets
// another word.
func (d *Desk) Prove(ctx context.Context, who auth.Who, from hall.From, word, carriedText string, answer []byte) (hall.Entry, error) {
	if err := d.has(); err != nil {
		return hall.Entry{}, err
	}
	if who.Session == "" {
		return hall.Entry{}, paddock.Refused(paddock.Forbidden, "A second factor is shown by who is logged in.")
	}
	s, err := d.back(carriedText, "prove", who.User)
	if err != nil {
		return hall.Entry{}, err
	}
	if _, err := d.believe(ctx, from, who, s, answer); err != nil {
		return hall.Entry{}, err
	}
	return d.hall.Prove(ctx, who, from, word, Kind)
}

func handle(id []byte) string { return base64.RawURLEncoding.EncodeToString(id) }
