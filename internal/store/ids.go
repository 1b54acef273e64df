package store

import (
	"io"
	"time"

	"paddock"
)

// NewID returns a fresh id whose first letter says what it is of. It has the form
// of a run's id, and fails only when random does; nil is the system's.
func NewID[T ~string](kind byte, now time.Time, random io.Reader) (T, error) {
	id, err := paddock.NewRunID(now, random)
	if err != nil {
		return "", err
	}
	return T(kind) + T(id[1:]), nil
}
