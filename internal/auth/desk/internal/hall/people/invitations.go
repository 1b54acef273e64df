package people

import (
	"context"
	"errors"
	"slices"
	"strings"

	"paddock"
	"paddock/internal/auth"
	"paddock/internal/auth/desk/internal/hall"
	"paddock/internal/store"
)

// Invite makes a code by which one person makes an account of the role, once. It is
// told once.
func (d *Desk) Invite(ctx context.Context, by auth.Who, r auth.Role) (string, store.Invitation, error) {
	word, hash, err := d.hall.Word(auth.InvitationWord)
	if err != nil {
		return "", store.Invitation{}, err
	}
	i, err := d.invite(ctx, by, store.Invitation{Code: hash, Role: r})
	return word, i, err
}

// InviteIdentity lets whom a provider calls so make an account of the role, once: key is
// `email:ann@example.org` (which the provider must call verified), `sub:…`, or of GitHub
// `login:ann` or `id:…`.
func (d *Desk) InviteIdentity(ctx context.Context, by auth.Who, r auth.Role, provider, key string) (store.Invitation, error) {
	kind, value, _ := strings.Cut(key, ":")
	known := slices.ContainsFunc(d.hall.Providers, func(p hall.Provider) bool {
		return p.Name == provider && slices.Contains(map[string][]string{"oidc": {"email", "sub"}, "github": {"login", "id"}}[p.Kind], kind)
	})
	if key = hall.InviteeKey(kind, value); !known || key == "" {
		return store.Invitation{}, paddock.Refused(paddock.InvalidRequest,
			"%.100q of %.40q is nobody who can be invited: name a provider of this server and `email:…` or `sub:…` there, of GitHub `login:…` or `id:…`.", kind+":"+value, provider)
	}
	return d.invite(ctx, by, store.Invitation{Code: hall.InviteeCode(provider, key), Role: r, Invitee: hall.InviteeWord(provider, key)})
}

func (d *Desk) invite(ctx context.Context, by auth.Who, i store.Invitation) (store.Invitation, error) {
	if err := by.May(auth.InvitationsChange, auth.Foreign); err != nil {
		return store.Invitation{}, err
	}
	if _, err := auth.ParseRole(string(i.Role)); err != nil {
		return store.Invitation{}, paddock.Refused(paddock.InvalidRequest, "%v.", err)
	}
	now := d.hall.Now()
	id, err := store.NewID[store.InvitationID]('i', now.Time, d.hall.Random)
	if err != nil {
		return store.Invitation{}, err
	}
	owner := by.User
	if by.IsLocal() {
		if owner, err = d.hall.Steward(ctx); err != nil {
			return store.Invitation{}, hall.Refusal(err, "user")
		}
	}
	i.ID, i.Owner, i.Created, i.Expires = id, owner, now, now.After(d.hall.InviteLasts)
	if err := d.hall.Record(ctx, by, auth.Event{What: auth.Invited, Detail: string(i.Role) + " " + i.Invitee}); err != nil {
		return store.Invitation{}, err
	}
	if err := d.hall.Store.AddInvitation(ctx, i); err != nil {
		return store.Invitation{}, hall.Refusal(err, "invitation")
	}
	i.Code = store.Hash{}
	return i, nil
}

// Accept uses an invitation up: it makes the account, and begins a session.
func (d *Desk) Accept(ctx context.Context, from hall.From, code, name, text string) (hall.Entry, error) {
	if err := d.hall.Try(from, ""); err != nil {
		return hall.Entry{}, err
	}
	now := d.hall.Now()
	hash, err := auth.DigestOf(auth.InvitationWord, code)
	if err == nil {
		var i store.Invitation // asked for before passwords are hashed for anybody
		if i, err = d.hall.Store.Invitation(ctx, hash, now); err == nil && i.Invitee != "" {
			err = store.ErrNotFound // it is for who proves to be that one
		}
	}
	if err != nil {
		return hall.Entry{}, d.uninvited(ctx, from, err)
	}
	d.hall.Forgive(from, "")
	if _, err := auth.ParseName(name); err != nil {
		return hall.Entry{}, err
	}
	kept, err := d.hall.NewPassword(ctx, name, text)
	if err != nil {
		return hall.Entry{}, err
	}
	id, err := store.NewID[store.UserID]('u', now.Time, d.hall.Random)
	if err != nil {
		return hall.Entry{}, err
	}
	if err := d.hall.Record(ctx, auth.Who{}, auth.Event{What: auth.UserAdded, User: id, From: from.Address, Detail: "by invitation"}); err != nil {
		return hall.Entry{}, err
	}
	user, err := d.hall.Store.AcceptInvitation(ctx, hash, store.User{ID: id, Name: name, Password: kept, Created: now, Changed: now}, nil, now)
	if errors.Is(err, store.ErrExists) {
		return hall.Entry{}, hall.Refusal(err, "user")
	}
	if err != nil {
		return hall.Entry{}, d.uninvited(ctx, from, err)
	}
	return d.hall.Begin(ctx, from, user, "invitation", store.Moment{})
}

// uninvited is the answer to who has no invitation that is still good.
func (d *Desk) uninvited(ctx context.Context, from hall.From, err error) error {
	if !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrOver) && !errors.Is(err, auth.ErrMalformed) {
		return err
	}
	if err := d.hall.Record(ctx, auth.Who{}, auth.Event{What: auth.LoginRefused, From: from.Address, Detail: "invitation"}); err != nil {
		return err
	}
	return hall.Unproven("The invitation was used before, or is too old, or was cut when it was copied.")
}

// Invitations lists them, newest first, without their digests.
func (d *Desk) Invitations(ctx context.Context, by auth.Who, after store.Cursor, most int) (store.Page[store.Invitation], error) {
	if err := by.May(auth.InvitationsRead, auth.Foreign); err != nil {
		return store.Page[store.Invitation]{}, err
	}
	page, err := d.hall.Store.Invitations(ctx, store.Everyone(), after, most)
	for i := range page.Items {
		page.Items[i].Code = store.Hash{}
	}
	return page, err
}

// RemoveInvitation takes an invitation back.
func (d *Desk) RemoveInvitation(ctx context.Context, by auth.Who, id store.InvitationID) error {
	if err := by.May(auth.InvitationsChange, auth.Foreign); err != nil {
		return err
	}
	if err := hall.ID(id, "invitation"); err != nil {
		return err
	}
	if err := d.hall.Record(ctx, by, auth.Event{What: auth.InviteRemoved, Detail: auth.Label(string(id))}); err != nil {
		return err
	}
	return hall.Refusal(d.hall.Store.RemoveInvitation(ctx, store.Everyone(), id), "invitation")
}
