package feed

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"paddock"
	"paddock/internal/artifact"
	"paddock/internal/artifact/packed"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

var owner = paddock.Principal{Kind: paddock.User, ID: "user:ann"}

// A house keeps one run's output as runs do, and lets tests say what happens.
type house struct {
	t    testing.TB
	bank *artifact.Bank
	dir  string

	mu      sync.Mutex
	changed chan struct{}
	run     paddock.Run
	pruned  bool
	asked   int // questions for more that waited
	status  int
	failing error
}

func newHouse(t testing.TB, run func(*paddock.Run)) *house {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	bank, err := artifact.Create(dir, artifact.Options{Cap: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bank.Close() })
	id, err := paddock.NewRunID(time.Now(), nil)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Unix(1_700_000_000, 0).UTC()
	h := &house{t: t, bank: bank, dir: dir, changed: make(chan struct{}), run: paddock.Run{ID: id, State: paddock.Running, CreatedAt: at, StartedAt: &at, Principal: owner}}
	if run != nil {
		run(&h.run)
	}
	return h
}

func (h *house) change(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
	close(h.changed)
	h.changed = make(chan struct{})
}

func (h *house) print(s paddock.Stream, text []byte) {
	h.change(func() {
		if n, over, err := h.bank.Append(s, text); err != nil || over || n != len(text) {
			h.t.Errorf("append: %d, %v, %v", n, over, err)
		}
	})
}

func (h *house) settle(state paddock.State) {
	h.change(func() {
		stdout, stderr, err := h.bank.Seal()
		if err != nil {
			h.t.Error(err)
		}
		code := 0
		h.run.State = state
		h.run.Outcome = &paddock.Outcome{State: state, Reason: paddock.Reason{Kind: paddock.ReasonExit, ExitCode: &code}, Stdout: stdout, Stderr: stderr}
	})
}

func (h *house) Look(_ context.Context, p paddock.Principal, id paddock.RunID) (paddock.Run, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if id != h.run.ID || p != owner && p.Kind != paddock.Operator {
		return paddock.Run{}, paddock.Refused(paddock.NotFound, "There is no such run.")
	}
	return h.run, h.failing
}

func (h *house) Status(ctx context.Context, p paddock.Principal, id paddock.RunID) (paddock.Run, error) {
	h.mu.Lock()
	h.status++
	h.mu.Unlock()
	return h.Look(ctx, p, id)
}

func (h *house) Output(ctx context.Context, p paddock.Principal, id paddock.RunID, req paddock.PageRequest) (paddock.Page, error) {
	if _, err := h.Look(ctx, p, id); err != nil {
		return paddock.Page{}, err
	}
	over := make(<-chan time.Time)
	if req.Wait > 0 {
		timer := time.NewTimer(time.Duration(req.Wait))
		defer timer.Stop()
		over = timer.C
		h.mu.Lock()
		h.asked++
		h.mu.Unlock()
	}
	for {
		h.mu.Lock()
		changed, sealed, pruned := h.changed, h.run.Outcome != nil, h.pruned
		h.mu.Unlock()
		if pruned {
			return paddock.Page{}, paddock.Refused(paddock.Pruned, "The output was removed.")
		}
		page, err := packed.Open(h.dir).Page(req, sealed)
		if err != nil || req.Wait == 0 || page.Content != "" || page.EOF {
			return page, err
		}
		select {
		case <-changed:
		case <-over:
			return page, nil
		case <-ctx.Done():
			return page, ctx.Err()
		}
	}
}

// A reader keeps what a follower got, and holds every message to the rule.
type reader struct {
	next    int64
	streams map[paddock.Stream][]byte
	order   []byte
	fixed   map[int64]string // the data of messages that aren't output, by number
	ended   bool
}

func newReader() *reader {
	return &reader{next: 1, streams: map[paddock.Stream][]byte{}, fixed: map[int64]string{}}
}

func (r *reader) take(m Message) error {
	if m.First == 0 {
		return nil // a hint
	}
	if m.First != r.next || m.Last < m.First {
		return fmt.Errorf("%s has %d to %d, and %d is due", m.Kind, m.First, m.Last, r.next)
	}
	r.next = m.Last + 1
	if bytes.ContainsAny(m.Data, "\r\n") {
		return fmt.Errorf("data of more than one line: %q", m.Data)
	}
	if m.Kind != KindOutput {
		r.fixed[m.First] = string(m.Data)
		r.ended = m.Kind == KindEnd
		return nil
	}
	var o Output
	if err := json.Unmarshal(m.Data, &o); err != nil {
		return err
	}
	b := []byte(o.Content)
	switch {
	case o.Encoding == "base64":
		b, _ = base64.StdEncoding.DecodeString(o.Content)
		if utf8.Valid(b) {
			return fmt.Errorf("base64 of what is text: %q", b)
		}
	case !utf8.ValidString(o.Content):
		return fmt.Errorf("a text that isn't: %q", o.Content)
	}
	if o.Seq != m.First || o.Until != m.Last || o.Length != int64(len(b)) || o.Length != m.Last-m.First+1 || o.Offset != int64(len(r.streams[o.Stream])) {
		return fmt.Errorf("%+v after %d bytes", o, len(r.streams[o.Stream]))
	}
	r.streams[o.Stream] = append(r.streams[o.Stream], b...)
	r.order = append(r.order, b...)
	return nil
}

// follow reads from where r is until stop says so or the end.
func (r *reader) follow(ctx context.Context, hub *Hub, h *house, stop func() bool) error {
	f, err := hub.Follow(ctx, owner, h.run.ID, r.next-1)
	if errors.Is(err, ErrOver) && r.ended {
		return io.EOF
	}
	if err != nil {
		return err
	}
	defer f.Close()
	for !stop() {
		messages, err := f.Next(ctx)
		if err != nil {
			return err
		}
		for _, m := range messages {
			if err := r.take(m); err != nil {
				return err
			}
			if stop() {
				return nil
			}
		}
	}
	return nil
}

func (r *reader) same(t *testing.T, who string, stdout, stderr []byte) {
	t.Helper()
	if !r.ended || !bytes.Equal(r.streams[paddock.Stdout], stdout) || !bytes.Equal(r.streams[paddock.Stderr], stderr) {
		t.Errorf("%s: ended %v, %d and %d bytes; want %d and %d", who, r.ended, len(r.streams[paddock.Stdout]), len(r.streams[paddock.Stderr]), len(stdout), len(stderr))
	}
}

func never() bool { return false }

// Readers that come and go at random all see the same bytes under the same numbers,
// as those do who come when all is over, and as the file says.
func TestEverybodySeesTheSame(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, nil)
			hub := New(t.Context(), h)
			defer hub.Close()
			random := rand.New(rand.NewPCG(seed, 1))
			var all sync.WaitGroup
			readers := make([]*reader, 5)
			for i := range readers {
				r, mine := newReader(), rand.New(rand.NewPCG(seed, uint64(i+2)))
				readers[i] = r
				all.Go(func() {
					for {
						left := 1 + mine.IntN(20)
						err := r.follow(t.Context(), hub, h, func() bool { left--; return left < 0 })
						if errors.Is(err, io.EOF) {
							return
						}
						if err != nil {
							t.Errorf("reader %d: %v", i, err)
							return
						}
					}
				})
			}
			want := map[paddock.Stream][]byte{}
			text := []byte("häßlich – 日本語 \x00\xff\xfe🙂 <b>&\r\n")
			for range 150 {
				s := []paddock.Stream{paddock.Stdout, paddock.Stderr}[random.IntN(2)]
				from := random.IntN(len(text))
				b := bytes.Repeat(text[from:from+1+random.IntN(len(text)-from)], 1+random.IntN(1+random.IntN(400)))
				b = b[:1+random.IntN(len(b))]
				want[s] = append(want[s], b...)
				h.print(s, b)
			}
			h.settle(paddock.Exited)
			all.Wait()
			late := newReader()
			if err := late.follow(t.Context(), hub, h, never); !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			for i, r := range slices.Concat(readers, []*reader{late}) {
				r.same(t, fmt.Sprint(i), want[paddock.Stdout], want[paddock.Stderr])
				if !bytes.Equal(r.order, late.order) || fmt.Sprint(r.fixed) != fmt.Sprint(late.fixed) {
					t.Errorf("reader %d differs from who came late", i)
				}
			}
			if hub.Runs() != 0 {
				t.Errorf("%d runs are still read", hub.Runs())
			}
		})
	}
}

// A restarted server goes on with the numbers of the one before, and so does who
// comes back in the middle of a character.
func TestNumbersOutliveTheHub(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nil)
	text := []byte("añb日c🙂")
	h.print(paddock.Stdout, text)
	h.settle(paddock.Exited)
	for after := range int64(len(text) + 3) {
		hub := New(t.Context(), h)
		r := newReader()
		r.next = after + 1
		r.streams[paddock.Stdout] = bytes.Clone(text[:max(0, after-2)])
		if err := r.follow(t.Context(), hub, h, never); !errors.Is(err, io.EOF) {
			t.Errorf("after %d: %v", after, err)
		}
		r.same(t, fmt.Sprint("after ", after), text, nil)
		hub.Close()
	}
	hub := New(t.Context(), h)
	defer hub.Close()
	if _, err := hub.Follow(t.Context(), owner, h.run.ID, int64(len(text)+3)); !errors.Is(err, ErrOver) {
		t.Errorf("after the end: %v", err)
	}
	var refusal *paddock.Refusal
	if _, err := hub.Follow(t.Context(), owner, h.run.ID, int64(len(text)+4)); !errors.As(err, &refusal) || refusal.Code != paddock.InvalidRequest {
		t.Errorf("a number that isn't there: %v", err)
	}
	live := newHouse(t, nil)
	live.print(paddock.Stdout, text)
	other := New(t.Context(), live)
	defer other.Close()
	if _, err := other.Follow(t.Context(), owner, live.run.ID, int64(len(text)+3)); !errors.As(err, &refusal) || refusal.Code != paddock.InvalidRequest {
		t.Errorf("a number that isn't there yet: %v", err)
	}
	if _, err := hub.Follow(t.Context(), paddock.Principal{Kind: paddock.User, ID: "user:bob"}, h.run.ID, 0); !errors.As(err, &refusal) || refusal.Code != paddock.NotFound {
		t.Errorf("somebody else's run: %v", err)
	}
}

// A run that waits says so without a number, and then that it started; one that never
// starts says that.
func TestWhatHasNoBytes(t *testing.T) {
	t.Parallel()
	wait := func(r *paddock.Run) { r.State, r.StartedAt, r.Approval = paddock.Waiting, nil, "a1" }
	for _, starts := range []bool{true, false} {
		h := newHouse(t, wait)
		hub := New(t.Context(), h)
		f, err := hub.Follow(t.Context(), owner, h.run.ID, 0)
		if err != nil {
			t.Fatal(err)
		}
		next := func() Message {
			t.Helper()
			m, err := f.Next(t.Context())
			if err != nil || len(m) != 1 {
				t.Fatalf("%v, %v", m, err)
			}
			return m[0]
		}
		if m := next(); m.First != 1 || m.Kind != KindState {
			t.Errorf("%+v", m)
		}
		if m := next(); m.First != 0 || m.Kind != KindStatus || !bytes.Contains(m.Data, []byte(`"waiting","approval":"a1"`)) {
			t.Errorf("%+v: %s", m, m.Data)
		}
		want := "not-started"
		if starts {
			want = "started"
			h.change(func() { at := h.run.CreatedAt; h.run.State, h.run.StartedAt = paddock.Running, &at })
		} else {
			h.settle(paddock.RefusedState)
		}
		if m := next(); m.First != 2 || !bytes.Contains(m.Data, []byte(`"`+want+`"`)) {
			t.Errorf("%+v: %s", m, m.Data)
		}
		if starts {
			h.settle(paddock.Exited)
		}
		if m := next(); m.First != 3 || m.Kind != KindEnd || h.status != 1 {
			t.Errorf("%+v, and the end was read %d times", m, h.status)
		}
		f.Close()
		hub.Close()
	}
}

// Output that was removed is one message, from wherever somebody is.
func TestTruncated(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nil)
	h.print(paddock.Stdout, []byte("0123456789"))
	h.settle(paddock.Exited)
	h.change(func() { h.pruned = true })
	hub := New(t.Context(), h)
	defer hub.Close()
	for after := range int64(12) {
		r := newReader()
		r.next = after + 1
		if err := r.follow(t.Context(), hub, h, never); !errors.Is(err, io.EOF) || !r.ended {
			t.Errorf("after %d: %v", after, err)
		}
		from := max(after+1, 3)
		if want := fmt.Sprintf(`"seq":%d,"until":12,"bytes":%d`, from, 13-from); !bytes.Contains([]byte(r.fixed[from]), []byte(want)) {
			t.Errorf("after %d: %v; want %s", after, r.fixed, want)
		}
	}
}

// However many follow a run, one of them asks for more.
func TestOneReader(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nil)
	hub := New(t.Context(), h)
	defer hub.Close()
	var all, there sync.WaitGroup
	const many = 200
	there.Add(many)
	for range many {
		all.Go(func() {
			r, arrived := newReader(), false
			err := r.follow(t.Context(), hub, h, func() bool {
				if !arrived && r.next > 2 {
					arrived = true
					there.Done()
				}
				return false
			})
			if !errors.Is(err, io.EOF) || len(r.order) != 20*50 {
				t.Errorf("%v after %d bytes", err, len(r.order))
			}
		})
	}
	there.Wait()
	for range 20 {
		h.print(paddock.Stdout, bytes.Repeat([]byte("x"), 50))
	}
	h.settle(paddock.Exited)
	all.Wait()
	if h.asked > 25 {
		t.Errorf("more was asked for %d times for 21 changes", h.asked)
	}
}

// A fault ends the following and isn't kept for who comes next.
func TestFault(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nil)
	hub := New(t.Context(), h)
	defer hub.Close()
	r := newReader()
	f, err := hub.Follow(t.Context(), owner, h.run.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("the disk is gone")
	h.change(func() { h.failing = broken })
	h.print(paddock.Stdout, []byte("a"))
	for err == nil {
		_, err = f.Next(t.Context())
	}
	if !errors.Is(err, broken) {
		t.Error(err)
	}
	h.change(func() { h.failing = nil })
	h.settle(paddock.Exited)
	if err := r.follow(t.Context(), hub, h, never); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	f.Close()
}
