//go:build linux

package terminal

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/control/wire"
)

func size(rows int) *paddock.TerminalSize { return &paddock.TerminalSize{Rows: rows, Columns: 80} }

// begun is a terminal that nobody reads what is typed at, and its file.
func begun(t *testing.T) (*Terminal, *os.File) {
	t.Helper()
	term, err := New(t.TempDir(), size(1), func() int64 { return 0 }, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	side, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := term.Begin(master, side, null); err != nil {
		t.Fatal(err)
	}
	return term, side
}

// Who asked to take the keyboard, and to type, and whose connection broke before the answer,
// asks the same again: if it was done, it isn't done again, though somebody else has the
// keyboard by then.
func TestTakenOnce(t *testing.T) {
	t.Parallel()
	term, side := begun(t)
	once := []wire.Typed{{Hand: "a", By: "anna", Take: true, Number: 1}, {Hand: "a", By: "anna", Number: 2, Input: []byte("one\n")}}
	all := slices.Concat(once, once, []wire.Typed{{Hand: "b", By: "ben", Take: true, Number: 1}, {Hand: "b", Number: 2, Input: []byte("two\n")}}, once, once[:1])
	for _, in := range all {
		if err := term.Type(in); err != nil {
			t.Errorf("%+v: %v", in, err)
		}
	}
	var refused *wire.Error
	if err := term.Type(wire.Typed{Hand: "a", Number: 3, Input: []byte("no\n")}); !errors.As(err, &refused) || refused.Code != wire.Taken {
		t.Errorf("what was asked again took the keyboard: %v", err)
	}
	for _, in := range []wire.Typed{{Hand: "b", Number: 3, Input: []byte("three\n")}, {Hand: "a", Take: true, Number: 4, Input: []byte("four\n")}} {
		if err := term.Type(in); err != nil {
			t.Errorf("%+v: %v", in, err)
		}
	}
	lines := bufio.NewReader(side)
	for _, want := range []string{"one\n", "two\n", "three\n", "four\n"} {
		if got, err := lines.ReadString('\n'); err != nil || got != want {
			t.Errorf("the program read %q (%v), want %q", got, err, want)
		}
	}
	if err := term.Close(); err != nil {
		t.Error(err)
	}
}

// However often somebody changes the size of the terminal, the next one can take the keyboard.
func TestSizesDontUseUpTheRecord(t *testing.T) {
	t.Parallel()
	term, _ := begun(t)
	if err := term.Type(wire.Typed{Hand: "a", By: "anna", Take: true}); err != nil {
		t.Fatal(err)
	}
	changed, err := 0, error(nil)
	for ; err == nil && changed <= mostNotes; changed++ {
		err = term.Type(wire.Typed{Hand: "a", Size: size(2 + changed%2)})
	}
	var refused *wire.Error
	if !errors.As(err, &refused) || changed > mostNotes {
		t.Errorf("after %d changes: %v", changed, err)
	}
	for _, hand := range []string{"b", "a", "b"} {
		if err := term.Type(wire.Typed{Hand: hand, By: "ben", Take: true, Size: size(9), Input: []byte("x")}); err != nil {
			t.Error(err)
		}
	}
	if err := term.Close(); err != nil {
		t.Error(err)
	}
}
