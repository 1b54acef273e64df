// Package consent stands between a judgement that asks and a run: it has persons
// asked, and finds what they said.
//
// # Limits
//
// It starts nothing. Who finds a matter approved has it noted as used under the
// state directory's claim, and only then may start it.
package consent

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"paddock"
	"paddock/internal/approval"
	"paddock/internal/approval/waiters"
	"paddock/internal/executor/consent/words"
	"paddock/internal/lineage"
	"paddock/internal/rundir"
	"paddock/internal/rundir/record/durable/waiting"
	"paddock/internal/trust"
)

// A Desk asks, for one state directory.
type Desk struct {
	State *rundir.State
	Notes Notes
	Now   func() time.Time
}

// Notes are what is told to the journal.
type Notes interface {
	Approval(ctx context.Context, step string, a paddock.Approval, run paddock.RunID, vote *paddock.Vote, envelope paddock.Digest) error
	// Policy returns what keeps the text of a policy in a directory.
	Policy(ctx context.Context, state *rundir.State, digest paddock.Digest, text []byte, trouble *lineage.Trouble) func(dir string)
	NeverStarted(ctx context.Context, dir *rundir.Dir, state paddock.State, reason paddock.Reason) (paddock.Run, error)
}

// A Judgement is of one request, with everything it was based on still open.
type Judgement interface {
	// Asks reports whether persons can approve it, and Approvals who.
	Asks() bool
	Approvals() paddock.Approvals
	// Matter is what their approval is bound to.
	Matter(ctx context.Context) (paddock.Matter, error)
	// PolicyText is of what judged it.
	PolicyText() []byte
	// Allows says what is against it otherwise, and Approve makes it what they allow.
	Allows() error
	Approve(id paddock.ApprovalID)
	Close()
}

func (d Desk) book() approval.Book { return approval.In(d.State.Path()) }

// A Case is a matter with how it stands, by the policy that judged it.
type Case struct {
	paddock.Approval
	by paddock.Approvals
}

// Look returns how what j asks about stands. Where nobody was asked about exactly
// that, or what came of it is over, they are asked now. j must ask.
func (d Desk) Look(ctx context.Context, j Judgement) (Case, error) {
	m, err := j.Matter(ctx)
	if err != nil {
		return Case{}, err
	}
	c := Case{by: j.Approvals()}
	asked := false
	err = d.State.Claim(ctx, func(*rundir.Claim) error {
		var found bool
		var err error
		if c.Approval, found, err = d.book().Find(m, c.by, d.Now()); err != nil {
			return err
		}
		if found && c.State == paddock.ApprovalLapsed {
			err = d.Lapse(ctx, c.Approval)
		}
		if err == nil && (!found || c.State == paddock.ApprovalLapsed || c.State == paddock.ApprovalUsed || c.State == paddock.ApprovalDeclined && !d.Now().Before(c.ExpiresAt)) {
			asked = true
			c.Approval, err = d.book().Ask(m, c.by, d.Now())
		}
		return err
	})
	if errors.Is(err, approval.ErrFull) {
		r := paddock.Refused(paddock.Busy, "%v.", err)
		r.Hint = "Wait until persons have approved or denied some of them, or they expire."
		return c, r
	}
	if err == nil && asked {
		d.Notes.Policy(ctx, d.State, m.PolicyDigest, j.PolicyText(), nil)(d.book().Dir(c.ID))
		err = d.Notes.Approval(ctx, "asked", c.Approval, "", nil, "")
	}
	return c, err
}

// Consented returns the case of what j asks about, if it may be used or, where who
// asks stays, if it is waited for. Else the error is a [*paddock.Refusal].
func (d Desk) Consented(ctx context.Context, j Judgement, stays bool) (Case, error) {
	c, err := d.Look(ctx, j)
	if err != nil || c.State == paddock.ApprovalApproved || stays && c.State == paddock.ApprovalWaiting {
		return c, err
	}
	return c, c.Refusal()
}

// Again returns how c stands now, by the policy that judged it.
func (d Desk) Again(c Case) (Case, error) {
	a, err := d.book().As(c.ID, c.Matter, c.by, d.Now())
	return Case{a, c.by}, err
}

// Fits says whether j asks about exactly what c is about, by the same policy, and
// why not.
func (d Desk) Fits(ctx context.Context, j Judgement, c Case) error {
	if !j.Asks() {
		if err := j.Allows(); err != nil {
			return err
		}
		return errors.New("no rule asks about it any more")
	}
	m, err := j.Matter(ctx)
	if err != nil {
		return err
	}
	is, err := approval.Facts(m)
	if err != nil {
		return err
	}
	was, err := approval.Facts(c.Matter)
	if err == nil && is != was {
		err = errors.New("the policy, the program or another fact is different now")
	}
	return err
}

// Use notes that run is started by c. Only one who has the claim may; who gets no
// error may start it.
func (d Desk) Use(ctx context.Context, c Case, run paddock.RunID) error {
	a, err := d.book().Use(c.ID, c.Matter, c.by, run, d.Now())
	if trust.Fault(err) {
		return err
	}
	if err != nil {
		r := paddock.Refused(paddock.ApprovalExpired, "What was approved as %s can't be used now: %v.", c.ID, err)
		r.Hint = "Ask for the same again: persons are asked anew."
		return r
	}
	return d.Notes.Approval(ctx, "used", a, run, nil, "")
}

// Lapse notes that a expired.
func (d Desk) Lapse(ctx context.Context, a paddock.Approval) error {
	first, err := d.book().Over(a.ID, d.Now())
	if err == nil && first {
		err = d.Notes.Approval(ctx, "expired", a, "", nil, "")
	}
	return err
}

// Refusal says why c can't be started, as it stands; nil where it can.
func (c Case) Refusal() *paddock.Refusal {
	var r *paddock.Refusal
	switch c.State {
	case paddock.ApprovalApproved:
		return nil
	case paddock.ApprovalWaiting:
		r = paddock.Refused(paddock.ApprovalRequired, "%s asked about as %s, and waits for approval until %s.", rules(c.Matter.Rules), c.ID, c.ExpiresAt.UTC().Format(time.RFC3339))
		r.Hint, r.Retryable = fmt.Sprintf("A person looks at it with `paddock approve show %[1]s` and approves it with `paddock approve yes %[1]s`; ask for exactly the same again then.", c.ID), true
		if r.SecondFactor = c.Matter.SecondFactor; r.SecondFactor {
			r.Hint = fmt.Sprintf("A person looks at it with `paddock approve show %s`, and brings a signed vote to a server of the policy's `approvals.verifiers` to which a second factor was shown; ask for exactly the same again then.", c.ID)
		}
	case paddock.ApprovalDeclined:
		by, why := c.denial()
		r = paddock.Refused(paddock.ApprovalDenied, "%s denied this request (%s)%s.", by, c.ID, why)
	default:
		r = paddock.Refused(paddock.ApprovalExpired, "Nobody approved this request in time (%s).", c.ID)
	}
	if len(c.Matter.Rules) > 0 {
		r.Rule = c.Matter.Rules[0]
	}
	return r
}

func (c Case) denial() (by, why string) {
	for _, v := range c.Votes {
		if !v.Approve {
			if v.Reason != "" {
				why = ": " + v.Reason
			}
			return v.Name, why
		}
	}
	return "Somebody", ""
}

// Reason is why a run that waited for c is over.
func (c Case) Reason() paddock.Reason {
	if c.State == paddock.ApprovalDeclined {
		by, _ := c.denial()
		reason := paddock.Reason{Kind: paddock.ReasonDenied, By: by}
		for _, v := range c.Votes {
			if !v.Approve && v.Name == by {
				reason.Why = v.Reason
			}
		}
		return reason
	}
	return paddock.Reason{Kind: paddock.ReasonExpired, Detail: "nobody approved " + string(c.ID) + " in time"}
}

func rules(names []string) string {
	if len(names) == 1 {
		return "Rule `" + names[0] + "`"
	}
	return fmt.Sprintf("%d rules", len(names))
}

// Vote puts a signed vote down, and tells the journal before.
func (d Desk) Vote(ctx context.Context, id paddock.ApprovalID, envelope []byte) (paddock.Approval, error) {
	var a paddock.Approval
	err := d.State.Claim(ctx, func(*rundir.Claim) error {
		var err error
		a, err = d.book().Vote(id, envelope, d.Now(), func(a paddock.Approval, vote paddock.Vote) error {
			step := "denied"
			if vote.Approve {
				step = "approved"
			}
			return d.Notes.Approval(ctx, step, a, "", &vote, paddock.DigestOf(sha256.Sum256(envelope)))
		})
		return err
	})
	return a, err
}

// Get returns what is known of id, what the rules say that asked, and who waits for it.
func (d Desk) Get(id paddock.ApprovalID) (paddock.Approval, error) {
	a, err := d.book().Get(id, d.Now())
	if err == nil {
		words.In(d.State.Path()).Put(&a, d.book().Dir(id))
		err = d.mark(&a)
	}
	return a, err
}

// mark says in a which runs wait for it, and which did.
func (d Desk) mark(a *paddock.Approval) error {
	return waiters.Mark(a, d.book().Dir(a.ID), func(id paddock.RunID) (bool, error) {
		dir, err := d.State.Run(id)
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil // removed since it ended
		}
		if err != nil {
			return false, err
		}
		waits, err := waiting.Is(dir.Path())
		if err != nil || !waits {
			return false, err
		}
		outcome, err := dir.Outcome()
		return outcome == nil, err
	})
}

// Text is that of the book.
func (d Desk) Text(id paddock.ApprovalID) ([]byte, error) { return d.book().Text(id) }

// List returns everything that is kept, newest first.
func (d Desk) List() ([]paddock.Approval, error) {
	all, err := d.book().List(d.Now())
	said := words.In(d.State.Path())
	for i := range all {
		said.Put(&all[i], d.book().Dir(all[i].ID))
		err = errors.Join(err, d.mark(&all[i]))
	}
	return all, err
}
