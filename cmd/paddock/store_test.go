//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"paddock"
	"paddock/internal/store/storetest"
	"paddock/internal/testproc"
	"paddock/internal/testproc/cluster"
)

// Accounts may be in PostgreSQL: they are there after a restart, and a database that isn't
// closed to others is refused unless the configuration says what is put up with.
func TestServePostgres(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	address, config := filepath.Join(y.work, "database"), filepath.Join(y.work, "server.yaml")
	write := func(name, text string, mode os.FileMode) {
		t.Helper()
		if err := errors.Join(os.WriteFile(name, []byte(text), mode), os.Chmod(name, mode)); err != nil {
			t.Fatal(err)
		}
	}
	write(address, storetest.Database(t)+"\n", 0o600)
	write(config, "version: 1\nstore: {postgres: "+address+"}\n", 0o644)
	s := y.serve("--config", config)
	s.enter()
	var run paddock.Run
	s.ask(http.MethodPost, "/api/v1/runs", `{"argv":["prog","say","hi"]}`, http.StatusCreated, &run)
	s.ask(http.MethodGet, "/api/v1/runs/"+string(run.ID)+"?wait_ms=45000", "", http.StatusOK, &run)
	s.ask(http.MethodGet, "/readyz", "", http.StatusOK, nil)
	s.end()
	if _, err := os.Stat(filepath.Join(y.work, "home", ".local", "state", "paddock", "server.db")); err == nil {
		t.Error("there is a database in the state directory, too")
	}
	old := s.cookie
	s = y.serve("--config", config)
	s.cookie = old
	s.ask(http.MethodGet, "/api/v1/runs/"+string(run.ID), "", http.StatusOK, &run)
	s.end()
	// What it says is refused, and with which words.
	refused := func(want string) {
		t.Helper()
		out, err := y.command("serve", "--listen", "127.0.0.1:0", "--config", config).CombinedOutput()
		if wantStatus(t, err, 125); !strings.Contains(string(out), want) {
			t.Errorf("want %q: %s", want, out)
		}
	}
	write(address, cluster.Address(t), 0o600)
	refused("superuser")
	write(address, cluster.Trusting(t), 0o600)
	refused("wrong password")
	write(config, "version: 1\nstore: {postgres: "+address+", accept: [any_password]}\n", 0o644)
	refused("superuser")
	write(config, "version: 1\nstore: {postgres: "+address+", accept: [any_password, superuser]}\n", 0o644)
	s = y.serve("--config", config)
	s.end()
	write(address, cluster.Address(t), 0o644)
	refused("can be read by others")
	if out := y.output("state", "backup", filepath.Join(y.work, "saved.tar")); !strings.Contains(out, "pg_dump") {
		t.Errorf("%s", out)
	}
}

// handed starts a server on a socket that was opened for it, as a service manager does;
// ready waits until it says that it serves.
func (y *yard) handed(args ...string) (url string, cmd *testproc.Cmd, ready func()) {
	y.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		y.t.Fatal(err)
	}
	f, err := l.(*net.TCPListener).File()
	if err != nil {
		y.t.Fatal(err)
	}
	serve := y.command()
	cmd = testproc.Command(y.t, "/bin/sh", append([]string{"-c", `LISTEN_PID=$$ exec "$0" serve --json "$@"`, y.paddock}, args...)...) // the same process
	cmd.Dir, cmd.Env, cmd.Stderr = serve.Dir, append(serve.Env, "LISTEN_FDS=1"), os.Stderr
	cmd.ExtraFiles = []*os.File{f}
	out, err := cmd.StdoutPipe()
	if err = errors.Join(err, cmd.Start(), f.Close(), l.Close()); err != nil {
		y.t.Fatal(err)
	}
	return "http://" + l.Addr().String(), cmd, func() {
		y.t.Helper()
		line, err := bufio.NewReader(out).ReadBytes('\n')
		var said struct{ URL string }
		if err != nil || json.Unmarshal(line, &said) != nil || said.URL != "http://"+l.Addr().String() {
			y.t.Fatalf("the server says %q (%v), and the socket is %s", line, err, l.Addr())
		}
	}
}

// A socket that is handed over is the server's address, and no run inherits it.
func TestServeHandedSocket(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	url, cmd, ready := y.handed()
	ready()
	s := &served{y: y, cmd: cmd, url: url, log: os.DevNull}
	s.ask(http.MethodGet, "/livez", "", http.StatusOK, nil)
	links, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(cmd.Process.Pid), "fd", "3"))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		if to, err := os.Readlink(l); err == nil && strings.HasPrefix(to, "socket:") {
			info, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(cmd.Process.Pid), "fdinfo", "3"))
			if err != nil || !strings.Contains(string(info), "flags:\t02") { // O_CLOEXEC
				t.Errorf("what is started inherits it: %s, %v", info, err)
			}
		}
	}
	s.end()
}

// A server whose PostgreSQL isn't there yet says so to who asks, ends when it is told to, and
// serves as soon as the database does.
func TestServeBeforeItsDatabase(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	address, begin := cluster.Stopped(t)
	y.write("server.pg", address)
	y.write("token", strings.Repeat("t", 40))
	config := y.write("server.yaml", fmt.Sprintf("version: 1\nstore: {postgres: %s/server.pg, accept: [superuser]}\ntoken_file: %[1]s/token\n", y.work))
	wait := func(s *served) {
		t.Helper()
		s.ask(http.MethodGet, "/livez", "", http.StatusOK, nil)
		s.ask(http.MethodGet, "/readyz", "", http.StatusServiceUnavailable, nil)
		if h := s.ask(http.MethodGet, "/api/v1/runs", "", http.StatusServiceUnavailable, nil); h.Get("Retry-After") == "" {
			t.Errorf("%v", h)
		}
	}
	url, cmd, _ := y.handed("--config", config)
	s := &served{y: y, cmd: cmd, url: url, log: os.DevNull}
	wait(s)
	s.end()
	url, cmd, ready := y.handed("--config", config)
	s = &served{y: y, cmd: cmd, url: url, log: os.DevNull}
	wait(s)
	begin()
	ready()
	s.ask(http.MethodGet, "/readyz", "", http.StatusOK, nil)
	id, err := s.at("run", "-d", "--", "prog", "say", "hi").Output()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := s.at("logs", "-f", strings.TrimSpace(string(id))).Output(); err != nil || string(out) != "hi\n" {
		t.Errorf("%v: %s", err, out)
	}
	s.end()
}
