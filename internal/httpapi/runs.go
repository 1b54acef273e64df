package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"paddock"
	"paddock/internal/app"
	"paddock/internal/dispatch"
	"paddock/internal/httpapi/entry"
	"paddock/internal/httpapi/entry/gate"
	"paddock/internal/httpapi/entry/gate/narrow"
	"paddock/internal/httpapi/entry/gate/seats"
	"paddock/internal/httpapi/entry/shield"
	"paddock/internal/httpapi/entry/table"
)

// A NewRun is what somebody wants run. Nothing in it is ever parsed by a shell.
type NewRun struct {
	Argv []string `json:"argv"`
	// Workspace is the name of one of the caller's, or an id; what runs sees nothing else.
	Workspace string `json:"workspace,omitempty"`
	// Worktree has it run in a worktree of the workspace's repository, made for it.
	Worktree    *narrow.Worktree  `json:"worktree,omitempty"`
	Dir         string            `json:"dir,omitempty"`
	Env         map[string]string `json:"env,omitempty"`
	Stdin       paddock.Stdin     `json:"stdin,omitzero"`
	Timeout     paddock.Duration  `json:"timeout_ms,omitempty"`
	Idle        paddock.Duration  `json:"idle_ms,omitempty"`
	OutputLimit int64             `json:"output_limit,omitempty"`
	DiskLimit   int64             `json:"disk_limit,omitempty"`
	// Terminal gives the program one of that size.
	Terminal *paddock.TerminalSize `json:"terminal,omitempty"`
	Label    string                `json:"label,omitempty"`
	// Needs are labels that the worker must have, Priority orders one's own queued runs,
	// the highest first.
	Needs    []string `json:"needs,omitempty"`
	Priority int64    `json:"priority,omitempty"`
}

// request is what is judged: whoever asks, it is his own.
func (d *Door) request(ctx context.Context, c NewRun, caller gate.Caller) (paddock.Request, error) {
	where, err := narrow.Path(ctx, d.cfg.Workspaces, caller, c.Workspace, c.Worktree)
	if err == nil {
		err = narrow.Feeds(ctx, d.cfg.App, d.cfg.Workspaces, caller, c.Stdin.Run)
	}
	return paddock.Request{Principal: caller.Self(), Door: paddock.DoorHTTP, Command: paddock.Command{
		Argv: c.Argv, Workspace: where, Dir: c.Dir, Env: c.Env, Stdin: c.Stdin, Timeout: c.Timeout, Idle: c.Idle,
		OutputLimit: c.OutputLimit, DiskLimit: c.DiskLimit, Label: c.Label, Terminal: c.Terminal,
	}}, err
}

// seen is the house as far as the caller's credential is for it.
func (d *Door) seen(c *entry.Call) (narrow.House, error) {
	return narrow.For(c.Context(), d.cfg.App, d.cfg.Workspaces, c.Caller)
}

type oneRun struct {
	ID string `path:"id"`
}

// run is the id of a run; what isn't one isn't there.
func (o oneRun) run(ctx context.Context) (paddock.RunID, error) {
	id, err := paddock.ParseRunID(o.ID)
	if err != nil {
		return "", paddock.Refused(paddock.NotFound, "There is no such run among those that you may see.")
	}
	shield.NoteOf(ctx).Run = id
	return id, nil
}

// runs adds the routes that are about runs.
func (d *Door) runs() {
	route := func(method, path, id, summary string, verb gate.Verb) entry.Row {
		return entry.Row{Route: table.Route{Method: method, Path: "/api/v1/runs" + path, ID: id, Summary: summary, Tag: "runs"}, Verb: verb}
	}
	start := route(http.MethodPost, "", "startRun", "Start a run, if the policy allows it", gate.RunsStart)
	start.Status, start.Later = http.StatusCreated, http.StatusAccepted
	entry.Add(d.in, start, d.start)
	entry.Add(d.in, route(http.MethodGet, "", "listRuns", "List runs, newest first", gate.RunsList), d.list)
	read := route(http.MethodGet, "/{id}", "getRun", "One run, at once or when it has ended", gate.RunsRead)
	read.In, read.Out, read.Also = table.Type[readRun](), table.Type[paddock.Run](), []int{http.StatusNotModified}
	d.in.Route(read, d.read)
	entry.Add(d.in, route(http.MethodGet, "/{id}/detail", "getRunDetail", "The whole record of a run", gate.RunsRead), func(ctx context.Context, c *entry.Call, in *oneRun) (app.Detail, error) {
		id, err := in.run(ctx)
		if err != nil {
			return app.Detail{}, err
		}
		house, err := d.seen(c)
		if err != nil {
			return app.Detail{}, err
		}
		return house.Detail(ctx, c.As(), id)
	})
	entry.Add(d.in, route(http.MethodPost, "/{id}/kill", "killRun", "End a run", gate.RunsKill), func(ctx context.Context, c *entry.Call, in *struct {
		oneRun
		Body app.KillRequest `body:""`
	}) (paddock.Run, error) {
		id, err := in.run(ctx)
		if err != nil {
			return paddock.Run{}, err
		}
		house, err := d.seen(c)
		if err != nil {
			return paddock.Run{}, err
		}
		return house.Kill(ctx, c.As(), id, in.Body)
	})
	entry.Add(d.in, route(http.MethodGet, "/{id}/output", "getOutput", "A page of a run's output, or the lines of it that match", gate.RunsOutput), d.output)
	d.events()
	seats.Route(d.in, seats.Config{Seen: func(c *entry.Call) (seats.House, error) { return d.seen(c) }, Accounts: d.seated, Runs: d.atRun, Done: d.hub.Done(), Tick: d.cfg.Tick})
}

func (d *Door) start(ctx context.Context, c *entry.Call, in *struct {
	Key  string `header:"Idempotency-Key" doc:"Asking again with the same key returns the run of the first time. At most 200 bytes."`
	Body NewRun `body:""`
}) (paddock.Run, error) {
	if err := narrow.Place(ctx, d.cfg.Workspaces, c.Caller, in.Key, &in.Body.Workspace, &in.Body.Worktree); err != nil {
		return paddock.Run{}, err
	}
	req, err := d.request(ctx, in.Body, c.Caller)
	if err != nil {
		return paddock.Run{}, err
	}
	req.IdempotencyKey = in.Key
	run, err := d.begin(ctx, req, dispatch.Placement{Needs: in.Body.Needs, Priority: in.Body.Priority})
	if err != nil {
		return run, err
	}
	c.Later = run.State == paddock.Queued
	shield.NoteOf(ctx).Run = run.ID
	c.Header().Set("Location", "/api/v1/runs/"+string(run.ID))
	c.Header().Set("ETag", tag(run))
	return run, nil
}

// begin starts a run, by the queue where there is one.
func (d *Door) begin(ctx context.Context, req paddock.Request, at dispatch.Placement) (paddock.Run, error) {
	if queue, ok := d.cfg.App.(Queue); ok {
		return queue.StartPlaced(ctx, req, at)
	}
	if len(at.Needs) > 0 || at.Priority != 0 {
		return paddock.Run{}, paddock.Refused(paddock.InvalidRequest, "This server has no queue, so needs and priority mean nothing.")
	}
	return d.cfg.App.Start(ctx, req)
}

func (d *Door) list(ctx context.Context, c *entry.Call, in *struct {
	Limit  int    `query:"limit" doc:"How many, from 1 to 1000; 50 if it is left out"`
	Cursor string `query:"cursor" doc:"The next of the page before"`
	Label  string `query:"label" doc:"Only runs with exactly this label"`
	Active bool   `query:"active" doc:"Only runs that haven't ended"`
}) (app.Listing, error) {
	before, err := entry.Cursor(in.Cursor)
	if err != nil {
		return app.Listing{}, err
	}
	house, err := d.seen(c)
	if err != nil {
		return app.Listing{}, err
	}
	listing, err := house.List(ctx, c.As(), app.Filter{Limit: in.Limit, Before: before, Label: in.Label, Active: in.Active})
	var broken *app.Unreadable
	if errors.As(err, &broken) { // the others are an answer
		shield.NoteOf(ctx).Fault, err = err, nil
	}
	if err == nil && listing.Next != "" {
		c.GoesOn(string(listing.Next))
	}
	return listing, err
}

type readRun struct {
	oneRun
	Wait  *paddock.Duration `query:"wait_ms" doc:"How long to wait for the end, at most 45000"`
	Match string            `header:"If-None-Match" doc:"The ETag of what is known already"`
}

// read answers with a run, or that it is as it was.
func (d *Door) read(c *entry.Call) error {
	return entry.Serve(c, func(ctx context.Context, in *readRun) error {
		id, err := in.run(ctx)
		if err != nil {
			return err
		}
		house, err := d.seen(c)
		if err != nil {
			return err
		}
		var run paddock.Run
		switch {
		case in.Wait == nil:
			run, err = house.Status(ctx, c.As(), id)
		case *in.Wait <= 0 || time.Duration(*in.Wait) > paddock.MaxWait:
			return paddock.Refused(paddock.InvalidRequest, "wait_ms is %d; it is from 1 to %d.", time.Duration(*in.Wait).Milliseconds(), paddock.MaxWait.Milliseconds())
		default:
			run, err = house.Wait(ctx, c.As(), id, time.Duration(*in.Wait))
		}
		if err != nil {
			return err
		}
		etag := tag(run)
		c.Header().Set("ETag", etag)
		for word := range strings.SplitSeq(in.Match, ",") {
			if word = strings.TrimSpace(word); word == etag || word == "W/"+etag || word == "*" {
				c.WriteHeader(http.StatusNotModified)
				return nil
			}
		}
		return c.Answer(http.StatusOK, run)
	})
}

// tag names all of a run's record that doesn't change by itself while it runs.
func tag(run paddock.Run) string {
	run.Duration, run.Silent = 0, 0
	text, err := json.Marshal(run)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return `"` + hex.EncodeToString(sum[:12]) + `"`
}

type pageOf struct {
	oneRun
	Stream     paddock.Stream   `query:"stream" doc:"stdout, stderr or combined; stdout if it is left out"`
	Offset     int64            `query:"offset" doc:"Where to begin, in bytes"`
	Line       int64            `query:"line" doc:"Begin with this line, counted from 1"`
	Tail       int64            `query:"tail" doc:"Begin so many lines before the end"`
	Limit      int              `query:"limit" doc:"The most characters, or bytes with raw; at most 200000"`
	Grep       string           `query:"grep" doc:"Only lines that match this RE2 expression"`
	Fixed      bool             `query:"grep_fixed" doc:"Take grep literally"`
	IgnoreCase bool             `query:"grep_ignore_case"`
	Invert     bool             `query:"grep_invert" doc:"Only lines that don't match"`
	Before     int              `query:"grep_before" doc:"So many lines before each match, too"`
	After      int              `query:"grep_after" doc:"So many lines after each match, too"`
	Owed       int              `query:"grep_owed" doc:"The grep_owed of the page before"`
	Count      bool             `query:"grep_count" doc:"Only how many match"`
	Raw        bool             `query:"raw" doc:"Bytes, in base64 unless they are text"`
	View       paddock.View     `query:"view" doc:"clean or color: without what terminals obey"`
	Since      *time.Time       `query:"since" doc:"Begin with what arrived then or later"`
	Wait       paddock.Duration `query:"wait_ms" doc:"How long to wait for something to be there, at most 45000"`
}

func (d *Door) output(ctx context.Context, c *entry.Call, in *pageOf) (paddock.Page, error) {
	id, err := in.run(ctx)
	if err != nil {
		return paddock.Page{}, err
	}
	house, err := d.seen(c)
	if err != nil {
		return paddock.Page{}, err
	}
	return house.Output(ctx, c.As(), id, paddock.PageRequest{
		Stream: in.Stream, Offset: in.Offset, Line: in.Line, Tail: in.Tail, Limit: in.Limit,
		Grep: in.Grep, GrepFixed: in.Fixed, GrepIgnoreCase: in.IgnoreCase, GrepInvert: in.Invert,
		GrepBefore: in.Before, GrepAfter: in.After, GrepOwed: in.Owed, GrepCount: in.Count,
		Raw: in.Raw, View: in.View, Since: in.Since, Wait: in.Wait,
	})
}
