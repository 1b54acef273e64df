//go:build linux

package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The operator of a server brings its store and its state directory together, and reads in
// the journal what was changed.
func TestStateReconcile(t *testing.T) {
	y := newYard(t)
	reconcile := func(args ...string) (string, error) {
		out, err := y.command(append([]string{"state", "reconcile"}, args...)...).CombinedOutput()
		return string(out), err
	}
	if out, err := reconcile(); err == nil || !strings.Contains(out, "there are no accounts in") {
		t.Errorf("without a server: %v\n%s", err, out)
	}
	s := y.serve()
	s.enter()
	var run struct {
		ID string `json:"id"`
	}
	s.ask(http.MethodPost, "/api/v1/runs", `{"argv": ["prog", "say", "x"]}`, http.StatusCreated, &run)
	s.ask(http.MethodGet, "/api/v1/runs/"+run.ID+"?wait_ms=45000", "", http.StatusOK, nil)
	if out, err := reconcile(); err != nil || !strings.Contains(out, "1 runs and 1 rows were looked at") || !strings.Contains(out, "0 things were changed") {
		t.Errorf("while it serves: %v\n%s", err, out)
	}
	for begun := time.Now(); ; { // until its worker has told the store how it ended
		out, err := reconcile("--older", "0s")
		if err == nil && !strings.Contains(out, "differs") {
			break
		}
		if time.Since(begun) > 5*time.Minute {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	s.end()
	dirs, err := filepath.Glob(filepath.Join(y.work, "home", ".local", "state", "paddock", "runs", "*", run.ID))
	if err != nil || len(dirs) != 1 {
		t.Fatal(dirs, err)
	}
	if err := os.RemoveAll(dirs[0]); err != nil {
		t.Fatal(err)
	}
	if out, err := reconcile(); err != nil || !strings.Contains(out, "0 things were changed") {
		t.Errorf("just now: %v\n%s", err, out)
	}
	out, err := reconcile("--older", "0s", "--dry-run", "--json")
	var told struct {
		Changed, Left, Rows int
		DryRun              bool `json:"dry_run"`
		Found               []struct{ Kind, Run, Mend string }
	}
	if bad := json.Unmarshal([]byte(out), &told); err != nil || bad != nil || !told.DryRun || told.Changed != 1 || len(told.Found) != 1 || told.Found[0].Run != run.ID || told.Found[0].Kind != "no-directory" {
		t.Fatalf("%v, %v\n%s", err, bad, out)
	}
	if out, err = reconcile("--older", "0s"); err != nil || !strings.Contains(out, "no-directory run "+run.ID) || !strings.Contains(out, "1 things were changed") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err = reconcile("--older", "0s"); err != nil || !strings.Contains(out, "0 things were changed") {
		t.Errorf("again: %v\n%s", err, out)
	}
	journal, err := y.command("audit", "list", "--json").CombinedOutput()
	if err != nil || strings.Count(string(journal), "run-reconciled") != 1 || !strings.Contains(string(journal), run.ID+": its record was removed") {
		t.Errorf("the journal: %v\n%s", err, journal)
	}
	for _, args := range [][]string{{"more"}, {"--older", "-1s"}, {"--older", "x"}, {"--config", "/nowhere.yaml"}, {"--server", "http://127.0.0.1:1"}} {
		if out, err := reconcile(args...); err == nil {
			t.Errorf("%v: %s", args, out)
		}
	}
}
