//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"paddock"
	"paddock/internal/testproc"
)

var pictures = flag.String("pictures", "", "directory for pictures of the page")

// A browser is Chromium, driven over a pair of pipes.
type browser struct {
	t       *testing.T
	cmd     *testproc.Cmd
	in      *os.File
	out     *bufio.Reader
	done    *os.File
	session string
	last    int
	loads   int // pages that were loaded

	complaints []string
}

// openBrowser starts Chromium with one empty page.
func openBrowser(t *testing.T) *browser {
	t.Helper()
	const program = "/usr/bin/chromium"
	if _, err := os.Stat(program); err != nil {
		t.Skip("there is no Chromium here: make chromium installs it")
	}
	theirs, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, ours, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	home, err := os.MkdirTemp("", "paddock-browser-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) }) // the same
	b := &browser{t: t, in: in, out: bufio.NewReaderSize(out, 1<<20), done: out}
	b.cmd = testproc.Command(t, program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-extensions", "--no-proxy-server", "--window-size=1000,700",
		"--user-data-dir="+home, "--remote-debugging-pipe", "about:blank")
	b.cmd.Env = []string{"HOME=" + home, "PATH=/usr/bin:/bin"}
	b.cmd.ExtraFiles = []*os.File{theirs, ours} // the descriptors 3 and 4
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = theirs.Close() // they are the browser's
	_ = ours.Close()
	t.Cleanup(b.close)
	var made struct {
		Target string `json:"targetId"`
	}
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &made)
	var attached struct {
		Session string `json:"sessionId"`
	}
	b.call("Target.attachToTarget", map[string]any{"targetId": made.Target, "flatten": true}, &attached)
	b.session = attached.Session
	b.call("Page.enable", nil, nil)
	b.call("Log.enable", nil, nil)
	b.call("Runtime.enable", nil, nil)
	return b
}

func (b *browser) close() {
	_, _ = b.in.WriteString(`{"id":0,"method":"Browser.close"}` + "\x00")
	_ = b.in.Close() // it was asked to end
	_, _ = io.Copy(io.Discard, b.out)
	_ = b.done.Close() // read to its end
	_ = b.cmd.Wait()   // how it ends is its own affair
}

// call asks the browser for something and waits for the answer.
func (b *browser) call(method string, params map[string]any, into any) {
	b.t.Helper()
	b.last++
	ask := map[string]any{"id": b.last, "method": method, "params": params}
	if params == nil {
		ask["params"] = map[string]any{}
	}
	if b.session != "" {
		ask["sessionId"] = b.session
	}
	text, err := json.Marshal(ask)
	if err == nil {
		_, err = b.in.Write(append(text, 0))
	}
	if err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
	for {
		said := b.read()
		switch {
		case said.ID != b.last:
		case said.Error != nil:
			b.t.Fatalf("%s: %s", method, said.Error)
		case into != nil:
			if err := json.Unmarshal(said.Result, into); err != nil {
				b.t.Fatal(err)
			}
			return
		default:
			return
		}
	}
}

// A word is what the browser says: an answer, or that something happened.
type word struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

func (b *browser) read() (s word) {
	b.t.Helper()
	line, err := b.out.ReadBytes(0)
	if err == nil {
		err = json.Unmarshal(bytes.TrimSuffix(line, []byte{0}), &s)
	}
	if err != nil {
		b.t.Fatalf("the browser says no more: %v", err)
	}
	switch s.Method {
	case "Log.entryAdded", "Runtime.exceptionThrown":
		b.complaints = append(b.complaints, string(s.Params))
	case "Page.loadEventFired":
		b.loads++
	}
	return s
}

// see waits until an expression of the page is true, and returns what another one is.
func (b *browser) see(until, what string) string {
	b.t.Helper()
	var said struct {
		Result struct {
			Value any `json:"value"`
		} `json:"result"`
		Problem json.RawMessage `json:"exceptionDetails"`
	}
	b.call("Runtime.evaluate", map[string]any{
		"awaitPromise": true, "returnByValue": true,
		"expression": fmt.Sprintf(`new Promise((done) => { const look = () => { if (%s) done(String(%s)); else setTimeout(look, 10); }; look(); })`, until, what),
	}, &said)
	if said.Problem != nil {
		b.t.Fatalf("%s: %s", until, said.Problem)
	}
	return fmt.Sprint(said.Result.Value)
}

// visit opens a page, or the same one again, and waits until it is there.
func (b *browser) visit(url string) {
	b.t.Helper()
	before := b.loads
	if url == "" {
		b.call("Page.reload", nil, nil)
	} else {
		b.call("Page.navigate", map[string]any{"url": url}, nil)
	}
	for b.loads == before {
		b.read()
	}
}

// picture keeps what the page looks like, for who asked for that.
func (b *browser) picture(name string) {
	b.t.Helper()
	if *pictures == "" {
		return
	}
	var shot struct {
		Data string `json:"data"`
	}
	b.call("Page.captureScreenshot", map[string]any{"format": "png"}, &shot)
	data, err := base64.StdEncoding.DecodeString(shot.Data)
	if err == nil {
		err = os.WriteFile(filepath.Join(*pictures, name+".png"), data, 0o600)
	}
	if err != nil {
		b.t.Error(err)
	}
}

// A person opens the link, sees a run, watches it print and end, and logs out; the
// browser has nothing to complain of, and hostile output stays text.
func TestPage(t *testing.T) {
	t.Parallel()
	b := openBrowser(t)
	y := newYard(t)
	s := y.serve()
	defer s.end()
	b.visit(s.login)
	if got := b.see(`!document.getElementById("runs").hidden && !document.getElementById("none").hidden`, `location.href + " " + document.getElementById("who").textContent`); got != s.url+"/ admin, admin" {
		t.Errorf("after the link: %s", got)
	}
	var cookies struct {
		Cookies []struct{ Name, Value string } `json:"cookies"`
	}
	b.call("Network.getCookies", nil, &cookies)
	if len(cookies.Cookies) != 1 {
		t.Fatalf("%+v", cookies)
	}
	s.cookie = &http.Cookie{Name: cookies.Cookies[0].Name, Value: cookies.Cookies[0].Value}
	if got := b.see("true", "document.cookie"); got != "" {
		t.Errorf("the page can read its cookie: %s", got)
	}
	gate := filepath.Join(y.work, "gate")
	var hostile, run paddock.Run
	s.ask(http.MethodPost, "/api/v1/runs", `{"argv":["prog","say","<img src=x onerror=alert(1)>","<script>document.title='gone'</script>"],"label":"<b>bold</b>"}`, http.StatusCreated, &hostile)
	s.ask(http.MethodPost, "/api/v1/runs", `{"argv":["prog","until",`+quoteJSON(gate)+`]}`, http.StatusCreated, &run)
	b.visit("")
	b.see(`document.querySelectorAll("#list tr").length === 2`, "1")
	b.picture("runs")
	if got := b.see("true", `document.querySelectorAll("#list b").length + document.querySelector("#list tr:last-child .command").textContent`); got != "0<b>bold</b>" {
		t.Errorf("a label became markup: %s", got)
	}
	b.see("true", fmt.Sprintf("location.hash = %q", "run="+run.ID))
	if got := b.see(`document.getElementById("output").textContent.includes("ready")`, `document.getElementById("state").textContent`); got != "running" {
		t.Errorf("while it runs: %s", got)
	}
	b.picture("running")
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := b.see(`document.getElementById("output").dataset.ended === "yes"`, `document.getElementById("state").textContent + "|" + document.getElementById("output").textContent`); got != "exited 0|ready\ndone\n" {
		t.Errorf("at its end: %q", got)
	}
	b.see("true", fmt.Sprintf("location.hash = %q", "run="+hostile.ID))
	if got := b.see(`document.getElementById("output").dataset.ended === "yes" && document.getElementById("output").textContent.includes("img")`,
		`document.querySelectorAll("#output img, #output script").length + document.title + document.getElementById("output").textContent`); got != "0Paddock<img src=x onerror=alert(1)>\n<script>document.title='gone'</script>\n" {
		t.Errorf("hostile output: %q", got)
	}
	b.picture("ended")
	b.see("true", `document.getElementById("logout").click()`)
	if got := b.see(`!document.getElementById("login").hidden`, `document.querySelector("main").textContent.includes("img") + " " + document.querySelectorAll("#list tr, #output *").length`); got != "false 0" {
		t.Errorf("after logging out there is still something of the runs: %s", got)
	}
	b.picture("login")
	s.ask(http.MethodGet, "/api/v1/runs", "", http.StatusUnauthorized, nil)
	for _, c := range b.complaints {
		if !strings.Contains(c, "401") && !strings.Contains(c, `"level":"info"`) { // that nobody is logged in is asked and told
			t.Errorf("the browser complains: %s", c)
		}
	}
}

// A person makes a passkey in the browser, and logs in by it: the browser's own device
// does both, so what we tell it is what it understands.
func TestPagePasskey(t *testing.T) {
	t.Parallel()
	b := openBrowser(t)
	y := newYard(t)
	s := y.serve()
	defer s.end()
	b.call("WebAuthn.enable", nil, nil)
	b.call("WebAuthn.addVirtualAuthenticator", map[string]any{"options": map[string]any{
		"protocol": "ctap2", "transport": "internal", "hasResidentKey": true, "hasUserVerification": true, "isUserVerified": true, "automaticPresenceSimulation": true,
	}}, nil)
	// Browsers have passkeys by this name, and not by an address.
	here := strings.Replace(s.login, "127.0.0.1", "localhost", 1)
	b.visit(here)
	b.see(`!document.getElementById("runs").hidden`, `location.hash = "account"`)
	b.see(`!document.getElementById("new-passkey").hidden && !document.getElementById("no-factors").hidden`, `document.getElementById("passkey-name").value = "laptop"`)
	b.see("true", `document.querySelector("#new-passkey button").click()`)
	if got := b.see(`document.querySelectorAll("#factors li").length === 1 || !document.getElementById("notice").hidden`, `document.getElementById("notice").textContent + document.getElementById("factors").textContent`); !strings.HasPrefix(got, "laptop (passkey)") {
		t.Fatalf("after the passkey was made: %s", got)
	}
	b.picture("account")
	b.see("true", `document.getElementById("show-passkey").click()`)
	if got := b.see(`!document.getElementById("notice").hidden`, `document.getElementById("notice").textContent`); got != "It counts for ten minutes." {
		t.Errorf("shown again: %s", got)
	}
	b.see("true", `document.getElementById("logout").click()`)
	b.see(`!document.getElementById("login").hidden && !document.getElementById("by-passkey").hidden`, `document.getElementById("by-passkey").click()`)
	if got := b.see(`!document.getElementById("runs").hidden || !document.getElementById("notice").hidden`, `document.getElementById("notice").textContent + document.getElementById("who").textContent`); got != "admin, admin" {
		t.Errorf("logged in by it: %s", got)
	}
	for _, c := range b.complaints {
		if !strings.Contains(c, "401") && !strings.Contains(c, `"level":"info"`) {
			t.Errorf("the browser complains: %s", c)
		}
	}
}

// A person comes back from a provider by the page, which takes the answer out of the
// address and says what is wrong with it.
func TestPageProvider(t *testing.T) {
	t.Parallel()
	b := openBrowser(t)
	y := newYard(t)
	mux := http.NewServeMux()
	hub := httptest.NewServer(mux)
	t.Cleanup(hub.Close)
	mux.HandleFunc("GET /login/oauth/authorize", func(w http.ResponseWriter, r *http.Request) {
		back := url.Values{"code": {"abc"}, "state": {r.URL.Query().Get("state")}}
		http.Redirect(w, r, r.URL.Query().Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
	})
	answer := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, text) // who asked is gone then
		}
	}
	mux.HandleFunc("POST /login/oauth/access_token", answer(`{"access_token":"at","token_type":"bearer"}`))
	mux.HandleFunc("GET /user", answer(`{"id":7,"login":"ann","type":"User"}`))

	// The address must be known before the server starts, so it is handed over.
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	file, err := l.(*net.TCPListener).File()
	if err = errors.Join(err, l.Close()); err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	here := "http://localhost:" + port
	secret, config := filepath.Join(y.work, "secret"), filepath.Join(y.work, "server.yaml")
	text := "version: 1\npublic_url: " + here + "\nproviders:\n- {name: hub, kind: github, issuer: \"" + hub.URL + "\", api: \"" + hub.URL + "\", client_id: paddock, client_secret_file: " + secret +
		", inside: [\"" + hub.Listener.Addr().String() + "\"]}\n"
	if err := errors.Join(os.WriteFile(secret, []byte("secret of the client\n"), 0o600), os.WriteFile(config, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	env := append(y.command().Env, "PADDOCK_CONFIG="+config)
	cmd := testproc.Command(t, "/bin/sh", "-c", `LISTEN_PID=$$ exec "$0" serve --json`, y.paddock)
	cmd.Dir, cmd.Env, cmd.ExtraFiles = y.command().Dir, append(slices.Clone(env), "LISTEN_FDS=1"), []*os.File{file}
	s := y.started(cmd)
	defer s.end()
	_ = file.Close() // the server has it
	login := func() string {
		t.Helper()
		b.visit(here)
		before := b.loads
		b.see(`!document.getElementById("ways").hidden`, `document.querySelector("#by-provider button").click()`)
		for b.loads == before { // to the provider and back is one way
			b.read()
		}
		return b.see(`location.pathname === "/" && location.search === "" && (document.getElementById("who").textContent || !document.getElementById("notice").hidden)`,
			`document.getElementById("notice").textContent + document.getElementById("who").textContent`)
	}
	if got := login(); !strings.Contains(got, "Nobody invited this identity") {
		t.Errorf("who isn't invited: %s", got)
	}
	invite := y.command("invite", "create", "--role", "viewer", "--provider", "hub", "--identity", "login:ann")
	invite.Env = env
	if out, err := invite.CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "hub login:ann is invited") {
		t.Fatalf("%v: %s", err, out)
	}
	if got := login(); got != "ann, viewer" {
		t.Errorf("who is invited: %s", got)
	}
	if log, err := os.ReadFile(s.log); err != nil || strings.Contains(string(log), "abc") {
		t.Errorf("the code is in the log (%v):\n%s", err, log)
	}
}
