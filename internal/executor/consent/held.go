package consent

import (
	"context"
	"errors"
	"fmt"

	"paddock"
	"paddock/internal/rundir"
	"paddock/internal/rundir/record/durable"
	"paddock/internal/rundir/record/durable/waiting"
	"paddock/internal/trust"
)

// Held is what a run that lasts keeps in its directory while it waits, so that whoever
// finds it approved can start what was asked for. It is the only place where values of
// variables are written down, and is gone when the run is started or settled.
type Held struct {
	Version int             `json:"version"`
	Request paddock.Request `json:"request"`
	// Policy is the file of the policy that asked.
	Policy string `json:"policy"`
	// HostEnv has the variables that the policy passes on, as who asked had them.
	HostEnv map[string]string `json:"host_env,omitempty"`
	// Room and RoomBy are what quotas left for its output.
	Room   int64  `json:"room,omitempty"`
	RoomBy string `json:"room_by,omitempty"`
}

// FileVersion is h's.
func (h *Held) FileVersion() int { return h.Version }

// Hold makes the prepared run in dir one that lasts.
func Hold(dir *rundir.Dir, h Held) error {
	h.Version = durable.Version
	text, err := durable.EncodeJSON(h, true)
	if err != nil {
		return err
	}
	return waiting.Keep(dir.Path(), text)
}

// Resume starts what was approved, or settles what won't be, of the runs that wait and
// have nobody who stays with them. equip tells who looks after one how to judge it and
// how to start it. Those that are others' are left alone.
func (d Desk) Resume(ctx context.Context, equip func(*Attendant, Held), others func(paddock.RunID) bool, warn func(error)) {
	ids, err := d.State.ListActive()
	if err != nil {
		warn(fmt.Errorf("looking for runs that wait for approval: %w", err))
	}
	for _, id := range ids {
		if ctx.Err() != nil {
			return
		}
		if others(id) {
			continue
		}
		dir, err := d.State.Run(id)
		if err != nil {
			continue // removed meanwhile
		}
		a, held, err := d.take(ctx, dir)
		if a != nil && err == nil {
			equip(a, held)
			err = a.Once(ctx)
		}
		if err != nil && ctx.Err() == nil {
			warn(fmt.Errorf("run %s, which waits for approval: %w", id, err))
		}
	}
}

// take returns who looks after the run in dir from now on, and what it is to be started
// by. It is nil when the run doesn't wait, or somebody looks after it. What can't be
// read is settled, since nobody can start it.
func (d Desk) take(ctx context.Context, dir *rundir.Dir) (*Attendant, Held, error) {
	lock, err := waiting.Take(dir.Path())
	if err != nil || lock == nil {
		return nil, Held{}, err
	}
	dir.Hold(lock)
	a := &Attendant{Desk: d, Dir: dir, Lasts: true}
	var h Held
	text, err := waiting.Kept(dir.Path())
	if err == nil {
		err = durable.DecodeJSON(text, &h)
	}
	if err == nil {
		err = a.asked(h)
	}
	if trust.Fault(err) { // another time
		return nil, h, errors.Join(err, dir.ReleaseLock())
	}
	if err != nil {
		err = fmt.Errorf("what it is to be started by can't be read: %w", err)
		return nil, h, errors.Join(err, a.refused(ctx, changed(err.Error())))
	}
	return a, h, nil
}

// asked finds what a's run waits for, and compares that with what it is to be started
// by: what is beside a record is believed as far as the record says the same.
func (a *Attendant) asked(h Held) error {
	sealed, err := a.Dir.Sealed()
	if err != nil {
		return err
	}
	if h.Request.Digest() != sealed.RequestDigest || h.Request.Tied || h.Request.Room != "" {
		return errors.New("it is of another request")
	}
	id := sealed.Decision.Approval
	if a.Case.Approval, err = a.book().Get(id, a.Now()); err != nil {
		return err
	}
	if a.Case.by, err = a.book().By(id); err != nil {
		return err
	}
	return a.noted() // who made it may have been ended before
}
