// Package profile has the routes by which admins look into a server that runs: profiles
// in the form of pprof, and traces of the Go runtime. They are off unless the server's
// configuration turns them on.
//
// # Limits
//
// A profile has names of functions and counts, and no values. One that takes time is
// taken one at a time, and slows the server meanwhile.
package profile

import (
	"context"
	"net/http"
	"runtime/pprof"
	"runtime/trace"
	"strconv"
	"time"

	"paddock"
	"paddock/internal/httpapi/entry"
	"paddock/internal/httpapi/entry/gate"
)

// The longest that is measured. An answer must leave soon enough after it.
const (
	mostProfile = 45 * time.Second
	mostTrace   = 10 * time.Second
)

type asked struct {
	Name    string `path:"name"`
	Seconds int    `query:"seconds" doc:"How long to measure, for profile (30; at most 45) and trace (1; at most 10)"`
	Debug   int    `query:"debug" doc:"1 or 2 for text, of all but profile and trace"`
}

// A profiler takes one measurement at a time.
type profiler struct {
	on   bool
	busy chan struct{}
}

// Routes adds the routes; without on they answer that they are off.
func Routes(in *entry.Entrance, on bool) {
	p := &profiler{on, make(chan struct{}, 1)}
	row := entry.NewRow(http.MethodGet, "", "profile", "A profile of the server, as `go tool pprof` reads it: heap, allocs, goroutine, threadcreate, profile, or a trace", "health", gate.ProfilesRead)
	row.Path, row.Media = "/debug/pprof/{name}", "application/octet-stream"
	in.Route(row, func(c *entry.Call) error {
		return entry.Serve(c, func(ctx context.Context, a *asked) error { return p.answer(ctx, c, a) })
	})
}

func (p *profiler) answer(ctx context.Context, c *entry.Call, a *asked) error {
	if !p.on {
		refusal := paddock.Refused(paddock.NotFound, "Profiles are off.")
		refusal.Hint = "Say `pprof: true` in the server's configuration and restart it; runs go on meanwhile."
		return refusal
	}
	if a.Debug < 0 || a.Debug > 2 {
		return paddock.Refused(paddock.InvalidRequest, "debug is %d; it is 0, 1 or 2.", a.Debug)
	}
	switch a.Name {
	case "profile":
		return p.measure(ctx, c, a.Seconds, 30*time.Second, mostProfile, func() error { return pprof.StartCPUProfile(c) }, pprof.StopCPUProfile)
	case "trace":
		return p.measure(ctx, c, a.Seconds, time.Second, mostTrace, func() error { return trace.Start(c) }, trace.Stop)
	case "heap", "allocs", "goroutine", "threadcreate":
	default:
		return paddock.Refused(paddock.NotFound, "There is no such profile; there are heap, allocs, goroutine, threadcreate, profile and trace.")
	}
	kind := "application/octet-stream"
	if a.Debug > 0 {
		kind = "text/plain; charset=utf-8"
	}
	c.Header().Set("Content-Type", kind)
	_ = pprof.Lookup(a.Name).WriteTo(c, a.Debug) // who asked is gone then
	return nil
}

// measure writes what is measured from begin to end.
func (p *profiler) measure(ctx context.Context, c *entry.Call, seconds int, usual, most time.Duration, begin func() error, end func()) error {
	lasts := time.Duration(seconds) * time.Second
	if seconds == 0 {
		lasts = usual
	}
	if seconds < 0 || lasts > most {
		return paddock.Refused(paddock.InvalidRequest, "seconds is %d; it is from 1 to %s.", seconds, strconv.Itoa(int(most/time.Second)))
	}
	select {
	case p.busy <- struct{}{}:
		defer func() { <-p.busy }()
	default:
		refusal := paddock.Refused(paddock.Busy, "Another profile is being taken.")
		refusal.Hint = "Ask again when it is done, in a minute at most."
		return refusal
	}
	c.Header().Set("Content-Type", "application/octet-stream")
	if err := begin(); err != nil {
		return err
	}
	defer end()
	wait := time.NewTimer(lasts)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-ctx.Done(): // who asked has gone
	}
	return nil
}
