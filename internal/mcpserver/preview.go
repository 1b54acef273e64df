package mcpserver

import (
	"context"
	"fmt"
	"unicode/utf8"

	"paddock"
	"paddock/internal/clean"
	"paddock/internal/mcpserver/answer/preview"
)

// tailPreview shows the end of what a run has printed, cleaned: a model acts on
// what it reads, so nothing is to be hidden from whoever reads along. A preview that can't be
// read says so: it must not look like a program that was silent.
func (s *session) tailPreview(ctx context.Context, run paddock.Run) string {
	if p := run.Pruned; p != nil {
		return fmt.Sprintf("(the output, %d bytes, was removed to make room)", run.Stdout.Bytes+run.Stderr.Bytes)
	}
	stdout, err := s.tail(ctx, run, paddock.Stdout, run.Stdout.Bytes)
	var stderr []rune
	if err == nil {
		stderr, err = s.tail(ctx, run, paddock.Stderr, run.Stderr.Bytes)
	}
	if err != nil {
		if ctx.Err() == nil {
			s.Log.Error("reading the end of a run's output", "run", run.ID, "err", err)
		}
		return "(the output can't be read now; command_output may say why)"
	}
	return preview.Of(stdout, stderr, run.State.Settled())
}

// tail returns the last characters of a stream. It reads raw bytes, since only
// they tell a character that is cut off from one that isn't text.
func (s *session) tail(ctx context.Context, run paddock.Run, stream paddock.Stream, size int64) ([]rune, error) {
	if size == 0 {
		return nil, nil
	}
	offset := max(0, size-preview.Most*utf8.UTFMax)
	page, err := s.App.Output(ctx, s.Principal, run.ID, paddock.PageRequest{
		Stream: stream, Offset: offset, Limit: preview.Most * utf8.UTFMax, Raw: true,
	})
	if err != nil {
		return nil, err
	}
	data, err := preview.Bytes(page)
	if err != nil {
		return nil, err
	}
	text := preview.Characters(data, page.Offset > 0, !run.State.Settled())
	return []rune(string(clean.Bytes([]byte(string(text)), clean.Text))), nil
}
