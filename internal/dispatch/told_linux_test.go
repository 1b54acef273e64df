package dispatch_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"paddock"
	"paddock/internal/dispatch"
	"paddock/internal/store"
	"paddock/internal/store/storetest"
)

// near reaches one worker.
type near struct{ dispatch.House }

func (n near) At(store.WorkerID) dispatch.House { return n.House }

// Workers are those whose houses are asked about votes: none.
func (near) Workers() []store.WorkerID { return nil }

// connected is a server that reaches the worker of a box.
func (f *field) connected(b *box) *dispatch.Service {
	f.t.Helper()
	m := f.door.machine(func(m *dispatch.Machine) { m.Alone, m.Times, m.Hints, m.Now = false, f.times, hints(f.address), f.now })
	v, err := dispatch.Open(f.t.Context(), f.door.app, f.admin, f.door.key, m, true, near{b.app})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(v.Close)
	return v
}

// A run that was called lost stays so when its machine is back, which has another story of
// it; what it printed is told by the machine.
func TestLostStaysLost(t *testing.T) {
	t.Parallel()
	f, passed := newSilence(t)
	b, _, stop := f.worker("given-up", soonSilent)
	v := f.connected(b)
	run, err := v.Start(t.Context(), request(alice, "echo word; exec sleep 600"))
	if err != nil {
		t.Fatal(err)
	}
	row(t, f.admin, run.ID, func(r store.Run) bool { return r.State == paddock.Running && r.StdoutBytes == 5 })
	stop()
	f.lost(b, run.ID, passed)
	if here, err := b.app.Status(t.Context(), boss, run.ID); err != nil || here.State != paddock.Killed {
		t.Errorf("its machine says %+v, %v", here, err)
	}
	for what, ask := range map[string]func() (paddock.Run, error){
		"look":   func() (paddock.Run, error) { return v.Look(t.Context(), alice, run.ID) },
		"status": func() (paddock.Run, error) { return v.Status(t.Context(), alice, run.ID) },
		"wait":   func() (paddock.Run, error) { return v.Wait(t.Context(), alice, run.ID, time.Minute) },
		"detail": func() (paddock.Run, error) { d, err := v.Detail(t.Context(), alice, run.ID); return d.Run, err },
	} {
		got, err := ask()
		if err != nil || got.State != paddock.Lost || got.Outcome.State != paddock.Lost || got.Outcome.Reason.Kind != paddock.ReasonLost || got.Outcome.Stdout.Bytes != 5 || got.Outcome.Stdout.Digest == "" {
			t.Errorf("%s: %s, %+v, %v", what, got.State, got.Outcome, err)
		}
	}
	if page, err := v.Output(t.Context(), alice, run.ID, paddock.PageRequest{}); err != nil || page.Content != "word\n" || !page.EOF {
		t.Errorf("%+v, %v", page, err)
	}
}

// What a machine says has ended isn't said to have by anybody until its row has it: the
// machine may yet be given up, and the run be lost.
func TestAnEndThatNobodyWroteDown(t *testing.T) {
	t.Parallel()
	f := newField(t, calm)
	b, _, stop := f.worker("untold", nil)
	v := f.connected(b)
	gate := b.work + "/gate"
	run, err := v.Start(t.Context(), request(alice, "until test -e "+gate+"; do sleep 0.1; done"))
	if err != nil {
		t.Fatal(err)
	}
	row(t, f.admin, run.ID, func(r store.Run) bool { return r.State == paddock.Running })
	stop()
	b.write("gate")
	if here, err := b.app.Wait(t.Context(), boss, run.ID, time.Minute); err != nil || here.State != paddock.Exited {
		t.Fatalf("its machine says %+v, %v", here, err)
	}
	for what, ask := range map[string]func() (paddock.Run, error){
		"status": func() (paddock.Run, error) { return v.Status(t.Context(), alice, run.ID) },
		"wait":   func() (paddock.Run, error) { return v.Wait(t.Context(), alice, run.ID, time.Millisecond) },
	} {
		if got, err := ask(); err != nil || got.State != paddock.Running || got.Outcome != nil {
			t.Errorf("%s: %s, %+v, %v", what, got.State, got.Outcome, err)
		}
	}
	storetest.Do(t, f.address, "UPDATE runs SET state='lost', settled=1, outcome=$2 WHERE id=$1", string(run.ID), []byte(`{"state":"lost","reason":{"kind":"supervisor_vanished"}}`))
	if got, err := v.Wait(t.Context(), alice, run.ID, time.Minute); err != nil || got.State != paddock.Lost {
		t.Errorf("%s, %+v, %v", got.State, got.Outcome, err)
	}
}

// What was claimed and has no directory has printed nothing, and isn't missing.
func TestClaimedAndNeverBegun(t *testing.T) {
	t.Parallel()
	f := newField(t, calm)
	b := newBox(t)
	v := f.connected(b)
	run, err := v.Start(t.Context(), request(alice, "true"))
	if err != nil {
		t.Fatal(err)
	}
	storetest.Do(t, f.address, "UPDATE runs SET state='starting', worker='w', fence=1, claimed=1 WHERE id=$1", string(run.ID))
	if page, err := v.Output(t.Context(), alice, run.ID, paddock.PageRequest{Wait: paddock.Duration(time.Millisecond)}); err != nil || page.EOF || page.Total != 0 {
		t.Errorf("while it may begin: %+v, %v", page, err)
	}
	storetest.Do(t, f.address, "UPDATE runs SET state='lost', settled=1, outcome=$2 WHERE id=$1", string(run.ID), []byte(`{"state":"lost","reason":{"kind":"supervisor_vanished"}}`))
	var r *paddock.Refusal
	if page, err := f.service.Output(t.Context(), alice, run.ID, paddock.PageRequest{}); !errors.As(err, &r) || r.Code != paddock.Away {
		t.Errorf("where nobody knows whether it has begun: %+v, %v", page, err)
	}
	if page, err := v.Output(t.Context(), alice, run.ID, paddock.PageRequest{}); err != nil || !page.EOF || page.Total != 0 {
		t.Errorf("when it was given up: %+v, %v", page, err)
	}
}

// What a machine has no record of any more, since its disk was lost, is said to be gone:
// nobody waits for it, and nobody is told that there was no such run.
func TestDiskWasLost(t *testing.T) {
	t.Parallel()
	f := newField(t, calm)
	v := f.connected(newBox(t))
	run, err := v.Start(t.Context(), request(alice, "true"))
	if err != nil {
		t.Fatal(err)
	}
	ask := func(at *dispatch.Service) *paddock.Refusal {
		t.Helper()
		var r *paddock.Refusal
		if page, err := at.Output(t.Context(), alice, run.ID, paddock.PageRequest{}); !errors.As(err, &r) {
			t.Fatalf("%+v, %v", page, err)
		}
		return r
	}
	storetest.Do(t, f.address, "UPDATE runs SET state='exited', worker='w', fence=1, claimed=1, started=1, settled=1, outcome=$2 WHERE id=$1", string(run.ID), []byte(`{"state":"exited","reason":{"kind":"exit","exit_code":0},"stdout":{"bytes":3}}`))
	if r := ask(v); r.Code != paddock.Pruned || !strings.Contains(r.Message, "disk") {
		t.Errorf("%+v", r)
	}
	if r := ask(f.service); r.Code != paddock.Away {
		t.Errorf("where it isn't connected: %+v", r)
	}
	if got, err := v.Status(t.Context(), alice, run.ID); err != nil || got.State != paddock.Exited {
		t.Errorf("%+v, %v", got, err)
	}
}

// typed is a house that has a run a little later than its row says.
type typed struct {
	dispatch.House
	asked int
}

func (h *typed) Type(context.Context, paddock.Principal, paddock.RunID, paddock.Typing) error {
	if h.asked++; h.asked < 3 {
		return paddock.Refused(paddock.NotFound, "There is no such run.")
	}
	return nil
}

// What is typed to a run that is just being begun is heard, and of one whose machine is away
// that is said, so that it is typed again.
func TestTypedEarlyAndAway(t *testing.T) {
	t.Parallel()
	f := newField(t, calm)
	b, far := newBox(t), &typed{}
	far.House = b.app
	m := f.door.machine(func(m *dispatch.Machine) { m.Alone, m.Times, m.Hints = false, f.times, hints(f.address) })
	v, err := dispatch.Open(t.Context(), f.door.app, f.admin, f.door.key, m, true, near{far})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	run, err := v.Start(t.Context(), request(alice, "true"))
	if err != nil {
		t.Fatal(err)
	}
	storetest.Do(t, f.address, "UPDATE runs SET state='starting', worker='w', fence=1, claimed=1 WHERE id=$1", string(run.ID))
	if err := v.Type(t.Context(), alice, run.ID, paddock.Typing{}); err != nil || far.asked != 3 {
		t.Errorf("%v after %d questions", err, far.asked)
	}
	var r *paddock.Refusal
	if err := f.service.Type(t.Context(), alice, run.ID, paddock.Typing{}); !errors.As(err, &r) || r.Code != paddock.Away {
		t.Errorf("away: %v", err)
	}
	storetest.Do(t, f.address, "UPDATE runs SET state='failed-to-start', settled=1, outcome=$2 WHERE id=$1", string(run.ID), []byte(`{"state":"failed-to-start"}`))
	if err := f.service.Type(t.Context(), bob, run.ID, paddock.Typing{}); !errors.As(err, &r) || r.Code != paddock.NotFound {
		t.Errorf("not his: %v", err)
	}
	far.asked = 0
	if err := v.Type(t.Context(), alice, run.ID, paddock.Typing{}); !errors.As(err, &r) || far.asked != 1 {
		t.Errorf("over: %v after %d questions", err, far.asked)
	}
}
