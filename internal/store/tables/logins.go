package tables

import (
	"context"

	"paddock/internal/store"
	"paddock/internal/store/tables/form"
	"paddock/internal/store/tables/queries"
)

func invitation(r queries.Invitation) store.Invitation { return store.Invitation(r) }

// AddInvitation adds i.
func (t *Tables) AddInvitation(ctx context.Context, i store.Invitation) error {
	if err := form.Invitation(i); err != nil {
		return err
	}
	return t.say(t.does.AddInvitation(ctx, queries.AddInvitationParams(i)))
}

// Invitation is the one with the code, while it is good.
func (t *Tables) Invitation(ctx context.Context, code store.Hash, now store.Moment) (store.Invitation, error) {
	if code.IsZero() {
		return store.Invitation{}, store.ErrNotFound
	}
	r, err := t.asks.Invitation(ctx, queries.InvitationParams{Code: code, Now: now})
	return invitation(r), t.say(err)
}

// AcceptInvitation uses one up for a new account.
func (t *Tables) AcceptInvitation(ctx context.Context, code store.Hash, u store.User, as *store.Identity, now store.Moment) (store.User, error) {
	if code.IsZero() {
		return store.User{}, store.ErrNotFound
	}
	err := t.change(ctx, func(q *queries.Queries) error {
		i, err := q.UseInvitation(ctx, queries.UseInvitationParams{Now: now, UsedBy: u.ID, Code: code})
		if err != nil {
			return err
		}
		u.Role = i.Role
		if err := form.User(u); err != nil {
			return err
		}
		if err := q.AddUser(ctx, queries.AddUserParams(u)); err != nil || as == nil {
			return err
		}
		identity := *as
		identity.Owner = u.ID
		if err := form.Identity(identity); err != nil {
			return err
		}
		return q.AddIdentity(ctx, queries.AddIdentityParams(identity))
	})
	if err != nil {
		return store.User{}, err
	}
	return u, nil
}

// Invitations lists them, also those that are over.
func (t *Tables) Invitations(ctx context.Context, s store.Scope, after store.Cursor, most int) (store.Page[store.Invitation], error) {
	a, err := ask(after, most)
	if err != nil {
		return store.Page[store.Invitation]{}, err
	}
	rows, err := t.asks.Invitations(ctx, queries.InvitationsParams{Owner: s.Owner, Everyone: s.All, Created: a.created, ID: store.InvitationID(a.id), Most: a.most})
	return page(t, a, rows, err, invitation, func(i store.Invitation) store.Cursor {
		return store.Cursor{Created: i.Created, ID: string(i.ID)}
	})
}

// RemoveInvitation takes one away that isn't used.
func (t *Tables) RemoveInvitation(ctx context.Context, s store.Scope, id store.InvitationID) error {
	return t.some(t.does.RemoveInvitation(ctx, queries.RemoveInvitationParams{ID: id, Owner: s.Owner, Everyone: s.All}))
}

// AddSession adds s.
func (t *Tables) AddSession(ctx context.Context, s store.Session) error {
	if err := form.Session(s); err != nil {
		return err
	}
	return t.say(t.does.AddSession(ctx, queries.AddSessionParams(s)))
}

// Session is the one with the secret, while it is good.
func (t *Tables) Session(ctx context.Context, secret store.Hash, now store.Moment) (store.Session, store.User, error) {
	if secret.IsZero() {
		return store.Session{}, store.User{}, store.ErrNotFound
	}
	r, err := t.asks.Session(ctx, queries.SessionParams{Secret: secret, Now: now})
	return store.Session(r.Session), user(r.User), t.say(err)
}

// SeeSession notes when it was used. That it is over, or was used later, is no error.
func (t *Tables) SeeSession(ctx context.Context, id store.SessionID, now store.Moment) error {
	_, err := t.does.SeeSession(ctx, queries.SeeSessionParams{Now: now, ID: id})
	return t.say(err)
}

// RotateSession replaces its secret.
func (t *Tables) RotateSession(ctx context.Context, old, new store.Hash, proven, now store.Moment) error {
	if old.IsZero() {
		return store.ErrNotFound
	}
	return t.some(t.does.RotateSession(ctx, queries.RotateSessionParams{Fresh: new, Proven: proven, Now: now, Secret: old}))
}

// Sessions are the owner's that are good.
func (t *Tables) Sessions(ctx context.Context, owner store.UserID, now store.Moment) ([]store.Session, error) {
	rows, err := t.asks.Sessions(ctx, queries.SessionsParams{Owner: owner, Now: now, Most: store.MostPage})
	return all(rows, func(r queries.Session) store.Session { return store.Session(r) }), t.say(err)
}

// EndSession ends one.
func (t *Tables) EndSession(ctx context.Context, owner store.UserID, id store.SessionID, now store.Moment) error {
	return t.some(t.does.EndSession(ctx, queries.EndSessionParams{Now: now, ID: id, Owner: owner}))
}

// EndSessions ends all but one.
func (t *Tables) EndSessions(ctx context.Context, owner store.UserID, but store.SessionID, now store.Moment) (int, error) {
	n, err := t.does.EndSessions(ctx, queries.EndSessionsParams{Now: now, Owner: owner, But: but})
	return int(n), t.say(err)
}

func token(r queries.Token) store.Token { return store.Token(r) }

// AddToken adds v.
func (t *Tables) AddToken(ctx context.Context, v store.Token) error {
	if err := form.Token(v); err != nil {
		return err
	}
	return t.say(t.does.AddToken(ctx, queries.AddTokenParams(v)))
}

// Token is the one with the secret, while it is good.
func (t *Tables) Token(ctx context.Context, secret store.Hash, now store.Moment) (store.Token, store.User, error) {
	if secret.IsZero() {
		return store.Token{}, store.User{}, store.ErrNotFound
	}
	r, err := t.asks.Token(ctx, queries.TokenParams{Secret: secret, Now: now})
	return token(r.Token), user(r.User), t.say(err)
}

// SeeToken notes when it was used. That it is over, or was used later, is no error.
func (t *Tables) SeeToken(ctx context.Context, id store.TokenID, now store.Moment) error {
	_, err := t.does.SeeToken(ctx, queries.SeeTokenParams{Now: now, ID: id})
	return t.say(err)
}

// Tokens lists them, also those that are over.
func (t *Tables) Tokens(ctx context.Context, s store.Scope, after store.Cursor, most int) (store.Page[store.Token], error) {
	a, err := ask(after, most)
	if err != nil {
		return store.Page[store.Token]{}, err
	}
	rows, err := t.asks.Tokens(ctx, queries.TokensParams{Owner: s.Owner, Everyone: s.All, Created: a.created, ID: store.TokenID(a.id), Most: a.most})
	return page(t, a, rows, err, token, func(v store.Token) store.Cursor { return store.Cursor{Created: v.Created, ID: string(v.ID)} })
}

// RevokeToken ends one.
func (t *Tables) RevokeToken(ctx context.Context, s store.Scope, id store.TokenID, now store.Moment) error {
	return t.some(t.does.RevokeToken(ctx, queries.RevokeTokenParams{Now: now, ID: id, Owner: s.Owner, Everyone: s.All}))
}

// AddLink adds l.
func (t *Tables) AddLink(ctx context.Context, l store.LoginLink) error {
	if err := form.LoginLink(l); err != nil {
		return err
	}
	return t.say(t.does.AddLink(ctx, queries.AddLinkParams(l)))
}

// UseLink uses one up.
func (t *Tables) UseLink(ctx context.Context, secret store.Hash, now store.Moment) (store.LoginLink, store.User, error) {
	if secret.IsZero() {
		return store.LoginLink{}, store.User{}, store.ErrNotFound
	}
	var l queries.Link
	var u queries.User
	err := t.change(ctx, func(q *queries.Queries) (err error) {
		if l, err = q.UseLink(ctx, queries.UseLinkParams{Now: now, Secret: secret}); err == nil {
			u, err = q.User(ctx, l.Owner)
		}
		return err
	})
	if err != nil {
		return store.LoginLink{}, store.User{}, err
	}
	return store.LoginLink(l), user(u), nil
}

// Forget removes what is long over.
func (t *Tables) Forget(ctx context.Context, before store.Moment, most int) (int, error) {
	n, most32 := 0, int32(min(max(most, 0), 1<<20))
	err := t.change(ctx, func(q *queries.Queries) error {
		n = 0
		for _, forget := range []func() (int64, error){
			func() (int64, error) {
				return q.ForgetInvitations(ctx, queries.ForgetInvitationsParams{Before: before, Most: most32})
			},
			func() (int64, error) {
				return q.ForgetSessions(ctx, queries.ForgetSessionsParams{Before: before, Most: most32})
			},
			func() (int64, error) {
				return q.ForgetLinks(ctx, queries.ForgetLinksParams{Before: before, Most: most32})
			},
			func() (int64, error) {
				return q.ForgetNonces(ctx, queries.ForgetNoncesParams{Before: before, Most: most32})
			},
		} {
			gone, err := forget()
			if err != nil {
				return err
			}
			n += int(gone)
		}
		return nil
	})
	return n, err
}
