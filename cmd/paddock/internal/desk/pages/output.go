package pages

import (
	"context"
	"encoding/base64"
	"errors"
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
	var look look
	var find search
	cmd := &cobra.Command{
		Use:   "output RUN",
		Short: "Print what a run has printed",
		Long: `Print kept output: all of it, or one page of --limit. A file or a pipe gets it byte
by byte as the program wrote it; a terminal gets it cleaned of what terminals obey,
except for colours, unless --raw is given. With --json one page is printed with its
offset, next_offset, total and eof; reading on from next_offset reassembles the
stream exactly. Offsets are those of what was written, also with --clean. Secrets of
the policy are hidden by stars unless --unmasked is given, also in a file or a pipe.`,
		Example: `  paddock output RUN --stream stderr
  paddock output RUN --tail 20
  paddock output RUN --grep '^--- FAIL' -n -A 5
  paddock output RUN --grep warning -i --count
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
			return d.output(cmd.Context(), id, req, find, look)
		},
	}
	f := cmd.Flags()
	f.StringVar(&stream, "stream", "stdout", "which `STREAM`: stdout, stderr or combined")
	f.Int64Var(&req.Offset, "offset", 0, "start at byte `N`")
	f.Int64Var(&req.Line, "line", 0, "start at line `N`, counted from 1")
	f.Int64Var(&req.Tail, "tail", 0, "start `N` lines before the end")
	f.IntVar(&req.Limit, "limit", 0, "print one page of at most `N` characters (bytes with --raw)")
	find.flags(f, &req)
	look.flags(f)
	f.BoolVar(&req.Unmasked, "unmasked", false, "show secrets, too, where they were hidden when output is shown")
	f.DurationVar(&wait, "wait", 0, "wait up to `TIME` (at most 45s) for something to be there")
	if err := cmd.RegisterFlagCompletionFunc("stream", cobra.FixedCompletions([]string{"stdout", "stderr", "combined"}, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag is declared above
	}
	return cmd
}

// output prints what req asks for, looked for and shown as said.
func (d commands) output(ctx context.Context, id paddock.RunID, req paddock.PageRequest, find search, look look) error {
	if err := find.settle(&req); err != nil {
		return err
	}
	view, err := look.view()
	if err != nil {
		return err
	}
	req.Raw = look.raw
	if d.JSON || req.Limit != 0 || req.Grep != "" {
		req.View = view // what is looked for is looked for in what is shown
	}
	out := look.writer(d, req, false)
	show := rawPages(out)
	if req.Grep != "" {
		show = (&printer{w: d.Out, shown: look.line(d, req), numbers: find.numbers, gaps: req.GrepBefore+req.GrepAfter > 0}).page
	}
	return d.With(ctx, func(v desk.Verbs) error {
		switch {
		case req.GrepCount:
			return d.count(ctx, v, id, req)
		case d.JSON || req.Limit != 0:
			err = d.onePage(ctx, v, id, req, show)
		default:
			err = d.everyPage(ctx, v, id, req, show)
		}
		return errors.Join(err, out.Flush())
	})
}

// onePage prints what one request returns.
func (d commands) onePage(ctx context.Context, v desk.Verbs, id paddock.RunID, req paddock.PageRequest, show func(paddock.Page) error) error {
	page, err := v.Output(ctx, d.Operator(), id, req)
	if err != nil {
		return err
	}
	if d.JSON {
		return d.Object(page)
	}
	if err := show(page); err != nil {
		return err
	}
	d.lost(page)
	if page.NextOffset < page.Total && d.ErrTerminal {
		d.Say("note", fmt.Sprintf("bytes %d to %d of %d; go on with --offset %d", page.Offset, page.NextOffset, page.Total, page.NextOffset))
	}
	return nil
}

// everyPage shows from where req starts to the end as of now. It asks for raw
// pages: what goes to a file or a pipe is what the program wrote.
func (d commands) everyPage(ctx context.Context, v desk.Verbs, id paddock.RunID, req paddock.PageRequest, show func(paddock.Page) error) error {
	req.Raw, req.Limit = req.View == "", paddock.MaxPage
	for {
		page, err := v.Output(ctx, d.Operator(), id, req)
		if err != nil {
			return err
		}
		if err := show(page); err != nil {
			return err
		}
		if page.EOF || page.NextOffset >= page.Total || page.NextOffset <= req.Offset {
			d.lost(page)
			return nil
		}
		req = after(req, page)
	}
}

// lost says what came after the end of what was kept.
func (d commands) lost(page paddock.Page) {
	for _, l := range page.Losses {
		d.Say("warning", l.String())
	}
}

// count prints how many lines match from where req starts to the end as of now.
func (d commands) count(ctx context.Context, v desk.Verbs, id paddock.RunID, req paddock.PageRequest) error {
	req.Limit = 0
	var whole *paddock.Page
	err := d.everyPage(ctx, v, id, req, func(page paddock.Page) error {
		if whole != nil {
			page.Offset, page.Matches = whole.Offset, whole.Matches+page.Matches
		}
		whole = &page
		return nil
	})
	if err != nil {
		return err
	}
	if d.JSON {
		return d.Object(whole)
	}
	_, err = fmt.Fprintln(d.Out, whole.Matches)
	return err
}

// after is the request for what follows page.
func after(req paddock.PageRequest, page paddock.Page) paddock.PageRequest {
	req.Offset, req.Line, req.Tail, req.Since = page.NextOffset, 0, 0, nil
	req.GrepOwed = page.GrepOwed
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
