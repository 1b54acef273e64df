// Package httpapi is the door for people and programs over HTTP: /api/v1, live output
// as server-sent events, health and numbers.
//
// A route is a row of one table: who may use it stands in gate's matrix, what it takes
// and answers in Go types, from which requests are read and the OpenAPI document is
// made. A request is looked at in this order: the shield, the pace of the address, the
// credential, the pace of the account, the role, the words of the request, and then one
// verb of package app, which decides like at every other door.
//
// # Limits
//
// The package listens to no address (package listen does), keeps no accounts (a
// gate.Gate does) and decides nothing about runs.
package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"paddock"
	"paddock/internal/dispatch"
	"paddock/internal/httpapi/entry"
	"paddock/internal/httpapi/entry/gate"
	"paddock/internal/httpapi/entry/gate/approvals"
	"paddock/internal/httpapi/entry/gate/narrow"
	"paddock/internal/httpapi/entry/shield"
	"paddock/internal/httpapi/entry/shield/pace"
	"paddock/internal/httpapi/feed"
	"paddock/internal/httpapi/meter"
)

// Verbs is what the door asks of the house. *app.App has them.
type Verbs interface {
	narrow.House
	approvals.House
	Explain(ctx context.Context, req paddock.Request) (paddock.Decision, error)
	Start(ctx context.Context, req paddock.Request) (paddock.Run, error)
	PolicyText(ctx context.Context, p paddock.Principal, id paddock.RunID) ([]byte, error)
}

// A Queue are verbs by which runs wait for those who may carry them out.
type Queue interface {
	StartPlaced(ctx context.Context, req paddock.Request, at dispatch.Placement) (paddock.Run, error)
}

// A Check is one thing that must be well for the server to be of use.
type Check struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	// Detail says more, for admins.
	Detail string `json:"detail,omitempty"`
}

// Config says what a Door works with. All but Policy, Ready, Pages, Vouch, More,
// Workspaces, Workers, Build, Numbers and Tick must be set.
type Config struct {
	App    Verbs
	Gate   gate.Gate
	Shield shield.Config // Each is set by the door
	Limits entry.Limits
	// Version is what the OpenAPI document and health say.
	Version string
	// Policy tells of the policy that applies now.
	Policy func() (Policy, error)
	// Ready says how things are.
	Ready func(context.Context) []Check
	// Pages answers what isn't of the API, and leaves to the other what it doesn't
	// know; nil means that there are no pages.
	Pages func(http.Handler) http.Handler
	// Vouch adds our word that a second factor was shown to a vote that somebody brings,
	// where it was; nil never does.
	Vouch approvals.Vouch
	// More adds routes of those who keep accounts; nil adds none.
	More func(*entry.Entrance)
	// Workspaces are those that callers work in; nil means that there are none.
	Workspaces narrow.Workspaces
	// Workers says how many are connected; nil means that none can be.
	Workers func() int
	// Build is what the program was made of, for admins.
	Build Build
	// Numbers adds further ones to those that the door counts; nil adds none.
	Numbers func(*meter.Registry)
	// Tick gives heartbeats; nil means a time.Ticker.
	Tick func(time.Duration) (<-chan time.Time, func())
}

// A Door answers requests.
type Door struct {
	cfg     Config
	log     *slog.Logger
	hub     *feed.Hub
	in      *entry.Entrance
	handler http.Handler
	openAPI func() ([]byte, error)

	logins                 *pace.Limiter
	streams, seated, atRun *pace.Count // at terminals by account, and by run
	numbers                *meter.Registry
}

// New returns a Door. Its handler is ready at once; Close ends its streams.
func New(ctx context.Context, cfg Config) (*Door, error) {
	if cfg.Tick == nil {
		cfg.Tick = func(d time.Duration) (<-chan time.Time, func()) {
			t := time.NewTicker(d)
			return t.C, t.Stop
		}
	}
	now, l := cfg.Shield.Now, cfg.Limits
	d := &Door{
		cfg: cfg, log: cfg.Shield.Log, hub: feed.New(ctx, cfg.App), numbers: meter.New(),
		in:      entry.New(entry.Config{Gate: cfg.Gate, Limits: l, Pages: cfg.Pages, Now: now}),
		logins:  pace.New(1.0/12, 10, now),
		streams: &pace.Count{Each: l.Streams, All: l.AllStreams},
		seated:  &pace.Count{Each: l.Attachers, All: l.AllAttachers}, atRun: &pace.Count{Each: l.RunAttachers, All: l.AllAttachers},
	}
	d.count()
	d.system()
	d.runs()
	approvals.Routes(d.in, cfg.App, narrow.Roots(cfg.Workspaces), cfg.Vouch)
	d.rules()
	if cfg.More != nil {
		cfg.More(d.in)
	}
	d.openAPI = sync.OnceValues(d.describe)
	s, err := shield.New(d.cfg.Shield)
	if err != nil {
		d.hub.Close()
		return nil, err
	}
	d.handler = s.Wrap(d.in)
	return d, nil
}

// ServeHTTP answers one request.
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) { d.handler.ServeHTTP(w, r) }

// Close ends all streams. Their clients come back to whoever is there then.
func (d *Door) Close() { d.hub.Close() }

// count sets up the numbers.
func (d *Door) count() {
	requests := d.numbers.Counter("paddock_http_requests_total", "Requests that were answered.", "route", "status")
	took := d.numbers.Histogram("paddock_http_request_seconds", "How long answers took, but for streams.",
		[]float64{0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10, 60}, "route")
	refused := d.numbers.Counter("paddock_refusals_total", "Requests that were refused, by the code of the refusal.", "code")
	d.numbers.Gauge("paddock_event_streams", "Event streams that are open.", func() float64 { return float64(d.streams.Held()) })
	d.numbers.Gauge("paddock_followed_runs", "Runs that are read for those streams.", func() float64 { return float64(d.hub.Runs()) })
	if d.cfg.Workers != nil {
		d.numbers.Gauge("paddock_connected_workers", "Workers that are connected to this server.", func() float64 { return float64(d.cfg.Workers()) })
	}
	b := d.cfg.Build
	d.numbers.Info("paddock_build_info", "What the server was made of; modified is true when its sources differed from the revision.",
		[]string{"version", "revision", "modified", "go"}, d.cfg.Version, b.Revision, strconv.FormatBool(b.Modified), b.Go)
	if d.cfg.Numbers != nil {
		d.cfg.Numbers(d.numbers)
	}
	begun := float64(d.cfg.Shield.Now().UnixMilli()) / 1000
	d.numbers.Gauge("process_start_time_seconds", "When the server started, since 1970.", func() float64 { return begun })
	d.cfg.Shield.Each = func(n shield.Note, t time.Duration) {
		route := n.Route
		if route == "" {
			route = "other"
		}
		requests.Add(1, route, string(rune('0'+n.Status/100))+"xx")
		if n.Code != "" {
			refused.Add(1, string(n.Code))
		}
		if route != eventsPattern && route != manyEventsPattern {
			took.Observe(t.Seconds(), route)
		}
	}
}
