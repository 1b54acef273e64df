package passkeys

import (
	"context"
	"encoding/json/v2"
	"errors"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"paddock/internal/auth"
	"paddock/internal/auth/desk/internal/hall"
	"paddock/internal/store"
)

// A person is a user as the library wants one.
type person struct {
	id   store.UserID
	name string
	keys []webauthn.Credential
}

func (p *person) WebAuthnID() []byte                         { return []byte(p.id) }
func (p *person) WebAuthnName() string                       { return p.name }
func (p *person) WebAuthnDisplayName() string                { return p.name }
func (p *person) WebAuthnCredentials() []webauthn.Credential { return p.keys }

// person reads a user's passkeys.
func (d *Desk) person(ctx context.Context, id store.UserID, name string) (*person, error) {
	all, err := d.hall.Store.Factors(ctx, id)
	if err != nil {
		return nil, err
	}
	p := &person{id: id, name: name}
	for _, f := range all {
		if f.Kind != Kind {
			continue
		}
		key, err := d.open(f)
		if err != nil {
			return nil, err // another key, or somebody wrote it: nothing to try further
		}
		p.keys = append(p.keys, key)
	}
	return p, nil
}

func purpose(f store.Factor) string { return "passkey of " + string(f.Owner) + " " + string(f.ID) }

func (d *Desk) seal(f store.Factor, key webauthn.Credential) ([]byte, error) {
	key.Attestation = webauthn.CredentialAttestation{} // not asked for, and of no use later
	text, err := json.Marshal(key)
	if err != nil {
		return nil, err
	}
	return d.hall.SealBytes(purpose(f), text)
}

func (d *Desk) open(f store.Factor) (webauthn.Credential, error) {
	var key webauthn.Credential
	text, err := d.hall.OpenBytes(purpose(f), f.Data)
	if err == nil {
		err = json.Unmarshal(text, &key)
	}
	return key, err
}

// believe says whose passkey signed the challenge. Somebody's own, if who is somebody.
func (d *Desk) believe(ctx context.Context, from hall.From, who auth.Who, s webauthn.SessionData, answer []byte) (store.User, error) {
	user, err := d.signed(ctx, who, s, answer)
	if errors.Is(err, hall.ErrDenied) || errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrOver) {
		if err := d.hall.Record(ctx, who, auth.Event{What: auth.LoginRefused, User: who.User, From: from.Address, Detail: Kind}); err != nil {
			return store.User{}, err
		}
		return store.User{}, hall.Unproven("The passkey isn't known here, or is for another place or question, or its owner wasn't asked, or the account is disabled.")
	}
	return user, err
}

// signed checks the signature, and uses up its count.
func (d *Desk) signed(ctx context.Context, who auth.Who, s webauthn.SessionData, answer []byte) (store.User, error) {
	if len(answer) > mostAnswer {
		return store.User{}, hall.ErrDenied
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes(answer)
	if err != nil {
		return store.User{}, hall.ErrDenied
	}
	found, err := d.hall.Store.FactorByHandle(ctx, handle(parsed.RawID))
	if err != nil {
		return store.User{}, err
	}
	user, err := d.hall.Store.User(ctx, found.Owner)
	if err != nil {
		return store.User{}, err
	}
	if found.Kind != Kind || user.Disabled || who.User != "" && who.User != user.ID {
		return store.User{}, hall.ErrDenied
	}
	p, err := d.person(ctx, user.ID, user.Name)
	if err != nil {
		return store.User{}, err
	}
	key, err := d.validate(p, who, s, parsed)
	if err != nil || key.Authenticator.CloneWarning {
		return store.User{}, hall.ErrDenied
	}
	data, err := d.seal(found, *key)
	if err != nil {
		return store.User{}, err
	}
	return user, d.hall.Store.UseFactor(ctx, user.ID, found.ID, int64(key.Authenticator.SignCount), data, d.hall.Now())
}

func (d *Desk) validate(p *person, who auth.Who, s webauthn.SessionData, parsed *protocol.ParsedCredentialAssertionData) (*webauthn.Credential, error) {
	if who.User != "" {
		return d.lib.ValidateLogin(p, s, parsed)
	}
	_, key, err := d.lib.ValidatePasskeyLogin(func(_, userHandle []byte) (webauthn.User, error) {
		if string(userHandle) != string(p.id) {
			return nil, hall.ErrDenied
		}
		return p, nil
	}, s, parsed)
	return key, err
}
