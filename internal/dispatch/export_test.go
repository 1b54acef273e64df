package dispatch

import (
	"time"

	"paddock/internal/dispatch/copies"
)

// Copies are those of a front.
func (f *Front) Copies() *copies.Keeper { return f.copies }

// Hurry has Start and Kill wait for no longer than d.
func (f *Front) Hurry(d time.Duration) { f.begin, f.ending = d, d }
