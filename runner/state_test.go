//go:build linux

package runner

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheckAndRebuildState(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive)
	run := w.done("echo kept", func(c *Command) { c.IdempotencyKey = "once" })
	check := func() (found []StateFinding) {
		t.Helper()
		report, err := CheckState(t.Context(), w.state, StateOptions{Digests: true}, func(f StateFinding) error { found = append(found, f); return nil })
		must(t, err)
		if report.Runs != 1 || report.Findings != len(found) {
			t.Errorf("%+v", report)
		}
		return found
	}
	if found := check(); len(found) > 0 {
		t.Errorf("found %+v", found)
	}
	must(t, os.RemoveAll(filepath.Join(w.state, "keys")))
	if found := check(); len(found) != 1 || found[0].Run != run.ID || found[0].Mend != "rebuild" {
		t.Errorf("found %+v", found)
	}
	rebuilt, err := RebuildState(t.Context(), w.state, func(ch StateChange) error {
		if !strings.HasPrefix(ch.Path, "keys/") || ch.Run != run.ID {
			t.Errorf("changed %+v", ch)
		}
		return nil
	})
	must(t, err)
	if rebuilt.Changes != 1 || rebuilt.Faults != 0 {
		t.Errorf("%+v", rebuilt)
	}
	if found := check(); len(found) > 0 {
		t.Errorf("found %+v", found)
	}
	if again := w.done("echo kept", func(c *Command) { c.IdempotencyKey = "once" }); again.ID != run.ID {
		t.Errorf("the key leads to %s now, and not to %s", again.ID, run.ID)
	}
	_, err = w.r.Start(t.Context(), Command{Argv: []string{"sh", "-c", "echo other"}, IdempotencyKey: "once"})
	if refusal := (*Refusal)(nil); !errors.As(err, &refusal) || refusal.Code != "conflict" {
		t.Errorf("another command under the key: %v", err)
	}
	if _, err := CheckState(t.Context(), "state", StateOptions{}, nil); err == nil || !strings.Contains(err.Error(), "absolute") {
		t.Errorf("a relative path: %v", err)
	}
}
