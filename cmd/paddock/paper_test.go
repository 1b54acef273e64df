//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"os"
	"slices"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/cmd/paddock/internal/desk/screen"
	"paddock/internal/app"
	"paddock/internal/app/attach"
)

// A paper house answers the verbs from memory. A run in it does nothing until
// the test says that it ends.
type paper struct {
	paperPlans
	mu       sync.Mutex
	runs     map[paddock.RunID]*paperRun
	order    []paddock.RunID
	refuse   *paddock.Refusal
	fault    error
	starts   []paddock.Request
	kills    []app.KillRequest
	killed   chan app.KillRequest // told of every kill
	opened   int
	closed   int
	onStart  func(*paperRun)
	starting func(context.Context) error // what Start does before it makes a run
	pages    []paddock.PageRequest
}

type paperRun struct {
	run    paddock.Run
	stdout []byte
	stderr []byte
	ended  chan struct{}
}

var day = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

func newPaper() *paper {
	return &paper{runs: map[paddock.RunID]*paperRun{}, killed: make(chan app.KillRequest, 16)}
}

// add puts a run into the house.
func (p *paper) add(req paddock.Request, stdout, stderr string) *paperRun {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.order)
	id, err := paddock.NewRunID(day.Add(time.Duration(n)*time.Minute), bytes.NewReader(make([]byte, 16)))
	if err != nil {
		panic(err)
	}
	at := id.Time()
	r := &paperRun{
		run: paddock.Run{
			ID: id, State: paddock.Running, Label: req.Command.Label, Argv: req.Command.Argv, Dir: req.Command.Dir,
			Principal: req.Principal, Door: req.Door, CreatedAt: at, StartedAt: &at, Duration: paddock.Duration(time.Second),
			Stdout: paddock.StreamSummary{Bytes: int64(len(stdout))}, Stderr: paddock.StreamSummary{Bytes: int64(len(stderr))},
		},
		stdout: []byte(stdout), stderr: []byte(stderr), ended: make(chan struct{}),
	}
	p.runs[id], p.order = r, append(p.order, id)
	return r
}

// end settles the run.
func (p *paper) end(r *paperRun, s paddock.State, reason paddock.Reason) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.run.State.Settled() {
		return
	}
	r.run.State = s
	r.run.Outcome = &paddock.Outcome{State: s, Reason: reason, Stdout: r.run.Stdout, Stderr: r.run.Stderr}
	close(r.ended)
}

func (p *paper) exit(r *paperRun, code int) {
	p.end(r, paddock.Exited, paddock.Reason{Kind: paddock.ReasonExit, ExitCode: &code})
}

func (p *paper) find(id paddock.RunID) (*paperRun, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r := p.runs[id]; r != nil {
		return r, nil
	}
	return nil, paddock.Refused(paddock.NotFound, "There is no such run.")
}

func (p *paper) now(r *paperRun) paddock.Run {
	p.mu.Lock()
	defer p.mu.Unlock()
	return r.run
}

func (p *paper) Explain(_ context.Context, req paddock.Request) (paddock.Decision, error) {
	d := paddock.Decision{Effect: paddock.Allow, Gates: paddock.AnswersOf(paddock.GateResult{Gate: paddock.GateArgv, Verdict: paddock.Pass, Detail: "2 words"})}
	if p.refuse != nil {
		d.Effect, d.Refusals = paddock.Deny, []paddock.Refusal{*p.refuse}
	}
	return d, p.fault
}

func (p *paper) Start(ctx context.Context, req paddock.Request) (paddock.Run, error) {
	if p.starting != nil {
		if err := p.starting(ctx); err != nil {
			return paddock.Run{}, err
		}
	}
	p.mu.Lock()
	p.starts = append(p.starts, req)
	p.mu.Unlock()
	if p.refuse != nil {
		return paddock.Run{}, p.refuse
	}
	if p.fault != nil {
		return paddock.Run{}, p.fault
	}
	r := p.add(req, "to stdout\n", "to stderr\n")
	if p.onStart != nil {
		p.onStart(r)
	}
	return p.now(r), nil
}

func (p *paper) Status(_ context.Context, _ paddock.Principal, id paddock.RunID) (paddock.Run, error) {
	r, err := p.find(id)
	if err != nil {
		return paddock.Run{}, err
	}
	return p.now(r), nil
}

func (p *paper) Wait(ctx context.Context, _ paddock.Principal, id paddock.RunID, wait time.Duration) (paddock.Run, error) {
	r, err := p.find(id)
	if err != nil {
		return paddock.Run{}, err
	}
	if wait > 0 {
		return p.now(r), nil // the wait is over at once
	}
	select {
	case <-r.ended:
		return p.now(r), nil
	case <-ctx.Done():
		return paddock.Run{}, ctx.Err()
	}
}

func (p *paper) Output(_ context.Context, _ paddock.Principal, id paddock.RunID, req paddock.PageRequest) (paddock.Page, error) {
	p.mu.Lock()
	p.pages = append(p.pages, req)
	p.mu.Unlock()
	r, err := p.find(id)
	if err != nil {
		return paddock.Page{}, err
	}
	page := paddock.Page{Stream: req.Stream, Encoding: "utf-8", Offset: req.Offset}
	data := r.stdout
	switch req.Stream {
	case paddock.Stderr:
		data = r.stderr
	case paddock.Combined:
		data = slices.Concat(r.stdout, r.stderr)
	}
	page.Total = int64(len(data))
	data = data[req.Offset:min(req.Offset+int64(req.Limit), page.Total)]
	if req.Limit == 0 {
		data = r.stdout[req.Offset:]
	}
	page.NextOffset = req.Offset + int64(len(data))
	page.Content = string(data)
	if !utf8.Valid(data) {
		page.Content, page.Encoding = base64.StdEncoding.EncodeToString(data), "base64"
	}
	if req.Stream == paddock.Combined && req.Offset == 0 {
		page.Entries = []paddock.Entry{
			{At: day, Stream: paddock.Stdout, Length: int64(len(r.stdout))},
			{At: day.Add(time.Second), Stream: paddock.Stderr, Length: int64(len(r.stderr))},
		}
	}
	page.EOF = p.now(r).State.Settled() && page.NextOffset == page.Total
	return page, nil
}

func (p *paper) Follow(ctx context.Context, _ paddock.Principal, id paddock.RunID, s paddock.Stream, _ int64, w io.Writer) error {
	r, err := p.find(id)
	if err != nil {
		return err
	}
	data := r.stdout
	if s == paddock.Stderr {
		data = r.stderr
	}
	if _, err := w.Write(data); err != nil {
		return err
	}
	select {
	case <-r.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *paper) Attach(context.Context, paddock.Principal, paddock.RunID, attach.Attachment) error {
	return errors.New("paper has no terminal")
}

func (p *paper) Kill(_ context.Context, _ paddock.Principal, id paddock.RunID, req app.KillRequest) (paddock.Run, error) {
	r, err := p.find(id)
	if err != nil {
		return paddock.Run{}, err
	}
	p.mu.Lock()
	p.kills = append(p.kills, req)
	p.mu.Unlock()
	p.killed <- req
	return p.now(r), nil
}

func (p *paper) KillAll(ctx context.Context, who paddock.Principal, req app.KillRequest) ([]paddock.Run, error) {
	var runs []paddock.Run
	for _, id := range p.order {
		r, err := p.Kill(ctx, who, id, req)
		if err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	return runs, nil
}

func (p *paper) List(_ context.Context, _ paddock.Principal, f app.Filter) (app.Listing, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list app.Listing
	for _, id := range slices.Backward(p.order) {
		if r := p.runs[id]; !f.Active || !r.run.State.Settled() {
			list.Runs = append(list.Runs, r.run)
		}
	}
	if f.Limit > 0 && len(list.Runs) > f.Limit {
		list.Next = list.Runs[f.Limit-1].ID
		list.Runs = list.Runs[:f.Limit]
	}
	return list, nil
}

func (p *paper) Detail(_ context.Context, _ paddock.Principal, id paddock.RunID) (app.Detail, error) {
	r, err := p.find(id)
	if err != nil {
		return app.Detail{}, err
	}
	d := app.Detail{Run: p.now(r), EnvironmentNames: []string{"CI"}}
	d.Decision, err = p.Explain(context.Background(), paddock.Request{})
	d.Decision.Granted = paddock.Gives(&paddock.Grant{EnvironmentNames: []string{"CI", "PATH"}})
	return d, err
}

func (p *paper) Diff(context.Context, paddock.Principal, paddock.RunID, app.Choice) (paddock.Changes, error) {
	return paddock.Changes{}, p.fault
}

func (p *paper) Apply(context.Context, paddock.Principal, paddock.RunID, app.Choice) (paddock.Applied, error) {
	return paddock.Applied{}, p.fault
}

func (p *paper) Quarantine(context.Context, paddock.Principal, paddock.RunID) (paddock.Quarantine, error) {
	return paddock.Quarantine{}, p.fault
}

func (p *paper) Restore(context.Context, paddock.Principal, paddock.RunID, []string) (paddock.Restored, error) {
	return paddock.Restored{}, p.fault
}

func (p *paper) Discard(context.Context, paddock.Principal, paddock.RunID) (paddock.Run, error) {
	return paddock.Run{}, p.fault
}

func (p *paper) Approvals(context.Context, paddock.Principal) ([]paddock.Approval, error) {
	return nil, p.fault
}

func (p *paper) Approval(context.Context, paddock.Principal, paddock.ApprovalID) (paddock.Approval, error) {
	return paddock.Approval{}, p.fault
}

func (p *paper) Question(context.Context, paddock.Principal, paddock.ApprovalID) ([]byte, error) {
	return nil, p.fault
}

func (p *paper) Vote(context.Context, paddock.Principal, paddock.ApprovalID, []byte) (paddock.Approval, error) {
	return paddock.Approval{}, p.fault
}

func (p *paper) Close() error { p.closed++; return nil }

// A person sits at a desk in front of a paper house.
type person struct {
	*desk.Desk
	out, err bytes.Buffer
	house    *paper
	signals  chan os.Signal
	env      map[string]string
}

func newPerson(t *testing.T) *person {
	t.Helper()
	p := &person{house: newPaper(), signals: make(chan os.Signal, 8), env: map[string]string{"HOME": t.TempDir()}}
	p.Desk = &desk.Desk{
		Screen: screen.Screen{
			Out: &p.out, Err: &p.err,
			Getenv: func(name string) string { return p.env[name] },
			Now:    func() time.Time { return day.Add(time.Hour) },
		},
		In:  bytes.NewReader(nil),
		Env: func(name string) (string, bool) { v, ok := p.env[name]; return v, ok },
		Dir: t.TempDir(), UID: 1000,
		Signals: func() (<-chan os.Signal, func()) { return p.signals, func() {} },
		Open: func(context.Context) (desk.Verbs, error) {
			p.house.opened++
			return p.house, nil
		},
	}
	return p
}

// types runs a command line and returns its exit status.
func (p *person) types(args ...string) int {
	p.out.Reset()
	p.err.Reset()
	p.JSON = false
	return execute(context.Background(), p.Desk, args)
}
