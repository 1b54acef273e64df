package relay

import (
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestMeter moves a byte just before the limit, again and again: only when
// nothing moves is the connection idle, and that is told once.
func TestMeter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b := net.Pipe()
		defer b.Close()
		var told atomic.Int64
		m := Meter(a, time.Minute, func() { told.Add(1) })
		for range 10 {
			<-time.After(59 * time.Second)
			go func() { _, _ = b.Write([]byte("xy")) }()
			if n, err := m.Read(make([]byte, 9)); n != 2 || err != nil {
				t.Fatalf("got %d, %v", n, err)
			}
			<-time.After(59 * time.Second)
			go func() { _, _ = b.Read(make([]byte, 9)) }()
			if n, err := m.Write([]byte("z")); n != 1 || err != nil {
				t.Fatalf("got %d, %v", n, err)
			}
		}
		if out, in := m.Counts(); out != 10 || in != 20 || told.Load() != 0 {
			t.Errorf("%d out, %d in, told %d times", out, in, told.Load())
		}
		<-time.After(time.Hour)
		synctest.Wait()
		if told.Load() != 1 {
			t.Errorf("told %d times", told.Load())
		}
		m.Release()
	})
}

func TestReleaseEndsTheWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, end := range []func(*Metered){(*Metered).Release, func(m *Metered) { m.Close() }} {
			a, b := net.Pipe()
			end(Meter(a, time.Minute, func() { t.Error("idle after its end") }))
			if _, err := b.Read(make([]byte, 1)); err == nil {
				t.Error("still open")
			}
			b.Close()
		}
		<-time.After(time.Hour)
	})
}

// TestPassToSomethingWhole can't pass on the end of one direction where there
// is only one end, and says so.
func TestPassToSomethingWhole(t *testing.T) {
	t.Parallel()
	var whole strings.Builder
	if Pass(&whole, strings.NewReader("text")) || whole.String() != "text" {
		t.Errorf("got %q", whole.String())
	}
	a, b := net.Pipe()
	defer b.Close()
	c := Rejoin(a, io.MultiReader(strings.NewReader("early "), a))
	go func() {
		defer b.Close()
		_, _ = b.Write([]byte("late"))
	}()
	if got, err := io.ReadAll(c); string(got) != "early late" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	Linger(c) // returns at once
}
