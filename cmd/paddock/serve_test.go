//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"paddock"
	"paddock/internal/testproc"
)

// A served is a server in a process of its own.
type served struct {
	y          *yard
	cmd        *testproc.Cmd
	url, login string
	log        string // the file
	client     http.Client
	cookie     *http.Cookie
}

// serve starts a server on a free port of this machine.
func (y *yard) serve(args ...string) *served {
	y.t.Helper()
	return y.serveIn(y.command().Env, args...)
}

// serveIn is serve with an environment.
func (y *yard) serveIn(env []string, args ...string) *served {
	y.t.Helper()
	cmd := y.command(append([]string{"serve", "--json", "--listen", "127.0.0.1:0"}, args...)...)
	cmd.Env = env
	return y.started(cmd)
}

// started starts a server that says as JSON where it is.
func (y *yard) started(cmd *testproc.Cmd) *served {
	y.t.Helper()
	log, err := os.CreateTemp(y.work, "log")
	if err != nil {
		y.t.Fatal(err)
	}
	defer log.Close()
	s := &served{y: y, log: log.Name(), cmd: cmd}
	s.cmd.Stderr = log
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		y.t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		y.t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	var said struct {
		URL   string `json:"url"`
		Login string `json:"login_url"`
	}
	if err != nil || json.Unmarshal(line, &said) != nil || said.URL == "" || said.Login != "" && !strings.HasPrefix(said.Login, said.URL+"/login#") {
		text, _ := os.ReadFile(s.log)
		y.t.Fatalf("the server says %q (%v)\n%s", line, err, text)
	}
	s.url, s.login = said.URL, said.Login
	y.t.Cleanup(s.client.CloseIdleConnections)
	return s
}

// end asks the server to end and waits for that.
func (s *served) end() {
	s.y.t.Helper()
	s.client.CloseIdleConnections()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.y.t.Error(err)
	}
	if err := s.cmd.Wait(); err != nil {
		text, _ := os.ReadFile(s.log)
		s.y.t.Errorf("the server ends with %v\n%s", err, text)
	}
}

func (s *served) ask(method, path, body string, status int, into any) http.Header {
	s.y.t.Helper()
	return s.asks(method, path, body, []int{status}, into)
}

// asks is ask where the machine decides which of several statuses the answer has.
func (s *served) asks(method, path, body string, statuses []int, into any) http.Header {
	s.y.t.Helper()
	r, err := http.NewRequestWithContext(s.y.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.y.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if s.cookie != nil {
		r.AddCookie(s.cookie)
	}
	a, err := s.client.Do(r)
	if err != nil {
		s.y.t.Fatal(err)
	}
	text, err := io.ReadAll(a.Body)
	_ = a.Body.Close() // read
	if err != nil || !slices.Contains(statuses, a.StatusCode) {
		s.y.t.Fatalf("%s %s: %d, %v: %s", method, path, a.StatusCode, err, text)
	}
	if cookies := a.Cookies(); len(cookies) > 0 {
		s.cookie = cookies[0]
	}
	if into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			s.y.t.Fatalf("%v: %s", err, text)
		}
	}
	return a.Header
}

func (s *served) enter() (code string) {
	s.y.t.Helper()
	_, code, _ = strings.Cut(s.login, "#")
	s.ask(http.MethodPost, "/api/v1/login", `{"code":"`+code+`"}`, http.StatusOK, nil)
	return code
}

// A server lets one in by its link, and its runs outlive it: the next one has them.
func TestServe(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	s := y.serve()
	s.ask(http.MethodGet, "/api/v1/runs", "", http.StatusUnauthorized, nil)
	s.ask(http.MethodGet, "/readyz", "", http.StatusOK, nil)
	code := s.enter()
	s.ask(http.MethodPost, "/api/v1/login", `{"code":"`+code+`"}`, http.StatusUnauthorized, nil)
	gate := filepath.Join(y.work, "gate")
	var run paddock.Run
	s.ask(http.MethodPost, "/api/v1/runs", `{"argv":["prog","until",`+quoteJSON(gate)+`]}`, http.StatusCreated, &run)
	s.ask(http.MethodPost, "/api/v1/runs", `{"argv":["prog","--forbidden"]}`, http.StatusForbidden, nil)
	s.end()
	log, err := os.ReadFile(s.log)
	if err != nil || strings.Contains(string(log), code) || strings.Contains(string(log), s.cookie.Value) || !strings.Contains(string(log), `route="POST /api/v1/login" status=200`) {
		t.Errorf("the log (%v):\n%s", err, log)
	}
	if out := y.output("ps"); !strings.Contains(out, string(run.ID)) {
		t.Errorf("the run didn't outlive the server:\n%s", out)
	}
	old := s.cookie
	// Meanwhile somebody puts back what was noted of orders that were followed.
	noted := filepath.Join(y.work, "home", ".local", "state", "paddock", "nonces", "noted")
	if err := os.WriteFile(noted, []byte(time.Now().Add(-time.Hour).UTC().Format(time.RFC3339Nano)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s = y.serve()
	defer s.end()
	if log, err := os.ReadFile(s.log); err != nil || !strings.Contains(string(log), "were put back or removed") || !strings.Contains(string(log), string(run.ID)) {
		t.Errorf("nothing is told of notes that were put back (%v):\n%s", err, log)
	}
	if s.login != "" {
		t.Error("who is logged in is offered another link")
	}
	s.ask(http.MethodGet, "/api/v1/runs", "", http.StatusUnauthorized, nil)
	s.cookie = old // sessions outlive the server
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.ask(http.MethodGet, "/api/v1/runs/"+string(run.ID)+"?wait_ms=45000", "", http.StatusOK, &run)
	if run.State != paddock.Exited || run.Principal.Kind != paddock.User {
		t.Errorf("%+v", run)
	}
	var page paddock.Page
	s.ask(http.MethodGet, "/api/v1/runs/"+string(run.ID)+"/output", "", http.StatusOK, &page)
	if page.Content != "ready\ndone\n" {
		t.Errorf("%+v", page)
	}
	// Each start is written down with how the server is set up.
	if n := strings.Count(y.output("audit", "list", "--json"), `"what":"configured","local":true,"more":"sha256:`); n != 2 {
		t.Errorf("%d starts of a server are told, not 2:\n%s", n, y.output("audit", "list", "--json"))
	}
	if told := y.output("audit", "list", "--json"); !strings.Contains(told, ", no start before this one is known") {
		t.Errorf("what changed isn't told:\n%s", told)
	}
}

// Somebody who was invited sees what is his own, and a token can what it was made for.
func TestServeAccounts(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	s := y.serve()
	defer s.end()
	secrets := []string{s.enter()}
	admin := s.cookie
	var run paddock.Run
	s.ask(http.MethodPost, "/api/v1/runs", `{"argv":["prog","say","hi"]}`, http.StatusCreated, &run)
	var invited struct{ Code string }
	s.ask(http.MethodPost, "/api/v1/invitations", `{"role":"operator"}`, http.StatusCreated, &invited)
	s.cookie = nil
	const password = "correct horse battery"
	s.ask(http.MethodPost, "/api/v1/login", `{"code":"`+invited.Code+`","name":"ann","password":"`+password+`"}`, http.StatusOK, nil)
	s.ask(http.MethodPost, "/api/v1/login", `{"code":"`+invited.Code+`","name":"bob","password":"`+password+`"}`, http.StatusUnauthorized, nil)
	s.ask(http.MethodPost, "/api/v1/login", `{"name":"ann","password":"`+password+`"}`, http.StatusOK, nil)
	secrets = append(secrets, invited.Code, password, s.cookie.Value, admin.Value)
	s.ask(http.MethodGet, "/api/v1/runs/"+string(run.ID), "", http.StatusNotFound, nil)
	s.ask(http.MethodGet, "/api/v1/users", "", http.StatusForbidden, nil)
	s.ask(http.MethodPost, "/api/v1/invitations", `{"role":"admin"}`, http.StatusForbidden, nil)
	var made struct{ Word string }
	s.ask(http.MethodPost, "/api/v1/tokens", `{"name":"ci","scopes":["runs.read"],"lasts_ms":3600000}`, http.StatusCreated, &made)
	s.ask(http.MethodPost, "/api/v1/tokens", `{"name":"ci","scopes":["policy.read"],"lasts_ms":3600000}`, http.StatusForbidden, nil)
	secrets = append(secrets, made.Word)
	away := func(args ...string) string {
		t.Helper()
		cmd := testproc.Command(t, y.paddock, append([]string{"--server", s.url}, args...)...)
		cmd.Dir, cmd.Env = t.TempDir(), []string{"PADDOCK_TOKEN=" + made.Word}
		out, err := cmd.CombinedOutput()
		wantStatus(t, err, 126)
		return string(out)
	}
	if out := away("status", string(run.ID)); !strings.Contains(out, "not_found") {
		t.Errorf("another's run: %s", out)
	}
	if out := away("run", "-d", "--", "prog", "say", "hi"); !strings.Contains(out, "forbidden") {
		t.Errorf("a token to read with: %s", out)
	}
	s.cookie = admin
	s.ask(http.MethodPost, "/api/v1/users/ann", `{"disabled":true}`, http.StatusOK, nil)
	if out := away("status", string(run.ID)); !strings.Contains(out, "unauthenticated") {
		t.Errorf("a token of who is disabled: %s", out)
	}
	s.ask(http.MethodGet, "/api/v1/runs/"+string(run.ID)+"?wait_ms=45000", "", http.StatusOK, &run)
	state := filepath.Join(y.work, "home", ".local", "state", "paddock")
	log, err := os.ReadFile(s.log)
	if err != nil {
		t.Fatal(err)
	}
	journal, err := os.ReadFile(filepath.Join(state, "journal", "000001.jsonl"))
	if err != nil || !strings.Contains(string(journal), `"what":"invited"`) || !strings.Contains(string(journal), `"what":"login"`) {
		t.Errorf("%v, the journal:\n%s", err, journal)
	}
	for _, secret := range secrets {
		if strings.Contains(string(log), secret) || strings.Contains(string(journal), secret) {
			t.Errorf("%.8q… is in the log or the journal", secret)
		}
	}
	for _, name := range []string{"server.db", "server.db-wal", "server.key"} {
		if st, err := os.Stat(filepath.Join(state, name)); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, st, err)
		}
	}
	if err := testproc.Unlocked(filepath.Join(state, "runs", "*", "*", "lock")); err != nil {
		t.Error(err)
	}
}

// The program that people type has no accounts: it becomes the one that does, as the same
// process, or says what is missing.
func TestServeBecomesTheServer(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	bin := filepath.Join(y.work, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	place := func(from, name string) string {
		t.Helper()
		to := filepath.Join(bin, name)
		data, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(to, data, 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
		return to
	}
	// Apart from where other tests have the program that is this test.
	y.paddock = place(testproc.BuildTo(t, "plain", "paddock/cmd/paddock", "plain"), "paddock")
	place(testproc.Build(t, "paddock/cmd/paddock-stage"), "paddock-stage")
	server := filepath.Join(bin, "paddock-server")
	out, err := y.command("serve", "--listen", "127.0.0.1:0").CombinedOutput()
	if wantStatus(t, err, 125); !strings.Contains(string(out), "-tags server -o "+server) {
		t.Errorf("%s", out)
	}
	out, err = y.command("user", "list").CombinedOutput()
	if wantStatus(t, err, 125); !strings.Contains(string(out), "-tags server -o "+server) {
		t.Errorf("%s", out)
	}
	if err := os.WriteFile(server, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err = y.command("serve", "--listen", "127.0.0.1:0").CombinedOutput()
	if wantStatus(t, err, 125); !strings.Contains(string(out), "isn't an executable file") {
		t.Errorf("%s", out)
	}
	if os.Getenv("PADDOCK_LONG") == "" {
		t.Skip("building the server compiles a database: make long")
	}
	if err := os.Remove(server); err != nil {
		t.Fatal(err)
	}
	place(testproc.BuildTo(t, "server", "paddock/cmd/paddock", "server"), "paddock-server")
	// A socket that is handed over goes with it.
	url, cmd, ready := y.handed()
	ready()
	on := &served{y: y, cmd: cmd, url: url, log: os.DevNull}
	on.ask(http.MethodGet, "/livez", "", http.StatusOK, nil)
	on.end()
	s := y.serve()
	defer s.end()
	if exe, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(s.cmd.Process.Pid), "exe")); err != nil || exe != server {
		t.Errorf("the process is %s, %v", exe, err)
	}
	s.enter()
	s.ask(http.MethodGet, "/api/v1/sessions", "", http.StatusOK, nil)
}

// A token in a file that is its owner's alone lets programs in.
func TestServeToken(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	token := strings.Repeat("t", 40)
	file, config := filepath.Join(y.work, "token"), filepath.Join(y.work, "server.yaml")
	write := func(name, text string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write(file, token+"\n", 0o600)
	write(config, "version: 1\ntoken_file: "+file+"\nlog: json\n", 0o644)
	s := y.serve("--config", config)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	a, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if _ = a.Body.Close(); a.StatusCode != http.StatusOK {
		t.Error(a.Status)
	}
	s.end()
	if log, err := os.ReadFile(s.log); err != nil || strings.Contains(string(log), token) || !strings.HasPrefix(string(log), `{"time":`) {
		t.Errorf("%v\n%s", err, log)
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := y.command("serve", "--listen", "127.0.0.1:0", "--config", config).CombinedOutput()
	if wantStatus(t, err, 125); !strings.Contains(string(out), "can be read by others") {
		t.Errorf("%s", out)
	}
}

// What works with the state directory here works with a server.
func TestCommandsWithServer(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	token := strings.Repeat("t", 40)
	file := filepath.Join(y.work, "token")
	if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	elsewhere := y.command()
	serving := append(slices.Clone(elsewhere.Env), "PADDOCK_TOKEN_FILE="+file)
	s := y.serveIn(serving)
	defer s.end()
	// Another machine's user: no policy, no state directory.
	away := func(args ...string) *testproc.Cmd {
		cmd := testproc.Command(t, y.paddock, append([]string{"--server", s.url}, args...)...)
		cmd.Dir, cmd.Env = t.TempDir(), []string{"PADDOCK_TOKEN=" + token}
		return cmd
	}
	output := func(args ...string) string {
		t.Helper()
		out, err := away(args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	gate := filepath.Join(y.work, "gate")
	id := strings.TrimSpace(output("run", "-d", "--label", "far", "--", "prog", "until", gate))
	if out := output("ps"); !strings.Contains(out, id) || !strings.Contains(out, "far") {
		t.Errorf("ps: %s", out)
	}
	follow := away("logs", "-f", id)
	pipe, err := follow.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := follow.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(pipe)
	if line, err := lines.ReadString('\n'); line != "ready\n" {
		t.Errorf("%q, %v", line, err)
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if line, err := lines.ReadString('\n'); line != "done\n" {
		t.Errorf("%q, %v", line, err)
	}
	if err := follow.Wait(); err != nil {
		t.Error(err)
	}
	output("wait", id)
	if out := output("output", id); out != "ready\ndone\n" {
		t.Errorf("output: %q", out)
	}
	if out := output("output", "--grep", "don", id); out != "done\n" {
		t.Errorf("grep: %q", out)
	}
	if out := output("status", "--json", id); !strings.Contains(out, `"state":"exited"`) || !strings.Contains(out, `"kind":"user"`) {
		t.Errorf("status: %s", out)
	}
	long := strings.TrimSpace(output("run", "-d", "--", "prog", "wait"))
	output("kill", long)
	if out, err := away("status", long).CombinedOutput(); err != nil || !strings.Contains(string(out), "killed") {
		t.Errorf("%v: %s", err, out)
	}
	for _, c := range []struct {
		status int
		says   string
		args   []string
	}{
		{126, "executable_not_allowed", []string{"run", "-d", "--", "rm"}},
		{126, "-d", []string{"run", "--", "prog", "exit", "0"}},
		{126, "not_found", []string{"status", "r00000000000000000000000000"}},
		{125, "works on this machine", []string{"audit", "verify"}},
		{125, "works on this machine", []string{"serve"}},
	} {
		out, err := away(c.args...).CombinedOutput()
		if wantStatus(t, err, c.status); !strings.Contains(string(out), c.says) {
			t.Errorf("%v: %s", c.args, out)
		}
	}
	nobody := away("ps")
	nobody.Env = []string{"PADDOCK_TOKEN=x"}
	out, err := nobody.CombinedOutput()
	if wantStatus(t, err, 126); !strings.Contains(string(out), "PADDOCK_TOKEN") {
		t.Errorf("%s", out)
	}
}

func quoteJSON(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// What the configuration says counts from the start of a server on: what is written there
// while it works changes nothing before the next.
func TestServeSettingsOfItsStart(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	config := filepath.Join(y.work, "server.yaml")
	limits := func(body, mcp int) {
		t.Helper()
		if err := os.WriteFile(config, fmt.Appendf(nil, "version: 1\nlimits: {body: %d, mcp_body: %d}\n", body, mcp), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	long := `{"argv":["prog","` + strings.Repeat("a", 100_000) + `"]}`
	limits(70_000, 65_536)
	s := y.serve("--config", config)
	s.enter()
	s.ask(http.MethodPost, "/api/v1/runs", long, http.StatusRequestEntityTooLarge, nil)
	limits(200_000, 200_000)
	s.ask(http.MethodPost, "/api/v1/runs", long, http.StatusRequestEntityTooLarge, nil)
	was := s.cookie
	s.end()
	s = y.serve("--config", config)
	defer s.end()
	s.cookie = was
	s.ask(http.MethodPost, "/api/v1/runs", long, http.StatusUnprocessableEntity, nil) // by the policy, which has read it
	if told := y.output("audit", "list", "--json"); !strings.Contains(told, "limits.body") || !strings.Contains(told, "limits.mcp_body") {
		t.Errorf("what changed isn't told:\n%s", told)
	}
}
