//go:build linux

package rundir

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"paddock"
	"paddock/internal/rundir/record"
	"paddock/internal/rundir/record/durable"
)

// TestSyncsOfARun pins what is made durable for one run, and when. The list is
// in docs/benchmarks.md with what each is for. Not parallel: it listens to all.
func TestSyncsOfARun(t *testing.T) {
	s := open(t)
	publish(t, s, prepare(t, s, newID(t, 0), intent(alice)), "") // the directories of the day and of alice are there
	var mu sync.Mutex
	count := map[string]int{}
	durable.Watch(func(name string) {
		mu.Lock()
		defer mu.Unlock()
		rel, err := filepath.Rel(s.Path(), name)
		if err != nil || strings.HasPrefix(rel, "..") {
			return
		}
		parts := strings.Split(rel, "/")
		for i, part := range parts {
			if _, err := paddock.ParseRunID(part); err == nil {
				parts[i] = "RUN"
			} else if strings.HasPrefix(part, durable.TempPrefix) {
				parts[i] = "NEW"
			} else if i == 1 {
				parts[i] = "DAY"
			}
		}
		count[strings.Join(parts, "/")]++
	})
	t.Cleanup(func() { durable.Watch(nil) })
	check := func(when string, want map[string]int) {
		t.Helper()
		mu.Lock()
		defer mu.Unlock()
		if diff := cmp.Diff(want, count); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
		clear(count)
	}
	d := prepare(t, s, newID(t, 1), intent(alice))
	check("written down", map[string]int{"tmp/RUN/request.json": 1, "tmp/RUN/decision.json": 1, "tmp/RUN/claim.json": 1, "tmp/RUN": 1})
	publish(t, s, d, "")
	check("claimed", map[string]int{"active": 1, "runs/DAY": 1})
	if err := d.WriteStarted(Started{At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	check("started", map[string]int{})
	if _, err := d.PublishOutcome(paddock.Outcome{State: paddock.Exited}); err != nil {
		t.Fatal(err)
	}
	check("settled", map[string]int{"runs/DAY/RUN/started.json": 1, "runs/DAY/RUN/NEW": 1, "runs/DAY/RUN": 1})
	publish(t, s, prepare(t, s, newID(t, 2), intent(alice)), "key")
	mu.Lock()
	if count["keys"] != 1 {
		t.Errorf("a key isn't made durable: %v", count)
	}
	clear(count)
	mu.Unlock()
	// The text of a policy is durable before the run is, and waited for once for all runs.
	text := []byte("version: 1\n")
	digest := paddock.DigestOf(sha256.Sum256(text))
	for n, first := range []bool{true, false} {
		in := intent(alice)
		in.Beside = func(dir string) {
			if err := s.KeepPolicy(dir, digest, text); err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if count["tmp/RUN"] != 0 {
				t.Error("the directory is durable, and the policy's name came later")
			}
		}
		d := prepare(t, s, newID(t, 3+n), in)
		want := map[string]int{"tmp/RUN/request.json": 1, "tmp/RUN/decision.json": 1, "tmp/RUN/claim.json": 1, "tmp/RUN": 1}
		if first {
			want["policies/NEW"], want["policies"] = 1, 1
		}
		check("with a policy", want)
		if got, err := os.ReadFile(filepath.Join(d.Path(), "policy")); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%q, %v", got, err)
		}
		publish(t, s, d, "")
		mu.Lock()
		clear(count)
		mu.Unlock()
	}
}

// After a power cut that took what nobody had waited for, a run is found lost
// with the evidence there is, and its owner is told.
func TestPowerCutAfterTheStart(t *testing.T) {
	t.Parallel()
	for name, left := range map[string]string{"empty": "", "holes": strings.Repeat("\x00", 300), "half": `{"version":1,"started":{"supervi`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			d := orphan(t, s, 0, alice)
			started := filepath.Join(d.Path(), "started.json")
			if err := os.WriteFile(started, []byte(left), 0o600); err != nil {
				t.Fatal(err)
			}
			unseen := filepath.Join(s.index.Owned(record.Hash(alice)), string(d.ID()))
			if err := os.Remove(unseen); err != nil {
				t.Fatal(err)
			}
			if run, err := d.Record(time.Now()); err != nil || run.State != paddock.Starting {
				t.Errorf("Record before it is settled: %q, %v", run.State, err)
			}
			if lost := reconcile(t, s); len(lost) != 1 {
				t.Fatalf("lost: %v", lost)
			}
			run, err := d.Record(time.Now())
			if err != nil || run.State != paddock.Lost || !strings.Contains(run.Outcome.Reason.Evidence.Note, "power cut") {
				t.Errorf("Record: %+v, %v", run, err)
			}
			if _, err := os.Lstat(started); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the torn file is still there: %v", err)
			}
			if _, finished, err := s.Unseen(alice); finished != 1 || err != nil {
				t.Errorf("Unseen: %d finished, %v", finished, err)
			}
			if err := os.WriteFile(started, []byte(left), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := d.Record(time.Now()); err == nil {
				t.Error("damage beside an outcome was passed over")
			}
		})
	}
}
