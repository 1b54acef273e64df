package mcpserver

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"paddock"
	"paddock/internal/app"
	"paddock/internal/git"
)

var (
	me       = paddock.Principal{Kind: paddock.Agent, ID: "agent:me"}
	stranger = paddock.Principal{Kind: paddock.Agent, ID: "agent:other"}
)

// A fake is an App that runs nothing: tests say what its runs print and when
// they end.
type fake struct {
	planned
	mu     sync.Mutex
	runs   []*fakeRun
	asked  []paddock.Request
	killed []app.KillRequest
	shut   []paddock.RunID

	questions []git.Ask
	told      git.Answer

	// before, when set, is called first by every verb; its error is returned.
	before func(verb string) error
}

type fakeRun struct {
	paddock.Run
	stdout, stderr []byte
	read           bool
	changed        chan struct{} // closed and replaced at each change
}

func (f *fake) first(ctx context.Context, verb string) error {
	if f.before != nil {
		if err := f.before(verb); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (f *fake) find(p paddock.Principal, id paddock.RunID) (*fakeRun, error) {
	for _, r := range f.runs {
		if r.ID == id && r.Principal == p {
			return r, nil
		}
	}
	return nil, paddock.Refused(paddock.NotFound, "no run %s", id)
}

func (f *fake) add(p paddock.Principal, argv ...string) paddock.RunID {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.addLocked(p, argv)
}

func (f *fake) addLocked(p paddock.Principal, argv []string) paddock.RunID {
	now := time.Now()
	id, err := paddock.NewRunID(now, nil)
	if err != nil {
		panic(err)
	}
	f.runs = append(f.runs, &fakeRun{changed: make(chan struct{}), Run: paddock.Run{
		ID: id, State: paddock.Running, Label: strings.Join(argv, " "), Argv: argv, Dir: "/srv/checkout", Principal: p,
		Door: paddock.DoorMCP, CreatedAt: now, StartedAt: &now, Duration: paddock.Duration(1500 * time.Millisecond),
	}})
	return id
}

// change lets fn change a run and wakes whoever waits for it.
func (f *fake) change(id paddock.RunID, fn func(r *fakeRun)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.runs {
		if r.ID == id {
			fn(r)
			r.Stdout.Bytes, r.Stderr.Bytes = int64(len(r.stdout)), int64(len(r.stderr))
			close(r.changed)
			r.changed = make(chan struct{})
		}
	}
}

func (r *fakeRun) settle(state paddock.State, why paddock.Reason) {
	if r.State.Settled() {
		return
	}
	r.State = state
	r.Outcome = &paddock.Outcome{
		State: state, Reason: why,
		Stdout: paddock.StreamSummary{Bytes: int64(len(r.stdout)), Digest: "sha256:aa"},
		Stderr: paddock.StreamSummary{Bytes: int64(len(r.stderr)), Digest: "sha256:bb"},
	}
}

func (r *fakeRun) exit(code int) {
	r.settle(paddock.Exited, paddock.Reason{Kind: paddock.ReasonExit, ExitCode: &code})
}

func (f *fake) Start(ctx context.Context, req paddock.Request) (paddock.Run, error) {
	if err := f.first(ctx, "start"); err != nil {
		return paddock.Run{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, req)
	id := f.addLocked(req.Principal, req.Command.Argv)
	r, err := f.find(req.Principal, id)
	return r.Run, err
}

func (f *fake) Approval(context.Context, paddock.Principal, paddock.ApprovalID) (paddock.Approval, error) {
	return paddock.Approval{}, paddock.Refused(paddock.NotFound, "no approval")
}

func (f *fake) Vote(context.Context, paddock.Principal, paddock.ApprovalID, []byte) (paddock.Approval, error) {
	return paddock.Approval{}, paddock.Refused(paddock.NotFound, "no approval")
}

func (f *fake) Status(ctx context.Context, p paddock.Principal, id paddock.RunID) (paddock.Run, error) {
	if err := f.first(ctx, "status"); err != nil {
		return paddock.Run{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	r, err := f.find(p, id)
	if err != nil {
		return paddock.Run{}, err
	}
	r.read = r.read || r.State.Settled()
	return r.Run, nil
}

// until waits for ready to hold of a run.
func (f *fake) until(ctx context.Context, p paddock.Principal, id paddock.RunID, wait time.Duration, ready func(r *fakeRun) bool) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		f.mu.Lock()
		r, err := f.find(p, id)
		if err != nil || ready(r) {
			f.mu.Unlock()
			return err
		}
		changed := r.changed
		f.mu.Unlock()
		select {
		case <-changed:
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (f *fake) Wait(ctx context.Context, p paddock.Principal, id paddock.RunID, wait time.Duration) (paddock.Run, error) {
	if err := f.first(ctx, "wait"); err != nil {
		return paddock.Run{}, err
	}
	if err := f.until(ctx, p, id, wait, func(r *fakeRun) bool { return r.State.Settled() }); err != nil {
		return paddock.Run{}, err
	}
	return f.Status(ctx, p, id)
}

func (f *fake) Output(ctx context.Context, p paddock.Principal, id paddock.RunID, req paddock.PageRequest) (paddock.Page, error) {
	if err := f.first(ctx, "output"); err != nil {
		return paddock.Page{}, err
	}
	if req.Wait > 0 {
		err := f.until(ctx, p, id, time.Duration(req.Wait), func(r *fakeRun) bool {
			return r.State.Settled() || int64(len(r.bytes(req.Stream))) > req.Offset
		})
		if err != nil {
			return paddock.Page{}, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	r, err := f.find(p, id)
	if err != nil {
		return paddock.Page{}, err
	}
	return r.page(req), nil
}

func (r *fakeRun) bytes(s paddock.Stream) []byte {
	if s == paddock.Stderr {
		return r.stderr
	}
	return r.stdout
}

// page pages as package artifact is meant to: bytes when raw, else whole characters.
func (r *fakeRun) page(req paddock.PageRequest) paddock.Page {
	all := r.bytes(req.Stream)
	if req.Limit == 0 {
		req.Limit = paddock.DefaultPage
	}
	offset := min(req.Offset, int64(len(all)))
	rest := all[offset:]
	page := paddock.Page{Stream: req.Stream, Encoding: "utf-8", Offset: offset, Total: int64(len(all))}
	n := 0
	if req.Raw {
		n = min(len(rest), req.Limit)
		if page.Content = string(rest[:n]); !utf8.ValidString(page.Content) {
			page.Encoding, page.Content = "base64", base64.StdEncoding.EncodeToString(rest[:n])
		}
	} else {
		var text strings.Builder
		for chars := 0; chars < req.Limit && n < len(rest) && (utf8.FullRune(rest[n:]) || r.State.Settled()); chars++ {
			c, size := utf8.DecodeRune(rest[n:])
			text.WriteRune(c)
			n += size
		}
		page.Content = text.String()
	}
	page.NextOffset = offset + int64(n)
	page.EOF = r.State.Settled() && page.NextOffset == page.Total
	if req.Stream == paddock.Combined {
		page.Entries = []paddock.Entry{{At: r.CreatedAt, Stream: paddock.Stdout, Offset: offset, Length: int64(n), Text: page.Content}}
	}
	return page
}

func (f *fake) Kill(ctx context.Context, p paddock.Principal, id paddock.RunID, req app.KillRequest) (paddock.Run, error) {
	if err := f.first(ctx, "kill"); err != nil {
		return paddock.Run{}, err
	}
	f.mu.Lock()
	_, err := f.find(p, id)
	f.killed = append(f.killed, req)
	f.mu.Unlock()
	if err != nil {
		return paddock.Run{}, err
	}
	f.change(id, func(r *fakeRun) {
		r.settle(paddock.Killed, paddock.Reason{Kind: paddock.ReasonKill, Signal: "SIGTERM", By: p.ID, Why: req.Reason})
	})
	return f.Status(ctx, p, id)
}

func (f *fake) Shutdown(ctx context.Context, p paddock.Principal, ids []paddock.RunID) error {
	if err := f.first(ctx, "shutdown"); err != nil {
		return err
	}
	f.mu.Lock()
	f.shut = append(f.shut, ids...)
	f.mu.Unlock()
	for _, id := range ids {
		f.change(id, func(r *fakeRun) { r.settle(paddock.Killed, paddock.Reason{Kind: paddock.ReasonShutdown, By: p.ID}) })
	}
	return nil
}

func (f *fake) List(ctx context.Context, p paddock.Principal, filter app.Filter) (app.Listing, error) {
	if err := f.first(ctx, "list"); err != nil {
		return app.Listing{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var out app.Listing
	most := filter.Limit
	if most == 0 {
		most = 50
	}
	seen := filter.Before == ""
	for _, r := range slices.Backward(f.runs) {
		if r.Principal != p || filter.Active && r.State.Settled() {
			continue
		}
		if !seen {
			seen = r.ID == filter.Before
			continue
		}
		if len(out.Runs) == most {
			out.Next = out.Runs[most-1].ID
			break
		}
		out.Runs = append(out.Runs, r.Run)
	}
	return out, nil
}

func (f *fake) Counters(ctx context.Context, p paddock.Principal) (app.Counters, error) {
	if err := f.first(ctx, "counters"); err != nil {
		return app.Counters{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var c app.Counters
	for _, r := range f.runs {
		switch {
		case r.Principal != p:
		case !r.State.Settled():
			c.Running++
		case !r.read:
			c.Finished++
		}
	}
	return c, nil
}

func (f *fake) Git(ctx context.Context, ask git.Ask) (git.Answer, error) {
	if err := f.first(ctx, "git"); err != nil {
		return git.Answer{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.questions = append(f.questions, ask)
	return f.told, nil
}
