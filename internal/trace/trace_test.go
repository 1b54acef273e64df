package trace_test

import (
	"strings"
	"testing"

	"paddock/internal/trace"
)

const good = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"

// Only what has the form exactly is a traceparent.
func TestParse(t *testing.T) {
	t.Parallel()
	c, ok := trace.Parse(good)
	if !ok || c.String() != good || !c.Sampled || c.TraceID() != good[3:35] || c.SpanID() != good[36:52] {
		t.Errorf("%+v, %v", c, ok)
	}
	if c, ok := trace.Parse(good[:53] + "00"); !ok || c.Sampled || c.String() != good[:53]+"00" {
		t.Errorf("not sampled: %+v, %v", c, ok)
	}
	for what, text := range map[string]string{
		"nothing": "", "shorter": good[:54], "longer": good + "0", "more": good + "-00", "ten times": strings.Repeat(good, 10), "another version": "01" + good[2:], "ff": "ff" + good[2:],
		"capitals": strings.ToUpper(good), "no hex": strings.Replace(good, "a", "g", 1), "NUL": strings.Replace(good, "a", "\x00", 1), "no UTF-8": strings.Replace(good, "a", "\xff", 1),
		"no trace": "00-" + strings.Repeat("0", 32) + good[35:], "no span": good[:36] + strings.Repeat("0", 16) + good[52:], "another dash": strings.Replace(good, "-01", "_01", 1), "odd flags": good[:53] + "0g",
	} {
		if c, ok := trace.Parse(text); ok || c.Valid() {
			t.Errorf("%s: %+v", what, c)
		}
	}
}

// FuzzParse: whatever is read is written the same.
func FuzzParse(f *testing.F) {
	f.Add(good)
	f.Fuzz(func(t *testing.T, text string) {
		if c, ok := trace.Parse(text); ok && c.String()[:53] != text[:53] {
			t.Errorf("%q is %q", text, c)
		}
	})
}

type kept []trace.Span

func (k *kept) Emit(s trace.Span) { *k = append(*k, s) }

// A caller says neither whether a trace is kept nor, unless it is believed, which one it is.
func TestRoot(t *testing.T) {
	t.Parallel()
	theirs, _ := trace.Parse(good)
	var got kept
	link := &trace.Tracer{Sink: &got, Sample: 1, Incoming: trace.Link}
	own, parent, to := link.Root(theirs)
	if own.Trace == theirs.Trace || parent != [8]byte{} || to != theirs || !own.Sampled || !own.Valid() {
		t.Errorf("link: %v %v %v", own, parent, to)
	}
	own, parent, to = (&trace.Tracer{Incoming: trace.Parent}).Root(theirs)
	if own.Trace != theirs.Trace || own.Span == theirs.Span || parent != theirs.Span || to.Valid() || own.Sampled {
		t.Errorf("parent: %v %v %v", own, parent, to)
	}
	if own, parent, to = (&trace.Tracer{Sample: 1, Incoming: trace.Ignored}).Root(theirs); own.Trace == theirs.Trace || parent != [8]byte{} || to.Valid() {
		t.Errorf("ignored: %v %v %v", own, parent, to)
	}
	link.Emit(trace.Span{Context: own, Name: "a"})
	own.Sampled = false
	link.Emit(trace.Span{Context: own, Name: "b"})
	link.Emit(trace.Span{Context: trace.Context{Sampled: true}, Name: "c"})
	if len(got) != 1 || got[0].Name != "a" {
		t.Errorf("%+v", got)
	}
	var none *trace.Tracer
	none.Emit(trace.Span{})
	if c, _, _ := none.Root(theirs); c.Valid() || trace.From(t.Context()).Valid() || c.String() != "" {
		t.Errorf("nothing: %v", c)
	}
	if c := trace.From(trace.With(t.Context(), theirs)); c != theirs {
		t.Errorf("what goes on: %v", c)
	}
	if a, b := theirs.Below("run", "x"), theirs.Below("run", "x"); a != b || a == theirs || a == theirs.Below("runx") || a.Trace != theirs.Trace {
		t.Error("spans that are made of words")
	}
}
