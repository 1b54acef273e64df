// Package entry is how requests come in: it holds them to their pace, finds out who
// asks, asks the matrix whether he may, reads what he asks for and writes what he is
// told.
//
// # Limits
//
// It has no routes of its own and knows no verbs of the house.
package entry

import (
	"errors"
	"net/http"
	"time"

	"paddock"
	"paddock/internal/httpapi/entry/gate"
	"paddock/internal/httpapi/entry/shield"
	"paddock/internal/httpapi/entry/shield/pace"
	"paddock/internal/httpapi/entry/shield/problem"
	"paddock/internal/httpapi/entry/table/ask"
	"paddock/internal/store"
)

// Limits bound what one account, one address and all together may do.
type Limits struct {
	// PerSecond and Burst are of requests of one account, AllPerSecond and AllBurst of
	// all; an address without an account has a tenth of an account's.
	PerSecond    float64
	Burst        int
	AllPerSecond float64
	AllBurst     int
	// Streams is how many event streams one account may hold, AllStreams how many all.
	Streams, AllStreams int
	// Attachers is how many connections one account may have at terminals, RunAttachers how
	// many there may be at one run's, AllAttachers how many in all: each costs a quarter of
	// a megabyte.
	Attachers, RunAttachers, AllAttachers int
	// Body is the most bytes of a request's; none, and what is past [ask.MaxBody], is that.
	Body int64
}

// DefaultLimits are those of a server that isn't told others.
func DefaultLimits() Limits {
	return Limits{PerSecond: 50, Burst: 200, AllPerSecond: 2000, AllBurst: 4000, Streams: 10_000, AllStreams: 20_000, Attachers: 64, RunAttachers: 16, AllAttachers: 1000, Body: ask.MaxBody}
}

// Config says what an Entrance works with. Pages answers what no route does, and leaves
// to the other what it doesn't know; nil means that there are none.
type Config struct {
	Gate   gate.Gate
	Limits Limits
	Pages  func(http.Handler) http.Handler
	Now    func() time.Time
}

// An Entrance routes requests.
type Entrance struct {
	gate                     gate.Gate
	pages                    http.Handler
	mux                      *http.ServeMux
	accounts, addresses, all *pace.Limiter
	body                     int64 // the most bytes of one
	// Table is every route, in the order in which they were added.
	Table []Row
}

// New returns an Entrance without routes.
func New(cfg Config) *Entrance {
	l := cfg.Limits
	d := &Entrance{
		gate: cfg.Gate, mux: http.NewServeMux(),
		accounts: pace.New(l.PerSecond, l.Burst, cfg.Now), addresses: pace.New(l.PerSecond/10, max(1, l.Burst/10), cfg.Now),
		all: pace.New(l.AllPerSecond, l.AllBurst, cfg.Now), body: l.Body,
	}
	if d.body <= 0 || d.body > ask.MaxBody {
		d.body = ask.MaxBody
	}
	if cfg.Pages != nil {
		d.pages = cfg.Pages(http.HandlerFunc(d.nowhere))
	}
	d.mux.HandleFunc("/", d.elsewhere)
	return d
}

// ServeHTTP answers one request that passed the shield.
func (d *Entrance) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if ok, after := d.all.Allow(""); !ok {
		d.Refuse(w, r, TooMany(after))
		return
	}
	d.mux.ServeHTTP(w, r)
}

// TooMany says when to ask again.
func TooMany(after time.Duration) *problem.Problem {
	p := problem.Of(paddock.Refused(paddock.Busy, "Too many requests at once."))
	p.Refusal.Gate, p.Refusal.Hint = "", "Wait as long as Retry-After says, then ask again."
	p.RetryAfter = int(after/time.Second) + 1
	return p
}

// clientGone is in the log for who didn't wait, and nobody reads it.
const clientGone = 499

// Refuse answers with what is wrong.
func (d *Entrance) Refuse(w http.ResponseWriter, r *http.Request, err error) {
	note, p := shield.NoteOf(r.Context()), problem.Of(err)
	if p.Status == http.StatusInternalServerError && r.Context().Err() != nil {
		p = problem.With(clientGone, "Whoever asked went away before there was an answer.") // no fault of ours
		note.Fault = nil
	}
	if p.Status == http.StatusInternalServerError || errors.Is(err, store.ErrAway) {
		note.Fault = err
	}
	if p.Refusal != nil {
		note.Code = p.Refusal.Code
	}
	p.Write(w)
}

// elsewhere answers what no route does: a page, or that there is none.
func (d *Entrance) elsewhere(w http.ResponseWriter, r *http.Request) {
	var allow string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		if _, pattern := d.mux.Handler(&http.Request{Method: method, URL: r.URL, Host: r.Host}); pattern != "/" && pattern != "" {
			if allow != "" {
				allow += ", "
			}
			if allow += method; method == http.MethodGet {
				allow += ", " + http.MethodHead
			}
		}
	}
	switch {
	case allow != "":
		p := problem.With(http.StatusMethodNotAllowed, "This can't be asked by "+r.Method+"; there is "+allow+".")
		p.Allow = allow
		d.Refuse(w, r, p)
	case d.pages != nil && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		d.pages.ServeHTTP(w, r)
	default:
		d.nowhere(w, r)
	}
}

func (d *Entrance) nowhere(w http.ResponseWriter, r *http.Request) {
	d.Refuse(w, r, problem.With(http.StatusNotFound, "There is nothing at this path."))
}
