package delegate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"paddock"
	"paddock/internal/task/delegate/book"
)

// result is what came of a delegate by its run.
func (r *Room) result(ctx context.Context, d Delegate, run paddock.Run) (Result, error) {
	out := Result{Artifact: run.ID, SettledAt: r.exec.Now()}
	printed := run.Stdout.Bytes
	if o := run.Outcome; o != nil {
		out.SettledAt, printed = o.SettledAt, o.Stdout.Bytes
		out.Status, out.Error = book.StatusOf(o, printed > 0)
	} else {
		out.Status, out.Error = Failed, "its run has no outcome"
	}
	if out.Duration = paddock.Duration(out.SettledAt.Sub(d.CreatedAt)); out.Duration < 0 {
		out.Duration = 0 // by the clocks of two processes
	}
	if d.Cancel != nil && run.State == paddock.Killed {
		out.Status, out.Error = Canceled, book.Joined("it was canceled", d.Cancel.Why)
	}
	out.OK = out.Status == Completed || out.Status == Partial
	summary, err := r.summary(ctx, run.ID, paddock.Stdout, MostSummary)
	if err == nil && !out.OK && strings.TrimSpace(summary) == "" {
		summary, err = r.summary(ctx, run.ID, paddock.Stderr, MostSummary-200)
		summary = book.Joined("There is no report. On standard error it printed", summary)
	}
	out.Summary = summary
	return out, err
}

// summary is a stream if that is short, else its beginning and its end.
func (r *Room) summary(ctx context.Context, id paddock.RunID, s paddock.Stream, most int) (string, error) {
	page := func(offset int64) (paddock.Page, error) {
		return r.exec.Output(ctx, id, paddock.PageRequest{Stream: s, Offset: offset, Limit: 4 * MostSummary, View: paddock.ViewClean})
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
