//go:build linux

package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/contain"
	"paddock/internal/egress"
	"paddock/internal/testproc"
)

// theSecret is what no program and no record may ever hold.
const theSecret = "sk-7Qh2vXm9TfLw4RzKc8Ye"

// asking asks each URL through the proxy, with a credential of its own, and
// prints what came of it. Without the variables that say which certificates to
// trust, the files of the system must do.
func asking(bare bool, urls []string) int {
	if bare {
		for _, name := range []string{"SSL_CERT_FILE", "SSL_CERT_DIR"} {
			if os.Unsetenv(name) != nil {
				return 99
			}
		}
	}
	proxy, err := url.Parse(os.Getenv("HTTPS_PROXY"))
	if err != nil {
		return 99
	}
	client := http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy)}}
	for _, u := range urls {
		req, err := http.NewRequest(http.MethodGet, u, nil)
		if err != nil {
			return 99
		}
		req.Header.Set("Authorization", "Bearer mine")
		answer, err := client.Do(req)
		fmt.Println(said(answer, err))
		if err != nil {
			fmt.Println(err)
		}
	}
	return 0
}

// An api is a host that wants a credential, and one beside it that doesn't.
type api struct {
	place, other string
	ca           []byte
}

// newAPI serves at an address of loopback that no client takes for itself. What
// it was sent is told in octal digits, since the proxy hides the secret in answers and so
// does the supervisor, in all other digits, too.
func newAPI(t *testing.T) api {
	t.Helper()
	told := func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s got %s and said %s", r.URL.Path, octal(strings.Join(r.Header["Authorization"], "|")), r.Header.Get("Authorization"))
	}
	at := func() net.Listener {
		ln, err := net.Listen("tcp", "127.0.0.2:0")
		if err != nil {
			t.Fatal(err)
		}
		return ln
	}
	other := httptest.NewUnstartedServer(http.HandlerFunc(told))
	other.Listener.Close()
	other.Listener = at()
	other.Start()
	t.Cleanup(other.Close)
	certificate, ca := certified(t)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "http://"+other.Listener.Addr().String()+"/elsewhere", http.StatusFound)
			return
		}
		told(w, r)
	}))
	s.Listener.Close()
	s.Listener = at()
	s.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	s.StartTLS()
	t.Cleanup(s.Close)
	return api{place: s.Listener.Addr().String(), other: other.Listener.Addr().String(), ca: ca}
}

func certified(t *testing.T) (tls.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 2)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// entrusted prepares y for runs, of user uid, that use theSecret at a.
func (y *yard) entrusted(uid int, a api, programs ...string) (command func(args ...string) *testproc.Cmd) {
	y.t.Helper()
	command = y.allowed(uid, a.place)
	prog := testproc.Program(y.t, "prog")
	key, ca, policy := filepath.Join(y.work, "key"), filepath.Join(y.work, "ca.pem"), filepath.Join(y.work, "policy.yaml")
	list := ""
	for _, path := range append(programs, prog) {
		list += fmt.Sprintf("  - {name: %s, path: %q, args: any, network: [%q, %q]}\n", filepath.Base(path), path, a.place, a.other)
	}
	text := fmt.Sprintf(`version: 1
roots: [{path: %q}]
executables:
%s  - {path: /usr/bin/env, args: any, network: [%[3]q]}
secrets:
  OPENAI: {file: %[4]q, inject: {host: %[5]q, header: authorization, prefix: "Bearer ", ca: %[6]q}}
environment: {accept: {GUESS: <word>}}
containment: {network: allowlist, read: [%[7]q]}
`, filepath.Join(y.work, "proj"), list, a.other, key, a.place, ca, prog)
	err := errors.Join(os.WriteFile(key, []byte(theSecret+"\n"), 0o600), os.WriteFile(ca, a.ca, 0o600), os.WriteFile(policy, []byte(text), 0o600))
	if os.Geteuid() == 0 {
		err = errors.Join(err, os.Chown(key, uid, uid), os.Chown(ca, uid, uid), os.Chown(policy, uid, uid))
	}
	if err != nil {
		y.t.Fatal(err)
	}
	return command
}

// got is what the api says of a request that carried values.
func got(path string, values ...string) string {
	return path + " got " + octal(strings.Join(values, "|")) + " and said "
}

func octal(text string) string { return strings.Trim(fmt.Sprintf("%o", []byte(text)), "[]") }

func TestASecretIsUsedAndNeverHeld(t *testing.T) {
	t.Parallel()
	for name, uid := range users() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			y, a := newYard(t), newAPI(t)
			command := y.entrusted(uid, a)
			urls := []string{"https://" + a.place + "/one", "https://" + a.place + "/away", "http://" + a.other + "/two"}
			out, err := command(append([]string{"run", "--", "prog", "ask"}, urls...)...).CombinedOutput()
			for _, want := range []string{
				got("/one", "Bearer "+theSecret), got("/two", "Bearer mine"),
				got("/elsewhere", "Bearer mine"),
			} {
				if !strings.Contains(string(out), want) {
					t.Errorf("nothing says %q", want)
				}
			}
			if err != nil || t.Failed() {
				t.Fatalf("%v\n%s", err, out)
			}
			y.injected(command, a)
			y.nowhere(out)
			// Programs that know only of the system's files trust them, too.
			if _, places := contain.Probe().Certificates(); len(places) > 0 {
				out, err = command("run", "--", "prog", "ask-bare", urls[0]).CombinedOutput()
				if err != nil || !strings.Contains(string(out), got("/one", "Bearer "+theSecret)) {
					t.Errorf("by the system's files: %v\n%s", err, out)
				}
			}
			// A program whose list lacks the host neither reaches it nor is told to trust more.
			out, err = command("run", "--", "/usr/bin/env").CombinedOutput()
			if err != nil || strings.Contains(string(out), "SSL_CERT_FILE") || !strings.Contains(string(out), "HTTPS_PROXY") {
				t.Errorf("%v\n%s", err, out)
			}
			out, err = command("run", "--env", "GUESS="+theSecret, "--", "prog", "env").CombinedOutput()
			if err == nil || !strings.Contains(string(out), "GUESS, which has the value of the secret OPENAI") {
				t.Errorf("%v\n%s", err, out)
			}
			y.nowhere(out)
		})
	}
}

// injected holds the record of the last run to what it says of its secret.
func (y *yard) injected(command func(args ...string) *testproc.Cmd, a api) {
	y.t.Helper()
	d := lastRun(y.t, command)
	if len(d.Decision.Grant().Contain.Inject) != 1 || d.Decision.Grant().Contain.Inject[0].Secret != "OPENAI" {
		y.t.Errorf("granted %+v", d.Decision.Grant().Contain)
	}
	requests := int64(0)
	for _, e := range d.Connections {
		if where := fmt.Sprintf("%s:%d", e.Host, e.Port); e.Closed && (where == a.place) != slices.Equal(e.Injected, []string{"OPENAI"}) {
			y.t.Errorf("connection %+v", e)
		}
		requests += e.InjectedRequests
	}
	if requests != 2 {
		y.t.Errorf("%d requests carried it", requests)
	}
	for _, words := range [][]string{{"show", string(d.Run.ID)}, {"policy", "explain", "--", "prog", "env"}} {
		text, err := command(words...).CombinedOutput()
		if err != nil || !strings.Contains(string(text), "OPENAI") {
			y.t.Errorf("%s: %v\n%s", words[0], err, text)
		}
		y.nowhere(text)
	}
}

// nowhere looks for the secret in text and in everything that was kept.
func (y *yard) nowhere(text []byte) {
	y.t.Helper()
	if bytes.Contains(text, []byte(theSecret)) {
		y.t.Errorf("it says the secret:\n%s", text)
	}
	digits := []byte(octal(theSecret)) // as the api told it
	seen := 0
	err := filepath.WalkDir(filepath.Join(y.work, "home"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		kept, err := os.ReadFile(path)
		if bytes.Contains(kept, []byte(theSecret)) {
			y.t.Errorf("%s holds the secret", path)
		}
		if bytes.Contains(kept, digits) {
			seen++
		}
		return err
	})
	if err != nil || seen == 0 {
		y.t.Errorf("looked in the wrong place: %v", err)
	}
}

// Clients of all sorts find the certificates by the variables.
func TestClientsTrustTheProxy(t *testing.T) {
	t.Parallel()
	y, a := newYard(t), newAPI(t)
	python := "import os, urllib.request as u; r = u.Request(%q, headers={'Authorization': 'Bearer mine'}); print(u.urlopen(r).read().decode())"
	node := `const http = require("http"), tls = require("tls"), at = new URL(%q), p = new URL(process.env.HTTPS_PROXY)
http.request({host: p.hostname, port: p.port, method: "CONNECT", path: at.host, headers: {Host: at.host}}).on("connect", (_, socket) => {
  const c = tls.connect({socket, host: at.hostname}, () => c.write("GET " + at.pathname + " HTTP/1.1\r\nHost: " + at.host + "\r\nAuthorization: Bearer mine\r\nConnection: close\r\n\r\n"))
  c.on("data", d => process.stdout.write(d)).on("error", e => console.log(e.message))
}).end()`
	at := "https://" + a.place + "/one"
	clients := map[string][]string{
		"/usr/bin/curl": {"-sS", "-H", "Authorization: Bearer mine", at}, "/usr/bin/python3": {"-c", fmt.Sprintf(python, at)}, "/usr/bin/node": {"-e", fmt.Sprintf(node, at)},
	}
	var programs []string
	for path := range clients {
		if _, err := os.Stat(path); err == nil {
			programs = append(programs, path)
		}
	}
	if len(programs) == 0 {
		testproc.Skip(t, "there is no client to try")
	}
	command := y.entrusted(os.Geteuid(), a, programs...)
	policy := filepath.Join(y.work, "policy.yaml")
	old, err := os.ReadFile(policy)
	if err == nil {
		err = os.WriteFile(policy, bytes.ReplaceAll(old, []byte("args: any"), []byte("args: any, line_breaks: true")), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range programs {
		out, err := command(append([]string{"run", "--", path}, clients[path]...)...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), got("/one", "Bearer "+theSecret)+"*****") {
			t.Errorf("%s: %v\n%s", path, err, out)
		}
	}
}

func TestASecretThatOthersCouldRead(t *testing.T) {
	t.Parallel()
	y, a := newYard(t), newAPI(t)
	command := y.entrusted(os.Geteuid(), a)
	key := filepath.Join(y.work, "key")
	for name, c := range map[string]struct {
		spoil func() error
		want  string
	}{
		"readable":  {func() error { return os.Chmod(key, 0o640) }, "mode 0640"},
		"two lines": {func() error { return os.WriteFile(key, []byte(theSecret+"\nx"), 0o600) }, "a header can't carry"},
		"a NUL":     {func() error { return os.WriteFile(key, []byte(theSecret+"\x00"), 0o600) }, "a header can't carry"},
		"empty":     {func() error { return os.WriteFile(key, []byte("\n"), 0o600) }, "is empty"},
		"too long":  {func() error { return os.WriteFile(key, bytes.Repeat([]byte("x"), 9000), 0o600) }, "more than 8192 bytes"},
		"a link": {func() error {
			return errors.Join(os.Remove(key), os.WriteFile(filepath.Join(y.work, "proj", "planted"), []byte(theSecret), 0o600), os.Symlink(filepath.Join(y.work, "proj", "planted"), key))
		}, "lies inside"},
		"missing": {func() error { return os.Remove(key) }, "there is no file"},
	} {
		if err := errors.Join(os.RemoveAll(key), os.WriteFile(key, []byte(theSecret), 0o600), c.spoil()); err != nil {
			t.Fatal(err)
		}
		out, err := command("run", "--", "prog", "say", "hello").CombinedOutput()
		wantStatus(t, err, desk.ExitRefused)
		if !strings.Contains(string(out), c.want) || strings.Contains(string(out), theSecret) || strings.Contains(string(out), "hello\n") {
			t.Errorf("%s: %s", name, out)
		}
	}
}

// A proxy that is gone lets nothing through any more, and the record says so.
func TestAProxyThatEndsIsInTheRecord(t *testing.T) {
	t.Parallel()
	for name, uid := range users() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			y, a := newYard(t), newAPI(t)
			command := y.entrusted(uid, a)
			going := filepath.Join(y.work, "proj", "going")
			if out, err := command("run", "-d", "--", "prog", "until-ask", going, "https://"+a.place+"/one").CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			d := lastRun(t, command)
			proxy := proxyOf(t, d.Run.Supervisor.PID)
			watch, err := unix.PidfdOpen(proxy, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Close(watch)
			if err := syscall.Kill(proxy, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if n, err := unix.Poll([]unix.PollFd{{Fd: int32(watch), Events: unix.POLLIN}}, 15_000); n != 1 {
				t.Fatal(err)
			}
			if err := os.WriteFile(going, nil, 0o644); err != nil {
				t.Fatal(err)
			}
			out, err := command("wait", string(d.Run.ID)).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			out, err = command("output", string(d.Run.ID)).CombinedOutput()
			if err != nil || !strings.Contains(string(out), "connection refused") {
				t.Errorf("%v\n%s", err, out)
			}
			ended := func(n paddock.Denial) bool {
				return strings.Contains(n.Text, "the run's proxy ended before the run did")
			}
			if d := lastRun(t, command); !slices.ContainsFunc(d.Run.Outcome.Denied, ended) {
				t.Errorf("denied %+v", d.Run.Outcome.Denied)
			}
		})
	}
}

// The limits of a tree hold a run that has a way out, too.
func TestAnAllowlistAndLimitsTogether(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	listed := server(t, "hello")
	command := y.allowed(os.Geteuid(), listed)
	policy := filepath.Join(y.work, "policy.yaml")
	text, err := os.ReadFile(policy)
	if err == nil {
		text := strings.Replace(string(text), "limits: {", "limits: {memory: 256MiB, processes: 64, ", 1)
		err = os.WriteFile(policy, []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if out, err := command("policy", "explain", "--", "prog", "env").CombinedOutput(); err != nil && strings.Contains(string(out), "can't be enforced here") {
		testproc.Skip(t, "nothing can hold a tree to limits here")
	}
	out, err := command("run", "--", "prog", "reach", listed, listed).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "connect "+listed+" hello") {
		t.Fatalf("%v\n%s", err, out)
	}
	d := lastRun(t, command)
	for _, limit := range []string{"memory", "processes"} {
		if by := d.Run.Enforced.Limits[limit]; by == "" || by == "none" {
			t.Errorf("%s is held by %q", limit, by)
		}
	}
	if !slices.ContainsFunc(d.Connections, func(e egress.Entry) bool { return e.Verdict == egress.Allowed }) {
		t.Errorf("connections %+v", d.Connections)
	}
	out, err = command("run", "--", "prog", "hog").CombinedOutput()
	wantStatus(t, err, desk.ExitKilled)
	if d = lastRun(t, command); d.Run.Outcome.Reason.Kind != paddock.ReasonOutOfMemory {
		t.Errorf("%v: %+v\n%s", err, d.Run.Outcome.Reason, out)
	}
}
