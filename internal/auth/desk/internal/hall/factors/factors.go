// Package factors is what people prove beside what they logged in by: one-time passwords
// by the time. Who shows one gets another word for the session, in which it counts for
// some minutes.
//
// Whoever has a stolen session can't give the account a factor of his own: the first one
// wants the password, or a login that was just now, and any further one a factor that was
// just shown. Secrets are sealed with the server's key, so that a copy of the database
// is no second factor.
//
// # Limits
//
// A page of somebody else's can ask for a one-time password and pass it on; passkeys
// can't be had that way. Who lost all factors has them taken away by an admin.
package factors

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"paddock"
	"paddock/internal/auth"
	"paddock/internal/auth/desk/internal/hall"
	"paddock/internal/auth/desk/internal/hall/factors/totp"
	"paddock/internal/store"
)

const (
	// OneTime is the kind of factor that one-time passwords are checked by.
	OneTime = "totp"
	// most is how many factors one has.
	most = 10
	// offered is how long a new secret waits for its first password.
	offered = 10 * time.Minute
)

// A Desk keeps factors and believes them.
type Desk struct{ hall *hall.Hall }

// New returns a Desk.
func New(h *hall.Hall) *Desk { return &Desk{h} }

// An Offer is a secret that isn't a factor yet. Sealed comes back with the first password.
type Offer struct {
	Secret string // for people to type
	URI    string // for an app to read
	Sealed string
}

type offer struct {
	User   store.UserID `json:"user"`
	Secret []byte       `json:"secret"`
}

// Offer makes a secret for one-time passwords of who's own.
func (d *Desk) Offer(ctx context.Context, who auth.Who, from hall.From, password string) (Offer, error) {
	if err := d.hall.MayAddFactor(ctx, who, from, password); err != nil {
		return Offer{}, err
	}
	o := offer{who.User, make([]byte, totp.SecretSize)}
	_, _ = rand.Read(o.Secret) // never fails: it ends the program instead
	sealed, err := hall.Seal(d.hall, "totp", o, offered)
	if err != nil {
		return Offer{}, err
	}
	return Offer{Secret: totp.Text(o.Secret), URI: totp.URI("Paddock", who.Name, o.Secret), Sealed: sealed}, nil
}

// Add makes an offered secret a factor, by its first password. The session in which it
// is shown gets another word.
func (d *Desk) Add(ctx context.Context, who auth.Who, from hall.From, word, sealed, code, name string) (hall.Entry, error) {
	if err := who.May(auth.FactorsChange, auth.Mine); err != nil {
		return hall.Entry{}, err
	}
	if !auth.Printable(name) {
		return hall.Entry{}, paddock.Refused(paddock.InvalidRequest, "A factor has a name of one line and at most %d bytes.", auth.MostLabel)
	}
	o, err := hall.Open[offer](d.hall, "totp", sealed)
	if errors.Is(err, hall.ErrUnsealed) || err == nil && (o.User != who.User || who.Session == "") {
		return hall.Entry{}, paddock.Refused(paddock.InvalidRequest, "The secret wasn't offered to you, or too long ago. Begin again.")
	}
	if err != nil {
		return hall.Entry{}, err
	}
	if err := d.hall.Try(from, who.Name); err != nil {
		return hall.Entry{}, err
	}
	step, ok := totp.Match(o.Secret, code, d.hall.Clock())
	if !ok {
		return hall.Entry{}, hall.Unproven("The one-time password is wrong. Is the device's clock right?")
	}
	d.hall.Forgive(from, who.Name)
	now := d.hall.Now()
	id, err := store.NewID[store.FactorID]('f', now.Time, d.hall.Random)
	if err != nil {
		return hall.Entry{}, err
	}
	data, err := d.hall.SealBytes(purpose(who.User, id), o.Secret)
	if err != nil {
		return hall.Entry{}, err
	}
	f := store.Factor{ID: id, Owner: who.User, Kind: OneTime, Name: name, Data: data, Counter: step, Created: now, LastUsed: now}
	if err := d.hall.AddFactor(ctx, who, from, f, most); err != nil {
		return hall.Entry{}, err
	}
	return d.hall.Prove(ctx, who, from, word, OneTime)
}

func purpose(user store.UserID, id store.FactorID) string {
	return "totp of " + string(user) + " " + string(id)
}

// Prove believes a one-time password, once. The session whose word it is gets another
// word.
func (d *Desk) Prove(ctx context.Context, who auth.Who, from hall.From, word, code string) (hall.Entry, error) {
	if who.Session == "" {
		return hall.Entry{}, paddock.Refused(paddock.Forbidden, "A second factor is shown by who is logged in.")
	}
	if err := d.hall.Try(from, who.Name); err != nil {
		return hall.Entry{}, err
	}
	ok, err := d.match(ctx, who, code)
	if err != nil {
		return hall.Entry{}, err
	}
	if !ok {
		if err := d.hall.Record(ctx, who, auth.Event{What: auth.LoginRefused, User: who.User, From: from.Address, Detail: OneTime}); err != nil {
			return hall.Entry{}, err
		}
		return hall.Entry{}, hall.Unproven("The one-time password is wrong, or was used before.")
	}
	d.hall.Forgive(from, who.Name)
	return d.hall.Prove(ctx, who, from, word, OneTime)
}

// match uses up the password that code is of one of who's factors.
func (d *Desk) match(ctx context.Context, who auth.Who, code string) (bool, error) {
	all, err := d.hall.Store.Factors(ctx, who.User)
	if err != nil {
		return false, err
	}
	for _, f := range all {
		if f.Kind != OneTime {
			continue
		}
		secret, err := d.hall.OpenBytes(purpose(who.User, f.ID), f.Data)
		if err != nil {
			return false, err // another key, or somebody moved it: nothing to try further
		}
		step, ok := totp.Match(secret, code, d.hall.Clock())
		if !ok {
			continue
		}
		err = d.hall.Store.UseFactor(ctx, who.User, f.ID, step, f.Data, d.hall.Now())
		if errors.Is(err, store.ErrOver) || errors.Is(err, store.ErrNotFound) {
			continue // used before, or taken away meanwhile
		}
		return err == nil, err
	}
	return false, nil
}

// List lists a user's factors, without what they are checked by.
func (d *Desk) List(ctx context.Context, who auth.Who, user store.UserID) ([]store.Factor, error) {
	if err := who.May(auth.FactorsChange, who.Whose(user)); err != nil {
		return nil, err
	}
	if err := hall.ID(user, "user"); err != nil {
		return nil, err
	}
	all, err := d.hall.Store.Factors(ctx, user)
	for i := range all {
		all[i].Data, all[i].Handle = nil, ""
	}
	return all, err
}

// Remove takes a factor of a user away. His own one takes away who has just shown one.
func (d *Desk) Remove(ctx context.Context, who auth.Who, user store.UserID, id store.FactorID) error {
	whose := who.Whose(user)
	if err := who.May(auth.FactorsChange, whose); err != nil {
		return err
	}
	if whose == auth.Mine && !who.Fresh() {
		return paddock.Refused(paddock.SecondFactorRequired, "To take a factor away, show one first.")
	}
	if err := errors.Join(hall.ID(user, "user"), hall.ID(id, "factor")); err != nil {
		return err
	}
	if err := d.hall.Record(ctx, who, auth.Event{What: auth.FactorChanged, User: user, Detail: "removed " + auth.Label(string(id))}); err != nil {
		return err
	}
	return hall.Refusal(d.hall.Store.RemoveFactor(ctx, user, id), "factor")
}
