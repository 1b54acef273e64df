// Package search has the route that finds runs by a text in their command, label or
// directory.
//
// # Limits
//
// There is no index: records are read, newest first, and each request looks at so many
// runs at most and says where the next one goes on. A run's output is searched by
// `GET /api/v1/runs/RUN/output?grep=`.
package search

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"unicode/utf8"

	"paddock"
	"paddock/internal/app"
	"paddock/internal/httpapi/entry"
	"paddock/internal/httpapi/entry/gate"
)

const (
	usual    = 50
	most     = 1000
	page     = 500  // runs that are read at a time
	looked   = 2000 // runs that one request looks at
	longText = 1000 // bytes of what is looked for
)

// A House lists runs as whoever asks sees them. *app.App is one.
type House interface {
	List(ctx context.Context, p paddock.Principal, f app.Filter) (app.Listing, error)
}

// Found are runs, newest first.
type Found struct {
	Runs []paddock.Run `json:"runs"`
	// Next is the cursor to go on with; it is left out when all were looked at.
	Next paddock.RunID `json:"next,omitempty"`
	// Looked is how many runs were looked at.
	Looked int `json:"looked"`
}

type query struct {
	Text   string `query:"q" doc:"What a word of the command, the label or the directory has in it; capitals don't count"`
	Limit  int    `query:"limit" doc:"How many, from 1 to 1000; 50 if it is left out"`
	Cursor string `query:"cursor" doc:"The next of the page before"`
}

// Routes adds the route. Seen is the house as far as a caller's credential is for it.
func Routes(in *entry.Entrance, seen func(context.Context, gate.Caller) (House, error)) {
	row := entry.NewRow(http.MethodGet, "search", "searchRuns", "Runs with a text in their command, label or directory, newest first", "runs", gate.RunsList)
	entry.Add(in, row, func(ctx context.Context, c *entry.Call, in *query) (Found, error) {
		house, err := seen(ctx, c.Caller)
		if err != nil {
			return Found{}, err
		}
		return find(ctx, house, c.As(), *in, c.Fault)
	})
}

func find(ctx context.Context, house House, p paddock.Principal, q query, fault func(error)) (Found, error) {
	found := Found{Runs: []paddock.Run{}}
	if q.Limit == 0 {
		q.Limit = usual
	}
	if q.Limit < 1 || q.Limit > most || q.Text == "" || len(q.Text) > longText {
		return found, paddock.Refused(paddock.InvalidRequest, "q has %d characters and limit is %d; q has from 1 to %d bytes, and limit is from 1 to %d.", utf8.RuneCountInString(q.Text), q.Limit, longText, most)
	}
	text := strings.ToLower(q.Text)
	at, err := entry.Cursor(q.Cursor)
	if err != nil {
		return found, err
	}
	for pages := 0; ; pages++ {
		list, err := house.List(ctx, p, app.Filter{Limit: page, Before: at})
		var broken *app.Unreadable
		if errors.As(err, &broken) { // the others are an answer
			fault(err)
			err = nil
		}
		if err != nil {
			return found, err
		}
		for i, run := range list.Runs {
			found.Looked++
			if !has(run, text) {
				continue
			}
			if found.Runs = append(found.Runs, run); len(found.Runs) == q.Limit && (i+1 < len(list.Runs) || list.Next != "") {
				found.Next = run.ID
				return found, nil
			}
		}
		if at = list.Next; at == "" {
			return found, nil
		}
		if found.Looked >= looked || (pages+1)*page >= looked { // of some nothing may be seen
			found.Next = at
			return found, nil
		}
	}
}

// has says whether a run has the text, which is in small letters.
func has(run paddock.Run, text string) bool {
	for _, word := range run.Argv {
		if strings.Contains(strings.ToLower(word), text) {
			return true
		}
	}
	return strings.Contains(strings.ToLower(run.Label), text) || strings.Contains(strings.ToLower(run.Dir), text)
}
