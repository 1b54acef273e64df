package egress_test

import (
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"paddock/internal/egress"
)

// TestRefusedRequests sends requests that must reach nobody: no name of theirs
// is resolved and no connection is made.
func TestRefusedRequests(t *testing.T) {
	t.Parallel()
	get := func(url, host string) string { return "GET " + url + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n" }
	connect := func(target string) string { return "CONNECT " + target + " HTTP/1.1\r\n\r\n" }
	for _, tc := range []struct {
		name, in string
		status   int
		code     string
	}{
		{"a host that isn't listed", connect("evil.example:443"), 403, egress.NotListed},
		{"another port", connect("allowed.example:8080"), 403, egress.NotListed},
		{"below a listed host", connect("a.allowed.example:443"), 403, egress.NotListed},
		{"beginning like a listed host", connect("allowed.example.evil.net:443"), 403, egress.NotListed},
		{"ending like a listed host", connect("notallowed.example:443"), 403, egress.NotListed},
		{"a suffix itself", connect("example.net:443"), 403, egress.NotListed},
		{"NUL", connect("allowed.example\x00.evil:443"), 400, egress.Malformed},
		{"NUL before the listed part", connect("evil\x00.example.net:443"), 400, egress.Malformed},
		{"an encoded NUL", connect("evil%00.example.net:443"), 400, egress.Malformed},
		{"two final dots", connect("allowed.example..:443"), 400, egress.Malformed},
		{"loopback", connect("127.0.0.1:443"), 403, egress.NotListed},
		{"localhost", connect("localhost:443"), 403, egress.NotListed},
		{"metadata", connect("169.254.169.254:80"), 403, egress.NotListed},
		{"metadata, plain", get("http://169.254.169.254/latest/meta-data/", "169.254.169.254"), 403, egress.NotListed},
		{"mapped", connect("[::ffff:127.0.0.1]:443"), 403, egress.NotListed},
		{"mapped in hexadecimal", connect("[::ffff:a9fe:a9fe]:80"), 403, egress.NotListed},
		{"decimal", connect("2130706433:443"), 400, egress.Malformed},
		{"octal", connect("0177.0.0.1:443"), 400, egress.Malformed},
		{"hexadecimal", connect("0x7f000001:443"), 400, egress.Malformed},
		{"short", connect("127.1:443"), 400, egress.Malformed},
		{"a zone", connect("[fe80::1%25lo]:443"), 400, egress.Malformed},
		{"a user", connect("allowed.example@evil.example:443"), 400, egress.Malformed},
		{"a user in a URL", get("http://allowed.example@evil.example/", "evil.example"), 400, egress.Malformed},
		{"a password in a URL", get("http://allowed.example:80@evil.example/", "evil.example"), 400, egress.Malformed},
		{"a backslash", get("http://evil.example\\@allowed.example/", "allowed.example"), 400, egress.Malformed},
		{"a fragment", get("http://evil.example#@allowed.example/", "allowed.example"), 400, egress.Malformed},
		{"a port with a space", "CONNECT allowed.example: 443 HTTP/1.1\r\n\r\n", 400, egress.Malformed},
		{"a port with zeros", connect("allowed.example:0443"), 400, egress.Malformed},
		{"two ports", connect("allowed.example:443:443"), 400, egress.Malformed},
		{"no port", connect("allowed.example"), 400, egress.Malformed},
		{"a URL to CONNECT to", connect("http://allowed.example:443/"), 400, egress.Malformed},
		{"CONNECT with another Host", "CONNECT allowed.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n", 403, egress.HostMismatch},
		{"a URL with another Host", get("http://allowed.example/", "evil.example"), 403, egress.HostMismatch},
		{"a URL with another port in Host", get("http://allowed.example/", "allowed.example:8080"), 403, egress.HostMismatch},
		{"two Hosts", "GET http://allowed.example/ HTTP/1.1\r\nHost: allowed.example\r\nHost: evil.example\r\n\r\n", 400, egress.Malformed},
		{"no Host", "GET http://allowed.example/ HTTP/1.1\r\n\r\n", 400, egress.Malformed},
		{"a folded Host", "GET http://allowed.example/ HTTP/1.1\r\nHost: allowed.example\r\n evil\r\n\r\n", 400, egress.Malformed},
		{"TE and CL", "POST http://allowed.example/ HTTP/1.1\r\nHost: allowed.example\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, egress.Malformed},
		{"two CL", "POST http://allowed.example/ HTTP/1.1\r\nHost: allowed.example\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcd", 400, egress.Malformed},
		{"another TE", "POST http://allowed.example/ HTTP/1.1\r\nHost: allowed.example\r\nTransfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n", 400, egress.Malformed},
		{"CR in the target", "GET http://allowed.example/\r HTTP/1.1\r\nHost: allowed.example\r\n\r\n", 400, egress.Malformed},
		{"a path, as if this were a server", get("/", "allowed.example"), 400, egress.Malformed},
		{"https without CONNECT", get("https://allowed.example/", "allowed.example"), 400, egress.Malformed},
		{"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, egress.Malformed},
		{"TLS to the proxy", "\x16\x03\x01\x00\x05hello\n\n", 400, egress.Malformed},
		{"SOCKS4", "\x04\x01\x01\xbb\x7f\x00\x00\x01\x00\n\n", 400, egress.Malformed},
		{"a header bomb", "GET http://allowed.example/ HTTP/1.1\r\nHost: allowed.example\r\n" + strings.Repeat("X: y\r\n", 20_000), 400, egress.Malformed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, []string{"allowed.example:443", "allowed.example:80", "*.example.net:443"}, nil)
			w.host("allowed.example", "11.0.0.1")
			resp, body := w.ask(tc.in)
			if resp.StatusCode != tc.status || resp.Header.Get("X-Paddock-Refused") != tc.code {
				t.Errorf("got %d %v %q", resp.StatusCode, resp.Header, body)
			}
			if !strings.HasPrefix(body, "paddock: ") || len(body) > 400 || strings.ContainsAny(body[:len(body)-1], "\x00\r\n") {
				t.Errorf("got the text %q", body)
			}
			if e := w.last(); e.Verdict != egress.Refused || e.Code != tc.code || e.Reason == "" || e.BytesOut != 0 {
				t.Errorf("recorded %+v", e)
			}
			w.untouched()
		})
	}
}

func TestRefusalSaysWhatToDo(t *testing.T) {
	t.Parallel()
	_, body := newWorld(t, nil, nil).ask("CONNECT Evil.example.:443 HTTP/1.1\r\n\r\n")
	mustContain(t, body, "evil.example:443 isn't in the policy's network list")
}

// TestAddresses resolves a listed name to addresses that are not the
// Internet's.
func TestAddresses(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{
		"127.0.0.1", "169.254.169.254", "10.0.0.1", "192.168.0.1", "172.16.0.1", "100.64.0.1", "0.0.0.0", "224.0.0.1",
		"::1", "::", "fe80::1", "fd00::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "::7f00:1",
	} {
		t.Run(addr, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, []string{"rebound.example:80"}, nil)
			w.host("rebound.example", addr)
			resp, body := w.ask("CONNECT rebound.example:80 HTTP/1.1\r\n\r\n")
			if resp.StatusCode != 403 || resp.Header.Get("X-Paddock-Refused") != egress.AddressRefused {
				t.Errorf("got %d %q", resp.StatusCode, body)
			}
			if _, dialed, _ := w.seen(); len(dialed) > 0 {
				t.Errorf("connected to %q", dialed)
			}
			if e := w.last(); e.Code != egress.AddressRefused || e.Host != "rebound.example" {
				t.Errorf("recorded %+v", e)
			}
		})
	}
}

// TestRebinding changes the answer after the first look-up: there is no second.
func TestRebinding(t *testing.T) {
	t.Parallel()
	w := newWorld(t, []string{"rebound.example:80"}, nil)
	w.host("rebound.example", "11.0.0.1")
	w.serve("11.0.0.1:80", echo)
	w.serve("127.0.0.1:80", func(conn net.Conn) { send(conn, "the host's own service") })
	conn, r := w.tunnel("rebound.example:80")
	w.host("rebound.example", "127.0.0.1")
	send(conn, "hello")
	half(conn)
	if got, _ := io.ReadAll(r); string(got) != "hello" {
		t.Errorf("got %q", got)
	}
	resolved, dialed, _ := w.seen()
	if len(resolved) != 1 || len(dialed) != 1 || dialed[0] != "11.0.0.1:80" {
		t.Errorf("resolved %q, connected to %q", resolved, dialed)
	}
	if resp, _ := w.ask("CONNECT rebound.example:80 HTTP/1.1\r\n\r\n"); resp.StatusCode != 403 {
		t.Errorf("the next connection got %d", resp.StatusCode)
	}
}

func TestListedAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(t, []string{"127.0.0.1:5432", "db.example:5432", "[fd00::1]:5432"}, nil)
	w.host("db.example", "127.0.0.1")
	w.serve("127.0.0.1:5432", echo)
	w.serve("[fd00::1]:5432", echo)
	for _, target := range []string{"127.0.0.1:5432", "db.example:5432", "[::ffff:127.0.0.1]:5432", "[fd00::1]:5432", "[FD00:0::1]:5432"} {
		conn, r := w.tunnel(target)
		send(conn, "x")
		half(conn)
		if got, _ := io.ReadAll(r); string(got) != "x" {
			t.Errorf("%s: got %q", target, got)
		}
	}
}

// TestNextAddress goes on when an address doesn't answer, and passes over
// those that may not be connected to.
func TestNextAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(t, []string{"many.example:80"}, nil)
	w.host("many.example", "127.0.0.1", "11.0.0.1", "::ffff:11.0.0.2", "2606::1")
	w.serve("11.0.0.2:80", echo)
	w.serve("127.0.0.1:80", echo)
	conn, _ := w.tunnel("MANY.example.:80")
	conn.Close()
	_, dialed, _ := w.seen()
	if got := strings.Join(dialed, " "); got != "11.0.0.1:80 11.0.0.2:80" {
		t.Errorf("connected to %s", got)
	}
	if e := w.last(); e.Address != "11.0.0.2:80" || e.Host != "many.example" || e.Verdict != egress.Allowed {
		t.Errorf("recorded %+v", e)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	w := newWorld(t, []string{"silent.example:80", "nowhere.example:80", "empty.example:80"}, nil)
	w.host("silent.example", "11.0.0.1")
	w.host("empty.example")
	for host, code := range map[string]string{
		"silent.example": egress.ConnectFailed, "nowhere.example": egress.ResolveFailed, "empty.example": egress.ResolveFailed,
	} {
		resp, body := w.ask("CONNECT " + host + ":80 HTTP/1.1\r\n\r\n")
		if resp.StatusCode != 502 || resp.Header.Get("X-Paddock-Failed") != code || resp.Header.Get("X-Paddock-Refused") != "" {
			t.Errorf("%s: got %d %v", host, resp.StatusCode, resp.Header)
		}
		if strings.Contains(body, "10.9.9.9") {
			t.Errorf("%q tells the machine's name server", body)
		}
		if e := w.last(); e.Verdict != egress.Failed || e.Code != code {
			t.Errorf("%s: recorded %+v", host, e)
		}
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	record := func(egress.Entry) {}
	value := func() string { return "x" }
	listed := []egress.Rule{{Host: "api.example", Port: 443}}
	for _, tc := range []struct {
		name, problem string
		cfg           egress.Config
	}{
		{"no record", "Record", egress.Config{}},
		{"a negative limit", "negative", egress.Config{Record: record, Limits: egress.Limits{Connections: -1}}},
		{"a negative time", "negative", egress.Config{Record: record, Limits: egress.Limits{Idle: -time.Second}}},
		{"a host that isn't listed", "lacks api.example:443", egress.Config{Record: record, Inject: []egress.Injection{{Place: listed[0], Header: "A", Value: value}}}},
		{"a host in upper case", "normal spelling", egress.Config{Record: record, Rules: listed, Inject: []egress.Injection{{Place: egress.Rule{Host: "API.example", Port: 443}, Header: "A", Value: value}}}},
		{"another port", "lacks api.example:8443", egress.Config{Record: record, Rules: listed, Inject: []egress.Injection{{Place: egress.Rule{Host: "api.example", Port: 8443}, Header: "A", Value: value}}}},
		{"a suffix", "one host", egress.Config{Record: record, Rules: listed, Inject: []egress.Injection{{Place: egress.Rule{Host: "api.example", Port: 443, Suffix: true}, Header: "A", Value: value}}}},
		{"no value", "no value", egress.Config{Record: record, Rules: listed, Inject: []egress.Injection{{Place: listed[0], Header: "A"}}}},
		{"a header that frames", "Content-Length", egress.Config{Record: record, Rules: listed, Inject: []egress.Injection{{Place: listed[0], Header: "Content-Length", Value: value}}}},
		{"a header that splits", "header", egress.Config{Record: record, Rules: listed, Inject: []egress.Injection{{Place: listed[0], Header: "A\r\nB", Value: value}}}},
		{"twice", "one credential", egress.Config{Record: record, Rules: listed, Inject: []egress.Injection{{Place: listed[0], Header: "A", Value: value}, {Place: listed[0], Header: "B", Value: value}}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p, err := egress.New(tc.cfg)
			if p != nil || err == nil || !strings.Contains(err.Error(), tc.problem) {
				t.Errorf("got %v, want %q", err, tc.problem)
			}
		})
	}
	p, err := egress.New(egress.Config{Record: record})
	if err != nil || p.CA() != nil {
		t.Errorf("got %v", err)
	}
}

// TestSystemDial uses the proxy's own way to connect: an address needs no
// resolver.
func TestSystemDial(t *testing.T) {
	t.Parallel()
	ln := listen(t)
	defer ln.Close()
	at := netip.MustParseAddrPort(ln.Addr().String())
	w := newWorld(t, []string{at.String()}, func(c *egress.Config) { c.Dial, c.Resolve = nil, nil })
	conn, r := w.tunnel(at.String())
	server, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	send(server, "hello") // the server speaks first
	server.Close()
	if got, _ := io.ReadAll(r); string(got) != "hello" {
		t.Errorf("got %q", got)
	}
	conn.Close()
}
