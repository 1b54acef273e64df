//go:build linux

package outlet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"paddock/internal/egress"
	"paddock/internal/egress/ledger"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

func stage(t *testing.T) string { return testproc.Build(t, "paddock/cmd/paddock-stage") }

// served is an outlet that serves a socket on loopback, and where that is.
func served(t *testing.T, dir string, rules ...string) (*Outlet, string) {
	t.Helper()
	o, err := Start(stage(t), dir, rules, nil)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	socket, err := ln.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Serve(socket, func(e egress.Entry) egress.Entry { return e }, func(err error) { t.Error(err) }); err != nil {
		t.Fatal(err)
	}
	return o, ln.Addr().String()
}

// ask asks the proxy for host and returns the first line of its answer.
func ask(t *testing.T, proxy, host string) string {
	t.Helper()
	conn, err := net.Dial("tcp", proxy)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", host)
	answer := make([]byte, 12)
	n, err := conn.Read(answer)
	if err != nil {
		t.Fatal(err)
	}
	return string(answer[:n])
}

func entries(t *testing.T, dir string) []egress.Entry {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, FileName))
	if err != nil {
		t.Fatal(err)
	}
	all, err := ledger.Read(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestRefusalsAreWrittenDownAndSummed(t *testing.T) {
	testproc.Leaks(t)
	dir := t.TempDir()
	o, at := served(t, dir, "127.0.0.1:9")
	for range 2 {
		if got := ask(t, at, "example.com:443"); got != "HTTP/1.1 403" {
			t.Errorf("the answer is %q", got)
		}
	}
	if got := ask(t, at, "0x7f000001:9"); !strings.HasPrefix(got, "HTTP/1.1 4") {
		t.Errorf("the answer is %q", got)
	}
	denied := o.Close()
	if len(denied) != 2 || denied[0].Count != 2 || denied[0].Arguments != "example.com:443" || denied[0].Call != "network" ||
		denied[0].Text != "the run tried to reach example.com:443; the policy doesn't list it" || !strings.Contains(denied[1].Text, "isn't a host") {
		t.Errorf("denied %+v", denied)
	}
	if got := entries(t, dir); len(got) != 3 || got[0].Host != "example.com" || got[0].Verdict != egress.Refused {
		t.Errorf("entries %+v", got)
	}
	if conn, err := net.Dial("tcp", at); err == nil {
		conn.Close()
		t.Error("somebody still listens")
	}
}

// What is open when the run ends is ended, and that is written down.
func TestOpenConnectionsEnd(t *testing.T) {
	testproc.Leaks(t)
	origin, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer origin.Close()
	dir := t.TempDir()
	o, at := served(t, dir, origin.Addr().String())
	conn, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", origin.Addr())
	if _, err := conn.Read(make([]byte, 12)); err != nil {
		t.Fatal(err)
	}
	if denied := o.Close(); denied != nil {
		t.Errorf("denied %+v", denied)
	}
	got := entries(t, dir)
	if len(got) != 2 || got[0].Closed || !got[1].Closed || got[1].Verdict != egress.Allowed {
		t.Errorf("entries %+v", got)
	}
}

func TestAProxyThatEndsEarlyIsTold(t *testing.T) {
	testproc.Leaks(t)
	o, _ := served(t, t.TempDir())
	if err := o.stage.Kill(); err != nil {
		t.Fatal(err)
	}
	<-o.done
	if denied := o.Close(); len(denied) != 1 || !strings.Contains(denied[0].Text, "ended before the run did") {
		t.Errorf("denied %+v", denied)
	}
}

func TestARunThatDoesntStartHasNoProxyLeft(t *testing.T) {
	testproc.Leaks(t)
	o, err := Start(stage(t), t.TempDir(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	pid := o.stage.PID()
	if denied := o.Close(); denied != nil {
		t.Errorf("denied %+v", denied)
	}
	if err := unix.Kill(pid, 0); !errors.Is(err, unix.ESRCH) {
		t.Errorf("the proxy is there: %v", err)
	}
	var none *Outlet
	if denied := none.Close(); none.Serve(nil, nil, nil) != nil || denied != nil {
		t.Error("no outlet does something")
	}
}

func TestStartRefuses(t *testing.T) {
	testproc.Leaks(t)
	used := t.TempDir()
	if err := os.WriteFile(filepath.Join(used, FileName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, start := range map[string]func() (*Outlet, error){
		"a rule that isn't one": func() (*Outlet, error) { return Start(stage(t), t.TempDir(), []string{"*:443"}, nil) },
		"a file that is there":  func() (*Outlet, error) { return Start(stage(t), used, nil, nil) },
		"no binary":             func() (*Outlet, error) { return Start("/nowhere", t.TempDir(), nil, nil) },
	} {
		if o, err := start(); err == nil {
			o.Close()
			t.Errorf("%s: it starts", name)
		}
	}
}

// The record is bounded, and says what it left out.
func TestTheRecordIsBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, err := os.Create(filepath.Join(dir, FileName))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	o := &Outlet{file: file, refused: map[refusal]int64{}}
	line, err := json.Marshal(egress.Entry{Verdict: egress.Refused, Code: egress.NotListed, Host: "example.com", Port: 443})
	if err != nil {
		t.Fatal(err)
	}
	line = append(line, '\n')
	const beyond = 7
	for range maxFile/len(line) + beyond {
		o.keep(line)
	}
	o.finish()
	all := entries(t, dir)
	if last := all[len(all)-1]; len(all) != maxFile/len(line)+1 || last.Reason != fmt.Sprintf("%d further entries aren't kept", beyond) {
		t.Errorf("%d entries, the last is %+v", len(all), last)
	}
	for i := range most + 3 {
		o.count(egress.Entry{Verdict: egress.Refused, Code: egress.NotListed, Host: fmt.Sprintf("h%d.example", i), Port: 1})
	}
	o.count(egress.Entry{Verdict: egress.Refused, Code: egress.AddressRefused, Host: "h0.example", Port: 1})
	o.count(egress.Entry{Verdict: egress.Allowed, Host: "h0.example", Port: 1})
	denied := o.denials()
	if last := denied[len(denied)-1]; len(denied) != most+1 || last.Count != 4 {
		t.Errorf("%d denials, the last is %+v", len(denied), last)
	}
}

// A disk that takes no more ends the run, once.
func TestWhatCantBeRecordedIsTold(t *testing.T) {
	t.Parallel()
	file, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var told []error
	o := &Outlet{file: file, failed: func(err error) { told = append(told, err) }}
	o.keep([]byte("{}\n"))
	o.keep([]byte("{}\n"))
	if len(told) != 1 || !errors.Is(told[0], unix.ENOSPC) || o.dropped != 1 {
		t.Errorf("told %v, dropped %d", told, o.dropped)
	}
}

// What isn't a proxy of ours is told from one.
func TestSomethingElseThanEntries(t *testing.T) {
	testproc.Leaks(t)
	o, err := Start("/bin/sh", t.TempDir(), nil, nil) // it takes no orders and says nothing
	if errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET) {
		return // it was gone before it could be given any
	}
	if err != nil {
		t.Fatal(err)
	}
	if denied := o.Close(); denied != nil {
		t.Errorf("denied %+v", denied)
	}
}
