package runs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/app"
	"paddock/internal/clean"
)

// detached starts the run and says how it is called.
func (d commands) detached(ctx context.Context, v desk.Verbs, req paddock.Request) error {
	r, err := v.Start(ctx, req)
	if err != nil {
		return err
	}
	if d.JSON {
		err = d.Object(r)
	} else {
		_, err = fmt.Fprintln(d.Out, r.ID)
	}
	if r.State == paddock.Waiting && !d.JSON {
		d.Say("waiting", "a person must approve this, and it starts then: paddock approve show "+string(r.Approval)+" (paddock kill "+string(r.ID)+" takes it back)")
	}
	if err != nil || r.State != paddock.FailedToStart {
		return err
	}
	if !d.JSON {
		d.End(r)
	}
	return desk.RunError(r)
}

// foreground starts the run, passes its output on, and returns when it is over
// and everything that somebody still reads has been passed on.
func (d commands) foreground(ctx context.Context, v desk.Verbs, req paddock.Request, raw bool) error {
	// Before the start: a request to end must not find us deaf to it.
	signals, restore := d.Signals()
	defer restore()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, early, err := d.begin(ctx, v, req, signals)
	if err != nil {
		return err
	}
	if r.State == paddock.Waiting && !d.JSON {
		d.Say("waiting", "a person must approve this: paddock approve show "+string(r.Approval)+" (paddock kill "+string(r.ID)+" takes it back)")
	}
	asked := 0
	if early != nil {
		asked = 1
		go d.pass(ctx, v, r.ID, early, asked)
	}
	var followers []*follower
	if !d.JSON {
		followers = []*follower{
			follow(ctx, v, d.Operator(), r.ID, paddock.Stdout, d.Out, d.Terminal && !raw),
			follow(ctx, v, d.Operator(), r.ID, paddock.Stderr, d.Err, d.ErrTerminal && !raw),
		}
	}
	r, err = d.attend(ctx, v, r.ID, signals, asked, followers)
	if err != nil {
		return err
	}
	if d.JSON {
		if err := d.Object(r); err != nil {
			return err
		}
		return desk.RunError(r)
	}
	d.End(r)
	for _, f := range followers {
		if err := f.problem(); err != nil {
			return fmt.Errorf("%s could not be passed on whole: %w; all of it is kept: paddock output %s --stream %s", f.stream, err, r.ID, f.stream)
		}
	}
	return desk.RunError(r)
}

// begin starts the run. A signal that arrives meanwhile takes the request back;
// if it came too late for that it is returned, to be passed on. After a second
// one nothing is waited for: the start may hang in a file system, and a run that
// came of it in spite of all is tied to us and ends with us.
func (d commands) begin(ctx context.Context, v desk.Verbs, req paddock.Request, signals <-chan os.Signal) (paddock.Run, os.Signal, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type start struct {
		run paddock.Run
		err error
	}
	started := make(chan start, 1)
	go func() {
		r, err := v.Start(ctx, req)
		started <- start{r, err}
	}()
	var early os.Signal
	for {
		select {
		case s := <-started:
			if early != nil && errors.Is(s.err, context.Canceled) {
				return s.run, nil, d.takenBack(early)
			}
			return s.run, early, s.err
		case s := <-signals:
			select {
			case st := <-started: // it came first
				started <- st
				if early == nil {
					early = s
				}
				continue
			default:
			}
			if early != nil {
				return paddock.Run{}, nil, d.takenBack(early)
			}
			early = s
			cancel()
		}
	}
}

// takenBack says that a signal came before the program. The status is the one
// that the signal itself would have given.
func (d commands) takenBack(s os.Signal) error {
	d.Tell(errors.New("nothing was started: paddock run received SIG" + signalName(s) + " before"))
	number, _ := s.(syscall.Signal) // zero for none, which os/signal doesn't deliver
	return desk.ExitStatus(desk.ExitBySignal + int(number))
}

// attend waits for the end of the run and of the followers. The first signal
// asks the run to end in the signal's own way, each further one kills it; one
// after the run's end lets go of a reader that has stopped reading. asked counts
// those that came before.
func (d commands) attend(ctx context.Context, v desk.Verbs, id paddock.RunID, signals <-chan os.Signal, asked int, followers []*follower) (paddock.Run, error) {
	type end struct {
		run paddock.Run
		err error
	}
	ended := make(chan end, 1)
	go func() {
		r, err := v.Wait(ctx, d.Operator(), id, 0)
		ended <- end{r, err}
	}()
	var last end
	settled := false
	for {
		var following <-chan struct{}
		for _, f := range followers {
			if !f.over() {
				following = f.done
				break
			}
		}
		if settled && (following == nil || last.err != nil) {
			return last.run, last.err
		}
		select {
		case last = <-ended:
			settled, ended = true, nil
		case <-following:
		case s := <-signals:
			if settled {
				return last.run, last.err
			}
			asked++
			go d.pass(ctx, v, id, s, asked)
		}
	}
}

// pass hands a signal on to the run. It must not hold up the next one, which
// may be the one that has to help.
func (d commands) pass(ctx context.Context, v desk.Verbs, id paddock.RunID, s os.Signal, asked int) {
	name := signalName(s)
	req := app.KillRequest{Signal: name, Reason: "paddock run received SIG" + name, NoWait: true}
	if asked > 1 {
		req.Signal, req.Reason = "KILL", req.Reason+" again"
	}
	if _, err := v.Kill(ctx, d.Operator(), id, req); err != nil && ctx.Err() == nil {
		d.Say("warning", "the run could not be asked to end: "+err.Error())
	}
}

func signalName(s os.Signal) string {
	switch s {
	case syscall.SIGINT:
		return "INT"
	case syscall.SIGHUP:
		return "HUP"
	}
	return "TERM"
}

// A follower passes one stream on.
type follower struct {
	stream paddock.Stream
	done   chan struct{} // closed when nothing more will be written
	to     keepError
	err    error // of reading; set before done is closed
}

// follow passes a stream on to w, cleaned where a terminal is to show it.
func follow(ctx context.Context, v desk.Verbs, p paddock.Principal, id paddock.RunID, s paddock.Stream, w io.Writer, shown bool) *follower {
	f := &follower{stream: s, done: make(chan struct{}), to: keepError{w: w}}
	go func() {
		defer close(f.done)
		if !shown {
			f.err = v.Follow(ctx, p, id, s, 0, &f.to)
			return
		}
		live := clean.New(&f.to, clean.Live)
		f.err = errors.Join(v.Follow(ctx, p, id, s, 0, live), live.Flush())
	}()
	return f
}

func (f *follower) over() bool {
	select {
	case <-f.done:
		return true
	default:
		return false
	}
}

// problem returns why not everything was passed on, after the end. A reader
// that went away wanted no more: that is its choice and no problem. A follower
// that was let go of has none either.
func (f *follower) problem() error {
	if !f.over() || errors.Is(f.to.err, syscall.EPIPE) || errors.Is(f.to.err, io.ErrClosedPipe) {
		return nil
	}
	if f.to.err != nil {
		return f.to.err
	}
	return f.err
}

// keepError remembers why writing failed, so that a reader's absence can be
// told from an error of reading the kept output.
type keepError struct {
	w   io.Writer
	err error
}

func (k *keepError) Write(p []byte) (int, error) {
	n, err := k.w.Write(p)
	if err != nil {
		k.err = err
	}
	return n, err
}
