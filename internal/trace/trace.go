// Package trace has the values by which one can tell how a request became a run: spans,
// and the ids that a door, the queue and a worker hand on.
//
// The ids have W3C's form (traceparent). Whoever calls a door writes that header, so it is
// read strictly and gives nobody authority over anything, nor over whether a trace is kept.
//
// # Limits
//
// It sends nothing: package export does, and is linked into servers and workers alone. A
// nil Tracer is none, and costs nothing.
package trace

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"time"
)

// A Context says of which trace something is a part, and below which span.
type Context struct {
	Trace   [16]byte
	Span    [8]byte
	Sampled bool
}

// form is how long a traceparent of version 00 is.
const form = len("00-0123456789abcdef0123456789abcdef-0123456789abcdef-01")

// Parse reads a traceparent of the version 00, and nothing that is only like one.
func Parse(text string) (Context, bool) {
	var c Context
	if len(text) != form || text[:3] != "00-" || text[35] != '-' || text[52] != '-' {
		return Context{}, false
	}
	flags := []byte{0}
	for _, part := range []struct {
		into []byte
		from string
	}{{c.Trace[:], text[3:35]}, {c.Span[:], text[36:52]}, {flags, text[53:]}} {
		// Capitals aren't of the form: who sends some isn't understood by others either.
		if n, err := hex.Decode(part.into, []byte(part.from)); err != nil || n != len(part.into) || hex.EncodeToString(part.into) != part.from {
			return Context{}, false
		}
	}
	c.Sampled = flags[0]&1 == 1
	return c, c.Valid()
}

// Valid says whether there is a trace.
func (c Context) Valid() bool { return c.Trace != [16]byte{} && c.Span != [8]byte{} }

// String is the traceparent; empty where there is no trace.
func (c Context) String() string {
	if !c.Valid() {
		return ""
	}
	flags := "00"
	if c.Sampled {
		flags = "01"
	}
	return "00-" + c.TraceID() + "-" + c.SpanID() + "-" + flags
}

// TraceID and SpanID are the ids as they are written everywhere.
func (c Context) TraceID() string { return hex.EncodeToString(c.Trace[:]) }

// SpanID is that of the span.
func (c Context) SpanID() string { return hex.EncodeToString(c.Span[:]) }

// Below is the context of a span below this one that is made of words: whoever says the
// same words, in whichever process, means the same span. So what is told twice, since a
// worker came back, isn't there twice.
func (c Context) Below(words ...string) Context {
	h := sha256.New()
	h.Write(c.Trace[:])
	h.Write(c.Span[:])
	for _, w := range words {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(w))))
		h.Write([]byte(w))
	}
	c.Span = [8]byte(h.Sum(nil))
	return c
}

type key struct{}

// With returns a context of what is done as a part of c.
func With(ctx context.Context, c Context) context.Context { return context.WithValue(ctx, key{}, c) }

// From is what ctx is a part of; the zero Context is nothing.
func From(ctx context.Context) Context {
	c, _ := ctx.Value(key{}).(Context)
	return c
}

// A Kind says on which side of a call a span is.
type Kind int

// Kinds are as OpenTelemetry has them.
const (
	Internal Kind = iota
	Server
	Producer
	Consumer
)

// An Attribute is one thing that is known of a span: a word, or a number where Text is
// empty. Keys are of the program and never of who asks.
type Attribute struct {
	Key, Text string
	Number    int64
}

// Text and Number make attributes.
func Text(key, text string) Attribute { return Attribute{Key: key, Text: text} }

// Number makes one of a number.
func Number(key string, n int64) Attribute { return Attribute{Key: key, Number: n} }

// A Span is something that was done, from when to when.
type Span struct {
	Context
	Parent     [8]byte
	Name       string
	Kind       Kind
	Start, End time.Time
	Attributes []Attribute
	// Failed says why it came to nothing: a code, never a message.
	Failed string
	// Link is a trace of somebody else, who called.
	Link Context
}

// A Sink takes spans. Emit must not wait for anything.
type Sink interface{ Emit(s Span) }

// A Tracer begins traces. A nil one doesn't.
type Tracer struct {
	Sink Sink
	// Sample is the part of requests that are traced, from 0 to 1.
	Sample float64
	// Incoming says what a caller's traceparent is good for.
	Incoming Incoming
}

// Incoming says what a caller's traceparent is good for.
type Incoming string

// By a Link, which is usual, a trace of ours leads to the caller's; as Parent ours is a
// part of his, for callers that are believed; Ignored it is not looked at.
const (
	Link    Incoming = "link"
	Parent  Incoming = "parent"
	Ignored Incoming = "ignore"
)

// Root begins a trace for a caller who says to be in theirs. Parent is the span that it is
// below, link what it only leads to.
func (t *Tracer) Root(theirs Context) (own Context, parent [8]byte, link Context) {
	if t == nil {
		return
	}
	var random [28]byte
	_, _ = rand.Read(random[:]) // it never fails: it ends the program first
	own = Context{Trace: [16]byte(random[:16]), Span: [8]byte(random[16:24])}
	// Whoever calls has no say in this, so that none can fill the collector.
	own.Sampled = float64(binary.BigEndian.Uint32(random[24:])) < t.Sample*(1<<32)
	if theirs.Valid() && t.Incoming == Parent {
		own.Trace, parent = theirs.Trace, theirs.Span
	} else if t.Incoming != Ignored {
		link = theirs
	}
	return own, parent, link
}

// Emit hands a span on, if its trace is kept.
func (t *Tracer) Emit(s Span) {
	if t != nil && t.Sink != nil && s.Sampled && s.Valid() {
		t.Sink.Emit(s)
	}
}

// Asked is the trace that a request is a part of; where its door has none, as that of
// agents whose sessions outlive their requests, one begins here, and ends with end.
func (t *Tracer) Asked(ctx context.Context, now func() time.Time) (part Context, end func()) {
	if part = From(ctx); part.Valid() || t == nil {
		return part, func() {}
	}
	part, _, _ = t.Root(Context{})
	begun := now()
	return part, func() {
		t.Emit(Span{Context: part, Name: "ask", Kind: Server, Start: begun, End: now()})
	}
}

// Done tells of something that was done. Which one it is, is said by a word of its own.
func (t *Tracer) Done(part Context, name, which string, begun, end time.Time, err error, what Attribute) {
	s := Span{Context: part.Below(name, which), Parent: part.Span, Name: name, Start: begun, End: end, Attributes: []Attribute{what}}
	if err != nil {
		s.Failed = "fault"
	}
	t.Emit(s)
}
