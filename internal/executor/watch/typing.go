package watch

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"paddock"
	"paddock/internal/control"
	"paddock/internal/control/wire"
	"paddock/internal/rundir"
)

// Type asks something of the terminal of a run. What isn't done, and why, is said by a
// [paddock.Refusal].
func (d *Standing) Type(ctx context.Context, id paddock.RunID, t paddock.Typing) error {
	dir, err := d.State.Run(id)
	if err != nil {
		return err
	}
	if over, err := dir.Over(); err != nil {
		return err
	} else if over {
		return untyped("", "The run is over: nobody reads what is typed.")
	}
	err = d.Hub.ask(ctx, dir, func(client *control.Client) error { return client.Type(ctx, t) })
	var answer *control.Error
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return untyped("", "The program hasn't started, or is over: nobody reads what is typed.")
	case !errors.As(err, &answer):
		return err
	case answer.Code == wire.Unsupported:
		return untyped("", "The run has no terminal; `paddock run --tty` starts one with one, where the policy says `pty: true`.")
	case answer.Code == wire.Malformed:
		return paddock.Refused(paddock.InvalidRequest, "%s", answer.Message)
	}
	return untyped(answer.Code, "Nothing was typed: "+answer.Message+".")
}

// untyped is the refusal of something that was typed, for a reason of the supervisor's or
// of ours, with what to do about that one.
func untyped(code wire.Code, text string) error {
	r := paddock.Refused(paddock.Conflict, "%s", text)
	switch code {
	case wire.Taken:
		r.Hint = "Take the keyboard, or go on watching."
	case wire.TooMany:
		r.Retryable, r.Hint = true, "Type again when the program has read, or end the run."
	default:
		r.Hint = "Look at the run's state, and read what it printed."
	}
	return r
}

// ask asks a run's supervisor by the connection that there is, or by one of its own.
func (h *Hub) ask(ctx context.Context, dir *rundir.Dir, question func(*control.Client) error) error {
	h.mu.Lock()
	r := h.runs[dir.ID()]
	h.mu.Unlock()
	var client *control.Client
	if r != nil {
		client = r.Client()
	} else {
		r = &Run{dir: dir}
	}
	if client == nil {
		own, err := r.dial(ctx)
		if err != nil {
			return err
		}
		defer own.Close()
		client = own
	}
	return question(client)
}
