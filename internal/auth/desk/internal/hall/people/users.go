package people

import (
	"context"

	"paddock"
	"paddock/internal/auth"
	"paddock/internal/auth/desk/internal/hall"
	"paddock/internal/store"
)

// Users lists users, newest first.
func (d *Desk) Users(ctx context.Context, by auth.Who, after store.Cursor, most int) (store.Page[store.User], error) {
	if err := by.May(auth.UsersRead, auth.Foreign); err != nil {
		return store.Page[store.User]{}, err
	}
	page, err := d.hall.Store.Users(ctx, after, most)
	for i := range page.Items {
		page.Items[i] = public(page.Items[i])
	}
	return page, err
}

// UserNamed returns the user of that name.
func (d *Desk) UserNamed(ctx context.Context, by auth.Who, name string) (store.User, error) {
	if err := by.May(auth.UsersRead, auth.Foreign); err != nil {
		return store.User{}, err
	}
	if _, err := auth.ParseName(name); err != nil {
		return store.User{}, err
	}
	user, err := d.hall.Store.UserNamed(ctx, name)
	return public(user), hall.Refusal(err, "user")
}

// public is what may be shown of a user: whether there is a password, not its hash.
func public(u store.User) store.User {
	if u.Password != "" {
		u.Password = "set"
	}
	return u
}

// SetRole changes what a user may do, and ends his sessions.
func (d *Desk) SetRole(ctx context.Context, by auth.Who, id store.UserID, r auth.Role) (store.User, error) {
	if _, err := auth.ParseRole(string(r)); err != nil {
		return store.User{}, paddock.Refused(paddock.InvalidRequest, "%v.", err)
	}
	user, err := d.theUser(ctx, by, id)
	if err != nil {
		return store.User{}, err
	}
	if user.Role == r {
		return public(user), nil
	}
	if err := d.hall.Record(ctx, by, auth.Event{What: auth.UserChanged, User: id, Detail: string(user.Role) + " → " + string(r)}); err != nil {
		return store.User{}, err
	}
	user.Role = r
	user, err = d.change(ctx, by, user, "the role changed")
	return public(user), err
}

// Disable keeps a user out: his sessions end, his tokens are revoked. What runs in his
// name goes on.
func (d *Desk) Disable(ctx context.Context, by auth.Who, id store.UserID) (store.User, error) {
	user, err := d.theUser(ctx, by, id)
	if err != nil {
		return store.User{}, err
	}
	if err := d.hall.Record(ctx, by, auth.Event{What: auth.UserChanged, User: id, Detail: "disabled"}); err != nil {
		return store.User{}, err
	}
	user.Disabled = true
	if user, err = d.change(ctx, by, user, "the account was disabled"); err != nil {
		return store.User{}, err
	}
	return public(user), d.revokeAll(ctx, by, id)
}

// Enable lets a user log in again.
func (d *Desk) Enable(ctx context.Context, by auth.Who, id store.UserID) (store.User, error) {
	user, err := d.theUser(ctx, by, id)
	if err != nil {
		return store.User{}, err
	}
	if err := d.hall.Record(ctx, by, auth.Event{What: auth.UserChanged, User: id, Detail: "enabled"}); err != nil {
		return store.User{}, err
	}
	user.Disabled = false
	user, err = d.change(ctx, by, user, "the account was enabled")
	return public(user), err
}

// theUser returns the user with that id if who may change users.
func (d *Desk) theUser(ctx context.Context, by auth.Who, id store.UserID) (store.User, error) {
	if err := by.May(auth.UsersChange, auth.Foreign); err != nil {
		return store.User{}, err
	}
	if err := hall.ID(id, "user"); err != nil {
		return store.User{}, err
	}
	user, err := d.hall.Store.User(ctx, id)
	return user, hall.Refusal(err, "user")
}

// change keeps what was changed of a user, and ends all his sessions, also the one that
// he may have done it by.
func (d *Desk) change(ctx context.Context, by auth.Who, user store.User, why string) (store.User, error) {
	user.Changed = d.hall.Now()
	user, err := d.hall.Store.ChangeUser(ctx, user)
	if err != nil {
		return store.User{}, hall.Refusal(err, "user")
	}
	by.Session = ""
	_, err = d.hall.EndAll(ctx, by, user.ID, why)
	return user, err
}

func (d *Desk) revokeAll(ctx context.Context, by auth.Who, id store.UserID) error {
	now := d.hall.Now()
	for after := (store.Cursor{}); ; {
		page, err := d.hall.Store.Tokens(ctx, store.Of(id), after, store.MostPage)
		if err != nil {
			return err
		}
		for _, t := range page.Items {
			if !t.Revoked.IsZero() || t.Expires.Past(now) {
				continue
			}
			if err := d.hall.Record(ctx, by, auth.Event{What: auth.TokenRevoked, User: id, Detail: string(t.ID)}); err != nil {
				return err
			}
			if err := d.hall.Store.RevokeToken(ctx, store.Of(id), t.ID, now); err != nil {
				return err
			}
		}
		if !page.More {
			return nil
		}
		after = page.Next
	}
}

// Link makes a word that logs a user in once. With reset, the password that the user
// has is taken away, and the sessions end, so that another one can be set by it.
func (d *Desk) Link(ctx context.Context, by auth.Who, id store.UserID, reset bool) (word string, expires store.Moment, err error) {
	user, err := d.theUser(ctx, by, id)
	if err != nil {
		return "", store.Moment{}, err
	}
	if user.Disabled {
		return "", store.Moment{}, paddock.Refused(paddock.Conflict, "%s is disabled, so no link logs in.", user.Name)
	}
	if reset {
		if err := d.hall.Record(ctx, by, auth.Event{What: auth.UserChanged, User: id, Detail: "no password"}); err != nil {
			return "", store.Moment{}, err
		}
		user.Password = ""
		if user, err = d.change(ctx, by, user, "the password was taken away"); err != nil {
			return "", store.Moment{}, err
		}
	}
	return d.hall.Link(ctx, by, user, "login")
}
