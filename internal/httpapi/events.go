package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"paddock/internal/httpapi/entry"
	"paddock/internal/httpapi/entry/gate"
	"paddock/internal/httpapi/entry/shield"
	"paddock/internal/httpapi/entry/shield/problem"
	"paddock/internal/httpapi/entry/table"
	"paddock/internal/httpapi/feed"
	"paddock/internal/httpapi/feed/sse"
	"paddock/internal/store"
)

const (
	eventsPattern     = "GET /api/v1/runs/{id}/events"
	manyEventsPattern = "GET /api/v1/events"
)

type oneStream struct {
	oneRun
	After string `query:"after" doc:"The number of the last event that is known; 0 is none"`
	Last  string `header:"Last-Event-ID" doc:"The same, as browsers send it when they come back; it is believed before after"`
}

type manyStreams struct {
	Runs string `query:"runs" doc:"RUN or RUN:NUMBER, separated by commas, at most 32"`
	Last string `header:"Last-Event-ID" doc:"The id of the last event that is known; it is believed before runs"`
}

// events adds the streams.
func (d *Door) events() {
	one := entry.Row{Route: table.Route{Method: http.MethodGet, Path: "/api/v1/runs/{id}/events", ID: "followRun", Summary: "A run's events as they come, from any number on", Tag: "runs", Media: "text/event-stream", Also: []int{http.StatusNoContent}, In: table.Type[oneStream]()}, Verb: gate.RunsFollow}
	d.in.Route(one, func(c *entry.Call) error {
		return entry.Serve(c, func(ctx context.Context, in *oneStream) error {
			id, err := in.run(ctx)
			if err != nil {
				return err
			}
			at := sse.Cursor{Run: id}
			if in.Last != "" {
				in.After = in.Last
			}
			if in.After != "" {
				if at.After, err = feed.ParseAfter(in.After); err != nil {
					return err
				}
			}
			return d.stream(ctx, c, []sse.Cursor{at}, false)
		})
	})
	many := entry.Row{Route: table.Route{Method: http.MethodGet, Path: "/api/v1/events", ID: "followRuns", Summary: "The events of several runs over one connection", Tag: "runs", Media: "text/event-stream", Also: []int{http.StatusNoContent}, In: table.Type[manyStreams]()}, Verb: gate.RunsFollow}
	d.in.Route(many, func(c *entry.Call) error {
		return entry.Serve(c, func(ctx context.Context, in *manyStreams) error {
			if in.Last != "" {
				in.Runs = in.Last
			}
			at, err := sse.ParseCursors(in.Runs)
			if err != nil {
				return err
			}
			return d.stream(ctx, c, at, true)
		})
	})
}

// stream follows runs until all have ended. When all of them had been read to their
// ends before, there is nothing to say: 204, by which browsers stop coming back.
func (d *Door) stream(ctx context.Context, c *entry.Call, at []sse.Cursor, several bool) error {
	release, ok := d.streams.Take(c.Caller.Name)
	if !ok {
		return entry.TooMany(time.Second)
	}
	defer release()
	var followers []*feed.Follower
	defer func() {
		for _, f := range followers {
			f.Close()
		}
	}()
	house, err := d.seen(c)
	if err != nil {
		return err
	}
	for _, one := range at {
		if _, err := house.Look(ctx, c.As(), one.Run); err != nil {
			return err
		}
		f, err := d.hub.Follow(ctx, c.As(), one.Run, one.After)
		switch {
		case errors.Is(err, feed.ErrOver):
		case errors.Is(err, context.Canceled) && ctx.Err() == nil:
			return problem.With(http.StatusServiceUnavailable, "The server is closing.")
		case err != nil:
			return err
		default:
			followers = append(followers, f)
		}
	}
	if len(followers) == 0 || c.Method == http.MethodHead {
		c.WriteHeader(http.StatusNoContent)
		return nil
	}
	if err := http.NewResponseController(c.ResponseWriter).SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	sse.Serve(ctx, c.ResponseWriter, followers, at, sse.Options{
		Tick: d.cfg.Tick, Several: several, Done: d.hub.Done(),
		Still: func(context.Context) error { return c.Still() },
		Fault: func(err error) []byte { return d.fault(ctx, err) },
	})
	return nil
}

// fault says an error in the middle of a stream.
func (d *Door) fault(ctx context.Context, err error) []byte {
	p := problem.Of(err)
	if p.Status == http.StatusInternalServerError || errors.Is(err, store.ErrAway) {
		shield.NoteOf(ctx).Fault = err
	}
	text, err := json.Marshal(p)
	if err != nil {
		return []byte(`{}`)
	}
	return text
}
