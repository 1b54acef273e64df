package delegate

import (
	"context"
	"slices"

	"paddock"
	"paddock/internal/task/delegate/book"
)

// List returns the delegates that aren't acknowledged and that p may see.
func (r *Room) List(ctx context.Context, p paddock.Principal) ([]Delegate, error) {
	all, err := r.turn(ctx)
	return slices.DeleteFunc(all, func(d Delegate) bool { return !book.Sees(p, d) }), err
}

// Book is where delegates are kept.
func (r *Room) Book() book.Book { return r.book }

// Count says how many of p's delegates have no result yet, and how many results wait.
func (r *Room) Count(p paddock.Principal) (pending, ready int, err error) {
	all, err := r.book.Load()
	for _, d := range all {
		switch {
		case d.Principal != p:
		case d.Pending():
			pending++
		default:
			ready++
		}
	}
	if pending > 0 {
		r.drive()
	}
	return pending, ready, err
}
