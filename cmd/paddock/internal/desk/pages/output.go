package pages

import (
	"context"
	"encoding/base64"
	"fmt"
	"time"

	"paddock/cmd/paddock/internal/desk"

	"github.com/spf13/cobra"

	"paddock"
)

func (d commands) outputCommand() *cobra.Command {
	var req paddock.PageRequest
	var stream string
	var wait time.Duration
	cmd := &cobra.Command{
		Use:   "output RUN",
		Short: "Print what a run has printed",
		Long: `Print kept output, byte by byte as the program wrote it: all of it, or one page of
--limit. With --json one page is printed with its offset, next_offset, total and
eof; reading on from next_offset reassembles the stream exactly.`,
		Example: `  paddock output RUN --stream stderr
  paddock output RUN --tail 20
  paddock output RUN --grep '^--- FAIL'
  paddock output RUN --json --offset 50000`,
		Args:              desk.Wants(1, 1, "one run"),
		ValidArgsFunction: d.CompleteRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := desk.RunID(args[0])
			if err != nil {
				return err
			}
			if req.Stream, err = desk.ParseStream(stream, paddock.Stdout, paddock.Stdout, paddock.Stderr, paddock.Combined); err != nil {
				return err
			}
			if err := desk.OneOf(cmd, "offset", "line", "tail"); err != nil {
				return err
			}
			if err := desk.WaitBound("wait", wait, true); err != nil {
				return err
			}
			req.Wait = paddock.Duration(wait)
			return d.With(cmd.Context(), func(v desk.Verbs) error {
				if d.JSON || req.Limit != 0 {
					return d.onePage(cmd.Context(), v, id, req)
				}
				return d.everyPage(cmd.Context(), v, id, req)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&stream, "stream", "stdout", "stdout, stderr or combined")
	f.Int64Var(&req.Offset, "offset", 0, "start at this byte")
	f.Int64Var(&req.Line, "line", 0, "start at this line, counted from 1")
	f.Int64Var(&req.Tail, "tail", 0, "start this many lines before the end")
	f.IntVar(&req.Limit, "limit", 0, "print one page of at most this many characters (bytes with --raw)")
	f.StringVar(&req.Grep, "grep", "", "only lines that match this RE2 expression")
	f.BoolVar(&req.GrepFixed, "fixed", false, "take --grep as it is, not as an expression")
	f.BoolVar(&req.Raw, "raw", false, "count in bytes; in JSON, base64 where it isn't UTF-8")
	f.DurationVar(&wait, "wait", 0, "wait this long (at most 45s) for something to be there")
	if err := cmd.RegisterFlagCompletionFunc("stream", cobra.FixedCompletions([]string{"stdout", "stderr", "combined"}, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag is declared above
	}
	return cmd
}

// onePage prints what one request returns.
func (d commands) onePage(ctx context.Context, v desk.Verbs, id paddock.RunID, req paddock.PageRequest) error {
	page, err := v.Output(ctx, d.Operator(), id, req)
	if err != nil {
		return err
	}
	if d.JSON {
		return d.Object(page)
	}
	data, err := pageBytes(page)
	if err != nil {
		return err
	}
	if _, err := d.Out.Write(data); err != nil {
		return err
	}
	if page.NextOffset < page.Total && d.ErrTerminal {
		d.Say("note", fmt.Sprintf("bytes %d to %d of %d; go on with --offset %d", page.Offset, page.NextOffset, page.Total, page.NextOffset))
	}
	return nil
}

// everyPage prints from where req starts to the end as of now. It asks for raw
// pages: what goes to a file or a pipe is what the program wrote.
func (d commands) everyPage(ctx context.Context, v desk.Verbs, id paddock.RunID, req paddock.PageRequest) error {
	req.Raw, req.Limit = true, paddock.MaxPage
	for {
		page, err := v.Output(ctx, d.Operator(), id, req)
		if err != nil {
			return err
		}
		data, err := pageBytes(page)
		if err != nil {
			return err
		}
		if _, err := d.Out.Write(data); err != nil {
			return err
		}
		if page.EOF || page.NextOffset >= page.Total || page.NextOffset <= req.Offset {
			return nil
		}
		req = after(req, page)
	}
}

// after is the request for what follows page.
func after(req paddock.PageRequest, page paddock.Page) paddock.PageRequest {
	req.Offset, req.Line, req.Tail, req.Since = page.NextOffset, 0, 0, nil
	return req
}

// pageBytes returns the bytes that a page stands for.
func pageBytes(page paddock.Page) ([]byte, error) {
	if page.Encoding != "base64" {
		return []byte(page.Content), nil
	}
	data, err := base64.StdEncoding.DecodeString(page.Content)
	if err != nil {
		return nil, fmt.Errorf("a page of output at %d isn't base64: %w", page.Offset, err)
	}
	return data, nil
}
