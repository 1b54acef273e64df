package waiters

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"paddock"
)

func TestMark(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var runs []paddock.RunID
	for i := range int64(3) {
		id, err := paddock.NewRunID(time.Unix(i, 0), nil)
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, id)
	}
	for _, run := range slices.Concat(runs, runs) { // noting again is noting once
		if err := Add(dir, run, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"wait-.json", "wait-x.json", "wait-" + string(runs[0]), "ask.json"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a := paddock.Approval{State: paddock.ApprovalWaiting, Used: runs[:1]}
	asked := func(id paddock.RunID) (bool, error) { return id == runs[1], nil }
	if err := Mark(&a, dir, asked); err != nil || !slices.Equal(a.Waits, runs[1:2]) || !slices.Equal(a.Ended, runs[2:]) || a.Left() {
		t.Errorf("%+v, %v", a, err)
	}
	a = paddock.Approval{State: paddock.ApprovalWaiting}
	if err := Mark(&a, dir, func(paddock.RunID) (bool, error) { return false, nil }); err != nil || !a.Left() {
		t.Errorf("%+v, %v", a, err)
	}
	broken := errors.New("broken")
	if err := Mark(&a, dir, func(paddock.RunID) (bool, error) { return false, broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
	a = paddock.Approval{State: paddock.ApprovalWaiting}
	if err := Mark(&a, filepath.Join(dir, "none"), asked); err != nil || a.Left() {
		t.Errorf("a question for which no run ever waited is %+v, %v", a, err)
	}
}
