//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/app"
	"paddock/internal/contain"
	"paddock/internal/egress"
	"paddock/internal/testproc"
)

// reach tries every way out of a run, to a host that is listed and to one that
// isn't, and prints what came of each.
func reach(args []string) int {
	listed, unlisted := args[0], args[1]
	for _, name := range []string{"HTTP_PROXY", "all_proxy"} {
		proxy, err := url.Parse(os.Getenv(name))
		if err != nil {
			return 99
		}
		for _, host := range []string{listed, unlisted} {
			client := http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy), DisableKeepAlives: true}}
			answer, err := client.Get("http://" + host + "/")
			fmt.Println(proxy.Scheme, host, said(answer, err))
		}
	}
	for _, host := range []string{listed, unlisted} {
		fmt.Println("connect", host, tunnel(host))
	}
	for _, to := range []string{listed, "192.0.2.1:80", "[2001:db8::1]:80"} {
		_, err := net.Dial("tcp", to)
		fmt.Println("direct", to, cause(err))
	}
	_, err := net.Dial("udp", "192.0.2.1:53")
	fmt.Println("udp", cause(err))
	return 0
}

func said(answer *http.Response, err error) string {
	if err != nil {
		return "failed"
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err.Error()
	}
	if answer.StatusCode != http.StatusOK {
		return answer.Status
	}
	return string(text)
}

func tunnel(host string) string {
	conn, err := net.Dial("tcp", strings.TrimPrefix(os.Getenv("HTTPS_PROXY"), "http://"))
	if err != nil {
		return err.Error()
	}
	defer conn.Close()
	fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", host)
	r := bufio.NewReader(conn)
	answer, err := http.ReadResponse(r, &http.Request{Method: http.MethodConnect}) //nolint:bodyclose // what follows is the tunnel, and ends with the connection
	if err != nil {
		return err.Error()
	}
	if answer.StatusCode != http.StatusOK {
		return answer.Status
	}
	fmt.Fprintf(conn, "GET / HTTP/1.0\r\nHost: %s\r\n\r\n", host)
	return said(http.ReadResponse(r, nil))
}

func cause(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return unix.ErrnoName(errno)
	}
	return fmt.Sprint(err)
}

// allowed prepares y for runs, of user uid, that may reach listed only.
func (y *yard) allowed(uid int, listed ...string) (command func(args ...string) *testproc.Cmd) {
	y.t.Helper()
	if !slices.Contains(contain.Probe().Levels(), paddock.Full) {
		testproc.Skip(y.t, "this machine can't give level full")
	}
	proj, home := filepath.Join(y.work, "proj"), filepath.Join(y.work, "home")
	var quoted []string
	for _, place := range listed {
		quoted = append(quoted, strconv.Quote(place))
	}
	text := fmt.Sprintf("version: 1\nroots: [{path: %q}]\nexecutables: [{name: prog, path: %q, args: any, network: [%s]}, {path: /usr/bin/env, args: any}]\nlimits: {timeout: 10m}\ncontainment: {network: allowlist, read: [%q]}\n",
		proj, testproc.Program(y.t, "prog"), strings.Join(quoted, ", "), testproc.Program(y.t, "prog"))
	policy := filepath.Join(y.work, "policy.yaml")
	if err := errors.Join(os.WriteFile(policy, []byte(text), 0o600), os.Chmod(policy, 0o644)); err != nil {
		y.t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		for _, dir := range []string{proj, home} {
			if err := os.Chown(dir, uid, uid); err != nil {
				y.t.Fatal(err)
			}
		}
	}
	return func(args ...string) *testproc.Cmd {
		cmd := y.command(args...)
		if uid != 0 {
			testproc.AsUser(y.t, cmd, uid)
		}
		return cmd
	}
}

// users are those as whom runs are tried.
func users() map[string]int {
	if os.Geteuid() != 0 {
		return map[string]int{"ordinary user": os.Geteuid()}
	}
	return map[string]int{"root": 0, "ordinary user": testproc.Nobody}
}

func server(t *testing.T, text string) (address string) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

func TestARunReachesWhatIsListedOnly(t *testing.T) {
	t.Parallel()
	for name, uid := range users() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			listed, unlisted := server(t, "hello"), server(t, "never")
			y := newYard(t)
			command := y.allowed(uid, listed)
			out, err := command("run", "--", "prog", "reach", listed, unlisted).CombinedOutput()
			const refused = "403 Forbidden"
			want := []string{
				"http " + listed + " hello", "http " + unlisted + " " + refused,
				"socks5h " + listed + " hello", "socks5h " + unlisted + " failed",
				"connect " + listed + " hello", "connect " + unlisted + " " + refused,
				"direct " + listed + " ECONNREFUSED", "direct 192.0.2.1:80 ENETUNREACH", "direct [2001:db8::1]:80 ENETUNREACH",
				"udp ENETUNREACH",
			}
			for _, line := range want {
				if !strings.Contains("\n"+string(out), "\n"+line+"\n") {
					t.Errorf("no line says %q", line)
				}
			}
			if err != nil || t.Failed() {
				t.Fatalf("%v\n%s", err, out)
			}
			checkConnections(t, command, listed, unlisted)
			// Another program of the same policy, without a list, reaches nothing.
			out, err = command("run", "--", "/usr/bin/env", testproc.Program(t, "prog"), "reach", listed, unlisted).CombinedOutput()
			if err != nil || strings.Contains(string(out), "hello") || !strings.Contains(string(out), "connect "+listed+" "+refused) {
				t.Errorf("without a list: %v\n%s", err, out)
			}
		})
	}
}

// lastRun is what paddock shows of the newest run.
func lastRun(t *testing.T, command func(args ...string) *testproc.Cmd) (d app.Detail) {
	t.Helper()
	var list app.Listing
	text, err := command("ps", "--all", "--json").Output()
	if err = errors.Join(err, json.Unmarshal(text, &list)); err != nil || len(list.Runs) == 0 {
		t.Fatalf("%v\n%s", err, text)
	}
	text, err = command("show", "--json", string(list.Runs[0].ID)).Output()
	if err = errors.Join(err, json.Unmarshal(text, &d)); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return d
}

// checkConnections holds the record of the last run to what it tried.
func checkConnections(t *testing.T, command func(args ...string) *testproc.Cmd, listed, unlisted string) {
	t.Helper()
	d := lastRun(t, command)
	ended := map[string]int{}
	for _, e := range d.Connections {
		if e.Closed {
			ended[fmt.Sprintf("%s:%d %s", e.Host, e.Port, e.Verdict)]++
		}
	}
	if ended[listed+" "+egress.Allowed] != 3 || ended[unlisted+" "+egress.Refused] != 3 || len(ended) != 2 {
		t.Errorf("connections %v", ended)
	}
	if d.Run.Enforced == nil || d.Run.Enforced.Network != "allowlist" || d.Run.Containment != paddock.Full {
		t.Errorf("enforced %+v", d.Run.Enforced)
	}
	denied := slices.ContainsFunc(d.Run.Outcome.Denied, func(n paddock.Denial) bool {
		return n.Call == "network" && n.Arguments == unlisted && n.Count == 3 && n.Text == "the run tried to reach "+unlisted+"; the policy doesn't list it"
	})
	past := slices.ContainsFunc(d.Run.Outcome.Denied, func(n paddock.Denial) bool {
		return n.Call == "network" && strings.Contains(n.Text, "past its proxy")
	})
	if !denied || !past {
		t.Errorf("denied %+v", d.Run.Outcome.Denied)
	}
	text, err := command("show", string(d.Run.ID)).Output()
	if err != nil || !strings.Contains(string(text), listed+" allowed, ") || !strings.Contains(string(text), unlisted+" refused (host_not_listed): ") {
		t.Errorf("%v\n%s", err, text)
	}
}

// However its supervisor ends, no proxy stays.
func TestTheProxyEndsWithItsSupervisor(t *testing.T) {
	t.Parallel()
	for name, uid := range users() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			y := newYard(t)
			command := y.allowed(uid, "127.0.0.1:1")
			if out, err := command("run", "-d", "--", "prog", "wait").CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			supervisor := lastRun(t, command).Run.Supervisor.PID
			proxy := proxyOf(t, supervisor)
			confined(t, proxy)
			watch, err := unix.PidfdOpen(proxy, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Close(watch)
			if err := syscall.Kill(supervisor, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(watch), Events: unix.POLLIN}}, 15_000)
			if n != 1 {
				t.Errorf("the proxy is still there: %v", err)
				_ = syscall.Kill(proxy, syscall.SIGKILL)
			}
		})
	}
}

// confined holds a proxy to having given up what it doesn't need.
func confined(t *testing.T, pid int) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"NoNewPrivs:\t1", "CapEff:\t0000000000000000", "CapPrm:\t0000000000000000"} {
		if !strings.Contains(string(status), "\n"+line+"\n") {
			t.Errorf("the proxy's status doesn't say %q:\n%s", line, status)
		}
	}
}

// proxyOf finds the proxy among the children of a supervisor.
func proxyOf(t *testing.T, supervisor int) int {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", supervisor))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		children, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range strings.Fields(string(children)) {
			line, err := os.ReadFile("/proc/" + word + "/cmdline")
			if err == nil && string(line) == "paddock-stage\x00egress\x00" {
				return number([]string{word})
			}
		}
	}
	t.Fatalf("process %d has no proxy", supervisor)
	return 0
}
