package hall

import (
	"errors"
	"regexp"
	"sync"
	"time"

	"paddock"
	"paddock/internal/store"
)

// Refusal makes what the store answers a refusal, where it is one. what is a thing, as
// "session".
func Refusal(err error, what string) error {
	switch {
	case errors.Is(err, store.ErrNotFound):
		return paddock.Refused(paddock.NotFound, "There is no such %s among those that you may see.", what)
	case errors.Is(err, store.ErrExists):
		return conflict("Look at those that there are.", "That %s exists already.", what)
	case errors.Is(err, store.ErrStale):
		return conflict("Look at it as it is now, and try again.", "Somebody else changed the %s at the same time.", what)
	case errors.Is(err, store.ErrOver):
		return conflict("Have another one made.", "The %s was used before, or is over.", what)
	case errors.Is(err, store.ErrLastAdmin):
		return conflict("Give somebody else the role admin first.", "This is the last admin who can log in.")
	}
	return err
}

func conflict(hint, format string, args ...any) *paddock.Refusal {
	r := paddock.Refused(paddock.Conflict, format, args...)
	r.Hint = hint
	return r
}

// A Limited refusal says that somebody tried too often, and how long to wait.
type Limited struct {
	*paddock.Refusal
	Wait time.Duration
}

// Unwrap returns the refusal.
func (l *Limited) Unwrap() error { return l.Refusal }

// RetryAfter is how long to wait.
func (l *Limited) RetryAfter() time.Duration { return l.Wait }

func limited(wait time.Duration) error {
	wait = max(time.Second, wait.Round(time.Second))
	return &Limited{paddock.Refused(paddock.RateLimited, "Too many tries. Wait %v.", wait), wait}
}

// Unproven is the one answer to everything that doesn't prove who somebody is.
func Unproven(format string, args ...any) error {
	return paddock.Refused(paddock.Unauthenticated, format, args...)
}

var idForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]{1,64}$`) })

// ID refuses what can't be the id of a thing, as one that isn't there: the store is asked
// for nothing else.
func ID[T ~string](id T, what string) error {
	if !idForm().MatchString(string(id)) {
		return Refusal(store.ErrNotFound, what)
	}
	return nil
}
