package index

import (
	"context"
	"time"

	"paddock/internal/books"
	"paddock/internal/rundir"
)

// used makes what is noted of use again, if any of it is wrong.
func (r *rebuild) used(ctx context.Context) error {
	noted, now := &books.Books{State: r.state}, time.Now()
	return r.state.Claim(ctx, func(c *rundir.Claim) error {
		var wrong []string
		err := noted.Wrong(ctx, c, now, func(path, _ string, stranger bool) error {
			if !stranger {
				wrong = append(wrong, path)
			}
			return nil
		})
		if err != nil || wrong == nil {
			return err
		}
		err = noted.Make(ctx, c, now)
		for _, path := range wrong {
			if err := r.changed("", path, false, err); err != nil {
				return err
			}
		}
		return nil
	})
}
