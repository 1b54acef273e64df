//go:build linux

package supervise

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/control"
	"paddock/internal/control/handover"
	"paddock/internal/control/wire"
	"paddock/internal/rundir/record/terminals"
	"paddock/internal/supervise/terminal"
	"paddock/internal/testproc"
)

func onTerminal(t *testing.T, script string) *fixture {
	f := newFixture(t, script)
	f.job.Terminal = &paddock.TerminalSize{Rows: 24, Columns: 80}
	return f
}

// asks has one attachment ask something of the terminal; code is what it is refused with.
func (f *fixture) asks(want control.Typed, code wire.Code) func() {
	return func() {
		f.t.Helper()
		err := f.client().Type(f.t.Context(), want)
		var refused *control.Error
		if errors.As(err, &refused); (refused == nil) != (code == "") || refused != nil && refused.Code != code {
			f.t.Errorf("%+v: %v, want %q", want, err, code)
		}
	}
}

// TestTerminalOfARun: the program has a terminal on all three descriptors, which controls
// its session, of the size that it was asked for and then made; what is typed is echoed and
// read, ^C is a signal, and every byte that comes out is kept.
func TestTerminalOfARun(t *testing.T) {
	t.Parallel()
	f := onTerminal(t, `trap 'stty size; echo resized' WINCH
		test -t 0 && test -t 1 && test -t 2 && echo three; echo through >/dev/tty; stty size
		trap 'echo interrupted' INT; echo up; read x; echo "got $x"; until read y; do :; done; echo "and $y"; exit 5`)
	typed := func(s string) control.Typed { return control.Typed{Hand: "a", Input: []byte(s)} }
	got := f.run(f.printed("up"),
		f.asks(typed("early\r"), wire.Taken),
		f.asks(control.Typed{Hand: "a", By: "user:anna", Take: true, Input: []byte("hello\r")}, ""), f.printed("got hello"),
		f.asks(control.Typed{Hand: "a", Size: &paddock.TerminalSize{Rows: 30, Columns: 101}}, ""), f.printed("resized"),
		f.asks(typed("\x03"), ""), f.printed("interrupted"),
		f.asks(control.Typed{Hand: "a", Number: 2, Input: []byte("o")}, ""), f.asks(control.Typed{Hand: "a", Number: 2, Input: []byte("o")}, ""),
		f.asks(control.Typed{Hand: "b", By: "user:ben", Take: true}, ""),
		f.asks(typed("mine\r"), wire.Taken),
		f.asks(control.Typed{Hand: "b", Input: []byte("there\r")}, ""))
	checkOutcome(t, got, paddock.Exited, paddock.Reason{Kind: paddock.ReasonExit, ExitCode: code(5)})
	want := "three\r\nthrough\r\n24 80\r\nup\r\nhello\r\ngot hello\r\n30 101\r\nresized\r\n^Cinterrupted\r\nothere\r\nand othere\r\n"
	if out := f.stdout(); out != want {
		t.Errorf("output\n%q, want\n%q", out, want)
	}
	if got.Stderr.Bytes != 0 || got.Stdout.Bytes != int64(len(want)) {
		t.Errorf("kept %+v and %+v", got.Stdout, got.Stderr)
	}
	notes, err := terminals.Read(f.dir.Path())
	if err != nil {
		t.Fatal(err)
	}
	said := ""
	for _, n := range notes {
		switch {
		case n.Size != nil:
			said += fmt.Sprintf("%dx%d ", n.Size.Rows, n.Size.Columns)
		default:
			said += n.Writer + " "
		}
	}
	if said != "24x80 user:anna 30x101 user:ben " || notes[2].Offset == 0 {
		t.Errorf("record %q: %+v", said, notes)
	}
}

// TestTerminalAtItsEnd: what is left behind writes to the terminal until it is ended, though
// the program that led the session is gone, and nothing of it is lost.
func TestTerminalAtItsEnd(t *testing.T) {
	t.Parallel()
	f := onTerminal(t, `(trap '' HUP TERM; while test -d /proc/$$; do :; done; echo late >/dev/pts/../tty || echo late; echo later; sleep 1000) & i=0; while [ $i -lt 2000 ]; do echo 0123456789012345678901234567890123456789; i=$((i+1)); done`)
	f.run(func() { f.clock.await(leftoverGrace) }, f.printed("later"), func() { f.clock.fire(leftoverGrace) })
	if out := f.stdout(); strings.Count(out, "0123456789012345678901234567890123456789\r\n") != 2000 || !strings.HasSuffix(out, "later\r\n") {
		t.Errorf("%d bytes: …%q", len(out), out[max(0, len(out)-200):])
	}
}

// TestTerminalThatNobodyReads: a program that doesn't read what is typed makes nobody wait:
// typing is refused when too much waits, and the run can be ended.
func TestTerminalThatNobodyReads(t *testing.T) {
	t.Parallel()
	f := onTerminal(t, `stty raw -echo; echo up; sleep 1000`)
	got := f.run(f.printed("up"), func() {
		c, full := f.client(), false
		for range 1000 {
			err := c.Type(t.Context(), control.Typed{Hand: "a", Take: true, Input: make([]byte, paddock.MostTyped)})
			var refused *control.Error
			if full = errors.As(err, &refused) && refused.Code == wire.TooMany; full || err != nil {
				break
			}
		}
		if !full {
			t.Error("typing was never refused")
		}
	}, f.kill(control.Kill{Kind: paddock.ReasonKill, Signal: "KILL"}))
	if got.State != paddock.Killed {
		t.Errorf("%+v", got)
	}
}

// TestTerminalDemands: what can't be asked of a terminal is refused, and so is asking where
// there is none.
func TestTerminalDemands(t *testing.T) {
	t.Parallel()
	f := onTerminal(t, `echo up; read x`)
	size := func(rows, columns int) *paddock.TerminalSize {
		return &paddock.TerminalSize{Rows: rows, Columns: columns}
	}
	f.run(f.printed("up"),
		f.asks(control.Typed{Take: true}, wire.Malformed),
		f.asks(control.Typed{Hand: strings.Repeat("a", 65), Take: true}, wire.Malformed),
		f.asks(control.Typed{Hand: "a", Take: true, Size: size(0, 80)}, wire.Malformed),
		f.asks(control.Typed{Hand: "a", Take: true, Size: size(24, 65536)}, wire.Malformed),
		f.asks(control.Typed{Hand: "a", Take: true, Size: size(-1, -1)}, wire.Malformed),
		f.asks(control.Typed{Hand: "a", Take: true, Input: make([]byte, paddock.MostTyped+1)}, wire.Malformed),
		f.asks(control.Typed{Hand: "a", Take: true, Input: []byte("\x04")}, ""))
	if f.stdout() != "up\r\n" {
		t.Errorf("output %q", f.stdout())
	}
	plain := newFixture(t, `echo up; sleep 1000`)
	plain.run(plain.printed("up"), plain.asks(control.Typed{Hand: "a", Take: true}, wire.Unsupported), plain.kill(control.Kill{Kind: paddock.ReasonKill, Signal: "KILL"}))
	for _, wrong := range []Job{{Terminal: size(0, 1)}, {Terminal: size(1, 1), Word: handover.Word{HasStdin: true}}} {
		job := plain.job
		job.Terminal, job.HasStdin = wrong.Terminal, wrong.HasStdin
		if err := errors.Join(job.Check(), job.Heard()); err == nil {
			t.Errorf("%+v was accepted", wrong)
		}
	}
	var none *terminal.Terminal
	if held, err := none.Finish(0), none.Close(); held || err != nil {
		t.Errorf("none: %t, %v", held, err)
	}
}

// TestTerminalHeldFromOutside: somebody who has the terminal open and isn't of the run keeps
// no run open.
func TestTerminalHeldFromOutside(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		testproc.Skip(t, "only root can open the program's descriptors here")
	}
	f := onTerminal(t, `echo up; read x`)
	got := f.run(f.printed("up"), func() {
		status, err := f.client().Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		held, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/1", status.LeaderPID), os.O_RDWR|unix.O_NOCTTY, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { held.Close() })
	}, f.asks(control.Typed{Hand: "a", Take: true, Input: []byte("x\r")}, ""))
	if !strings.Contains(got.Reason.Detail, "outside of the run") {
		t.Errorf("reason %+v", got.Reason)
	}
}
