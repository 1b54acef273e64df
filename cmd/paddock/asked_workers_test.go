//go:build linux

package main

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"paddock"
	"paddock/internal/approval"
	"paddock/internal/journal/sign"
	"paddock/internal/testproc"
)

// crew is a server that only queues, and a worker that is connected to it, whose policy
// asks about each run.
func (y *yard) crew(person *sign.Key) (s *served, end func()) {
	t := y.t
	t.Helper()
	policy := filepath.Join(y.work, "policy.yaml")
	text, err := os.ReadFile(policy)
	if err != nil {
		t.Fatal(err)
	}
	y.write("policy.yaml", strings.Replace(string(text), "rules:\n", "rules:\n  - {name: ask-me, ask: 'true'}\n", 1)+"approvals: {keys: [{name: anna, key: '"+approval.KeyText(&person.Public)+"'}]}\n")
	s, at, added := y.queue()
	worker := y.hire(s.url, at, added)
	return s, func() {
		if err := worker.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		_ = worker.Wait() // it was ended
		s.end()
	}
}

// hire starts the worker that the server knows, connected to it at a url.
func (y *yard) hire(server string, at *url.URL, as struct{ ID, Credential string }) *testproc.Cmd {
	y.t.Helper()
	y.write("worker.token", as.Credential)
	y.write("worker.pg", at.String())
	return y.worker(y.write("worker.yaml", fmt.Sprintf("version: 1\nid: %s\npostgres: %s/worker.pg\norders: [%[2]s/home/.local/state/paddock/orders.key.pub]\nservers: [{url: '%s', token_file: %[2]s/worker.token}]\n", as.ID, y.work, server)))
}

// at is a command of who has the server's token, on another machine as it were.
func (s *served) at(args ...string) *testproc.Cmd {
	cmd := s.y.command(args...)
	cmd.Env = []string{"HOME=" + filepath.Join(s.y.work, "home"), "PATH=/usr/bin:/bin", "PADDOCK_SERVER=" + s.url, "PADDOCK_TOKEN=" + strings.Repeat("t", 40)}
	return cmd
}

// What a worker's policy asks about is seen at the server, and voted on there; what counts
// is the key that the worker's policy lists.
func TestApprovalsOfAWorker(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	home := filepath.Join(y.work, "home")
	keys := map[string]*sign.Key{}
	for _, who := range []string{"anna", "mallory"} {
		key, err := sign.Create(filepath.Join(home, who))
		if err != nil {
			t.Fatal(err)
		}
		keys[who] = key
	}
	s, end := y.crew(keys["anna"])
	defer end()
	waiting := func(code string) (paddock.Run, string) {
		t.Helper()
		var run paddock.Run
		s.asks(http.MethodPost, "/api/v1/runs", `{"argv":["prog","exit","`+code+`"]}`, []int{http.StatusAccepted, http.StatusCreated}, &run) // queued still, or claimed by then
		for run.State != paddock.Waiting {
			s.ask(http.MethodGet, "/api/v1/runs/"+string(run.ID)+"?wait_ms=100", "", http.StatusOK, &run)
			if run.State.Settled() {
				log, _ := os.ReadFile(filepath.Join(y.work, "worker.log"))
				t.Fatalf("%s, %+v\n%s", run.State, run.Outcome, log)
			}
		}
		var all struct{ Approvals []paddock.Approval }
		s.ask(http.MethodGet, "/api/v1/approvals", "", http.StatusOK, &all)
		for _, one := range all.Approvals {
			if one.ID == run.Approval && one.State == paddock.ApprovalWaiting && one.Worker != "" {
				return run, string(one.ID)
			}
		}
		t.Fatalf("%s isn't in %+v", run.Approval, all)
		return run, ""
	}
	over := func(run paddock.Run, want paddock.State) {
		t.Helper()
		for !run.State.Settled() {
			s.ask(http.MethodGet, "/api/v1/runs/"+string(run.ID)+"?wait_ms=1000", "", http.StatusOK, &run)
		}
		if run.State != want {
			t.Errorf("it is %s, %+v; want %s", run.State, run.Outcome, want)
		}
	}
	does := func(fine bool, args ...string) string {
		t.Helper()
		text, err := s.at(args...).CombinedOutput()
		if (err == nil) != fine {
			t.Fatalf("paddock %s: %v\n%s", strings.Join(args, " "), err, text)
		}
		return string(text)
	}

	run, id := waiting("7")
	if text := does(true, "approve", "list"); !strings.Contains(text, id) {
		t.Errorf("the list:\n%s", text)
	}
	if text := does(true, "approve", "show", id); !strings.Contains(text, "exit 7") {
		t.Errorf("what is asked:\n%s", text)
	}
	does(false, "approve", "yes", "--key", filepath.Join(home, "mallory"), id)
	s.ask(http.MethodGet, "/api/v1/runs/"+string(run.ID), "", http.StatusOK, &run)
	if run.State != paddock.Waiting {
		t.Errorf("a stranger's vote: it is %s", run.State)
	}
	does(true, "approve", "yes", "--key", filepath.Join(home, "anna"), id)
	over(run, paddock.Exited)

	run, id = waiting("8")
	does(true, "approve", "deny", "--key", filepath.Join(home, "anna"), "--reason", "no", id)
	over(run, paddock.RefusedState)

	// How far the worker's journal had come when it connected is in the server's.
	run, _ = waiting("9")
	for found := false; !found; {
		var past struct {
			Entries []struct {
				Anchored struct {
					Worker, Journal, Note, Problem string
					First                          bool
				}
			}
		}
		s.ask(http.MethodGet, "/api/v1/audit?kind=anchored&limit=1000", "", http.StatusOK, &past)
		for _, e := range past.Entries {
			if a := e.Anchored; a.Worker == "" || a.Journal == "" || a.Note == "" || !a.First || a.Problem != "" {
				t.Fatalf("%+v", e)
			}
			found = true
		}
		s.ask(http.MethodGet, "/api/v1/runs/"+string(run.ID)+"?wait_ms=200", "", http.StatusOK, &run)
	}
	s.ask(http.MethodPost, "/api/v1/runs/"+string(run.ID)+"/kill", `{}`, http.StatusOK, nil)
	over(run, paddock.Killed)
	does(true, "audit", "verify", "--state", filepath.Join(home, ".local/state/paddock"))
}
