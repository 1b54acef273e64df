//go:build linux

package scene

import (
	"errors"
	"os"
	"slices"
	"testing"

	"paddock"
	"paddock/cmd/paddock/internal/desk/doctor/diagnosis"
	"paddock/internal/contain/probe"
)

// Scenes lie where level standard keeps programs out, and nothing of them stays.
func TestScene(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	for _, level := range []paddock.Level{paddock.Full, paddock.Standard, paddock.Off} {
		s, err := Build(t.Context(), base, level)
		if err != nil {
			t.Fatal(err)
		}
		if open := s.Targets.Outside != ""; open == (level == paddock.Standard && diagnosis.Shared(s.dir)) {
			t.Errorf("%s: in %s what is outside is %q", level, s.dir, s.Targets.Outside)
		}
		beside := slices.Clone(s.remove)
		if arrived, err := s.heard(t.Context()); arrived || err != nil {
			t.Errorf("heard %t, %v", arrived, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		for _, path := range append(beside, s.dir) {
			if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s is still there: %v", path, err)
			}
		}
	}
}

// What was seen outside counts more than what the program says.
func TestOutsideCounts(t *testing.T) {
	t.Parallel()
	s, err := Build(t.Context(), t.TempDir(), paddock.Full)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := os.WriteFile(s.At("outside/"+probe.Made), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.udp.WriteTo([]byte("out"), s.udp.LocalAddr()); err != nil {
		t.Fatal(err)
	}
	results := []probe.Result{{Check: "write_outside", Held: true, Tried: true}, {Check: "udp", Held: true, Tried: true}}
	if err := s.Outside(t.Context(), results); err != nil {
		t.Fatal(err)
	}
	if results[0].Held || results[1].Held {
		t.Errorf("%+v", results)
	}
}
