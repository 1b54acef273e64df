//go:build linux

package main

import (
	"context"
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
	"paddock/cmd/paddock/internal/desk"
	"paddock/cmd/paddock/internal/manual"
)

func TestRequestOfFlags(t *testing.T) {
	t.Parallel()
	d := newPerson(t)
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
					Argv: []string{"a"}, Label: "l", Dir: d.Dir + "/sub", Timeout: paddock.Duration(90 * time.Second),
					OutputLimit: 2048, Stdin: paddock.Stdin{Text: &text}, Env: map[string]string{"A": "b=c"},
				}, Tied: true, IdempotencyKey: "k",
			}},
		{"a run's output", []string{"run", "--stdin-run", string(id) + ":stderr", "a"},
			paddock.Request{Command: paddock.Command{Argv: []string{"a"}, Stdin: paddock.Stdin{Run: id, Stream: paddock.Stderr}}, Tied: true}},
		{"a file", []string{"run", "--stdin-file", "x/../in", "a"},
			paddock.Request{Command: paddock.Command{Argv: []string{"a"}, Stdin: paddock.Stdin{File: d.Dir + "/in"}}, Tied: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := d.types(tt.args...); got != 0 {
				t.Fatalf("status %d: %s", got, &d.err)
			}
			want := tt.want
			want.Principal, want.Door = paddock.Principal{Kind: paddock.Operator, ID: "operator:uid=1000"}, paddock.DoorCLI
			if want.Command.Dir == "" {
				want.Command.Dir = d.Dir
			}
			if diff := cmp.Diff(want, d.house.starts[len(d.house.starts)-1]); diff != "" {
				t.Errorf("the request (-want +got):\n%s", diff)
			}
		})
	}
	if d.house.closed != d.house.opened {
		t.Errorf("opened %d times, closed %d times", d.house.opened, d.house.closed)
	}
}

func TestSignalsReachTheRunInTheirOwnWay(t *testing.T) {
	t.Parallel()
	d := newPerson(t)
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
	if got := <-status; got != desk.ExitKilled {
		t.Errorf("status %d, want %d", got, desk.ExitKilled)
	}
	if d.out.String() != "to stdout\n" || !strings.HasPrefix(d.err.String(), "to stderr\n") {
		t.Errorf("passed on %q and %q", &d.out, &d.err)
	}
}

// What is asked to end before it began doesn't begin.
func TestSignalTakesTheRequestBack(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		starting func(entered chan<- struct{}, over <-chan struct{}) func(context.Context) error
		signals  []syscall.Signal
		want     int
	}{
		{"a start that hears", func(entered chan<- struct{}, _ <-chan struct{}) func(context.Context) error {
			return func(ctx context.Context) error { entered <- struct{}{}; <-ctx.Done(); return ctx.Err() }
		}, []syscall.Signal{syscall.SIGTERM}, 128 + 15},
		{"a start that hangs", func(entered chan<- struct{}, over <-chan struct{}) func(context.Context) error {
			return func(context.Context) error { entered <- struct{}{}; <-over; return errors.New("over") }
		}, []syscall.Signal{syscall.SIGTERM, syscall.SIGINT}, 128 + 15},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := newPerson(t)
			entered, over := make(chan struct{}, 1), make(chan struct{})
			defer close(over)
			d.house.starting = test.starting(entered, over)
			status := make(chan int)
			go func() { status <- d.types("run", "a") }()
			<-entered
			for _, s := range test.signals {
				d.signals <- s
			}
			if got := <-status; got != test.want {
				t.Errorf("status %d, want %d", got, test.want)
			}
			if len(d.house.starts) > 0 {
				t.Error("a run was made")
			}
			if want := "paddock: error: nothing was started: paddock run received SIGTERM before\n"; d.err.String() != want {
				t.Errorf("said %q, want %q", &d.err, want)
			}
		})
	}
}

// A signal that comes while the program is being started, but too late to take
// it back, isn't lost.
func TestSignalDuringTheStartIsPassedOn(t *testing.T) {
	t.Parallel()
	d := newPerson(t)
	d.house.starting = func(ctx context.Context) error { d.signals <- syscall.SIGHUP; <-ctx.Done(); return nil }
	started := make(chan *paperRun, 1)
	d.house.onStart = func(r *paperRun) { started <- r }
	status := make(chan int)
	go func() { status <- d.types("run", "a") }()
	r := <-started
	if k := <-d.house.killed; k.Signal != "HUP" {
		t.Errorf("the signal asks for %+v", k)
	}
	d.signals <- syscall.SIGTERM
	if k := <-d.house.killed; k.Signal != "KILL" {
		t.Errorf("the second signal asks for %+v", k)
	}
	d.house.end(r, paddock.Killed, paddock.Reason{Kind: paddock.ReasonKill, Signal: "SIGKILL"})
	if got := <-status; got != desk.ExitKilled {
		t.Errorf("status %d, want %d", got, desk.ExitKilled)
	}
}

// A reader that has stopped reading holds nobody up for ever: once the run is
// over, a signal lets go of it.
func TestSignalAfterTheEndLetsGo(t *testing.T) {
	t.Parallel()
	d := newPerson(t)
	stuck, unstuck := io.Pipe()
	d.Out = unstuck
	started := make(chan *paperRun, 1)
	d.house.onStart = func(r *paperRun) { started <- r }
	status := make(chan int)
	go func() { status <- d.types("run", "a") }()
	r := <-started
	// The start is over when something of the run arrives; then no more is read.
	if _, err := stuck.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
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
	d := newPerson(t)
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
	d := newPerson(t)
	d.house.refuse = paddock.Refused(paddock.Busy, "x")
	d.ErrTerminal = true
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

// Every visible command says what it is, can be shown as a page, and is tried
// by a script.
func TestEveryCommand(t *testing.T) {
	t.Parallel()
	d := newPerson(t)
	root := tree(d.Desk)
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
	d := newPerson(t)
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
