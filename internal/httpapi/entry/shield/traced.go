package shield

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"paddock/internal/trace"
)

// traced begins the span of a request, which what it returns ends. Of questions about our
// health, which are asked all the time, there are none.
func (s *Shield) traced(r *http.Request, begun time.Time) (ctx context.Context, end func(*Note, time.Time)) {
	ctx, end = r.Context(), func(*Note, time.Time) {}
	switch r.URL.Path {
	case "/livez", "/readyz", "/metrics":
		return ctx, end
	}
	if s.cfg.Traces == nil {
		return ctx, end
	}
	own, parent, link := s.cfg.Traces.Root(callers(r))
	method := method(r)
	return trace.With(ctx, own), func(n *Note, ended time.Time) {
		span := trace.Span{
			Context: own, Parent: parent, Link: link, Name: method, Kind: trace.Server, Start: begun, End: ended,
			Attributes: []trace.Attribute{trace.Text("http.request.method", method), trace.Number("http.response.status_code", int64(n.Status))},
		}
		if n.Route != "" {
			span.Name = n.Route // the pattern, which has the method
			span.Attributes = append(span.Attributes, trace.Text("http.route", n.Route))
		}
		if n.Run != "" {
			span.Attributes = append(span.Attributes, trace.Text("paddock.run.id", string(n.Run)))
		}
		if n.Code != "" {
			span.Attributes = append(span.Attributes, trace.Text("paddock.refusal", string(n.Code)))
		}
		if n.Status >= http.StatusInternalServerError {
			span.Failed = "fault"
		}
		s.cfg.Traces.Emit(span)
	}
}

// method is the request's, of those that there are.
func method(r *http.Request) string {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return r.Method
	}
	return "_OTHER" // as the conventions of OpenTelemetry have it
}

// callers is the trace that a request says to be part of.
func callers(r *http.Request) trace.Context {
	all := r.Header.Values("Traceparent")
	if len(all) != 1 {
		return trace.Context{}
	}
	c, _ := trace.Parse(all[0])
	return c
}

// ids are for the log.
func ids(ctx context.Context) []slog.Attr {
	c := trace.From(ctx)
	if !c.Valid() {
		return nil
	}
	return []slog.Attr{slog.String("trace_id", c.TraceID()), slog.String("span_id", c.SpanID())}
}
