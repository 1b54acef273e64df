package pace

import (
	"fmt"
	"testing"
	"time"

	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

func TestLimiter(t *testing.T) {
	now := time.Unix(1e9, 0)
	l := New(2, 3, func() time.Time { return now })
	for range 3 {
		if ok, _ := l.Allow("a"); !ok {
			t.Fatal("the burst is refused")
		}
	}
	if ok, after := l.Allow("a"); ok || after != 500*time.Millisecond {
		t.Errorf("%v, %s", ok, after)
	}
	if ok, _ := l.Allow("b"); !ok {
		t.Error("somebody else is refused")
	}
	now = now.Add(500 * time.Millisecond)
	if ok, _ := l.Allow("a"); !ok {
		t.Error("refused after waiting")
	}
	for i := range most - 2 {
		l.Allow(fmt.Sprint("n", i))
	}
	if ok, _ := l.Allow("one too many"); ok {
		t.Error("there is no bound on names")
	}
	now = now.Add(forget + time.Second)
	if ok, _ := l.Allow("one too many"); !ok || len(l.names) != 1 {
		t.Errorf("%v; %d names are remembered", ok, len(l.names))
	}
	if ok, _ := new(Limiter).Allow("a"); ok {
		t.Error("the zero Limiter allows")
	}
}

func TestCount(t *testing.T) {
	c := Count{Each: 2, All: 3}
	one, _ := c.Take("a")
	_, ok := c.Take("a")
	if _, third := c.Take("a"); !ok || third {
		t.Error("for each")
	}
	_, ok = c.Take("b")
	if _, fourth := c.Take("c"); !ok || fourth || c.Held() != 3 {
		t.Error("for all")
	}
	one()
	one()
	if _, ok := c.Take("c"); !ok || c.Held() != 3 {
		t.Error("what was given back")
	}
	if _, ok := new(Count).Take("a"); ok {
		t.Error("the zero Count gives")
	}
}
