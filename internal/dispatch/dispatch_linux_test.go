package dispatch_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"paddock"
	"paddock/internal/app"
	"paddock/internal/dispatch"
	"paddock/internal/store"
)

func hidden(err error) bool {
	var r *paddock.Refusal
	return errors.As(err, &r) && r.Code == paddock.NotFound
}

// What is asked for goes through the queue, is carried out at once, and is told truly in
// the row and in the directory. What it was started by is gone from the row.
func TestThroughTheQueue(t *testing.T) {
	t.Parallel()
	b, s := newBox(t), file(t)
	v, _ := b.serve(s, false, nil)
	req := request(alice, "echo $WORD; cat")
	text := "a secret of standard input\n"
	req.Command.Stdin.Text, req.IdempotencyKey = &text, "once"
	req.Command.Argv[2] = "cat; echo done"
	run, err := v.Start(t.Context(), req)
	if err != nil || run.State == paddock.Queued {
		t.Fatalf("%+v, %v", run, err)
	}
	if again, err := v.Start(t.Context(), req); err != nil || again.ID != run.ID {
		t.Errorf("again with the key: %s, %v", again.ID, err)
	}
	for _, other := range []paddock.Principal{{Kind: paddock.User, ID: "user:carol"}, {Kind: paddock.Agent, ID: alice.ID}} { // who have chosen the same word
		theirs := req
		theirs.Principal = other
		if got, err := v.Start(t.Context(), theirs); err != nil || got.ID == run.ID || got.Principal != other {
			t.Errorf("%+v, who asks with the same key, gets %s of %+v, %v", other, got.ID, got.Principal, err)
		} else if _, err := v.Wait(t.Context(), other, got.ID, time.Minute); err != nil {
			t.Error(err)
		}
	}
	var r *paddock.Refusal
	for _, at := range []dispatch.Placement{{Priority: 7}, {Needs: []string{"gpu"}}} {
		if _, err := v.StartPlaced(t.Context(), req, at); !errors.As(err, &r) || r.Code != paddock.Conflict {
			t.Errorf("the key with %+v: %v", at, err)
		}
	}
	req.Command.Argv[2] = "echo other"
	if _, err := v.Start(t.Context(), req); !errors.As(err, &r) || r.Code != paddock.Conflict {
		t.Errorf("the key for something else: %v", err)
	}
	run, err = v.Wait(t.Context(), alice, run.ID, time.Minute)
	if err != nil || run.State != paddock.Exited {
		t.Fatalf("%+v, %v", run, err)
	}
	page, err := v.Output(t.Context(), alice, run.ID, paddock.PageRequest{Limit: 1000})
	if err != nil || page.Content != text+"done\n" || !page.EOF {
		t.Errorf("the output is %+v, %v", page, err)
	}
	kept := settled(t, s, run.ID)
	if kept.State != paddock.Exited || len(kept.Envelope) != 0 || kept.StdoutBytes != int64(len(page.Content)) || kept.Started.IsZero() {
		t.Errorf("the row says %+v", kept)
	}
	for _, ask := range []func() error{
		func() error { _, err := v.Status(t.Context(), bob, run.ID); return err },
		func() error { _, err := v.Kill(t.Context(), bob, run.ID, app.KillRequest{}); return err },
		func() error { _, err := v.Detail(t.Context(), bob, run.ID); return err },
	} {
		if err := ask(); !hidden(err) {
			t.Errorf("bob is told %v", err)
		}
	}
	if l, err := v.List(t.Context(), alice, app.Filter{}); err != nil || len(l.Runs) != 1 || l.Runs[0].State != paddock.Exited {
		t.Errorf("the list is %+v, %v", l, err)
	}
	if l, err := v.List(t.Context(), bob, app.Filter{}); err != nil || len(l.Runs) != 0 {
		t.Errorf("bob's list is %+v, %v", l, err)
	}
}

// A refusal is told at once and nothing is queued.
func TestRefusedAtTheDoor(t *testing.T) {
	t.Parallel()
	b, s := newBox(t), file(t)
	v, _ := b.serve(s, false, nil)
	req := request(alice, "true")
	req.Command.Argv[0] = "rm"
	var r *paddock.Refusal
	if _, err := v.Start(t.Context(), req); !errors.As(err, &r) || r.Code != paddock.ExecutableNotAllowed {
		t.Errorf("it is told %v", err)
	}
	for _, at := range []dispatch.Placement{{Priority: 101}, {Priority: -101}, {Needs: []string{""}}, {Needs: []string{"a\x00"}}, {Needs: make([]string, 17)}} {
		if _, err := v.StartPlaced(t.Context(), request(alice, "true"), at); !errors.As(err, &r) || r.Code != paddock.InvalidRequest {
			t.Errorf("%+v: %v", at, err)
		}
	}
	if l, err := v.List(t.Context(), boss, app.Filter{}); err != nil || len(l.Runs) != 0 {
		t.Errorf("the list is %+v, %v", l, err)
	}
}

// A server that only queues is no worker, and judges nothing: what its policy would refuse is
// for those to judge who carry out.
func TestOnlyQueues(t *testing.T) {
	t.Parallel()
	b, s := newBox(t), file(t)
	v, stop := b.serve(s, true, nil)
	var ids []paddock.RunID
	for _, program := range []string{"sh", "rm"} {
		req := request(alice, "true")
		req.Command.Argv[0] = program
		run, err := v.Start(t.Context(), req)
		if err != nil || run.State != paddock.Queued {
			t.Fatalf("%s: %s, %v", program, run.State, err)
		}
		ids = append(ids, run.ID)
	}
	if known, err := s.Workers(t.Context(), store.Cursor{}, 10); err != nil || len(known.Items) != 0 {
		t.Errorf("the workers are %+v, %v", known.Items, err)
	}
	stop()
	for _, id := range ids {
		if r, err := s.Run(t.Context(), store.Everyone(), id); err != nil || r.State != paddock.Queued || r.Worker != "" {
			t.Errorf("%s of %q, %v", r.State, r.Worker, err)
		}
	}
	// What it left is carried out by who does, and judged there.
	v, _ = b.serve(s, false, nil)
	for i, want := range []paddock.State{paddock.Exited, paddock.RefusedState} {
		if run, err := v.Wait(t.Context(), alice, ids[i], time.Minute); err != nil || run.State != want {
			t.Errorf("%s, %v; want %s", run.State, err, want)
		}
	}
}

// What was accepted is carried out by whoever comes after a restart, once.
func TestQueuedRunsOutliveTheServer(t *testing.T) {
	t.Parallel()
	b, s := newBox(t), file(t)
	v, stop := b.serve(s, true, nil)
	mark := filepath.Join(b.work, "mark")
	run, err := v.Start(t.Context(), request(alice, "echo x >>"+mark))
	if err != nil || run.State != paddock.Queued || run.Argv[0] != "sh" {
		t.Fatalf("%+v, %v", run, err)
	}
	canceled, err := v.Start(t.Context(), request(alice, "echo y >>"+mark))
	if err != nil {
		t.Fatal(err)
	}
	if page, err := v.Output(t.Context(), alice, run.ID, paddock.PageRequest{}); err != nil || page.EOF || page.Total != 0 {
		t.Errorf("the output of what waits: %+v, %v", page, err)
	}
	if l, err := v.List(t.Context(), alice, app.Filter{Active: true}); err != nil || len(l.Runs) != 2 || l.Runs[1].State != paddock.Queued {
		t.Errorf("the list is %+v, %v", l, err)
	}
	if l, err := v.List(t.Context(), alice, app.Filter{Limit: 1}); err != nil || len(l.Runs) != 1 || l.Next != canceled.ID {
		t.Errorf("the first page is %+v, %v", l, err)
	} else if l, err := v.List(t.Context(), alice, app.Filter{Limit: 1, Before: l.Next}); err != nil || len(l.Runs) != 1 || l.Runs[0].ID != run.ID || l.Next != "" {
		t.Errorf("the second page is %+v, %v", l, err)
	}
	if !hidden(func() error { _, err := v.Kill(t.Context(), bob, canceled.ID, app.KillRequest{}); return err }()) {
		t.Error("bob may end it")
	}
	if got, err := v.Kill(t.Context(), alice, canceled.ID, app.KillRequest{Reason: "no"}); err != nil || got.State != paddock.Killed || got.Outcome.Reason.Why != "no" {
		t.Errorf("killed before its start: %+v, %v", got, err)
	}
	stop()
	v, _ = b.serve(s, false, nil)
	if run, err = v.Wait(t.Context(), alice, run.ID, time.Minute); err != nil || run.State != paddock.Exited {
		t.Fatalf("%+v, %v", run, err)
	}
	if text, err := os.ReadFile(mark); err != nil || string(text) != "x\n" {
		t.Errorf("what ran: %q, %v", text, err)
	}
}

// A run goes on while its server is away, and the next one has it.
func TestRunsAreTakenUpAgain(t *testing.T) {
	t.Parallel()
	b, s := newBox(t), file(t)
	v, stop := b.serve(s, false, nil)
	gate := filepath.Join(b.work, "gate")
	run, err := v.Start(t.Context(), request(alice, "until test -e "+gate+"; do sleep 0.1; done; echo through"))
	if err != nil {
		t.Fatal(err)
	}
	row(t, s, run.ID, func(r store.Run) bool { return r.State == paddock.Running })
	stop()
	b.shut()
	b.open()
	v, _ = b.serve(s, false, nil)
	if run, err = v.Status(t.Context(), alice, run.ID); err != nil || run.State != paddock.Running {
		t.Errorf("after the restart: %+v, %v", run, err)
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if run, err = v.Wait(t.Context(), alice, run.ID, time.Minute); err != nil || run.State != paddock.Exited {
		t.Errorf("%+v, %v", run, err)
	}
	if kept := settled(t, s, run.ID); kept.State != paddock.Exited {
		t.Errorf("the row says %+v", kept)
	}
}
