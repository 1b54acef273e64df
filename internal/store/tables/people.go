package tables

import (
	"context"

	"paddock/internal/store"
	"paddock/internal/store/tables/form"
	"paddock/internal/store/tables/queries"
)

func user(r queries.User) store.User { return store.User(r) }

// AddUser adds u.
func (t *Tables) AddUser(ctx context.Context, u store.User) error {
	if err := form.User(u); err != nil {
		return err
	}
	return t.say(t.does.AddUser(ctx, queries.AddUserParams(u)))
}

// AddFirstUser adds u where there is nobody.
func (t *Tables) AddFirstUser(ctx context.Context, u store.User) error {
	if err := form.User(u); err != nil {
		return err
	}
	return t.change(ctx, func(q *queries.Queries) error {
		if err := q.TakeTurn(ctx, "admins"); err != nil {
			return err
		}
		if n, err := q.CountUsers(ctx); err != nil {
			return err
		} else if n > 0 {
			return store.ErrExists
		}
		return q.AddUser(ctx, queries.AddUserParams(u))
	})
}

// User returns who has the id.
func (t *Tables) User(ctx context.Context, id store.UserID) (store.User, error) {
	if err := readable(id); err != nil {
		return store.User{}, err
	}
	r, err := t.asks.User(ctx, id)
	return user(r), t.say(err)
}

// UserNamed returns who has the name.
func (t *Tables) UserNamed(ctx context.Context, name string) (store.User, error) {
	if err := readable(name); err != nil {
		return store.User{}, err
	}
	r, err := t.asks.UserNamed(ctx, name)
	return user(r), t.say(err)
}

// Users lists all.
func (t *Tables) Users(ctx context.Context, after store.Cursor, most int) (store.Page[store.User], error) {
	a, err := ask(after, most)
	if err != nil {
		return store.Page[store.User]{}, err
	}
	rows, err := t.asks.Users(ctx, queries.UsersParams{Created: a.created, ID: store.UserID(a.id), Most: a.most})
	return page(t, a, rows, err, user, func(u store.User) store.Cursor { return store.Cursor{Created: u.Created, ID: string(u.ID)} })
}

// ChangeUser replaces what can be changed of u.
func (t *Tables) ChangeUser(ctx context.Context, u store.User) (store.User, error) {
	if err := form.User(u); err != nil {
		return store.User{}, err
	}
	var kept queries.User
	err := t.change(ctx, func(q *queries.Queries) error {
		if err := q.TakeTurn(ctx, "admins"); err != nil {
			return err
		}
		was, err := q.User(ctx, u.ID)
		if err != nil {
			return err
		}
		if was.Revision != u.Revision {
			return store.ErrStale
		}
		before, err := q.CountAdmins(ctx)
		if err != nil {
			return err
		}
		kept, err = q.ChangeUser(ctx, queries.ChangeUserParams{Name: u.Name, Role: u.Role, Password: u.Password, Disabled: u.Disabled, Changed: u.Changed, ID: u.ID, Revision: u.Revision})
		if err != nil {
			return err
		}
		if left, err := q.CountAdmins(ctx); err != nil {
			return err
		} else if before > 0 && left == 0 {
			return store.ErrLastAdmin
		}
		return nil
	})
	if err != nil {
		return store.User{}, err
	}
	return user(kept), nil
}

// AddIdentity adds i.
func (t *Tables) AddIdentity(ctx context.Context, i store.Identity) error {
	if err := form.Identity(i); err != nil {
		return err
	}
	return t.say(t.does.AddIdentity(ctx, queries.AddIdentityParams(i)))
}

// Identity finds whose it is, and notes when.
func (t *Tables) Identity(ctx context.Context, issuer, subject string, now store.Moment) (store.Identity, error) {
	if err := readable(issuer, subject); err != nil {
		return store.Identity{}, err
	}
	r, err := t.does.SeeIdentity(ctx, queries.SeeIdentityParams{Now: now, Issuer: issuer, Subject: subject})
	return store.Identity(r), t.say(err)
}

// Identities are the owner's.
func (t *Tables) Identities(ctx context.Context, owner store.UserID) ([]store.Identity, error) {
	rows, err := t.asks.Identities(ctx, owner)
	return all(rows, func(r queries.Identity) store.Identity { return store.Identity(r) }), t.say(err)
}

// RemoveIdentity takes one away.
func (t *Tables) RemoveIdentity(ctx context.Context, owner store.UserID, issuer, subject string) error {
	if err := readable(issuer, subject); err != nil {
		return err
	}
	return t.some(t.does.RemoveIdentity(ctx, queries.RemoveIdentityParams{Owner: owner, Issuer: issuer, Subject: subject}))
}

func factor(r queries.Factor) store.Factor { return store.Factor(r) }

// AddFactor adds f.
func (t *Tables) AddFactor(ctx context.Context, f store.Factor) error {
	if err := form.Factor(f); err != nil {
		return err
	}
	return t.say(t.does.AddFactor(ctx, queries.AddFactorParams(f)))
}

// Factors are the owner's.
func (t *Tables) Factors(ctx context.Context, owner store.UserID) ([]store.Factor, error) {
	rows, err := t.asks.Factors(ctx, owner)
	return all(rows, factor), t.say(err)
}

// FactorByHandle finds a passkey.
func (t *Tables) FactorByHandle(ctx context.Context, handle string) (store.Factor, error) {
	if err := readable(handle); err != nil {
		return store.Factor{}, err
	}
	r, err := t.asks.FactorByHandle(ctx, handle)
	return factor(r), t.say(err)
}

// UseFactor keeps a higher counter.
func (t *Tables) UseFactor(ctx context.Context, owner store.UserID, id store.FactorID, counter int64, data []byte, now store.Moment) error {
	if len(data) > store.MostOutcome || counter < 0 {
		return store.ErrInvalid
	}
	return t.change(ctx, func(q *queries.Queries) error {
		n, err := q.UseFactor(ctx, queries.UseFactorParams{Counter: counter, Data: data, Now: now, Owner: owner, ID: id})
		if err != nil || n > 0 {
			return err
		}
		if _, err := q.Factor(ctx, queries.FactorParams{Owner: owner, ID: id}); err != nil {
			return err
		}
		return store.ErrOver
	})
}

// RemoveFactor takes one away.
func (t *Tables) RemoveFactor(ctx context.Context, owner store.UserID, id store.FactorID) error {
	return t.some(t.does.RemoveFactor(ctx, queries.RemoveFactorParams{Owner: owner, ID: id}))
}
