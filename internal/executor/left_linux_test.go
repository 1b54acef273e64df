package executor

import (
	"os"
	"testing"

	"paddock"
	"paddock/internal/approval"
	"paddock/internal/executor/consent"
)

// A question says which runs wait for it, and that nobody does any more when they have
// ended, however that came; who asks for the same again waits for the same.
func TestEndedRunsWaitNoMore(t *testing.T) {
	t.Parallel()
	a, _ := openLasting(t)
	run := a.left(t)
	says := func(left bool, waits, ended int) {
		t.Helper()
		got, err := a.e.Consent().Get(run.Approval)
		list, listErr := a.e.Consent().List()
		if err != nil || listErr != nil || len(list) != 1 || got.Left() != left || list[0].Left() != left || len(got.Waits) != waits || len(got.Ended) != ended {
			t.Errorf("%+v, %v, %+v, %v", got, err, list, listErr)
		}
	}
	says(false, 1, 0)
	if _, err := a.e.Kill(t.Context(), run.ID, Ending{By: "x"}); err != nil {
		t.Fatal(err)
	}
	says(true, 0, 1)
	again := a.left(t)
	if run.Approval != again.Approval || run.ID == again.ID {
		t.Fatalf("%+v and %+v", run, again)
	}
	says(false, 1, 1)
	dir, err := a.e.state.Run(again.ID)
	if err == nil {
		err = os.RemoveAll(dir.Path()) // as if it had been pruned since
	}
	if err != nil {
		t.Fatal(err)
	}
	says(true, 0, 2)
	third := a.left(t)
	says(false, 1, 2)
	a.vote(t, third.Approval, approval.Statement{Approve: true})
	a.as(t, func(e *Executor) {
		if _, err := e.Wait(t.Context(), third.ID); err != nil {
			t.Error(err)
		}
	})
	says(false, 0, 2) // it was started
}

// A run of which it can't be noted that it waits doesn't.
func TestWhatCantBeNotedDoesntWait(t *testing.T) {
	t.Parallel()
	a, _ := openLasting(t)
	run := a.left(t)
	dir, err := a.e.state.Run(run.ID)
	if err != nil {
		t.Fatal(err)
	}
	nowhere := consent.Case{Approval: paddock.Approval{ID: "a00000000000000000000-1"}}
	if err := (consent.Attendant{Desk: a.e.Consent(), Dir: dir, Case: nowhere}).Begin(t.Context()); err == nil {
		t.Error("it was noted nowhere")
	}
	if got, err := a.e.Run(t.Context(), run.ID); err != nil || got.State != paddock.FailedToStart {
		t.Errorf("%+v, %v", got, err)
	}
}
