package replay

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func said(s *Store, stream string, after int) (string, error) {
	var all []string
	for e, err := range s.After(context.Background(), "s", stream, after) {
		if err != nil {
			return "", err
		}
		all = append(all, string(e))
	}
	return strings.Join(all, " "), nil
}

func add(t *testing.T, s *Store, stream string, events ...string) {
	t.Helper()
	if err := s.Open(t.Context(), "s", stream); err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if err := s.Append(t.Context(), "s", stream, []byte(e)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAfter(t *testing.T) {
	t.Parallel()
	s := New(100, 10)
	add(t, s, "a", "", "one", "two")
	add(t, s, "")
	for _, c := range []struct {
		stream string
		after  int
		want   string
		gone   bool
	}{
		{"a", -1, " one two", false}, {"a", 0, "one two", false}, {"a", 2, "", false}, {"a", 3, "", true}, {"a", 1 << 40, "", true},
		{"b", 0, "", true}, {"", -1, "", false}, {"", 0, "", true},
	} {
		if got, err := said(s, c.stream, c.after); got != c.want || errors.Is(err, ErrGone) != c.gone {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
	if err := s.SessionClosed(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	if _, err := said(s, "a", 0); !errors.Is(err, ErrGone) {
		t.Errorf("a session that is over: %v", err)
	}
	if err := s.Append(t.Context(), "s", "a", nil); !errors.Is(err, ErrGone) {
		t.Errorf("adding to it: %v", err)
	}
}

// What is kept is bounded, whatever a client asks for and never takes.
func TestBounds(t *testing.T) {
	t.Parallel()
	s := New(100, 3)
	add(t, s, "", "x")
	for i := range 1000 {
		add(t, s, fmt.Sprint(i), "", strings.Repeat("y", 10))
	}
	if k := s.sessions["s"]; len(k.streams) != 3 || k.bytes != 21 {
		t.Errorf("%d streams of %d bytes", len(k.streams), k.bytes)
	}
	if got, err := said(s, "", -1); got != "x" || err != nil {
		t.Errorf("what the session was told: %q, %v", got, err)
	}
	if err := s.Append(t.Context(), "s", "7", []byte("z")); !errors.Is(err, ErrGone) {
		t.Errorf("a stream that was dropped goes on with wrong numbers: %v", err)
	}
	add(t, s, "large", strings.Repeat("z", 60), strings.Repeat("z", 60))
	if _, err := said(s, "large", -1); !errors.Is(err, ErrGone) {
		t.Errorf("half of it is given: %v", err)
	}
	if got, err := said(s, "large", 0); len(got) != 60 || err != nil {
		t.Errorf("the rest: %d bytes, %v", len(got), err)
	}
	if k := s.sessions["s"]; k.bytes > 100 {
		t.Errorf("%d bytes", k.bytes)
	}
}
