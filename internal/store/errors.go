package store

import "errors"

// What a backend answers. Anything else is a fault of the machine's or of ours.
var (
	// ErrNotFound is the answer about what isn't there, and about what isn't the
	// asker's: the two can't be told apart.
	ErrNotFound = errors.New("not found")
	// ErrExists says that something else has that name, secret or identity.
	ErrExists = errors.New("exists already")
	// ErrConflict says that an idempotency key was used for another request.
	ErrConflict = errors.New("the idempotency key was used for another request")
	// ErrReplayed says that an envelope's nonce was seen before.
	ErrReplayed = errors.New("the envelope was used before")
	// ErrStale says that somebody else changed it first: read it again.
	ErrStale = errors.New("changed meanwhile")
	// ErrFenced says that the lease is another's now. Nothing was written.
	ErrFenced = errors.New("the lease is lost")
	// ErrOver says that it is settled, used, expired or closed, and stays so.
	ErrOver = errors.New("over")
	// ErrInvalid says that a value has a form that can't be kept.
	ErrInvalid = errors.New("invalid")
	// ErrLastAdmin says that nobody would be left to administrate.
	ErrLastAdmin = errors.New("the last enabled admin must stay")
	// ErrNewer says that a newer version of Paddock made the database.
	ErrNewer = errors.New("the database is of a newer version")
	// ErrAway says that the database can't be reached, or went while it was asked: what
	// was to be changed may have been. It may be back in a moment.
	ErrAway = errors.New("the database is away")
	// ErrOpen says that others could read the database, or get into it.
	ErrOpen = errors.New("the database is open to others")
)
