package warrant_test

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"paddock"
	"paddock/internal/journal/sign"
	"paddock/internal/lease/order"
	"paddock/internal/lease/order/warrant"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func newKey(t *testing.T) *sign.Key {
	t.Helper()
	k, err := sign.Create(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// giver is one of a server's processes.
func giver(t *testing.T, key *sign.Key, state string) *warrant.Giver {
	t.Helper()
	n, err := order.NoncesIn(state)
	if err != nil {
		t.Fatal(err)
	}
	return &warrant.Giver{Key: key, Nonces: n, Now: func() time.Time { return noon }}
}

func newOrder(t *testing.T, key *sign.Key, at time.Time) (order.Order, []byte) {
	t.Helper()
	id, err := paddock.NewRunID(at, nil)
	if err != nil {
		t.Fatal(err)
	}
	o, err := order.New(id, paddock.Request{Command: paddock.Command{Argv: []string{"true"}}}, at, time.Hour, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := o.Seal(key)
	if err != nil {
		t.Fatal(err)
	}
	return o, text
}

func code(err error) paddock.Code {
	var r *paddock.Refusal
	if errors.As(err, &r) {
		return r.Code
	}
	return ""
}

// TestForgotten has no warrant given for an order from before the notes were put back, not
// even to who had it.
func TestForgotten(t *testing.T) {
	t.Parallel()
	key, state := newKey(t), t.TempDir()
	g := giver(t, key, state)
	old, text := newOrder(t, key, noon.Add(-time.Second))
	if _, err := g.Give(text, old.Run, "one", "a"); err != nil {
		t.Fatal(err)
	}
	if err := g.Nonces.From(noon); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got, err := g.Give(text, old.Run, "one", "a"); code(err) != paddock.Conflict || got != nil {
			t.Errorf("%s, %v", got, err)
		}
		g = giver(t, key, state)
	}
	young, text := newOrder(t, key, noon)
	if _, err := g.Give(text, young.Run, "one", "a"); err != nil {
		t.Error(err)
	}
}

// Whoever asks first has it, asks again and has it still, also of the server's next
// process; nobody else gets it, nor the worker that shares the server's notes.
func TestTheFirstHasIt(t *testing.T) {
	t.Parallel()
	key, state := newKey(t), t.TempDir()
	g := giver(t, key, state)
	o, text := newOrder(t, key, noon)
	first, err := g.Give(text, o.Run, "one", "a")
	if err != nil {
		t.Fatal(err)
	}
	if err := warrant.Check(first, o, &key.Public, "one", "a"); err != nil {
		t.Error(err)
	}
	for range 2 {
		if again, err := g.Give(text, o.Run, "one", "a"); err != nil || !bytes.Equal(again, first) {
			t.Errorf("told again: %s, %v", again, err)
		}
		for _, who := range [][2]string{{"two", "a"}, {"one", "b"}, {"onea", "a"}, {"on", "ea"}} {
			if got, err := g.Give(text, o.Run, who[0], who[1]); code(err) != paddock.Conflict || got != nil {
				t.Errorf("%q got %s, %v", who, got, err)
			}
		}
		if err := g.Nonces.Use(o); !errors.Is(err, order.ErrUsed) {
			t.Error("the server's own worker follows it, too:", err)
		}
		g = giver(t, key, state)
	}
	ours, text := newOrder(t, key, noon)
	if err := g.Nonces.Use(ours); err != nil {
		t.Fatal(err)
	}
	// Of a name that is what the notes have of a run.
	for _, who := range []string{"one", string(ours.Run)} {
		if got, err := g.Give(text, ours.Run, who, "a"); code(err) != paddock.Conflict || got != nil {
			t.Errorf("what the server's own worker has is given to %s, too: %s, %v", who, got, err)
		}
	}
}

func TestManyAskAtOnce(t *testing.T) {
	t.Parallel()
	key, state := newKey(t), t.TempDir()
	o, text := newOrder(t, key, noon)
	var all sync.WaitGroup
	got := make(chan string, 16)
	for i := range cap(got) {
		g := giver(t, key, state)
		all.Go(func() {
			who := strings.Repeat("w", i+1)
			switch _, err := g.Give(text, o.Run, who, "a"); {
			case err == nil:
				got <- who
			case code(err) != paddock.Conflict:
				t.Error(err)
			}
		})
	}
	all.Wait()
	if len(got) != 1 {
		t.Errorf("%d have it", len(got))
	}
}

// There is none for what the giver didn't sign, or isn't good now, or who doesn't say who
// he is; and asking so uses nothing up.
func TestNoWarrant(t *testing.T) {
	t.Parallel()
	key, other := newKey(t), newKey(t)
	g := giver(t, key, t.TempDir())
	o, text := newOrder(t, key, noon)
	of, foreign := newOrder(t, other, noon)
	past, old := newOrder(t, key, noon.Add(-2*time.Hour))
	for what, ask := range map[string]func() ([]byte, error){
		"another key":   func() ([]byte, error) { return g.Give(foreign, of.Run, "one", "a") },
		"another run":   func() ([]byte, error) { return g.Give(text, of.Run, "one", "a") },
		"expired":       func() ([]byte, error) { return g.Give(old, past.Run, "one", "a") },
		"no envelope":   func() ([]byte, error) { return g.Give(nil, o.Run, "one", "a") },
		"torn":          func() ([]byte, error) { return g.Give(text[:len(text)-9], o.Run, "one", "a") },
		"nobody":        func() ([]byte, error) { return g.Give(text, o.Run, "", "a") },
		"no process":    func() ([]byte, error) { return g.Give(text, o.Run, "one", "") },
		"a long name":   func() ([]byte, error) { return g.Give(text, o.Run, strings.Repeat("w", 65), "a") },
		"a long word":   func() ([]byte, error) { return g.Give(text, o.Run, "one", strings.Repeat("w", 650)) },
		"bytes as text": func() ([]byte, error) { return g.Give([]byte("\x00\xff"), o.Run, "one", "a") },
	} {
		if got, err := ask(); got != nil || code(err) != paddock.Forbidden && code(err) != paddock.InvalidRequest {
			t.Errorf("%s: %s, %v", what, got, err)
		}
	}
	if _, err := g.Give(text, o.Run, "one", "a"); err != nil {
		t.Error(err)
	}
}

// Only the signer's word for this order, worker and process is one.
func TestCheck(t *testing.T) {
	t.Parallel()
	key, other := newKey(t), newKey(t)
	g := giver(t, key, t.TempDir())
	o, text := newOrder(t, key, noon)
	good, err := g.Give(text, o.Run, "one", "a")
	if err != nil {
		t.Fatal(err)
	}
	another, _ := newOrder(t, key, noon)
	twice := o // signed once more, as a run that is tried again
	twice.Nonce = another.Nonce
	sealed := func(by *sign.Key, run paddock.RunID, asker string, version int) []byte {
		text, err := by.Seal(warrant.PayloadType, fmt.Appendf(nil, `{"version":%d,"run":%q,"nonce":%q,"worker":"one","asker":%q,"made":"2026-11-30T12:00:00Z"}`, version, run, o.Nonce, asker)).Text()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	if err := warrant.Check(sealed(key, o.Run, "a", 1), o, &key.Public, "one", "a"); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"another run":     warrant.Check(sealed(key, another.Run, "a", 1), o, &key.Public, "one", "a"),
		"for nobody":      warrant.Check(sealed(key, o.Run, "", 1), o, &key.Public, "one", ""),
		"another version": warrant.Check(sealed(key, o.Run, "a", 2), o, &key.Public, "one", "a"),
		"another order":   warrant.Check(good, another, &key.Public, "one", "a"),
		"another nonce":   warrant.Check(good, twice, &key.Public, "one", "a"),
		"another key":     warrant.Check(good, o, &other.Public, "one", "a"),
		"another worker":  warrant.Check(good, o, &key.Public, "two", "a"),
		"another process": warrant.Check(good, o, &key.Public, "one", "b"),
		"no process":      warrant.Check(good, o, &key.Public, "one", ""),
		"an order itself": warrant.Check(text, o, &key.Public, "one", "a"),
		"forged":          warrant.Check(sealed(other, o.Run, "a", 1), o, &key.Public, "one", "a"),
		"nothing":         warrant.Check(nil, o, &key.Public, "one", "a"),
		"torn":            warrant.Check(good[:len(good)-3], o, &key.Public, "one", "a"),
	} {
		if !errors.Is(err, warrant.ErrNone) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// What shows that somebody has a key shows it to one process of one worker: whoever hears it
// can't be taken for the signer by others.
func TestShown(t *testing.T) {
	t.Parallel()
	key, other := newKey(t), newKey(t)
	g := giver(t, key, t.TempDir())
	good, err := g.Show("one", "a")
	if err != nil || !warrant.Shows(good, &key.Public, "one", "a") {
		t.Fatal(err)
	}
	seal := func(payload string) []byte {
		text, err := key.Seal(warrant.ShownType, []byte(payload)).Text()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	o, _ := newOrder(t, key, noon)
	text, err := o.Seal(key)
	if err != nil {
		t.Fatal(err)
	}
	for what, shows := range map[string]bool{
		"another key":     warrant.Shows(good, &other.Public, "one", "a"),
		"another worker":  warrant.Shows(good, &key.Public, "two", "a"),
		"another process": warrant.Shows(good, &key.Public, "one", "b"),
		"no process":      warrant.Shows(seal(`{"version":1,"worker":"one","asker":""}`), &key.Public, "one", ""),
		"another version": warrant.Shows(seal(`{"version":2,"worker":"one","asker":"a"}`), &key.Public, "one", "a"),
		"more":            warrant.Shows(seal(`{"version":1,"worker":"one","asker":"a","x":1}`), &key.Public, "one", "a"),
		"an order":        warrant.Shows(text, &key.Public, "one", "a"),
		"torn":            warrant.Shows(good[:len(good)-3], &key.Public, "one", "a"),
		"nothing":         warrant.Shows(nil, &key.Public, "one", "a"),
	} {
		if shows {
			t.Errorf("%s: it is taken for the signer", what)
		}
	}
	for _, who := range [][2]string{{"", "a"}, {"one", ""}, {strings.Repeat("w", 65), "a"}, {"one", strings.Repeat("w", 65)}} {
		if got, err := g.Show(who[0], who[1]); code(err) != paddock.InvalidRequest || got != nil {
			t.Errorf("%q: %s, %v", who, got, err)
		}
	}
}
