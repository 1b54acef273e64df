package addenda

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"paddock"
)

func exited(code int) paddock.Outcome {
	return paddock.Outcome{State: paddock.Exited, Reason: paddock.Reason{Kind: paddock.ReasonExit, ExitCode: &code}}
}

// Each is kept once, in order, and none is replaced.
func TestAdd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for n := range most {
		for again := range 2 {
			a := paddock.Addendum{At: time.Unix(int64(n), 0).UTC(), Source: paddock.FromSupervisor, Note: "\xff", Outcome: exited(n)}
			if added, err := Add(dir, a); err != nil || added != (again == 0) {
				t.Fatalf("Add of %d = %v, %v", n, added, err)
			}
		}
	}
	if _, err := Add(dir, paddock.Addendum{Outcome: exited(99)}); err == nil || !strings.Contains(err.Error(), "9 addenda already") {
		t.Errorf("one more than there may be: %v", err)
	}
	all, err := Of(dir)
	if err != nil || len(all) != most {
		t.Fatalf("Of = %d, %v", len(all), err)
	}
	for n, a := range all {
		if *a.Outcome.Reason.ExitCode != n || !a.At.Equal(time.Unix(int64(n), 0)) {
			t.Errorf("addendum %d is %+v", n, a)
		}
	}
}

// What isn't an addendum is an error that names the file, and is never followed
// or waited for.
func TestHostile(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"empty": "", "NUL": "\x00", "another type": `{"version":1,"addendum":7}`, "twice": `{"version":1,"version":1,"addendum":{}}`,
		"unknown": `{"version":1,"addendum":{},"x":1}`, "newer": `{"version":2}`, "not JSON": "{",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, Name(1)), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			for what, err := range map[string]error{"Of": second(Of(dir)), "Add": second(Add(dir, paddock.Addendum{Outcome: exited(0)}))} {
				if err == nil || !strings.Contains(err.Error(), Name(1)) {
					t.Errorf("%s: %v", what, err)
				}
			}
		})
	}
	dir := t.TempDir()
	if err := os.Symlink("/dev/zero", filepath.Join(dir, Name(1))); err != nil {
		t.Fatal(err)
	}
	if _, err := Of(dir); err == nil {
		t.Error("a link is followed")
	}
}

func second[T any](_ T, err error) error { return err }

// The first form must be readable for ever, and what is written must not drift.
func TestGolden(t *testing.T) {
	t.Parallel()
	const text = `{"version":1,"addendum":{"at":"2026-11-29T12:00:00Z","source":"leftover","note":"why","outcome":{"state":"exited","reason":{"kind":"exit","exit_code":3},"leftovers":0,"survivors":0,"stdout":{"bytes":0},"stderr":{"bytes":0},"ended_at":"0001-01-01T00:00:00Z","settled_at":"0001-01-01T00:00:00Z"}}}` + "\n"
	dir := t.TempDir()
	a := paddock.Addendum{At: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC), Source: paddock.FromLeftover, Note: "why", Outcome: exited(3)}
	if added, err := Add(dir, a); !added || err != nil {
		t.Fatal(added, err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "addendum.1.json"))
	if err != nil || string(got) != text {
		t.Errorf("wrote %s, %v", got, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "addendum.1.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if all, err := Of(dir); err != nil || len(all) != 1 || *all[0].Outcome.Reason.ExitCode != 3 {
		t.Errorf("read %+v, %v", all, err)
	}
}
