package dispatch_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"paddock"
	"paddock/internal/dispatch"
	"paddock/internal/store"
	"paddock/internal/trace"
)

// spans keeps what is traced.
type spans struct {
	mu  sync.Mutex
	all []trace.Span // guarded by mu
}

func (s *spans) Emit(one trace.Span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, one)
}

// named waits for a span.
func (s *spans) named(t *testing.T, name string) trace.Span {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // if it never comes
	defer cancel()
	for {
		s.mu.Lock()
		i := slices.IndexFunc(s.all, func(one trace.Span) bool { return one.Name == name })
		if i >= 0 {
			defer s.mu.Unlock()
			return s.all[i]
		}
		s.mu.Unlock()
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("there is no span %s among %+v", name, s.all)
		}
	}
}

func tracing(s *spans) func(*dispatch.Machine) {
	return func(m *dispatch.Machine) { m.Traces = &trace.Tracer{Sink: s, Sample: 1} }
}

// From the door to the end of a run everything is one trace, by what the order carried.
func TestTrace(t *testing.T) {
	t.Parallel()
	var got spans
	b, s := newBox(t), file(t)
	v, _ := b.serve(s, false, tracing(&got))
	from, _ := trace.Parse("00-0123456789abcdef0123456789abcdef-0123456789abcdef-01")
	run, err := v.Start(trace.With(t.Context(), from), request(alice, "echo a-secret-word; exit 3"))
	if err != nil {
		t.Fatal(err)
	}
	whole := got.named(t, "run")
	if whole.Parent != from.Span || whole.Failed != "" || !slices.Contains(whole.Attributes, trace.Text("paddock.run.state", "exited")) || !slices.Contains(whole.Attributes, trace.Text("paddock.run.id", string(run.ID))) {
		t.Errorf("%+v", whole)
	}
	var last time.Time
	for name, parent := range map[string][8]byte{"decide": from.Span, "enqueue": from.Span, "queue": whole.Span, "start": whole.Span, "program": whole.Span, "seal": whole.Span, "claim": whole.Span, "settle": whole.Span} {
		one := got.named(t, name)
		if one.Trace != from.Trace || one.Parent != parent || one.End.Before(one.Start) || one.Start.IsZero() {
			t.Errorf("%+v", one)
		}
	}
	for _, name := range []string{"queue", "start", "program", "seal", "settle"} {
		if one := got.named(t, name); one.Start.Before(last.Truncate(time.Millisecond)) {
			t.Errorf("%s begins before what is before it ends: %v, %v", name, one.Start, last)
		} else {
			last = one.Start
		}
	}
	for _, one := range got.all {
		for _, a := range one.Attributes {
			if strings.Contains(a.Text, "secret") || strings.Contains(a.Text, "alice") {
				t.Errorf("%s tells %v", one.Name, a)
			}
		}
	}
	before := len(got.all)
	from.Sampled = false
	if run, err = v.Start(trace.With(t.Context(), from), request(alice, "true")); err == nil {
		run, err = v.Wait(t.Context(), alice, run.ID, time.Minute)
	}
	if err != nil || run.State != paddock.Exited {
		t.Errorf("%+v, %v", run, err)
	}
	settled(t, s, run.ID)
	got.mu.Lock()
	defer got.mu.Unlock()
	if len(got.all) != before {
		t.Errorf("what isn't kept has spans: %+v", got.all[before:])
	}
}

// The next process of a worker tells of a run that another one began.
func TestTraceIsTakenUpAgain(t *testing.T) {
	t.Parallel()
	var first, second spans
	b, s := newBox(t), file(t)
	v, stop := b.serve(s, false, tracing(&first))
	gate := filepath.Join(b.work, "gate")
	run, err := v.Start(t.Context(), request(alice, "until test -e "+gate+"; do sleep 0.1; done"))
	if err != nil {
		t.Fatal(err)
	}
	start := first.named(t, "start")
	if ask := first.named(t, "ask"); ask.Trace != start.Trace || ask.Parent != [8]byte{} {
		t.Errorf("who asks by another door: %+v", ask)
	}
	row(t, s, run.ID, func(r store.Run) bool { return r.State == paddock.Running })
	stop()
	b.shut()
	b.open()
	b.serve(s, false, tracing(&second))
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if whole := second.named(t, "run"); whole.Trace != start.Trace || whole.Span != start.Parent {
		t.Errorf("%+v, and it started as %+v", whole, start)
	}
	second.named(t, "program")
}

// Nor is it lost of a run that ended while no process of its worker was there.
func TestTraceOfWhatEndedMeanwhile(t *testing.T) {
	t.Parallel()
	var first, second spans
	b, s := newBox(t), file(t)
	v, stop := b.serve(s, false, tracing(&first))
	gate := filepath.Join(b.work, "gate")
	run, err := v.Start(t.Context(), request(alice, "until test -e "+gate+"; do sleep 0.1; done"))
	if err != nil {
		t.Fatal(err)
	}
	start := first.named(t, "start")
	row(t, s, run.ID, func(r store.Run) bool { return r.State == paddock.Running })
	stop()
	b.shut()
	b.open()
	b.write("gate")
	if run, err = b.app.Wait(t.Context(), boss, run.ID, 0); err != nil || run.State != paddock.Exited {
		t.Fatalf("%+v, %v", run, err)
	}
	_, stop = b.serve(s, false, tracing(&second))
	settled(t, s, run.ID) // by then everything was told
	stop()
	if len(second.all) == 0 {
		t.Fatal("nobody tells what became of it")
	}
	if whole := second.named(t, "run"); whole.Trace != start.Trace || whole.Span != start.Parent {
		t.Errorf("%+v, and it started as %+v", whole, start)
	}
	second.named(t, "program")
}
