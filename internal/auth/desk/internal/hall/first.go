package hall

import (
	"context"
	"errors"

	"paddock/internal/auth"
	"paddock/internal/store"
)

// FirstName is the name of the admin that is made where there is no user.
const FirstName = "admin"

// AddFirst makes the first admin if there is no user, and says whether it did.
func (h *Hall) AddFirst(ctx context.Context) (user store.User, made bool, err error) {
	now := h.Now()
	id, err := store.NewID[store.UserID]('u', now.Time, h.Random)
	if err != nil {
		return store.User{}, false, err
	}
	user = store.User{ID: id, Name: FirstName, Role: auth.Admin, Created: now, Changed: now}
	if err := h.Record(ctx, auth.Local(), auth.Event{What: auth.UserAdded, User: id, Detail: string(auth.Admin)}); err != nil {
		return store.User{}, false, err
	}
	err = h.Store.AddFirstUser(ctx, user)
	if errors.Is(err, store.ErrExists) {
		return store.User{}, false, nil
	}
	return user, err == nil, err
}

// Steward is in whose name the operator of the machine does what must have an owner: the
// oldest admin, who is made where there is no user.
func (h *Hall) Steward(ctx context.Context) (store.UserID, error) {
	var steward store.UserID
	for after := (store.Cursor{}); ; {
		page, err := h.Store.Users(ctx, after, store.MostPage)
		if err != nil {
			return "", err
		}
		for _, u := range page.Items {
			if u.Role == auth.Admin && !u.Disabled {
				steward = u.ID // the newest come first
			}
		}
		if !page.More {
			break
		}
		after = page.Next
	}
	if steward != "" {
		return steward, nil
	}
	user, made, err := h.AddFirst(ctx)
	if err == nil && !made {
		err = store.ErrStale // another one was made meanwhile
	}
	return user.ID, err
}
