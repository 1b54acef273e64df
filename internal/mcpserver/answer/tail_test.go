package answer

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"paddock"
)

// Wherever valid text is cut, what is shown of it has no broken character.
func TestCutsSplitNoCharacter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		from := rapid.IntRange(0, len(text)).Draw(t, "from")
		to := rapid.IntRange(from, len(text)).Draw(t, "to")
		got := string(Characters([]byte(text[from:to]), true, true))
		if strings.Count(got, "\uFFFD") != strings.Count(text[from:to], "\uFFFD") || !strings.Contains(text, got) {
			t.Fatalf("%q cut from %d to %d shows %q", text, from, to, got)
		}
		if whole := Characters([]byte(text), false, false); string(whole) != text {
			t.Fatalf("%q shows as %q", text, string(whole))
		}
	})
}

func FuzzCharacters(f *testing.F) {
	f.Add([]byte("漢"), true, true)
	f.Fuzz(func(t *testing.T, b []byte, front, back bool) {
		kept := bytes.Clone(b)
		if got := Characters(b, front, back); !utf8.ValidString(string(got)) || len(got) > len(b) {
			t.Errorf("%q shows as %q", b, string(got))
		}
		if !bytes.Equal(kept, b) {
			t.Error("the input was changed")
		}
	})
}

func TestSharesFillTheRoom(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.IntRange(1, 3000).Draw(t, "a"), rapid.IntRange(1, 3000).Draw(t, "b")
		room := MostPreview - len(stdoutHeading) - len(stderrHeading)
		x, y := shares(a, b, room)
		switch {
		case x > min(a, mostTail) || y > min(b, mostTail) || x+y > room || x < 1 || y < 1:
			t.Fatalf("%d and %d share %d as %d and %d", a, b, room, x, y)
		case x+y < min(room, min(a, mostTail)+min(b, mostTail)):
			t.Fatalf("%d and %d leave room: %d and %d", a, b, x, y)
		}
	})
}

// What the kernel refused is told in words, and not without bound.
func TestDenialsAreTold(t *testing.T) {
	t.Parallel()
	outcome := &paddock.Outcome{State: paddock.Exited}
	for range 2 * mostDenied {
		outcome.Denied = append(outcome.Denied, paddock.Denial{Call: "socket", Count: 1, Text: "the program tried to reach the network"})
	}
	got := NewStatus(paddock.Run{State: paddock.Exited, Outcome: outcome}, "", Counters{}).Denied
	if len(got) != mostDenied || got[0] != "the program tried to reach the network" {
		t.Errorf("%q", got)
	}
}

// What became known of a lost run later is told, and its state stays.
func TestAddendaAreTold(t *testing.T) {
	t.Parallel()
	code := 3
	run := paddock.Run{State: paddock.Lost, Outcome: &paddock.Outcome{State: paddock.Lost, Reason: paddock.Reason{Kind: paddock.ReasonLost}}, Addenda: []paddock.Addendum{
		{Source: paddock.FromSupervisor, Outcome: paddock.Outcome{State: paddock.Exited, Reason: paddock.Reason{Kind: paddock.ReasonExit, ExitCode: &code}}},
	}}
	got := NewStatus(run, "", Counters{})
	if got.State != paddock.Lost || got.ExitCode != nil || len(got.Addenda) != 1 {
		t.Fatalf("%+v", got)
	}
	if a := got.Addenda[0]; a.State != paddock.Exited || *a.ExitCode != 3 || a.Source != paddock.FromSupervisor {
		t.Errorf("%+v", a)
	}
}
