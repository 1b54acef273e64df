package consent

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"paddock"
	"paddock/internal/approval/waiters"
	"paddock/internal/failpoint"
	"paddock/internal/policy/compiled/rule"
	"paddock/internal/rundir"
	"paddock/internal/rundir/record/durable/waiting"
	"paddock/internal/trust"
)

// lookEvery is how often whoever waits for an approval looks.
const lookEvery = 250 * time.Millisecond

// An Attendant stays with a run that waits until it is started or settled. He has
// its lock, and what was asked.
type Attendant struct {
	Desk
	Dir  *rundir.Dir
	Case Case
	// Lasts says that the run waits on when nobody stays with it: see [Held].
	Lasts bool
	// Judge judges anew; the run itself isn't counted.
	Judge func(context.Context) Judgement
	// Launch starts what was judged.
	Launch func(context.Context, Judgement) error
	// Look, for tests, says when to look; nil means four times a second.
	Look <-chan time.Time
}

// Attend returns when the run is started or settled. When ctx ends before that and
// the run doesn't last it is settled, since nobody is left who could start it.
func (a Attendant) Attend(ctx context.Context) error {
	look := a.Look
	if look == nil {
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		look = tick.C
	}
	for {
		if over, err := a.turn(ctx); over || err != nil {
			return err
		}
		select {
		case <-look:
		case <-ctx.Done():
			if a.Lasts {
				return a.Dir.ReleaseLock()
			}
			return a.settle(ctx, paddock.Killed, paddock.Reason{Kind: paddock.ReasonCallerGone, Detail: "whoever asked for it is gone, before it was approved"})
		}
	}
}

// Begin notes that the run waits for what was asked. A run of which that can't be noted
// is settled.
func (a Attendant) Begin(ctx context.Context) error {
	err := a.noted()
	if err != nil {
		err = errors.Join(err, a.settle(ctx, paddock.FailedToStart, paddock.Reason{Kind: paddock.ReasonStart, Step: "waiting", Detail: err.Error()}))
	}
	return err
}

func (a Attendant) noted() error {
	return waiters.Add(a.book().Dir(a.Case.ID), a.Dir.ID(), a.Now())
}

// Once starts or settles the run if that can be said now, and lets go of it otherwise.
func (a Attendant) Once(ctx context.Context) error {
	over, err := a.turn(ctx)
	if over {
		return err
	}
	return errors.Join(err, a.Dir.ReleaseLock())
}

// turn looks how things stand. When it is over the run is started or settled, and
// isn't ours any more.
func (a Attendant) turn(ctx context.Context) (over bool, err error) {
	if outcome, err := a.Dir.Outcome(); err != nil || outcome != nil { // somebody ended it
		return true, errors.Join(err, a.Dir.ReleaseLock())
	}
	now, err := a.Again(a.Case)
	switch {
	case trust.Fault(err): // that says nothing of it
		return false, nil
	case err != nil:
		return true, a.refused(ctx, changed(err.Error()))
	case now.State == paddock.ApprovalApproved, now.State == paddock.ApprovalUsed && slices.Contains(now.Used, a.Dir.ID()):
		return a.proceed(ctx, now)
	case now.State == paddock.ApprovalLapsed:
		err = a.Lapse(context.WithoutCancel(ctx), now.Approval)
		return true, errors.Join(err, a.refused(ctx, now.Reason()))
	case now.State == paddock.ApprovalUsed:
		return true, a.refused(ctx, changed("what was approved was used by others who asked for the same"))
	case now.State != paddock.ApprovalWaiting:
		return true, a.refused(ctx, now.Reason())
	}
	return false, nil
}

func changed(why string) paddock.Reason {
	return paddock.Reason{Kind: paddock.ReasonChanged, Detail: why}
}

// proceed judges anew and starts what was approved, if it still is exactly that. A run
// that lasts waits on as long as it only can't be said.
func (a Attendant) proceed(ctx context.Context, c Case) (over bool, err error) {
	j := a.Judge(ctx)
	defer j.Close()
	if err := a.Fits(ctx, j, c); err != nil {
		switch {
		case a.Lasts && errors.Is(err, rule.ErrElsewhere):
			return false, err // who has CEL starts it
		case a.Lasts && passing(err):
			return false, nil
		}
		return true, a.refused(ctx, changed("what would be started isn't what was approved: "+err.Error()))
	}
	c.by = j.Approvals()
	j.Approve(c.ID)
	settled := false
	err = a.State.Claim(ctx, func(*rundir.Claim) error {
		outcome, err := a.Dir.Outcome()
		if settled = outcome != nil; err != nil || settled {
			return err
		}
		failpoint.Here("approval/use")
		if err := a.Use(ctx, c, a.Dir.ID()); err != nil {
			return err
		}
		failpoint.Here("approval/used")
		return waiting.End(a.Dir.Path())
	})
	switch {
	case settled:
		return true, a.Dir.ReleaseLock()
	case err != nil && a.Lasts && (ctx.Err() != nil || trust.Fault(err)):
		return false, nil
	case err != nil:
		return true, a.refused(ctx, changed(err.Error()))
	}
	failpoint.Here("approval/begun")
	// It is used now: what comes of it isn't for who closes us to take back.
	return true, a.Launch(context.WithoutCancel(ctx), j)
}

// passing reports whether err may be over soon, and so says nothing of a run that can
// wait: our own faults, a policy that is just being written, a full house.
func passing(err error) bool {
	r, ok := errors.AsType[*paddock.Refusal](err)
	if !ok {
		return trust.Fault(err) || errors.Is(err, paddock.ErrFault) || errors.Is(err, context.Canceled)
	}
	return r.Retryable || r.Code == paddock.NoPolicy || r.Code == paddock.PolicyInvalid
}

// refused settles a run that wasn't approved.
func (a Attendant) refused(ctx context.Context, reason paddock.Reason) error {
	return a.settle(ctx, paddock.RefusedState, reason)
}

// settle settles the run, unless somebody did, and lets go of it.
func (a Attendant) settle(ctx context.Context, state paddock.State, reason paddock.Reason) error {
	ctx = context.WithoutCancel(ctx)
	err := a.State.Claim(ctx, func(*rundir.Claim) error {
		return a.unbegun(ctx, a.Dir, state, reason)
	})
	return errors.Join(err, a.Dir.ReleaseLock())
}

// unbegun settles a run that waits and isn't settled. The caller has the claim, under
// which alone such runs are started and settled.
func (d Desk) unbegun(ctx context.Context, dir *rundir.Dir, state paddock.State, reason paddock.Reason) error {
	waits, err := waiting.Is(dir.Path())
	if err != nil || !waits {
		return err
	}
	if outcome, err := dir.Outcome(); err != nil || outcome != nil {
		return err
	}
	if _, err = d.Notes.NeverStarted(ctx, dir, state, reason); err != nil {
		return err
	}
	return waiting.End(dir.Path())
}

// Withdraw settles a run that waits for approval, if it still waits.
func (d Desk) Withdraw(ctx context.Context, dir *rundir.Dir, kind paddock.ReasonKind, by, why string) error {
	if waits, err := waiting.Is(dir.Path()); err != nil || !waits {
		return err
	}
	return d.State.Claim(ctx, func(*rundir.Claim) error {
		return d.unbegun(ctx, dir, paddock.Killed, paddock.Reason{Kind: cmp.Or(kind, paddock.ReasonKill), By: by, Why: why, Detail: "before it was approved"})
	})
}
