package books

import (
	"context"
	"errors"
	"os"

	"paddock"
	"paddock/internal/books/days"
	"paddock/internal/rundir"
	"paddock/internal/rundir/record"
	"paddock/internal/rundir/record/durable"
)

// Removing calls do, which removes the output of a settled run, or its record too, and
// gives back what that kept. It is noted first, so that whoever looks next gives it
// back if we are ended.
func (b *Books) Removing(ctx context.Context, d *rundir.Dir, do func() error) (err error) {
	p, err := d.Principal()
	if err != nil {
		return do() // what can't be read isn't counted
	}
	p = p.Root() // who pays for delegates
	hold, err := b.hold()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, days.LetGo(hold)) }()
	before, err := b.leaving(ctx, d, p, hold)
	if err != nil {
		return err
	}
	b.at("leaving")
	if err := do(); err != nil {
		return err // if it is gone all the same, whoever looks next sees it
	}
	b.at("left")
	return b.left(ctx, d, p, before)
}

// leaving notes that the output of d is about to go, and returns which books say so;
// empty if there are none.
// With the lock hold no sum of a day is written until that is let go of.
func (b *Books) leaving(ctx context.Context, d *rundir.Dir, p paddock.Principal, hold *os.File) (made string, err error) {
	if hold == nil {
		return "", nil
	}
	err = b.locked(ctx, func() error {
		// Who writes sums has the other lock, which is ours now.
		if _, err := durable.LockShared(hold); err != nil {
			return err
		}
		if err := b.days().Drop(d); err != nil {
			return err
		}
		b.at("unsummed")
		all, mine, err := b.read(p)
		if err != nil || all == nil || mine == nil {
			return err // they are made again
		}
		made = all.Made
		for _, one := range []account{{record.Hash(p), mine}, {total, all}} {
			if _, err := b.update(one, false); err != nil {
				return err
			}
			e, err := endOf(d)
			if err != nil {
				return err
			}
			if one.Usage.Leaving == nil {
				one.Usage.Leaving = map[paddock.RunID]int64{}
			}
			if e != nil {
				one.Usage.Leaving[d.ID()] = e.kept
			}
			if err := b.write(one); err != nil {
				return err
			}
			b.at("leaving-" + kind(one.name))
		}
		return nil
	})
	return made, err
}

// hold opens the lock of who removes something; nil where there are no books.
func (b *Books) hold() (*os.File, error) {
	if open, err := b.Open(); err != nil || !open {
		return nil, err
	}
	return b.days().Hold()
}

// left gives back what is gone. If the books were made meanwhile, they may have it or
// not, and are made again.
func (b *Books) left(ctx context.Context, d *rundir.Dir, p paddock.Principal, made string) error {
	if open, err := b.Open(); err != nil || !open {
		return err
	}
	return b.locked(ctx, func() error {
		if err := b.days().Drop(d); err != nil {
			return err
		}
		all, mine, err := b.read(p)
		if err != nil {
			return err
		}
		if all == nil || mine == nil || all.Made != made {
			return durable.Remove(b.path(total))
		}
		for _, one := range []account{{record.Hash(p), mine}, {total, all}} {
			if _, err := b.update(one, false); err != nil {
				return err
			}
			if err := b.write(one); err != nil {
				return err
			}
			b.at("left-" + kind(one.name))
		}
		return nil
	})
}
