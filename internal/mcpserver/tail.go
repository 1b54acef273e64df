package mcpserver

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"

	"paddock"
)

// Bounds of a preview, in characters.
const (
	mostPreview = 2000 // in all, headings included
	mostTail    = 1000 // of each stream when both have output

	stdoutHeading = "[stdout tail]\n"
	stderrHeading = "\n[stderr tail]\n"
)

// tailPreview shows the end of what a run has printed. A preview that can't be
// read says so: it must not look like a program that was silent.
func (s *session) tailPreview(ctx context.Context, run paddock.Run) string {
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
	switch {
	case len(stdout) > 0 && len(stderr) > 0:
		room := mostPreview - len(stdoutHeading) - len(stderrHeading)
		out, errs := shares(len(stdout), len(stderr), room)
		return stdoutHeading + string(stdout[len(stdout)-out:]) + stderrHeading + string(stderr[len(stderr)-errs:])
	case len(stdout) > 0:
		return string(stdout)
	case len(stderr) > 0:
		return string(stderr)
	case run.State.Settled():
		return "(no output)"
	}
	return "(no output yet)"
}

// shares divides room among two streams: up to 1,000 each, and less for the one
// that has more when the headings leave no room for both.
func shares(a, b, room int) (int, int) {
	a, b = min(a, mostTail), min(b, mostTail)
	if a+b <= room {
		return a, b
	}
	a = max(room-b, min(a, room/2))
	return a, room - a
}

// tail returns the last characters of a stream. It reads raw bytes, since only
// they tell a character that is cut off from one that isn't text.
func (s *session) tail(ctx context.Context, run paddock.Run, stream paddock.Stream, size int64) ([]rune, error) {
	if size == 0 {
		return nil, nil
	}
	offset := max(0, size-mostPreview*utf8.UTFMax)
	page, err := s.App.Output(ctx, s.Principal, run.ID, paddock.PageRequest{
		Stream: stream, Offset: offset, Limit: mostPreview * utf8.UTFMax, Raw: true,
	})
	if err != nil {
		return nil, err
	}
	data := []byte(page.Content)
	switch page.Encoding {
	case "base64":
		if data, err = base64.StdEncoding.DecodeString(page.Content); err != nil {
			return nil, fmt.Errorf("%w: a raw page that isn't base64: %w", paddock.ErrFault, err)
		}
	case "utf-8":
	default:
		return nil, fmt.Errorf("%w: a page in encoding %q", paddock.ErrFault, page.Encoding)
	}
	text := characters(data, page.Offset > 0, !run.State.Settled())
	return text[max(0, len(text)-mostPreview):], nil
}

// characters decodes text that may begin (cutFront) or end (cutBack) inside a
// character: a part of one at such an edge is left out, and any other byte that
// isn't UTF-8 shows as the replacement character.
func characters(b []byte, cutFront, cutBack bool) []rune {
	for i := 0; cutFront && i < utf8.UTFMax-1 && len(b) > 0 && !utf8.RuneStart(b[0]); i++ {
		b = b[1:]
	}
	if cutBack {
		for i := len(b) - 1; i >= 0 && i >= len(b)-utf8.UTFMax; i-- {
			if utf8.RuneStart(b[i]) {
				if !utf8.FullRune(b[i:]) {
					b = b[:i]
				}
				break
			}
		}
	}
	return []rune(strings.ToValidUTF8(string(b), "\uFFFD"))
}
