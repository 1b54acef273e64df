package pages

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"paddock/cmd/paddock/internal/desk"

	"github.com/spf13/cobra"

	"paddock"
)

func (d commands) logsCommand() *cobra.Command {
	var follow, timestamps bool
	var stream, since string
	var look look
	cmd := &cobra.Command{
		Use:   "logs RUN",
		Short: "Print a run's output in the order it came, and follow it",
		Long: `Print both streams of a run in the order in which they arrived, with -f until the
run is over. With --timestamps each line is shown whole, with when its first byte
arrived and on which stream. On a terminal the output is cleaned of what terminals
obey, except for colours; see paddock output. With --json each page is printed as one JSON object
a line.`,
		Args:              desk.Wants(1, 1, "one run"),
		ValidArgsFunction: d.CompleteRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := desk.RunID(args[0])
			if err != nil {
				return err
			}
			req := paddock.PageRequest{Raw: !d.JSON, Limit: paddock.MaxPage}
			if req.Stream, err = desk.ParseStream(stream, paddock.Combined, paddock.Stdout, paddock.Stderr, paddock.Combined); err != nil {
				return err
			}
			if req.Since, err = parseSince(since, d.Now()); err != nil {
				return err
			}
			view, err := look.view()
			if err != nil {
				return err
			}
			if d.JSON {
				req.View, req.Raw = view, look.raw
			}
			out := look.writer(d, req, follow)
			show, finish := rawPages(out), out.Flush
			switch {
			case d.JSON:
				show = d.pageLine
			case timestamps:
				stamp := &stamper{w: out, only: req.Stream}
				req.Stream = paddock.Combined // only it has the times
				show, finish = stamp.page, func() error { return errors.Join(stamp.finish(), out.Flush()) }
			}
			return d.With(cmd.Context(), func(v desk.Verbs) error {
				if err := d.pages(cmd.Context(), v, id, req, follow, show); err != nil {
					return err
				}
				return finish()
			})
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on until the run is over")
	cmd.Flags().BoolVarP(&timestamps, "timestamps", "t", false, "show when each line came, and on which stream")
	look.flags(cmd.Flags())
	cmd.Flags().StringVar(&stream, "stream", "combined", "which `STREAM`: stdout, stderr or combined")
	cmd.Flags().StringVar(&since, "since", "", "only what came since `TIME`: in the last 5m, or after 2026-01-31T08:00:00Z")
	return cmd
}

// parseSince reads a span before now or a time.
func parseSince(word string, now time.Time) (*time.Time, error) {
	if word == "" {
		return nil, nil
	}
	if d, err := time.ParseDuration(word); err == nil && d >= 0 {
		t := now.Add(-d)
		return &t, nil
	}
	t, err := time.Parse(time.RFC3339, word)
	if err != nil {
		return nil, desk.Usage("--since "+desk.Quote(word)+" is neither a span nor a time", "as in --since 5m or --since 2026-01-31T08:00:00Z")
	}
	return &t, nil
}

// pages shows page after page until there is no more now, or, when following,
// until there will be no more.
func (d commands) pages(ctx context.Context, v desk.Verbs, id paddock.RunID, req paddock.PageRequest, follow bool, show func(paddock.Page) error) error {
	for {
		page, err := v.Output(ctx, d.Operator(), id, req)
		if err != nil {
			return err
		}
		if page.Content != "" || page.EOF {
			if err := show(page); err != nil {
				return err
			}
		}
		if end := page.EOF || (!follow && (page.NextOffset >= page.Total || page.NextOffset <= req.Offset)); end {
			if !d.JSON {
				d.lost(page)
			}
			return nil
		}
		req = after(req, page)
		if follow {
			req.Wait = paddock.Duration(paddock.MaxWait)
		}
	}
}

func rawPages(w io.Writer) func(paddock.Page) error {
	return func(page paddock.Page) error {
		data, err := pageBytes(page)
		if err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	}
}

// pageLine writes a page as one line of JSON, also for a person: several
// objects are read by line.
func (d commands) pageLine(page paddock.Page) error {
	enc := json.NewEncoder(d.Out)
	enc.SetEscapeHTML(false)
	return enc.Encode(page)
}

// A stamper writes whole lines after their time and stream. A line that is
// torn by the other stream is put together again.
type stamper struct {
	w    io.Writer
	only paddock.Stream
	open map[paddock.Stream]*openLine
	lost []paddock.Loss
}

type openLine struct {
	at   time.Time
	text []byte
}

// mostOpen bounds the memory for a line without an end.
const mostOpen = 1 << 20

func (s *stamper) page(page paddock.Page) error {
	s.lost = page.Losses // of the last page
	data, err := pageBytes(page)
	if err != nil {
		return err
	}
	for _, e := range page.Entries {
		n := min(e.Length, int64(len(data)))
		if err := s.entry(e, data[:n]); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// finish writes the lines that have no end.
func (s *stamper) finish() error {
	for _, stream := range []paddock.Stream{paddock.Stdout, paddock.Stderr} {
		if err := s.flush(stream); err != nil {
			return err
		}
	}
	for _, l := range s.lost {
		if s.only != paddock.Combined && s.only != l.Stream {
			continue
		}
		if _, err := fmt.Fprintf(s.w, "%s %s [%s]\n", l.First.UTC().Format("2006-01-02T15:04:05.000Z"), l.Stream, l); err != nil {
			return err
		}
	}
	return nil
}

func (s *stamper) entry(e paddock.Entry, data []byte) error {
	if s.only != paddock.Combined && s.only != e.Stream {
		return nil
	}
	if s.open == nil {
		s.open = map[paddock.Stream]*openLine{}
	}
	for len(data) > 0 {
		line := s.open[e.Stream]
		if line == nil {
			line = &openLine{at: e.At}
			s.open[e.Stream] = line
		}
		end := bytes.IndexByte(data, '\n')
		if end < 0 {
			line.text = append(line.text, data...)
			if len(line.text) < mostOpen {
				return nil
			}
			end = len(data) - 1
		} else {
			line.text = append(line.text, data[:end]...)
		}
		if err := s.flush(e.Stream); err != nil {
			return err
		}
		data = data[end+1:]
	}
	return nil
}

func (s *stamper) flush(stream paddock.Stream) error {
	line := s.open[stream]
	if line == nil {
		return nil
	}
	delete(s.open, stream)
	_, err := fmt.Fprintf(s.w, "%s %s %s\n", line.at.UTC().Format("2006-01-02T15:04:05.000Z"), stream, line.text)
	return err
}
