package dispatch

import "paddock/internal/dispatch/copies"

// Copies are those of a front.
func (f *Front) Copies() *copies.Keeper { return f.copies }
