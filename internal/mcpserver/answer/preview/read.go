package preview

import (
	"context"
	"fmt"
	"log/slog"
	"unicode/utf8"

	"paddock"
	"paddock/internal/clean"
)

// An Output reads a page of a run's output.
type Output func(ctx context.Context, p paddock.Principal, id paddock.RunID, req paddock.PageRequest) (paddock.Page, error)

// Read shows the end of what a run has printed, cleaned: a model acts on
// what it reads, so nothing is to be hidden from whoever reads along. A preview that can't be
// read says so: it must not look like a program that was silent.
func Read(ctx context.Context, output Output, p paddock.Principal, run paddock.Run, log *slog.Logger) string {
	if run.Pruned != nil {
		return fmt.Sprintf("(the output, %d bytes, was removed to make room)", run.Stdout.Bytes+run.Stderr.Bytes)
	}
	stdout, err := tail(ctx, output, p, run, paddock.Stdout, run.Stdout.Bytes)
	var stderr []rune
	if err == nil {
		stderr, err = tail(ctx, output, p, run, paddock.Stderr, run.Stderr.Bytes)
	}
	if err != nil {
		if ctx.Err() == nil {
			log.Error("reading the end of a run's output", "run", run.ID, "err", err)
		}
		return "(the output can't be read now; command_output may say why)"
	}
	return Of(stdout, stderr, run.State.Settled())
}

// tail returns the last characters of a stream. It reads raw bytes, since only
// they tell a character that is cut off from one that isn't text.
func tail(ctx context.Context, output Output, p paddock.Principal, run paddock.Run, stream paddock.Stream, size int64) ([]rune, error) {
	if size == 0 {
		return nil, nil
	}
	offset := max(0, size-Most*utf8.UTFMax)
	page, err := output(ctx, p, run.ID, paddock.PageRequest{
		Stream: stream, Offset: offset, Limit: Most * utf8.UTFMax, Raw: true,
	})
	if err != nil {
		return nil, err
	}
	data, err := Bytes(page)
	if err != nil {
		return nil, err
	}
	text := Characters(data, page.Offset > 0, !run.State.Settled())
	return []rune(string(clean.Bytes([]byte(string(text)), clean.Text))), nil
}
