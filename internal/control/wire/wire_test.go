package wire

import (
	"errors"
	"io"
	"strings"
	"testing"
)

func TestLines(t *testing.T) {
	t.Parallel()
	text := "a\n\n" + strings.Repeat("b", 5000) + "\nlast"
	l := NewLines(oneByte{strings.NewReader(text)})
	for _, want := range []string{"a", "", strings.Repeat("b", 5000)} {
		if got, err := l.Next(5000); string(got) != want || err != nil {
			t.Errorf("Next = %.20q, %v", got, err)
		}
	}
	if _, err := l.Next(5000); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("half a line: %v", err)
	}
	for _, text := range []string{"123456\n", "123456"} {
		l = NewLines(strings.NewReader(text))
		if got, err := l.Next(5); !errors.Is(err, ErrTooLong) {
			t.Errorf("Next = %q, %v", got, err)
		}
	}
	l = NewLines(strings.NewReader(""))
	if _, err := l.Next(5); !errors.Is(err, io.EOF) {
		t.Errorf("the end: %v", err)
	}
}

// oneByte reads a byte at a time.
type oneByte struct{ r io.Reader }

func (o oneByte) Read(p []byte) (int, error) { return o.r.Read(p[:1]) }

func TestMailbox(t *testing.T) {
	t.Parallel()
	var m mailbox
	for i := range int64(1000) {
		m.putKnown(Event{Kind: EventOutput, Stdout: i})
		m.putKnown(Event{Kind: "novelty"})
	}
	m.putKnown(Event{Kind: EventSettled})
	if len(m.events) != 2 || m.events[0].Stdout != 999 || m.events[1].Kind != EventSettled {
		t.Errorf("mailbox: %v", m.events)
	}
}
