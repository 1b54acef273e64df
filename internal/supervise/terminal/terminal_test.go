//go:build linux

package terminal

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/control/wire"
)

// However often somebody changes the size of the terminal, the next one can take the keyboard.
func TestSizesDontUseUpTheRecord(t *testing.T) {
	t.Parallel()
	size := func(rows int) *paddock.TerminalSize { return &paddock.TerminalSize{Rows: rows, Columns: 80} }
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
	if err := term.Type(wire.Typed{Hand: "a", By: "anna", Take: true}); err != nil {
		t.Fatal(err)
	}
	changed := 0
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
