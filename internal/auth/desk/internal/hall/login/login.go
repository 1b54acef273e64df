package login

import (
	"context"
	"errors"

	"paddock"
	"paddock/internal/auth"
	"paddock/internal/auth/desk/internal/hall"
	"paddock/internal/store"
)

// Login lets somebody in by name and password. Names that nobody has, accounts that are
// disabled or have no password, and wrong passwords give the same answer after the same
// work.
func (d *Desk) Login(ctx context.Context, from hall.From, name, text string) (hall.Entry, error) {
	if err := d.hall.Try(from, name); err != nil {
		return hall.Entry{}, err
	}
	user, err := d.named(ctx, name)
	if err != nil {
		return hall.Entry{}, err
	}
	hash := user.Password
	if user.Disabled {
		hash = ""
	}
	ok, anew, err := d.hall.Matches(ctx, hash, text)
	if err != nil {
		return hall.Entry{}, err
	}
	if !ok {
		if err := d.hall.Record(ctx, auth.Who{}, auth.Event{What: auth.LoginRefused, User: user.ID, From: from.Address, Detail: "password"}); err != nil {
			return hall.Entry{}, err
		}
		return hall.Entry{}, hall.Unproven("The name or the password is wrong, or the account is disabled.")
	}
	d.hall.Forgive(from, name)
	if anew {
		if user, err = d.rehash(ctx, user, text); err != nil {
			return hall.Entry{}, err
		}
	}
	return d.hall.Begin(ctx, from, user, "password", store.Moment{})
}

// named returns who has the name; nobody if it can't be one, or isn't one.
func (d *Desk) named(ctx context.Context, name string) (store.User, error) {
	if _, err := auth.ParseName(name); err != nil {
		name = "-" // asked for all the same, and nobody's
	}
	user, err := d.hall.Store.UserNamed(ctx, name)
	if errors.Is(err, store.ErrNotFound) {
		return store.User{}, nil
	}
	return user, err
}

// rehash keeps the password at today's cost. If the account was changed meanwhile, the
// next login does it.
func (d *Desk) rehash(ctx context.Context, user store.User, text string) (store.User, error) {
	hash, err := d.hall.Hasher.Hash(ctx, text)
	if err != nil {
		return store.User{}, err
	}
	changed := user
	changed.Password = hash
	changed.Changed = d.hall.Now()
	changed, err = d.hall.Store.ChangeUser(ctx, changed)
	if errors.Is(err, store.ErrStale) {
		return user, nil
	}
	return changed, err
}

// SetPassword gives who's own account a password. Who has one must show it. All his
// other sessions end, and this one gets another secret.
func (d *Desk) SetPassword(ctx context.Context, by auth.Who, from hall.From, old, text string) (hall.Entry, error) {
	if by.Session == "" {
		return hall.Entry{}, paddock.Refused(paddock.Forbidden, "A password is set by who is logged in.")
	}
	if err := d.hall.Try(from, by.Name); err != nil {
		return hall.Entry{}, err
	}
	user, err := d.hall.Store.User(ctx, by.User)
	if err != nil {
		return hall.Entry{}, hall.Refusal(err, "user")
	}
	if user.Password != "" {
		ok, _, err := d.hall.Matches(ctx, user.Password, old)
		if err != nil {
			return hall.Entry{}, err
		}
		if !ok {
			return hall.Entry{}, hall.Unproven("The present password is wrong.")
		}
	}
	d.hall.Forgive(from, by.Name)
	if user.Password, err = d.hall.NewPassword(ctx, user.Name, text); err != nil {
		return hall.Entry{}, err
	}
	if err := d.hall.Record(ctx, by, auth.Event{What: auth.PasswordSet, User: user.ID, From: from.Address}); err != nil {
		return hall.Entry{}, err
	}
	user.Changed = d.hall.Now()
	if user, err = d.hall.Store.ChangeUser(ctx, user); err != nil {
		return hall.Entry{}, hall.Refusal(err, "user")
	}
	if _, err := d.hall.Store.EndSessions(ctx, user.ID, "", d.hall.Now()); err != nil {
		return hall.Entry{}, err
	}
	return d.hall.Begin(ctx, from, user, "new password", store.Moment{})
}
