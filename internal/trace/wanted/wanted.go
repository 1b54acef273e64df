// Package wanted has what an operator says about traces in the configuration of a server
// or of a worker. Without it there are none.
//
// # Limits
//
// It opens no file and asks nobody.
package wanted

import (
	"context"
	"net/netip"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"paddock/internal/policy/compiled/document/shape"
	"paddock/internal/trace"
)

// Environment, as an endpoint, stands for what the variables of OpenTelemetry say.
const Environment = "environment"

// Settings say where traces go. Nothing is traced where Endpoint is empty.
type Settings struct {
	// Endpoint is where they are sent, or [Environment].
	Endpoint string
	// HeaderFile has headers to send along, as credentials, and CA the certificates of
	// who vouches for the collector.
	HeaderFile, CA string
	Sample         float64
	Incoming       trace.Incoming
}

// A Sender is who sends traces.
type Sender struct {
	Service, Version string
	Env              func(string) (string, bool)
	Now              func() time.Time
	Warn             func(error)
}

// Traces are what is traced by. Tracer is nil where nothing is; Close must be called.
type Traces struct {
	*trace.Tracer
	// Counts says how many spans were sent, how many were dropped since too many waited,
	// and how many since the collector didn't take them. It is nil where nothing is traced.
	Counts func() (sent, overflow, failed int64)
	Close  func()
}

// Open begins to send traces, if the settings want some. Not every program can, so it is
// handed to those who trace.
type Open = func(ctx context.Context, s Settings, by Sender) (Traces, error)

// Key is what a file may say.
func Key() shape.Key {
	path := shape.Text{Say: "an absolute path", Loose: true}
	return shape.Key{Name: "traces", Doc: "Where traces are sent, by OTLP over HTTP; without it there are none.", Shape: shape.Object{Keys: []shape.Key{
		{Name: "endpoint", Doc: "the collector's address for traces, or environment for OTEL_EXPORTER_OTLP_ENDPOINT.", Shape: shape.Text{Say: "a URL such as https://collector.example.org:4318/v1/traces", Loose: true}, Required: true},
		{Name: "header_file", Doc: "file with headers to send along, one `Name: value` a line.", Shape: path},
		{Name: "ca", Doc: "file with the certificates of those who vouch for it, beside the system's.", Shape: path},
		{Name: "sample", Doc: "the part of requests that are traced, up to 1.", Shape: shape.Decimal{Min: 0.0001, Max: 1}},
		{Name: "incoming", Doc: "what a caller's traceparent is good for: link, parent, for callers that are believed, or ignore.", Shape: shape.Choice{string(trace.Link), string(trace.Parent), string(trace.Ignored)}},
	}}}
}

// Take puts settings together from what is said, by the names of keys, and tells what is
// wrong with which.
func Take(said func(key string) string, wrong func(key, why string)) Settings {
	s := Settings{Endpoint: said("endpoint"), HeaderFile: said("header_file"), CA: said("ca"), Sample: 1, Incoming: trace.Link}
	if s.Endpoint == "" {
		return Settings{}
	}
	if s.Endpoint != Environment {
		if why := Place(s.Endpoint); why != "" {
			wrong("endpoint", why)
		}
	}
	for key, path := range map[string]string{"header_file": s.HeaderFile, "ca": s.CA} {
		if path != "" && (!filepath.IsAbs(path) || strings.ContainsRune(path, 0)) {
			wrong(key, "an absolute path is wanted")
		}
	}
	if text := said("sample"); text != "" {
		v, err := strconv.ParseFloat(text, 64)
		if s.Sample = v; err != nil || !(v > 0 && v <= 1) {
			wrong("sample", "it is more than 0 and at most 1")
		}
	}
	switch text := trace.Incoming(said("incoming")); text {
	case "":
	case trace.Link, trace.Parent, trace.Ignored:
		s.Incoming = text
	default:
		wrong("incoming", "it is link, parent or ignore")
	}
	return s
}

// Place says what is wrong with the address of a collector: what isn't encrypted stays on
// this machine.
func Place(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || len(text) > 2048 {
		return "a URL such as https://collector.example.org:4318/v1/traces is wanted"
	}
	addr, err := netip.ParseAddr(u.Hostname())
	if u.Scheme == "https" || u.Scheme == "http" && err == nil && addr.IsLoopback() && u.Port() != "" {
		return ""
	}
	return "it must be https, or a loopback address with a port, as http://127.0.0.1:4318/v1/traces"
}

// FromEnvironment is the endpoint that the variables of OpenTelemetry say, and the headers.
func FromEnvironment(env func(string) (string, bool)) (endpoint, headers string) {
	either := func(names ...string) string {
		for _, name := range names {
			if v, ok := env(name); ok && v != "" {
				return v
			}
		}
		return ""
	}
	endpoint = either("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	if base := either("OTEL_EXPORTER_OTLP_ENDPOINT"); endpoint == "" && base != "" {
		endpoint = strings.TrimSuffix(base, "/") + "/v1/traces"
	}
	return endpoint, either("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS")
}
