// Package shield is what every request passes before anybody looks at what it asks:
// the headers that every answer has, whose name the request was sent to, where it was
// sent from, how many there are, and the line of the log that is written of it.
//
// # Limits
//
// It knows no routes and no roles. Which browsers may send what is decided by headers
// that browsers set; other programs aren't held to it, and need a credential as they do.
package shield

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"path"
	"slices"
	"strings"
	"time"

	"paddock"
	"paddock/internal/httpapi/entry/shield/problem"
	"paddock/internal/trace"
)

// APIPolicy is the content security policy of everything that isn't a page.
const APIPolicy = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

const mostURL = 8192

// Config says what a Shield lets through.
type Config struct {
	// Hosts are the names by which we are called, without ports. An address of the
	// loopback is always one of ours when Loopback is set.
	Hosts    []string
	Loopback bool
	// Origins are where pages may come from beside our own, as https://host:port.
	Origins []string
	// Secure says that browsers reach us by TLS, here or at a trusted proxy.
	Secure bool
	// Proxies are trusted to say who a request is from.
	Proxies []netip.Prefix
	Log     *slog.Logger
	Now     func() time.Time
	// Each is told of each request when it is over.
	Each func(Note, time.Duration)
	// Traces is told of each request, and of what it leads to; nil isn't.
	Traces *trace.Tracer
}

// A Shield guards a handler.
type Shield struct {
	cfg    Config
	origin *http.CrossOriginProtection
}

// New returns a Shield.
func New(cfg Config) (*Shield, error) {
	s := &Shield{cfg: cfg, origin: http.NewCrossOriginProtection()}
	for _, o := range cfg.Origins {
		if err := s.origin.AddTrustedOrigin(o); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// A Note is what is known of a request for the log and the numbers. Handlers fill in
// what they find out.
type Note struct {
	Addr   string // of who sent it
	Route  string // the pattern that it matched; empty if none did
	Name   string // of the account
	Run    paddock.RunID
	Code   paddock.Code // of a refusal
	Status int
	Bytes  int64
	Fault  error // is logged, and told to nobody
}

type noteKey struct{}

// NoteOf returns the request's Note.
func NoteOf(ctx context.Context) *Note {
	if n, ok := ctx.Value(noteKey{}).(*Note); ok {
		return n
	}
	return &Note{}
}

// Wrap guards next.
func (s *Shield) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun := s.cfg.Now()
		note := &Note{Addr: s.address(r)}
		out := &answer{ResponseWriter: w, note: note}
		ctx, traced := s.traced(r, begun)
		r = r.WithContext(context.WithValue(ctx, noteKey{}, note))
		s.headers(w.Header())
		defer func() {
			p, half := recover(), note.Status != 0
			if p != nil && p != http.ErrAbortHandler { //nolint:errorlint // that is how net/http compares it
				note.Fault = fmt.Errorf("a panic: %v", p)
				if !half {
					problem.Of(note.Fault).Write(out)
				}
			}
			ended := s.cfg.Now()
			traced(note, ended)
			s.log(r, note, ended.Sub(begun))
			if p != nil && half {
				panic(http.ErrAbortHandler) // half an answer must not look like a whole one
			}
		}()
		if p := s.check(r); p != nil {
			p.Write(out)
			return
		}
		next.ServeHTTP(out, r)
	})
}

// headers are those of every answer; a page replaces the content policy by its own.
func (s *Shield) headers(h http.Header) {
	h.Set("Content-Security-Policy", APIPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	h.Set("Cache-Control", "no-store")
	if s.cfg.Secure {
		h.Set("Strict-Transport-Security", "max-age=63072000; includeSubDomains")
	}
}

// check says what is wrong with a request before anybody looks at what it asks.
func (s *Shield) check(r *http.Request) *problem.Problem {
	switch {
	case !s.ours(r.Host):
		return problem.With(http.StatusMisdirectedRequest, "This server isn't called by that name. Its configuration says under hosts and public_url by which it is.")
	case len(r.RequestURI) > mostURL:
		return problem.With(http.StatusRequestURITooLong, "The URL is too long.")
	case s.origin.Check(r) != nil:
		return problem.With(http.StatusForbidden, "A page from elsewhere asked your browser to send this.")
	case !slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions}, r.Method):
		return problem.With(http.StatusNotImplemented, "There is no such method.")
	case r.URL.Path == "" || strings.ContainsAny(r.URL.Path, "\x00\\") || r.URL.Path != cleaned(r.URL.Path):
		return problem.With(http.StatusNotFound, "There is nothing at this path; a path has no empty and no dotted parts.")
	}
	return nil
}

func cleaned(p string) string {
	c := path.Clean(p)
	if strings.HasSuffix(p, "/") && c != "/" {
		c += "/"
	}
	return c
}

// ours says whether a request was sent to a name of ours. A page of somebody else can
// make a browser send requests to this address, but not by one of our names.
func (s *Shield) ours(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	if slices.Contains(s.cfg.Hosts, name) {
		return true
	}
	if !s.cfg.Loopback {
		return false
	}
	addr, err := netip.ParseAddr(name)
	return name == "localhost" || err == nil && addr.Zone() == "" && addr.IsLoopback()
}

// address is who a request is from, as far as that can be believed: each trusted proxy
// adds whom it heard to the end of the list.
func (s *Shield) address(r *http.Request) string {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	addr := at.Addr().Unmap()
	list := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(list) - 1; i >= 0 && s.trusted(addr); i-- {
		next, err := netip.ParseAddr(strings.TrimSpace(list[i]))
		if err != nil {
			break
		}
		addr = next.Unmap()
	}
	return addr.String()
}

func (s *Shield) trusted(addr netip.Addr) bool {
	return slices.ContainsFunc(s.cfg.Proxies, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// log writes the line of a request: its path, never its query, and nothing of headers
// and bodies.
func (s *Shield) log(r *http.Request, n *Note, took time.Duration) {
	if s.cfg.Each != nil {
		s.cfg.Each(*n, took)
	}
	level, attrs := slog.LevelInfo, []slog.Attr{
		slog.String("method", r.Method[:min(len(r.Method), 16)]), slog.String("route", n.Route), slog.Int("status", n.Status), slog.Int64("bytes", n.Bytes),
		slog.Int64("ms", took.Milliseconds()), slog.String("addr", n.Addr),
	}
	for _, a := range append(ids(r.Context()), slog.String("user", n.Name), slog.String("run", string(n.Run)), slog.String("code", string(n.Code)), slog.String("trace", traceOf(r))) {
		if a.Value.String() != "" {
			attrs = append(attrs, a)
		}
	}
	if n.Fault != nil && !errors.Is(n.Fault, context.Canceled) {
		level = slog.LevelError
		attrs = append(attrs, slog.String("fault", n.Fault.Error()))
	}
	s.cfg.Log.LogAttrs(r.Context(), level, "request", attrs...)
}

// traceOf is the id of the trace that a request is part of, by W3C's header; empty where
// there is none that could be one, since whoever asks has written it.
func traceOf(r *http.Request) string {
	const form = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"
	all := r.Header.Values("Traceparent")
	if len(all) != 1 || len(all[0]) < len(form) {
		return ""
	}
	words := strings.Split(all[0], "-")
	if len(words) < 4 || len(words) > 4 && words[0] == "00" || words[0] == "ff" || len(words[0]) != 2 || len(words[1]) != 32 || len(words[2]) != 16 || len(words[3]) != 2 {
		return ""
	}
	for _, w := range words[:4] {
		if strings.Trim(w, "0123456789abcdef") != "" {
			return ""
		}
	}
	if strings.Trim(words[1], "0") == "" || strings.Trim(words[2], "0") == "" {
		return ""
	}
	return words[1]
}

// An answer counts what is written.
type answer struct {
	http.ResponseWriter
	note *Note
}

func (a *answer) WriteHeader(status int) {
	if a.note.Status == 0 || a.note.Status < 200 {
		a.note.Status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(p []byte) (int, error) {
	if a.note.Status == 0 {
		a.note.Status = http.StatusOK
	}
	n, err := a.ResponseWriter.Write(p)
	a.note.Bytes += int64(n)
	return n, err
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
