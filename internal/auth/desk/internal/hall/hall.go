// Package hall is what all ways in have in common: the clock, the counts of tries, the
// making of words, the beginning of sessions, and that things are written down before
// they are done. Only the rooms of auth can enter it.
//
// # Limits
//
// It begins a session for whom it is told to: that he is let in was found out before.
package hall

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"paddock/internal/auth"
	"paddock/internal/auth/desk/internal/hall/password"
	"paddock/internal/auth/desk/internal/hall/throttle"
	"paddock/internal/store"
)

// A Store is what a Hall needs of the store.
type Store interface {
	store.Accounts
	store.Logins
}

// Config is what a Hall works with. Store and Recorder are needed; a zero value of
// anything else is the usual one.
type Config struct {
	Store    Store
	Recorder auth.Recorder
	Clock    func() time.Time
	Random   io.Reader // nil is crypto/rand
	Hasher   *password.Hasher
	// Key seals what must be read again: secrets of second factors, and what clients
	// carry for us. All servers of a store have the same. Without one there are no second
	// factors and no other providers.
	Key []byte
	// Party is how browsers know us, for passkeys; without its id there are none.
	Party Party
	// Providers say who people are, beside us.
	Providers []Provider
	// Idle ends a session that wasn't used so long, Lasts every one.
	Idle, Lasts time.Duration
	// Fresh is how long a second factor counts after it was shown.
	Fresh time.Duration
	// LinkLasts and InviteLasts are how long those can be used.
	LinkLasts, InviteLasts time.Duration
}

// A Party is how browsers know a server: a host name, and the origins that pages of it
// may have.
type Party struct {
	ID      string   // paddock.example.org
	Origins []string // https://paddock.example.org
}

// onceFor is how long it is remembered that something was shown.
const onceFor = 15 * time.Minute

// SeenEvery is how often the last use of a session or a token is written down.
const SeenEvery = time.Minute

// A Hall is what the ways in work with.
type Hall struct {
	Config
	// tries of an account by its name, and of an address; seen limits what is written.
	byName, byAddress, seen *throttle.Table
	once                    *throttle.Table // what may be shown once
}

// New returns a Hall.
func New(c Config) (*Hall, error) {
	if c.Store == nil || c.Recorder == nil {
		return nil, errors.New("auth: bug: there is no way in without a store or a recorder")
	}
	if len(c.Key) != 0 && len(c.Key) != KeySize {
		return nil, fmt.Errorf("auth: a key of %d bytes; it has %d", len(c.Key), KeySize)
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Hasher == nil {
		c.Hasher = password.New(password.Standard, 2, 16, c.Random)
	}
	for _, d := range []struct {
		at    *time.Duration
		usual time.Duration
	}{
		{&c.Idle, 12 * time.Hour}, {&c.Lasts, 7 * 24 * time.Hour}, {&c.Fresh, 10 * time.Minute},
		{&c.LinkLasts, time.Hour}, {&c.InviteLasts, 7 * 24 * time.Hour},
	} {
		if *d.at == 0 {
			*d.at = d.usual
		}
		if *d.at < 0 {
			return nil, fmt.Errorf("auth: a time of %v", *d.at)
		}
	}
	return &Hall{
		Config: c,
		byName: throttle.New(30*time.Second, 10), byAddress: throttle.New(3*time.Second, 30), seen: throttle.New(SeenEvery, 1), once: throttle.New(onceFor, 1),
	}, nil
}

// Now is the moment that it is.
func (h *Hall) Now() store.Moment { return store.At(h.Clock()) }

// Record writes down what who is about to do.
func (h *Hall) Record(ctx context.Context, by auth.Who, e auth.Event) error {
	e.By, e.Local = by.User, by.IsLocal()
	if err := h.Recorder.Record(ctx, e); err != nil {
		return fmt.Errorf("%s can't be written down, so it isn't done: %w", e.What, err)
	}
	return nil
}

// Word makes a word of the kind, and what is kept of it.
func (h *Hall) Word(kind auth.Kind) (string, store.Hash, error) {
	word, err := auth.NewWord(kind, h.Random)
	if err != nil {
		return "", store.Hash{}, err
	}
	hash, err := auth.DigestOf(kind, word)
	return word, hash, err
}
