//go:build linux

package doctor

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/cmd/paddock/internal/desk/screen"
)

// What was attempted is believed for some minutes, and each level is attempted once.
func TestSelfTest(t *testing.T) {
	now, probes := time.Unix(1e9, 0), make(chan bool, 10)
	d := &desk.Desk{Screen: screen.Screen{Now: func() time.Time { return now }, Getenv: func(string) string { return "" }}, State: t.TempDir()}
	d.Levels = func() ([]paddock.Level, map[paddock.Level]string) {
		probes <- true
		return []paddock.Level{paddock.Off}, map[paddock.Level]string{paddock.Full: "no user namespaces"}
	}
	s := NewSelfTest(t.Context(), d)
	for range 3 {
		if err := s.Holds(paddock.Full); err == nil || !strings.Contains(err.Error(), "no user namespaces") {
			t.Error(err)
		}
	}
	if <-probes; len(probes) != 0 {
		t.Errorf("attempted %d times more", len(probes))
	}
	// A program that can't be had is no promise that holds.
	s.d.stage = func(context.Context, string) (string, error) { return "", errors.New("no stage") }
	if err := s.Holds(paddock.Off); err == nil || !strings.Contains(err.Error(), "no stage") {
		t.Error(err)
	}
	// What is old is still told while it is attempted again.
	now = now.Add(fresh + time.Second)
	if err := s.Holds(paddock.Full); err == nil {
		t.Error("nothing is told")
	}
	for range 2 { // the one at off, and this one
		<-probes
	}
}
