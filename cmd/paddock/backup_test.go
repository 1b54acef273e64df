//go:build linux

package main

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"paddock"
)

// A backup of a server that serves, with a run that goes on, makes another server that
// knows the same people and runs.
func TestServeRestored(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	s := y.serve()
	s.enter()
	const password = "correct horse battery"
	s.ask(http.MethodPost, "/api/v1/password", `{"password":"`+password+`"}`, http.StatusNoContent, nil)
	var over, open paddock.Run
	s.ask(http.MethodPost, "/api/v1/runs", `{"argv":["prog","say","hi"]}`, http.StatusCreated, &over)
	s.ask(http.MethodGet, "/api/v1/runs/"+string(over.ID)+"?wait_ms=45000", "", http.StatusOK, &over)
	s.ask(http.MethodPost, "/api/v1/runs", `{"argv":["prog","wait"]}`, http.StatusCreated, &open)
	saved, other := filepath.Join(y.work, "saved.tar"), filepath.Join(y.work, "other")
	if out := y.output("state", "backup", saved); !strings.Contains(out, "2, of which 1 went on") || !strings.Contains(out, "with them, and the key") {
		t.Errorf("%s", out)
	}
	y.output("state", "restore", "--state", other, saved)
	y.output("--state", other, "state", "check", "--digests") // the run goes on, and isn't left over of the other
	if out := y.output("--state", other, "state", "reconcile", "--older", "0s"); !strings.Contains(out, string(open.ID)+": it is lost here") || !strings.Contains(out, "next beat") || !strings.Contains(out, "0 of other machines") {
		t.Errorf("before its server starts: %s", out)
	}
	again := y.serve("--state", other)
	if again.login != "" {
		t.Error("who is known is offered a link")
	}
	again.ask(http.MethodPost, "/api/v1/login", `{"name":"admin","password":"`+password+`"}`, http.StatusOK, nil)
	var run paddock.Run
	again.ask(http.MethodGet, "/api/v1/runs/"+string(open.ID), "", http.StatusOK, &run)
	if run.State != paddock.Lost {
		t.Errorf("what went on is %s where it was restored", run.State)
	}
	for begun := time.Now(); ; { // its row was another worker's, of a key that isn't there any more
		var list struct{ Runs []paddock.Run }
		again.ask(http.MethodGet, "/api/v1/runs?active=true", "", http.StatusOK, &list)
		if len(list.Runs) == 0 {
			break
		}
		if time.Since(begun) > 5*time.Minute {
			t.Fatalf("it goes on for ever where it was restored: %+v", list.Runs)
		}
	}
	var page paddock.Page
	again.ask(http.MethodGet, "/api/v1/runs/"+string(over.ID)+"/output", "", http.StatusOK, &page)
	if page.Content != "hi\n" && page.Content != "hi" {
		t.Errorf("%+v", page)
	}
	again.end()
	// Here nothing of that was noticed.
	s.ask(http.MethodGet, "/api/v1/runs/"+string(open.ID), "", http.StatusOK, &run)
	if run.State != paddock.Running && run.State != paddock.Starting {
		t.Errorf("the run itself is %s", run.State)
	}
	s.ask(http.MethodPost, "/api/v1/runs/"+string(open.ID)+"/kill", "{}", http.StatusOK, nil)
	s.end()
	for _, state := range []string{other, filepath.Join(y.work, "home", ".local", "state", "paddock")} {
		y.output("--state", state, "state", "check", "--digests")
	}
}
