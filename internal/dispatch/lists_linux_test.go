package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"paddock"
	"paddock/internal/app"
	"paddock/internal/dispatch"
	"paddock/internal/journal/sign"
	"paddock/internal/store"
	"paddock/internal/store/storetest"
	"paddock/internal/store/tables"
	"paddock/internal/store/tables/postgres"
)

// A list says of the runs of a server's own worker what is said of each alone: how its row
// has it, also where the worker was given up and ended the run itself.
func TestListsSayWhatRowsSay(t *testing.T) {
	t.Parallel()
	f := newField(t, calm)
	b := newBox(t)
	v, stop := b.serve(database(t, f.address, postgres.Options{MostConnections: 4}), false, func(m *dispatch.Machine) {
		m.Alone, m.Times, m.Hints = false, calm, hints(f.address)
	})
	run, err := v.Start(t.Context(), request(alice, "true"))
	if err != nil {
		t.Fatal(err)
	}
	settled(t, f.admin, run.ID)
	stop() // nobody corrects the row
	want := func(state paddock.State, active int) {
		t.Helper()
		one, err := v.Look(t.Context(), alice, run.ID)
		if err != nil || one.State != state {
			t.Errorf("alone it is %s, %v", one.State, err)
		}
		for _, who := range []paddock.Principal{alice, boss} {
			all, err := v.List(t.Context(), who, app.Filter{})
			if err != nil || len(all.Runs) != 1 || all.Runs[0].State != state || state.Settled() && all.Runs[0].Outcome.State != state || !state.Settled() && all.Runs[0].Outcome != nil {
				t.Errorf("to %s it is %+v, %v", who.ID, all.Runs, err)
			}
			if all, err := v.List(t.Context(), who, app.Filter{Active: true}); err != nil || len(all.Runs) != active {
				t.Errorf("of those that go on there are %+v, %v", all.Runs, err)
			}
		}
	}
	want(paddock.Exited, 0)
	storetest.Do(t, f.address, "UPDATE runs SET state='lost', outcome=$2 WHERE id=$1", string(run.ID), []byte(`{"state":"lost","reason":{"kind":"supervisor_vanished"}}`))
	want(paddock.Lost, 0)
	storetest.Do(t, f.address, "UPDATE runs SET state='running', outcome='', settled=0 WHERE id=$1", string(run.ID))
	want(paddock.Running, 1)
}

// A run that goes on here and whose row says that it is over is over for everybody: alone, in
// lists, to who waits; also in a server's own database. What it prints is there.
func TestGivenUpAndGoingOn(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) *tables.Tables{
		"sqlite": file, "postgres": func(t *testing.T) *tables.Tables { return database(t, storetest.Database(t), postgres.Options{}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, s := newBox(t), open(t)
			v, stop := b.serve(s, false, func(m *dispatch.Machine) { m.Alone, m.Times = name == "sqlite", calm })
			gate := b.work + "/gate"
			run, err := v.Start(t.Context(), request(alice, "echo word; until test -e "+gate+"; do sleep 0.1; done"))
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				b.write("gate")
				if _, err := b.app.Wait(context.WithoutCancel(t.Context()), boss, run.ID, 0); err != nil {
					t.Error(err)
				}
			}()
			kept := row(t, s, run.ID, func(r store.Run) bool { return r.State == paddock.Running && r.StdoutBytes == 5 })
			stop() // nobody ends it
			err = s.Settle(t.Context(), store.Held{Run: run.ID, Worker: kept.Worker, Epoch: 1, Fence: kept.Fence}, store.Heads{}, store.Verdict{State: paddock.Lost, Outcome: []byte(`{"state":"lost","reason":{"kind":"supervisor_vanished"}}`), At: store.At(time.Now())})
			if err != nil {
				t.Fatal(err)
			}
			if here, err := b.app.Look(t.Context(), boss, run.ID); err != nil || here.State != paddock.Running {
				t.Fatalf("the directory says %+v, %v", here, err)
			}
			for what, ask := range map[string]func() (paddock.Run, error){
				"look":   func() (paddock.Run, error) { return v.Look(t.Context(), alice, run.ID) },
				"status": func() (paddock.Run, error) { return v.Status(t.Context(), alice, run.ID) },
				"wait":   func() (paddock.Run, error) { return v.Wait(t.Context(), alice, run.ID, time.Minute) },
				"detail": func() (paddock.Run, error) { d, err := v.Detail(t.Context(), alice, run.ID); return d.Run, err },
				"list": func() (paddock.Run, error) {
					all, err := v.List(t.Context(), alice, app.Filter{})
					if err != nil || len(all.Runs) != 1 {
						return paddock.Run{}, fmt.Errorf("%+v, %w", all, err)
					}
					return all.Runs[0], nil
				},
			} {
				if got, err := ask(); err != nil || got.State != paddock.Lost || got.Outcome == nil || got.Outcome.State != paddock.Lost || len(got.Argv) != 3 {
					t.Errorf("%s: %+v, %v", what, got, err)
				}
			}
			if all, err := v.List(t.Context(), alice, app.Filter{Active: true}); err != nil || len(all.Runs) != 0 {
				t.Errorf("of those that go on there are %+v, %v", all.Runs, err)
			}
			if page, err := v.Output(t.Context(), alice, run.ID, paddock.PageRequest{}); err != nil || page.Content != "word\n" {
				t.Errorf("%+v, %v", page, err)
			}
			// Ending it ends what goes on, and what comes of that is what everybody is told. Where
			// nobody else has rows, the directory's end is the last word.
			want := map[string]paddock.State{"sqlite": paddock.Killed, "postgres": paddock.Lost}[name]
			for _, ask := range []app.KillRequest{{}, {NoWait: true}} {
				got, err := v.Kill(t.Context(), alice, run.ID, ask)
				if err != nil || got.State != want || got.Outcome == nil || got.Outcome.State != want {
					t.Errorf("ended: %+v, %v", got, err)
				}
				if after, err := v.Status(t.Context(), alice, run.ID); err != nil || after.State != got.State {
					t.Errorf("ended it was %s, and then %s, %v", got.State, after.State, err)
				}
			}
			if here, err := b.app.Look(t.Context(), boss, run.ID); err != nil || here.State != paddock.Killed {
				t.Errorf("the directory says %+v, %v", here, err)
			}
		})
	}
}

// attesting is a house of another machine that makes statements.
type attesting struct {
	dispatch.House
	asked []paddock.RunID
	err   error
}

func (a *attesting) Attest(_ context.Context, _ paddock.Principal, id paddock.RunID) (sign.Envelope, error) {
	a.asked = append(a.asked, id)
	return sign.Envelope{Payload: "of " + string(id)}, a.err
}

// The machine that carried a run out is asked for the statement about it, for those alone
// who may see the run; where it can't be asked, or has nothing, that is said.
func TestAttestElsewhere(t *testing.T) {
	t.Parallel()
	f := newField(t, calm)
	far := &attesting{House: f.door.app}
	m := f.door.machine(func(m *dispatch.Machine) { m.Alone, m.Times, m.Hints = false, f.times, hints(f.address) })
	v, err := dispatch.Open(t.Context(), f.door.app, f.admin, f.door.key, m, true, near{far})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	id, err := paddock.NewRunID(time.Now(), nil)
	if err != nil {
		t.Fatal(err)
	}
	r := store.Run{ID: id, Owner: storetest.NewUser(t, f.admin, store.Operator).ID, Principal: boss.ID, State: paddock.Queued, Envelope: []byte("{}"), Request: paddock.Request{}.Digest(), Created: store.At(time.Now())}
	if _, _, err := f.admin.Enqueue(t.Context(), r, "nonce"+string(id)); err != nil {
		t.Fatal(err)
	}
	code := func(err error) paddock.Code {
		var r *paddock.Refusal
		if errors.As(err, &r) {
			return r.Code
		}
		return ""
	}
	if _, err := v.Attest(t.Context(), boss, id); code(err) != paddock.Conflict {
		t.Error("never begun:", err)
	}
	storetest.Do(t, f.address, "UPDATE runs SET state='exited', worker='w', fence=1, claimed=1, settled=1, outcome=$2 WHERE id=$1", string(id), []byte(`{"state":"exited"}`))
	if _, err := v.Attest(t.Context(), bob, id); code(err) != paddock.NotFound || len(far.asked) != 0 {
		t.Error("not his:", err)
	}
	if e, err := v.Attest(t.Context(), boss, id); err != nil || e.Payload != "of "+string(id) {
		t.Errorf("%+v, %v", e, err)
	}
	far.err = paddock.Refused(paddock.NotFound, "There is no such run.")
	if _, err := v.Attest(t.Context(), boss, id); code(err) != paddock.Conflict {
		t.Error("removed there:", err)
	}
	if _, err := f.service.Attest(t.Context(), boss, id); code(err) != paddock.Away {
		t.Error("not connected:", err)
	}
}
