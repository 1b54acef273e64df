// Package past has the routes about what was written down: the journal's entries, its
// head, and whether it is whole.
//
// # Limits
//
// The journal is that of the state directory here. It is read anew for each request, so
// verifying takes as long as it is long, and is done for one caller at a time. Nothing is
// signed and nothing exported: that is the operator's at the machine.
package past

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"paddock"
	"paddock/internal/app/evidence"
	"paddock/internal/httpapi/entry"
	"paddock/internal/httpapi/entry/gate"
	"paddock/internal/journal"
	"paddock/internal/journal/audit"
)

const (
	usual = 100  // entries of a page that isn't told how many
	most  = 1000 // of any
	heads = 100  // that are verified against at once
)

// An Opener opens the evidence of the state directory for who asks, who closes it.
type Opener func(p paddock.Principal) (*evidence.Evidence, error)

// Entries is a page of the journal, oldest first.
type Entries struct {
	// Entries are as they are in the journal, but for white space.
	Entries []any `json:"entries"`
	// Next is the after of the next page; it is left out at the end.
	Next int64 `json:"next,omitempty"`
	// Broken is how many lines of what was read aren't whole entries; verifying tells of
	// them.
	Broken int `json:"broken,omitempty"`
}

// Saved is what somebody kept elsewhere.
type Saved struct {
	// Heads are lines as GET /api/v1/audit/head and paddock audit head give them.
	Heads []string `json:"heads,omitempty"`
}

// A Head is by what all before it is known.
type Head struct {
	Journal string         `json:"journal"`
	Seq     int64          `json:"seq"`
	Digest  paddock.Digest `json:"digest"`
	// Line is the same as one line, to keep elsewhere.
	Line string `json:"line"`
}

// A Report is what was found.
type Report struct {
	Whole bool `json:"whole"`
	// Report says more, as paddock audit verify --json does.
	Report *audit.Report `json:"report"`
}

type query struct {
	After int64      `query:"after" doc:"Only entries after this number; the next of the page before"`
	Limit int        `query:"limit" doc:"How many, from 1 to 1000; 100 if it is left out"`
	Kind  string     `query:"kind" doc:"Only entries of this kind, such as start, end, refusal or account"`
	Run   string     `query:"run" doc:"Only entries of this run"`
	Since *time.Time `query:"since" doc:"Only entries of then or later"`
}

// filter is what is asked for, or what is wrong with it.
func (q *query) filter() (evidence.Filter, error) {
	f := evidence.Filter{After: q.After, Kind: journal.Kind(q.Kind)}
	if q.Limit == 0 {
		q.Limit = usual
	}
	if q.After < 0 || q.Limit < 1 || q.Limit > most {
		return f, paddock.Refused(paddock.InvalidRequest, "after is %d and limit is %d; after is a number of an entry, and limit is from 1 to %d.", q.After, q.Limit, most)
	}
	if q.Since != nil {
		f.Since = *q.Since
	}
	if q.Run != "" {
		id, err := paddock.ParseRunID(q.Run)
		if err != nil {
			return f, paddock.Refused(paddock.InvalidRequest, "run is %.60q, which isn't the id of a run.", q.Run)
		}
		f.Run = id
	}
	return f, nil
}

// Routes adds the routes.
func Routes(in *entry.Entrance, open Opener) {
	p := &past{open: open, busy: make(chan struct{}, 1)}
	row := func(method, path, id, summary string) entry.Row {
		return entry.NewRow(method, path, id, summary, "audit", gate.AuditRead)
	}
	entry.Add(in, row(http.MethodGet, "audit", "listAudit", "What was written down, oldest first"), p.list)
	entry.Add(in, row(http.MethodGet, "audit/head", "auditHead", "Verify the journal, and get its head to keep elsewhere"), p.head)
	entry.Add(in, row(http.MethodPost, "audit/verify", "verifyAudit", "Whether the journal is whole, and agrees with what was kept elsewhere"), p.verify)
}

type past struct {
	open Opener
	busy chan struct{} // holds one who verifies
}

// with opens the evidence for f.
func (p *past) with(c *entry.Call, f func(e *evidence.Evidence) error) error {
	e, err := p.open(c.As())
	if err != nil {
		return err
	}
	return errors.Join(f(e), e.Close())
}

// alone is with, for one caller at a time.
func (p *past) alone(c *entry.Call, f func(e *evidence.Evidence) error) error {
	select {
	case p.busy <- struct{}{}:
		defer func() { <-p.busy }()
		return p.with(c, f)
	default:
		return entry.TooMany(5 * time.Second)
	}
}

// errFull ends a listing of which a page is full.
var errFull = errors.New("the page is full")

func (p *past) list(ctx context.Context, c *entry.Call, in *query) (Entries, error) {
	page := Entries{Entries: []any{}}
	f, err := in.filter()
	if err != nil {
		return page, err
	}
	last := int64(0)
	err = p.with(c, func(e *evidence.Evidence) (err error) {
		page.Broken, err = e.List(ctx, f, func(e journal.Entry, line []byte) error {
			if len(page.Entries) == in.Limit {
				page.Next = last
				return errFull
			}
			last = e.Seq
			page.Entries = append(page.Entries, json.RawMessage(slices.Clone(line)))
			return nil
		})
		if errors.Is(err, errFull) {
			err = nil
		}
		return err
	})
	return page, err
}

func (p *past) head(ctx context.Context, c *entry.Call, _ *entry.Nothing) (h Head, err error) {
	err = p.alone(c, func(e *evidence.Evidence) error {
		head, err := e.Head(ctx)
		if errors.Is(err, evidence.ErrNotWhole) { // that is an answer, and a bad one
			r := paddock.Refused(paddock.Conflict, "The journal isn't whole, so it has no head to believe.")
			r.Hint = "POST /api/v1/audit/verify tells of everything that is wrong with it."
			return r
		}
		h = Head{head.Journal, head.Seq, head.Digest, head.String()}
		return err
	})
	return h, err
}

func (p *past) verify(ctx context.Context, c *entry.Call, in *struct {
	Body Saved `body:""`
}) (r Report, err error) {
	var against evidence.Against
	if len(in.Body.Heads) > heads {
		return r, paddock.Refused(paddock.InvalidRequest, "There are %d heads; at most %d are verified at once.", len(in.Body.Heads), heads)
	}
	for _, line := range in.Body.Heads {
		head, err := journal.ParseHead(line)
		if err != nil {
			return r, paddock.Refused(paddock.InvalidRequest, "%.120q is no head: %v.", line, err)
		}
		against.Heads = append(against.Heads, head)
	}
	err = p.alone(c, func(e *evidence.Evidence) error {
		report, err := e.Verify(ctx, against)
		if err == nil {
			r = Report{report.Whole() && len(report.Missing) == 0, report}
		}
		return err
	})
	return r, err
}
