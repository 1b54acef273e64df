package relay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"paddock"
	"paddock/internal/app"
	"paddock/internal/journal/sign"
	"paddock/internal/relay/ballot"
	"paddock/internal/relay/wire"
)

// At is the house of a worker, connected or not.
func (h *Hub) At(worker string) House {
	r := remote{hub: h, worker: worker}
	r.Remote = ballot.Remote{Worker: worker, Ask: func(ctx context.Context, p paddock.Principal, verb string, q *ballot.Question, into any) error {
		return r.ask(ctx, verb, question{Principal: p, Approval: q}, wire.Ask, 0, into)
	}}
	return r
}

// A remote is a house on another machine.
type remote struct {
	hub    *Hub
	worker string
	ballot.Remote
}

// ask asks until there is an answer: over the next connection if one breaks. more is how
// long the answer may be waited for on purpose.
func (r remote) ask(ctx context.Context, verb string, q question, takes, more time.Duration, into any) error {
	body, err := json.Marshal(q)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, takes+more)
	defer cancel()
	// Who waits for output anyway waits for the connection as long.
	patience, over := context.WithTimeout(limited, max(r.hub.patience, more))
	defer over()
	var broken *wire.Link
	for strikes := 0; ; {
		l := r.hub.linkOf(patience, r.worker, broken)
		if l == nil {
			if err := ctx.Err(); err != nil {
				return err
			}
			return away(r.worker)
		}
		text, err := l.Send(limited, http.MethodPost, wire.Prefix+verb, body)
		switch {
		case err == nil:
			if err := json.Unmarshal(text, into); err != nil {
				return fmt.Errorf("worker %s: %w", r.worker, err)
			}
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case limited.Err() != nil:
			return away(r.worker)
		case !errors.Is(err, wire.ErrBroken):
			return r.told(err)
		case l.Gone():
			broken = l
		default: // the question broke, not the connection; that isn't tried for ever
			if strikes++; strikes > 2 {
				return r.told(err)
			}
		}
	}
}

// told is what the worker said, or what is wrong with it.
func (r remote) told(err error) error {
	var refusal *paddock.Refusal
	if errors.As(err, &refusal) {
		return refusal
	}
	return fmt.Errorf("worker %s: %w", r.worker, err)
}

func (r remote) run(ctx context.Context, verb string, q question, takes, more time.Duration) (paddock.Run, error) {
	var run paddock.Run
	if err := r.ask(ctx, verb, q, takes, more, &run); err != nil {
		return paddock.Run{}, err
	}
	if run.ID != q.Run {
		return paddock.Run{}, fmt.Errorf("worker %s was asked for run %s and answers with another", r.worker, q.Run)
	}
	return run, nil
}

func (r remote) Look(ctx context.Context, p paddock.Principal, id paddock.RunID) (paddock.Run, error) {
	return r.run(ctx, look, question{Principal: p, Run: id}, wire.Ask, 0)
}

func (r remote) Status(ctx context.Context, p paddock.Principal, id paddock.RunID) (paddock.Run, error) {
	return r.run(ctx, status, question{Principal: p, Run: id}, wire.Ask, 0)
}

// Wait waits in pieces, so that no question is open for long.
func (r remote) Wait(ctx context.Context, p paddock.Principal, id paddock.RunID, d time.Duration) (paddock.Run, error) {
	if d < 0 {
		return paddock.Run{}, paddock.Refused(paddock.InvalidRequest, "The time to wait is negative.")
	}
	for left := d; ; {
		one := paddock.MaxWait
		if d > 0 {
			one = min(one, left)
		}
		run, err := r.run(ctx, wait, question{Principal: p, Run: id, Wait: paddock.Duration(one)}, wire.Ask, one)
		if left -= one; err != nil || run.State.Settled() || d > 0 && left <= 0 {
			return run, err
		}
	}
}

func (r remote) Output(ctx context.Context, p paddock.Principal, id paddock.RunID, req paddock.PageRequest) (page paddock.Page, err error) {
	if req.Unmasked {
		return page, paddock.Refused(paddock.Forbidden, "What is hidden of secrets is shown to no server.")
	}
	err = r.ask(ctx, output, question{Principal: p, Run: id, Page: &req}, wire.Ask, min(paddock.MaxWait, max(0, time.Duration(req.Wait))), &page)
	return page, err
}

func (r remote) Detail(ctx context.Context, p paddock.Principal, id paddock.RunID) (d app.Detail, err error) {
	if err = r.ask(ctx, detail, question{Principal: p, Run: id}, wire.Ask, 0, &d); err == nil && d.Run.ID != id {
		err = fmt.Errorf("worker %s was asked for run %s and answers with another", r.worker, id)
	}
	return d, err
}

func (r remote) Kill(ctx context.Context, p paddock.Principal, id paddock.RunID, req app.KillRequest) (paddock.Run, error) {
	return r.run(ctx, kill, question{Principal: p, Run: id, Kill: &req}, killTime, 0)
}

// Type may be asked twice, as everything here: what is typed is numbered, and done once.
func (r remote) Type(ctx context.Context, p paddock.Principal, id paddock.RunID, t paddock.Typing) error {
	var done struct{}
	return r.ask(ctx, types, question{Principal: p, Run: id, Typing: &t}, wire.Ask, 0, &done)
}

// Attest has the worker make a signed statement about a run that has ended.
func (r remote) Attest(ctx context.Context, p paddock.Principal, id paddock.RunID) (e sign.Envelope, err error) {
	err = r.ask(ctx, attest, question{Principal: p, Run: id}, attestTime, 0, &e)
	return e, err
}
