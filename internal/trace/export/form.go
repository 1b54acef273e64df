package export

import (
	"strings"
	"time"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	resource "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	wire "go.opentelemetry.io/proto/slim/otlp/trace/v1"

	"paddock/internal/trace"
)

const (
	mostText       = 128
	mostAttributes = 16
)

// request is spans as OTLP has them, with who sends them.
func (e *Exporter) request(spans []trace.Span) *collector.ExportTraceServiceRequest {
	who := []trace.Attribute{trace.Text("service.name", e.cfg.Service)}
	for _, a := range []trace.Attribute{trace.Text("service.version", e.cfg.Version), trace.Text("service.instance.id", e.cfg.Instance)} {
		if a.Text != "" {
			who = append(who, a)
		}
	}
	all := make([]*wire.Span, len(spans))
	for i, s := range spans {
		all[i] = span(s)
	}
	return &collector.ExportTraceServiceRequest{ResourceSpans: []*wire.ResourceSpans{{
		Resource:   &resource.Resource{Attributes: attributes(who)},
		ScopeSpans: []*wire.ScopeSpans{{Scope: &common.InstrumentationScope{Name: "paddock", Version: bounded(e.cfg.Version)}, Spans: all}},
	}}}
}

func span(s trace.Span) *wire.Span {
	w := &wire.Span{
		TraceId: s.Trace[:], SpanId: s.Span[:], Name: bounded(s.Name), Kind: kind(s.Kind), Flags: 1,
		StartTimeUnixNano: nanoseconds(s.Start), EndTimeUnixNano: max(nanoseconds(s.Start), nanoseconds(s.End)),
		Attributes: attributes(s.Attributes), DroppedAttributesCount: uint32(max(0, len(s.Attributes)-mostAttributes)),
	}
	if s.Parent != [8]byte{} {
		w.ParentSpanId = s.Parent[:]
	}
	if s.Link.Valid() {
		w.Links = []*wire.Span_Link{{TraceId: s.Link.Trace[:], SpanId: s.Link.Span[:]}}
	}
	if s.Failed != "" {
		w.Status = &wire.Status{Code: wire.Status_STATUS_CODE_ERROR, Message: bounded(s.Failed)}
	}
	return w
}

func kind(k trace.Kind) wire.Span_SpanKind {
	switch k {
	case trace.Server:
		return wire.Span_SPAN_KIND_SERVER
	case trace.Producer:
		return wire.Span_SPAN_KIND_PRODUCER
	case trace.Consumer:
		return wire.Span_SPAN_KIND_CONSUMER
	default:
		return wire.Span_SPAN_KIND_INTERNAL
	}
}

// nanoseconds since 1970; a clock before that is none.
func nanoseconds(t time.Time) uint64 { return uint64(max(0, t.UnixNano())) }

func attributes(all []trace.Attribute) []*common.KeyValue {
	var pairs []*common.KeyValue
	for _, a := range all[:min(len(all), mostAttributes)] {
		v := &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: a.Number}}
		if a.Text != "" {
			v.Value = &common.AnyValue_StringValue{StringValue: bounded(a.Text)}
		}
		pairs = append(pairs, &common.KeyValue{Key: a.Key, Value: v})
	}
	return pairs
}

// bounded is a text that protocol buffers can have, and that isn't long.
func bounded(s string) string {
	return strings.ToValidUTF8(s[:min(len(s), mostText)], "?")
}
