package order_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"paddock/internal/lease/order"
)

// TestWhatIsForgotten has nobody follow an order from before the notes were put back, also
// by another process, and who was given one isn't told again.
func TestWhatIsForgotten(t *testing.T) {
	state := t.TempDir()
	n, err := order.NoncesIn(state)
	if err != nil {
		t.Fatal(err)
	}
	old := make1(t, time.Hour)
	given := make1(t, time.Hour)
	if err := n.Give(given, "w", "1"); err != nil {
		t.Fatal(err)
	}
	for _, later := range []time.Duration{time.Millisecond, -time.Hour} { // of a clock that was set back
		if err := n.From(old.Made.Add(later)); err != nil {
			t.Fatal(err)
		}
	}
	other, err := order.NoncesIn(state)
	if err != nil {
		t.Fatal(err)
	}
	young := make1(t, time.Hour)
	young.Made = old.Made.Add(time.Millisecond)
	for _, one := range []*order.Nonces{n, other} {
		for _, err := range []error{one.Use(old), one.Give(old, "w", "1"), one.Give(given, "w", "1")} {
			if !errors.Is(err, order.ErrForgotten) || !strings.Contains(err.Error(), "before 2026-") {
				t.Errorf("an old order: %v", err)
			}
		}
		if err := one.Give(young, "w", "1"); err != nil {
			t.Errorf("a young one: %v", err)
		}
	}
}

// TestNoted has the time until which notes were kept go forward alone, and says what a file
// that nobody of us wrote is.
func TestNoted(t *testing.T) {
	state := t.TempDir()
	n, err := order.NoncesIn(state)
	if err != nil {
		t.Fatal(err)
	}
	noted := func(want time.Time, bare bool) {
		t.Helper()
		if at, none, err := n.Noted(); err != nil || !at.Equal(want) || none != bare {
			t.Errorf("%s, %v, %v; want %s, %v", at, none, err, want, bare)
		}
	}
	noted(time.Time{}, true)
	if err := n.Use(make1(t, time.Hour)); err != nil {
		t.Fatal(err)
	}
	noted(time.Time{}, false)
	for _, at := range []time.Time{noon, noon.Add(-time.Hour), noon.Add(time.Minute)} {
		if err := n.Note(at); err != nil {
			t.Fatal(err)
		}
	}
	noted(noon.Add(time.Minute), false)
	for _, bad := range []string{"", "soon\n", "\x00", noon.Format(time.RFC3339), strings.Repeat("9", 100)} {
		for _, name := range []string{"noted", "complete-from"} {
			file := filepath.Join(state, order.NoncesDir, name)
			if err := os.WriteFile(file, []byte(bad), 0o600); err != nil {
				t.Fatal(err)
			}
			_, _, err := n.Noted()
			if name != "noted" {
				_, err = order.NoncesIn(state)
			}
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s with %.20q: %v", name, bad, err)
			}
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// What is left of a time that somebody was writing down when he was ended goes, and what
// somebody may be writing at this moment stays.
func TestHalfATime(t *testing.T) {
	state := t.TempDir()
	n, err := order.NoncesIn(state)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	left, fresh := filepath.Join(state, order.NoncesDir, ".new-0123456789abcdef"), filepath.Join(state, order.NoncesDir, ".new-fedcba9876543210")
	for name, at := range map[string]time.Time{left: now.Add(-2 * time.Hour), fresh: now} {
		if err := errors.Join(os.WriteFile(name, nil, 0o600), os.Chtimes(name, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(n.Note(now), n.Forget(now)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); err == nil {
		t.Error("what is left of one who was ended stays")
	}
	if _, err := os.Stat(fresh); err != nil {
		t.Error(err)
	}
	if at, _, err := n.Noted(); err != nil || !at.Equal(now) {
		t.Errorf("%v, %v", at, err)
	}
}
