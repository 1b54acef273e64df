package main

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"paddock"
	"paddock/cmd/paddock/internal/manual"
)

// Every way a run can end has its status, and every state is in the table.
func TestRunStatus(t *testing.T) {
	t.Parallel()
	code := func(n int) *int { return &n }
	for _, tt := range []struct {
		name   string
		state  paddock.State
		reason paddock.Reason
		want   int
	}{
		{"success", paddock.Exited, paddock.Reason{Kind: paddock.ReasonExit, ExitCode: code(0)}, 0},
		{"its own status", paddock.Exited, paddock.Reason{Kind: paddock.ReasonExit, ExitCode: code(126)}, 126},
		{"exited without a status", paddock.Exited, paddock.Reason{Kind: paddock.ReasonExit}, 125},
		{"timeout", paddock.TimedOut, paddock.Reason{Kind: paddock.ReasonTimeout, Signal: "SIGKILL"}, 124},
		{"output limit", paddock.OutputLimit, paddock.Reason{Kind: paddock.ReasonOutputLimit, Signal: "SIGTERM"}, 137},
		{"killed on request", paddock.Killed, paddock.Reason{Kind: paddock.ReasonKill, Signal: "SIGTERM"}, 137},
		{"caller gone", paddock.Killed, paddock.Reason{Kind: paddock.ReasonCallerGone}, 137},
		{"a signal from elsewhere", paddock.Killed, paddock.Reason{Kind: paddock.ReasonSignal, Signal: "SIGSEGV"}, 139},
		{"a signal without a known name", paddock.Killed, paddock.Reason{Kind: paddock.ReasonSignal, Signal: "SIGRTMIN+3"}, 137},
		{"failed to start", paddock.FailedToStart, paddock.Reason{Kind: paddock.ReasonStart}, 125},
		{"lost", paddock.Lost, paddock.Reason{Kind: paddock.ReasonLost}, 125},
		{"not over", paddock.Running, paddock.Reason{}, 75},
		{"hardly begun", paddock.Starting, paddock.Reason{}, 75},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := paddock.Run{State: tt.state, Outcome: &paddock.Outcome{State: tt.state, Reason: tt.reason}}
			if got := runStatus(r); got != tt.want {
				t.Errorf("status %d, want %d", got, tt.want)
			}
		})
	}
}

func TestStatusOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		err  error
		want int
	}{
		{"nothing", nil, 0},
		{"a refusal", paddock.Refused(paddock.Busy, "x"), 126},
		{"a missing executable", paddock.Refused(paddock.ExecutableMissing, "x"), 127},
		{"wrapped", errors.Join(paddock.Refused(paddock.NotFound, "x"), errors.New("y")), 126},
		{"a status", exitStatus(3), 3},
		{"a wrong flag", &usageError{"x", "y"}, 125},
		{"a fault", errors.New("x"), 125},
	} {
		if got := statusOf(tt.err); got != tt.want {
			t.Errorf("%s: status %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestRequestOfFlags(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.house.onStart = func(r *paperRun) { d.house.exit(r, 0) }
	text := "in"
	id := paddock.RunID("r00000000000000000000000000")
	for _, tt := range []struct {
		name string
		args []string
		want paddock.Request
	}{
		{"plain", []string{"run", "--", "a", "-b"},
			paddock.Request{Command: paddock.Command{Argv: []string{"a", "-b"}}, Tied: true}},
		{"detached", []string{"run", "-d", "a"},
			paddock.Request{Command: paddock.Command{Argv: []string{"a"}}}},
		{"all", []string{"run", "--label", "l", "--dir", "sub", "--timeout", "90s", "--output-limit", "2KiB", "--stdin-text", "in", "--env", "A=b=c", "--key", "k", "a"},
			paddock.Request{
				Command: paddock.Command{
					Argv: []string{"a"}, Label: "l", Dir: d.dir + "/sub", Timeout: paddock.Duration(90 * time.Second),
					OutputLimit: 2048, Stdin: paddock.Stdin{Text: &text}, Env: map[string]string{"A": "b=c"},
				}, Tied: true, IdempotencyKey: "k",
			}},
		{"a run's output", []string{"run", "--stdin-run", string(id) + ":stderr", "a"},
			paddock.Request{Command: paddock.Command{Argv: []string{"a"}, Stdin: paddock.Stdin{Run: id, Stream: paddock.Stderr}}, Tied: true}},
		{"a file", []string{"run", "--stdin-file", "x/../in", "a"},
			paddock.Request{Command: paddock.Command{Argv: []string{"a"}, Stdin: paddock.Stdin{File: d.dir + "/in"}}, Tied: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := d.types(tt.args...); got != 0 {
				t.Fatalf("status %d: %s", got, &d.err)
			}
			want := tt.want
			want.Principal, want.Door = paddock.Principal{Kind: paddock.Operator, ID: "operator:uid=1000"}, paddock.DoorCLI
			if want.Command.Dir == "" {
				want.Command.Dir = d.dir
			}
			if diff := cmp.Diff(want, d.house.starts[len(d.house.starts)-1]); diff != "" {
				t.Errorf("the request (-want +got):\n%s", diff)
			}
		})
	}
	if d.house.closed != len(d.house.opened) {
		t.Errorf("opened %d times, closed %d times", len(d.house.opened), d.house.closed)
	}
}

func TestSignalsReachTheRunInTheirOwnWay(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	started := make(chan *paperRun, 1)
	d.house.onStart = func(r *paperRun) { started <- r }
	status := make(chan int)
	go func() { status <- d.types("run", "a") }()
	r := <-started
	d.signals <- syscall.SIGHUP
	if k := <-d.house.killed; k.Signal != "HUP" || !k.NoWait {
		t.Errorf("the first signal asks for %+v", k)
	}
	d.signals <- syscall.SIGINT
	if k := <-d.house.killed; k.Signal != "KILL" || !k.NoWait || !strings.Contains(k.Reason, "SIGINT again") {
		t.Errorf("the second signal asks for %+v", k)
	}
	d.house.end(r, paddock.Killed, paddock.Reason{Kind: paddock.ReasonKill, Signal: "SIGKILL"})
	if got := <-status; got != exitKilled {
		t.Errorf("status %d, want %d", got, exitKilled)
	}
	if d.out.String() != "to stdout\n" || !strings.HasPrefix(d.err.String(), "to stderr\n") {
		t.Errorf("passed on %q and %q", &d.out, &d.err)
	}
}

// A reader that has stopped reading holds nobody up for ever: once the run is
// over, a signal lets go of it.
func TestSignalAfterTheEndLetsGo(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	stuck, unstuck := io.Pipe()
	d.outside.out = unstuck
	started := make(chan *paperRun, 1)
	d.house.onStart = func(r *paperRun) { started <- r }
	status := make(chan int)
	go func() { status <- d.types("run", "a") }()
	r := <-started
	d.house.exit(r, 4)
	// The run's end and the signal are both there: whichever is taken first,
	// at most two signals are needed, and the run can't be killed any more.
	for got := -1; got < 0; {
		select {
		case d.signals <- syscall.SIGINT:
		case <-d.house.killed:
		case got = <-status:
			if got != 4 {
				t.Errorf("status %d, want 4", got)
			}
		}
	}
	if err := stuck.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestFaultsAndRefusalsAreTold(t *testing.T) {
	t.Parallel()
	refusal := paddock.Refused(paddock.ShellSyntax, "That is\na shell line.")
	refusal.Suggestion = &paddock.Suggestion{Argvs: [][]string{{"go", "vet", "it's"}}, Note: "one by one"}
	refusal.Position = &paddock.Position{File: "/p.yaml", Line: 3, Column: 7}
	refusal.Others = []paddock.Refusal{*paddock.Refused(paddock.CwdMissing, "No directory.")}
	d := newDesk(t)
	d.house.refuse = refusal
	if got := d.types("run", "a"); got != 126 {
		t.Errorf("status %d, want 126", got)
	}
	want := strings.Join([]string{
		"refused: shell_syntax: That is", "refused: a shell line.", "hint: " + refusal.Hint, "note: one by one",
		`try: paddock run -- go vet 'it'\''s'`, "note: decided at /p.yaml:3:7", "also refused: cwd_missing: No directory.", "",
	}, "\npaddock: ")
	if diff := cmp.Diff("paddock: "+strings.TrimSuffix(want, "paddock: "), d.err.String()); diff != "" {
		t.Errorf("standard error (-want +got):\n%s", diff)
	}
	d.house.refuse, d.house.fault = nil, errors.New("the disk\x1b[2J is gone")
	if got := d.types("run", "a"); got != 125 {
		t.Errorf("status %d, want 125", got)
	}
	if got, want := d.err.String(), "paddock: error: the disk\\x1b[2J is gone\n"; got != want {
		t.Errorf("standard error %q, want %q", got, want)
	}
}

func TestColour(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.house.refuse = paddock.Refused(paddock.Busy, "x")
	d.errTerminal = true
	d.types("run", "a")
	if !strings.Contains(d.err.String(), "\x1b[31mrefused\x1b[0m") {
		t.Errorf("a terminal gets %q, without colour", &d.err)
	}
	for name, value := range map[string]string{"NO_COLOR": "1", "TERM": "dumb"} {
		d.env = map[string]string{"HOME": "/h", name: value}
		if d.types("run", "a"); strings.Contains(d.err.String(), "\x1b") {
			t.Errorf("with %s=%s a terminal gets %q", name, value, &d.err)
		}
	}
}

func TestLogsTornLines(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := &stamper{w: &out, only: paddock.Combined}
	at := func(n int) time.Time { return day.Add(time.Duration(n) * time.Second) }
	err := s.page(paddock.Page{Content: "heerrllo\nend", Encoding: "utf-8", Entries: []paddock.Entry{
		{At: at(0), Stream: paddock.Stdout, Length: 2}, {At: at(1), Stream: paddock.Stderr, Length: 3},
		{At: at(2), Stream: paddock.Stdout, Length: 7},
	}})
	if err := errors.Join(err, s.finish()); err != nil {
		t.Fatal(err)
	}
	want := "2026-11-29T12:00:00.000Z stdout hello\n" +
		"2026-11-29T12:00:02.000Z stdout end\n" +
		"2026-11-29T12:00:01.000Z stderr err\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("stamped lines (-want +got):\n%s", diff)
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ got, want string }{
		{quote("plain-word_1.go"), "plain-word_1.go"},
		{quote(""), "''"},
		{quote("a b"), "'a b'"},
		{quote("it's"), `'it'\''s'`},
		{quote("a\nb"), `$'a\nb'`},
		{quote("\\'\x1b"), `$'\\\'\x1b'`},
		{plain("grüße 漢"), "grüße 漢"},
		{plain("\x1b[2J\u202e\xff"), `\x1b[2J\u202e\xff`},
		{size(0), "0 B"}, {size(1023), "1023 B"}, {size(1024), "1 KiB"}, {size(1536), "1.5 KiB"},
		{size(10 << 20), "10 MiB"}, {size(1<<63 - 1), "8 EiB"},
		{span(-1), "0s"}, {span(1500 * time.Microsecond), "2ms"}, {span(90 * time.Second), "1m30s"}, {span(10 * time.Minute), "10m"},
		{span(3 * time.Hour), "3h"}, {span(30 * time.Hour), "30h"}, {span(72 * time.Hour), "3d"}, {span(630 * time.Second), "10m30s"},
		{shorten("abcdef", 4), "abc…"}, {shorten("äöü", 3), "äöü"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %s, want %s", tt.got, tt.want)
		}
	}
}

func TestParseSize(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]int64{
		"1": 1, "1B": 1, "2KiB": 2048, "3MiB": 3 << 20, "1GiB": 1 << 30, "2TiB": 2 << 40,
		"": 0, "0": 0, "-1": 0, "1KB": 0, "1.5MiB": 0, "MiB": 0, "99999999999999999999": 0, "9999999TiB": 0, "1KiBKiB": 0, "٣": 0,
	} {
		got, err := parseSize(word)
		if got != want || (err == nil) != (want > 0) {
			t.Errorf("parseSize(%q) = %d, %v; want %d", word, got, err, want)
		}
	}
}

// Every visible command says what it is, can be shown as a page, and is tried
// by a script.
func TestEveryCommand(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	c := &cli{outside: d.outside}
	root := c.root()
	pages := manual.Pages(root, "1")
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		if !cmd.IsAvailableCommand() && cmd != root || cmd.Name() == "help" {
			return
		}
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1"
		i := slices.IndexFunc(pages, func(p manual.Page) bool { return p.Name == name })
		if i < 0 {
			t.Errorf("there is no page %s", name)
		} else if text := string(pages[i].Text); !strings.HasPrefix(text, ".TH ") || !strings.Contains(text, ".SH NAME\n") {
			t.Errorf("%s isn't a manual page:\n%s", name, text)
		}
		if cmd != root && cmd.Short == "" || cmd != root && strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: its short text is %q", cmd.CommandPath(), cmd.Short)
		}
		for _, child := range cmd.Commands() {
			walk(child)
		}
	}
	walk(root)
}

func TestDetachedRunIsNotTied(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	if got := d.types("run", "--detach", "--json", "a"); got != 0 {
		t.Fatalf("status %d: %s", got, &d.err)
	}
	if d.house.starts[0].Tied {
		t.Error("a detached run is tied to its caller")
	}
	if d.house.closed != 1 {
		t.Error("the house isn't closed")
	}
	if !strings.HasPrefix(d.out.String(), `{"id":"r`) {
		t.Errorf("printed %q", &d.out)
	}
}
