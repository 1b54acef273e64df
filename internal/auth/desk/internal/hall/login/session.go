package login

import (
	"context"
	"errors"
	"time"

	"paddock"
	"paddock/internal/auth"
	"paddock/internal/auth/desk/internal/hall"
	"paddock/internal/store"
)

// Authenticate says whose session the word is of. Everything that isn't good any more,
// and what never was, has the same answer.
func (d *Desk) Authenticate(ctx context.Context, word string) (auth.Who, error) {
	over := hall.Unproven("The session is over. Log in again.")
	hash, err := auth.DigestOf(auth.SessionWord, word)
	if err != nil {
		return auth.Who{}, over
	}
	now := d.hall.Now()
	s, user, err := d.hall.Store.Session(ctx, hash, now)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return auth.Who{}, over
	case err != nil:
		return auth.Who{}, err
	case s.LastSeen.After(d.hall.Idle).Past(now):
		if err := d.hall.Store.EndSession(ctx, s.Owner, s.ID, now); err != nil && !errors.Is(err, store.ErrNotFound) {
			return auth.Who{}, err
		}
		return auth.Who{}, over
	}
	if s.LastSeen.After(hall.SeenEvery).Past(now) && d.hall.First(string(s.ID)) {
		if err := d.hall.Store.SeeSession(ctx, s.ID, now); err != nil && !errors.Is(err, store.ErrNotFound) {
			return auth.Who{}, err
		}
	}
	return auth.OfSession(user, s, d.hall.Fresh, now), nil
}

// Logout ends who's own session.
func (d *Desk) Logout(ctx context.Context, by auth.Who) error {
	if by.Session == "" {
		return paddock.Refused(paddock.InvalidRequest, "Only who is logged in can log out.")
	}
	return d.EndSession(ctx, by, by.User, by.Session)
}

// Sessions lists the sessions of a user that are still good, newest first.
func (d *Desk) Sessions(ctx context.Context, by auth.Who, user store.UserID) ([]store.Session, error) {
	if err := by.May(auth.SessionsList, by.Whose(user)); err != nil {
		return nil, err
	}
	if err := hall.ID(user, "user"); err != nil {
		return nil, err
	}
	now := d.hall.Now()
	list, err := d.hall.Store.Sessions(ctx, user, now)
	var good []store.Session
	for _, s := range list {
		if !s.LastSeen.After(d.hall.Idle).Past(now) {
			s.Secret = store.Hash{} // nobody's business
			good = append(good, s)
		}
	}
	return good, err
}

// EndSession ends one session of a user.
func (d *Desk) EndSession(ctx context.Context, by auth.Who, user store.UserID, id store.SessionID) error {
	if err := by.May(auth.SessionsRevoke, by.Whose(user)); err != nil {
		return err
	}
	if err := errors.Join(hall.ID(user, "user"), hall.ID(id, "session")); err != nil {
		return err
	}
	if err := d.hall.Record(ctx, by, auth.Event{What: auth.LoggedOut, User: user, Detail: auth.Label(string(id))}); err != nil {
		return err
	}
	return hall.Refusal(d.hall.Store.EndSession(ctx, user, id, d.hall.Now()), "session")
}

// EndSessions ends all sessions of a user, but the one that who asks by, and says how
// many.
func (d *Desk) EndSessions(ctx context.Context, by auth.Who, user store.UserID) (int, error) {
	if err := by.May(auth.SessionsRevoke, by.Whose(user)); err != nil {
		return 0, err
	}
	if err := hall.ID(user, "user"); err != nil {
		return 0, err
	}
	return d.hall.EndAll(ctx, by, user, "asked for")
}

// Forget removes what was over for as long as after, a part of it at a time, and says how
// much that was: call it now and then.
func (d *Desk) Forget(ctx context.Context, after time.Duration) (int, error) {
	return d.hall.Store.Forget(ctx, d.hall.Now().After(-after), store.MostPage)
}
