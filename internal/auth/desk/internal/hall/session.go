package hall

import (
	"context"
	"errors"

	"paddock/internal/auth"
	"paddock/internal/store"
)

// An Entry is a session that was just begun. Secret is told once.
type Entry struct {
	Secret  string
	Expires store.Moment
	Who     auth.Who
}

// Begin begins a session of user's. Its secret is always a fresh one, so that nobody
// logs in to a session that was somebody else's before.
func (h *Hall) Begin(ctx context.Context, from From, user store.User, means string, proven store.Moment) (Entry, error) {
	now := h.Now()
	id, err := store.NewID[store.SessionID]('s', now.Time, h.Random)
	if err != nil {
		return Entry{}, err
	}
	secret, hash, err := h.Word(auth.SessionWord)
	if err != nil {
		return Entry{}, err
	}
	s := store.Session{
		ID: id, Secret: hash, Owner: user.ID, Device: auth.Label(from.Device), Address: auth.Label(from.Address.String()),
		Created: now, LastSeen: now, Expires: now.After(h.Lasts), Proven: proven,
	}
	if err := h.Record(ctx, auth.Who{User: user.ID}, auth.Event{What: auth.LoggedIn, User: user.ID, From: from.Address, Detail: means}); err != nil {
		return Entry{}, err
	}
	if err := h.Store.AddSession(ctx, s); err != nil {
		return Entry{}, err
	}
	return Entry{Secret: secret, Expires: s.Expires, Who: auth.OfSession(user, s, h.Fresh, now)}, nil
}

// EndAll ends all sessions of a user, but the one that it is asked by.
func (h *Hall) EndAll(ctx context.Context, by auth.Who, user store.UserID, why string) (int, error) {
	if err := h.Record(ctx, by, auth.Event{What: auth.SessionsEnded, User: user, Detail: why}); err != nil {
		return 0, err
	}
	n, err := h.Store.EndSessions(ctx, user, by.Session, h.Now())
	return n, Refusal(err, "user")
}

// Prove notes that a second factor was shown in the session that asks, whose secret is
// word, and gives it another secret: what was known of it before is worth nothing now.
func (h *Hall) Prove(ctx context.Context, by auth.Who, from From, word, means string) (Entry, error) {
	now := h.Now()
	old, err := auth.DigestOf(auth.SessionWord, word)
	var s store.Session
	if err == nil {
		s, _, err = h.Store.Session(ctx, old, now)
	}
	switch {
	case errors.Is(err, auth.ErrMalformed), errors.Is(err, store.ErrNotFound), err == nil && s.ID != by.Session:
		return Entry{}, Unproven("The session is over. Log in again.") // or another one than asks
	case err != nil:
		return Entry{}, err
	}
	secret, hash, err := h.Word(auth.SessionWord)
	if err != nil {
		return Entry{}, err
	}
	if err := h.Record(ctx, by, auth.Event{What: auth.Proved, User: by.User, From: from.Address, Detail: means}); err != nil {
		return Entry{}, err
	}
	if err := h.Store.RotateSession(ctx, old, hash, now, now); err != nil {
		if errors.Is(err, store.ErrNotFound) {
			err = Unproven("The session is over. Log in again.")
		}
		return Entry{}, err
	}
	s, user, err := h.Store.Session(ctx, hash, now)
	if err != nil {
		return Entry{}, err
	}
	return Entry{Secret: secret, Expires: s.Expires, Who: auth.OfSession(user, s, h.Fresh, now)}, nil
}

// First reports whether the use of what has the id wasn't written down in the last
// minute by this server: of many requests at once, one writes.
func (h *Hall) First(id string) bool {
	_, ok := h.seen.Take(h.Clock(), id)
	return ok
}

// Link makes a word that logs the user in once, for a purpose.
func (h *Hall) Link(ctx context.Context, by auth.Who, user store.User, purpose string) (string, store.Moment, error) {
	word, hash, err := h.Word(auth.LinkWord)
	if err != nil {
		return "", store.Moment{}, err
	}
	now := h.Now()
	l := store.LoginLink{Secret: hash, Owner: user.ID, Purpose: purpose, Created: now, Expires: now.After(h.LinkLasts)}
	if err := h.Record(ctx, by, auth.Event{What: auth.LinkMade, User: user.ID, Detail: purpose}); err != nil {
		return "", store.Moment{}, err
	}
	if err := h.Store.AddLink(ctx, l); err != nil {
		return "", store.Moment{}, err
	}
	return word, l.Expires, nil
}
