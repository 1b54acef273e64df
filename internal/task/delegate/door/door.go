// Package door gives a run a socket by which it has tools, for as long as it goes on.
//
// # Limits
//
// What is asked by a door, and who may, is for whoever serves it.
package door

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"

	"paddock"
	"paddock/internal/control/socket"
)

// A Door is one that isn't open yet.
type Door struct {
	// Serve answers what is asked, and returns when conn or ctx has ended.
	Serve func(ctx context.Context, conn net.Conn)
	// Begin starts the run that gets its end of the door, and Settled returns when that
	// is over.
	Begin   func(theirs *os.File) (paddock.Run, error)
	Settled func(ctx context.Context, id paddock.RunID) error
}

// Open begins the run and serves it until it is over, or life is. Its end is the door's,
// too: the program may have handed its end on to somebody who isn't part of the run.
func (d Door) Open(life context.Context, work *sync.WaitGroup) (paddock.Run, error) {
	ours, theirs, err := socket.Pair()
	if err != nil {
		return paddock.Run{}, err
	}
	// Served at once: a program may ask before we hear that it has begun.
	serving, stop := context.WithCancel(life)
	work.Go(func() {
		defer stop()
		d.Serve(serving, ours)
	})
	run, err := d.Begin(theirs)
	if err != nil {
		stop()
	} else {
		work.Go(func() {
			if d.Settled(serving, run.ID) == nil {
				stop()
			}
		})
	}
	return run, errors.Join(err, theirs.Close())
}
