//go:build linux

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"paddock"
	"paddock/internal/store/storetest"
	"paddock/internal/store/tables/postgres"
	"paddock/internal/testproc"
	"paddock/internal/testproc/cluster"
)

// write writes a file that nobody else can read, and returns its path.
func (y *yard) write(name, text string) string {
	y.t.Helper()
	path := filepath.Join(y.work, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		y.t.Fatal(err)
	}
	return path
}

// worker starts paddock worker, which ends with the test.
func (y *yard) worker(config string) *testproc.Cmd {
	y.t.Helper()
	log, err := os.OpenFile(filepath.Join(y.work, "worker.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		y.t.Fatal(err)
	}
	defer log.Close()
	cmd := y.command("worker", "--config", config, "--state", filepath.Join(y.work, "worker"))
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		y.t.Fatal(err)
	}
	return cmd
}

// renounced sees that the server can't start a program any more, from any thread, says that
// it is well all the same, and gives agents the tools that need none: what they start is
// queued, as run is.
func (s *served) renounced(run *paddock.Run) {
	t := s.y.t
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", s.cmd.Process.Pid))
	if err != nil || len(threads) == 0 {
		t.Fatalf("%q, %v", threads, err)
	}
	for _, file := range threads {
		text, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it has ended
		}
		if err != nil || !strings.Contains(string(text), "\nSeccomp:\t2\n") || !strings.Contains(string(text), "\nNoNewPrivs:\t1\n") {
			t.Errorf("%s (%v):\n%s", file, err, text)
		}
	}
	var ready struct{ Checks []struct{ Name string } }
	s.ask(http.MethodGet, "/readyz", "", http.StatusOK, &ready)
	if len(ready.Checks) != 2 {
		t.Errorf("it looks after %+v", ready)
	}
	word, _ := s.token("mcp.*", "runs.*", "git.*", "delegates.*")
	_, h, _ := s.mcp(word, "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"0"}}}`)
	session := h.Get("Mcp-Session-Id")
	s.mcp(word, session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if _, _, body := s.mcp(word, session, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`); !strings.Contains(body, "run_command_bg") || strings.Contains(body, "git_") || strings.Contains(body, "delegate") {
		t.Errorf("the tools: %s", body)
	}
	_, _, body := s.mcp(word, session, `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"run_command_bg","arguments":{"argv":["prog","say","hi"]}}}`)
	if !strings.Contains(body, `"state":"queued"`) {
		t.Errorf("an agent's run: %s", body)
	}
	var all struct{ Runs []paddock.Run }
	s.ask(http.MethodGet, "/api/v1/search?q=prog", "", http.StatusOK, &all)
	if len(all.Runs) != 2 || all.Runs[0].State != paddock.Queued || all.Runs[1].ID != run.ID {
		t.Errorf("what is queued: %+v", all)
	}
}

// queue is a server that only queues, with a token besides, a worker that it knows and the
// database as that worker's own user sees it.
func (y *yard) queue() (s *served, at *url.URL, worker struct{ ID, Credential string }) {
	t := y.t
	t.Helper()
	address := storetest.Database(t)
	at, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	boss, err := url.Parse(cluster.Address(t))
	if err != nil {
		t.Fatal(err)
	}
	name := "w" + strings.TrimPrefix(at.Path, "/")
	storetest.Do(t, boss.String(), "CREATE ROLE "+name+" LOGIN PASSWORD 'worker'")
	y.write("server.pg", address)
	y.write("token", strings.Repeat("t", 40))
	s = y.serve("--no-worker", "--config", y.write("server.yaml", fmt.Sprintf("version: 1\nstore: {postgres: %s/server.pg}\ntoken_file: %[1]s/token\n", y.work)))
	for _, right := range postgres.WorkerRights {
		storetest.Do(t, address, strings.Replace(right, "ROLE", name, 1))
	}
	s.enter()
	s.ask(http.MethodPost, "/api/v1/workers", `{"name":"machine"}`, http.StatusCreated, &worker)
	at.User = url.UserPassword(name, "worker")
	return s, at, worker
}

// A server that only queues and a worker with a user of its own carry out a run together.
// The worker's process is killed meanwhile; its next one has the run again.
func TestWorkerIsKilled(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	s, at, added := y.queue()
	y.write("worker.pg", at.String())
	state, err := filepath.Glob(filepath.Join(y.work, "home", ".local/state/paddock/orders.key.pub"))
	if err != nil || len(state) != 1 {
		t.Fatalf("the server's key: %v, %v", state, err)
	}
	config := y.write("worker.yaml", fmt.Sprintf("version: 1\nid: %s\npostgres: %s/worker.pg\norders: [%s]\nsole: true\nlabels: [slow]\n", added.ID, y.work, state[0]))

	gate := filepath.Join(y.work, "gate")
	var run paddock.Run
	s.ask(http.MethodPost, "/api/v1/runs", `{"argv":["prog","until",`+quoteJSON(gate)+`],"needs":["slow"],"priority":3}`, http.StatusAccepted, &run)
	if run.State != paddock.Queued {
		t.Errorf("it is %s", run.State)
	}
	s.renounced(&run)
	cmd := y.worker(config)
	until := func(want ...paddock.State) {
		t.Helper()
		for {
			s.ask(http.MethodGet, "/api/v1/runs/"+string(run.ID)+"?wait_ms=200", "", http.StatusOK, &run)
			for _, state := range want {
				if run.State == state {
					return
				}
			}
			if run.State.Settled() {
				text, _ := os.ReadFile(filepath.Join(y.work, "worker.log"))
				t.Fatalf("it is %s: %+v\n%s", run.State, run.Outcome, text)
			}
		}
	}
	until(paddock.Running)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	cmd = y.worker(config)
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	until(paddock.Exited)
	s.ask(http.MethodPatch, "/api/v1/workers/"+added.ID, `{"mode":"draining"}`, http.StatusOK, nil)
	if err := cmd.Wait(); err != nil {
		text, _ := os.ReadFile(filepath.Join(y.work, "worker.log"))
		t.Errorf("the drained worker ends with %v\n%s", err, text)
	}
	s.ask(http.MethodDelete, "/api/v1/workers/"+added.ID, "", http.StatusNoContent, nil)
	s.end()
}
