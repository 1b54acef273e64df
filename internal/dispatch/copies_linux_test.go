package dispatch_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"paddock/internal/app"
	"paddock/internal/dispatch"
)

// A list of a server that has just begun is made of what another process copied, and says
// what the directory says; it reads the directory again when that has changed.
func TestListsOfCopies(t *testing.T) {
	t.Parallel()
	b, s := newBox(t), file(t)
	v, stop := b.serve(s, false, nil)
	run, err := v.Start(t.Context(), request(alice, "echo word; exit 3"))
	if err == nil {
		_, err = v.Wait(t.Context(), alice, run.ID, time.Minute)
	}
	if err != nil {
		t.Fatal(err)
	}
	settled(t, s, run.ID)
	stop()
	dirs, err := filepath.Glob(filepath.Join(b.state, "runs", "*", string(run.ID)))
	if err != nil || len(dirs) != 1 {
		t.Fatal(dirs, err)
	}
	at := time.Now().Add(-time.Hour).Truncate(time.Second).Add(1) // as if it had ended then
	touch := func(at time.Time) {
		t.Helper()
		if err := os.Chtimes(dirs[0], at, at); err != nil {
			t.Fatal(err)
		}
	}
	touch(at)
	list := func() (app.Listing, error) {
		t.Helper()
		b.shut() // and so nothing is remembered
		b.open()
		v, err := dispatch.Open(t.Context(), b.app, s, b.key, b.machine(nil), true, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer v.Close()
		all, err := v.List(t.Context(), boss, app.Filter{})
		v.Copies().Write(t.Context())
		return all, err
	}
	read, err := list()
	if err != nil || len(read.Runs) != 1 || read.Runs[0].Outcome == nil {
		t.Fatalf("%+v, %v", read, err)
	}
	want, err := json.Marshal(read)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dirs[0], "decision.json"), []byte("torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	touch(at)
	copied, err := list()
	if got, bad := json.Marshal(copied); errors.Join(err, bad) != nil || string(got) != string(want) {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
	touch(at.Add(time.Second))
	if again, err := list(); err == nil {
		t.Errorf("of what has changed: %+v, %v", again, err)
	}
}
