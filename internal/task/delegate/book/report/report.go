// Package report says what came of a delegate, by its run.
//
// # Limits
//
// It keeps nothing. A report is what a program printed: its words are a claim.
package report

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"paddock"
	"paddock/internal/task/delegate/book"
)

// MostSummary is how many characters a summary has at most.
const MostSummary = 4000

// A Reader reads what runs have printed.
type Reader interface {
	Output(ctx context.Context, id paddock.RunID, req paddock.PageRequest) (paddock.Page, error)
	Now() time.Time
}

// Of is what came of a delegate by its run.
func Of(ctx context.Context, x Reader, d book.Delegate, run paddock.Run) (book.Result, error) {
	out := book.Result{Artifact: run.ID, SettledAt: x.Now()}
	if o := run.Outcome; o != nil {
		out.SettledAt = o.SettledAt
		out.Status, out.Error = book.StatusOf(o, o.Stdout.Bytes > 0)
	} else {
		out.Status, out.Error = book.Failed, "its run has no outcome"
	}
	if out.Duration = paddock.Duration(out.SettledAt.Sub(d.CreatedAt)); out.Duration < 0 {
		out.Duration = 0 // by the clocks of two processes
	}
	if d.Cancel != nil && run.State == paddock.Killed {
		out.Status, out.Error = book.Canceled, book.Joined("it was canceled", d.Cancel.Why)
	}
	out.OK = out.Status == book.Completed || out.Status == book.Partial
	summary, err := summarize(ctx, x, run.ID, paddock.Stdout, MostSummary)
	if err == nil && !out.OK && strings.TrimSpace(summary) == "" {
		summary, err = summarize(ctx, x, run.ID, paddock.Stderr, MostSummary-200)
		summary = book.Joined("There is no report. On standard error it printed", summary)
	}
	out.Summary = summary
	return out, err
}

// summarize returns a stream if that is short, else its beginning and its end.
func summarize(ctx context.Context, x Reader, id paddock.RunID, s paddock.Stream, most int) (string, error) {
	page := func(offset int64) (paddock.Page, error) {
		return x.Output(ctx, id, paddock.PageRequest{Stream: s, Offset: offset, Limit: 4 * MostSummary, View: paddock.ViewClean})
	}
	head, err := page(0)
	if refusal, ok := errors.AsType[*paddock.Refusal](err); ok {
		return book.Cut("The report can't be read: "+refusal.Message, most), nil
	}
	if err != nil {
		return "", err
	}
	if head.EOF && utf8.RuneCountInString(head.Content) <= most {
		return head.Content, nil
	}
	tail, err := page(max(0, head.Total-4*MostSummary))
	if err != nil {
		return "", err
	}
	const note = "\n… the middle is left out; all %d bytes are in the artifact …\n"
	between := fmt.Sprintf(note, head.Total)
	begin := most / 4
	end := most - begin - utf8.RuneCountInString(between)
	return book.First(head.Content, begin) + between + book.Last(tail.Content, end), nil
}
