package login

import (
	"context"
	"errors"

	"paddock/internal/auth"
	"paddock/internal/auth/desk/internal/hall"
	"paddock/internal/store"
)

// firstStart is the purpose of the link that the first start prints.
const firstStart = "first start"

// FirstLink is for the start of a server: where there is no user, it makes the first
// admin. As long as he is alone and has nothing to log in by, it returns a link's word,
// which logs him in once; else an empty one.
func (d *Desk) FirstLink(ctx context.Context) (word string, expires store.Moment, err error) {
	admin, err := d.firstAdmin(ctx)
	if err != nil || admin.ID == "" {
		return "", store.Moment{}, err
	}
	return d.hall.Link(ctx, auth.Local(), admin, firstStart)
}

// firstAdmin returns the user who was made by the first start and has no way in yet,
// or nobody.
func (d *Desk) firstAdmin(ctx context.Context) (store.User, error) {
	users, err := d.hall.Store.Users(ctx, store.Cursor{}, 2)
	if err != nil {
		return store.User{}, err
	}
	switch len(users.Items) {
	case 0:
		user, _, err := d.hall.AddFirst(ctx)
		return user, err // nobody if another server was first, and has the link
	case 1:
		user := users.Items[0]
		ways, err := d.ways(ctx, user)
		if err != nil || ways || user.Disabled {
			return store.User{}, err
		}
		return user, nil
	}
	return store.User{}, nil
}

// ways says whether the user has anything to log in by, or is logged in.
func (d *Desk) ways(ctx context.Context, user store.User) (bool, error) {
	factors, err1 := d.hall.Store.Factors(ctx, user.ID)
	identities, err2 := d.hall.Store.Identities(ctx, user.ID)
	sessions, err3 := d.hall.Store.Sessions(ctx, user.ID, d.hall.Now())
	return user.Password != "" || len(factors)+len(identities)+len(sessions) > 0, errors.Join(err1, err2, err3)
}

// Redeem uses a link up and begins a session. The word comes in a body: in the URL
// that people open it stands in the fragment, which browsers don't send.
func (d *Desk) Redeem(ctx context.Context, from hall.From, word string) (hall.Entry, error) {
	if err := d.hall.Try(from, ""); err != nil {
		return hall.Entry{}, err
	}
	hash, err := auth.DigestOf(auth.LinkWord, word)
	var user store.User
	var l store.LoginLink
	if err == nil {
		l, user, err = d.hall.Store.UseLink(ctx, hash, d.hall.Now())
	}
	switch {
	case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrOver), errors.Is(err, auth.ErrMalformed):
		if err := d.hall.Record(ctx, auth.Who{}, auth.Event{What: auth.LoginRefused, From: from.Address, Detail: "link"}); err != nil {
			return hall.Entry{}, err
		}
		return hall.Entry{}, hall.Unproven("The link was used before, or is too old, or was cut when it was copied.")
	case err != nil:
		return hall.Entry{}, err
	}
	d.hall.Forgive(from, "")
	return d.hall.Begin(ctx, from, user, "link: "+l.Purpose, store.Moment{})
}
