package executor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"paddock"
	"paddock/internal/artifact"
	"paddock/internal/rundir"
)

// Output returns one page of a run's output. With req.Wait it waits that long
// for something to be there, for a line that matches when req filters, or for
// the end. A page can be repeated without loss.
func (e *Executor) Output(ctx context.Context, id paddock.RunID, req paddock.PageRequest) (paddock.Page, error) {
	dir, err := e.state.Run(id)
	if err != nil {
		return paddock.Page{}, err
	}
	p := pager{dir: dir, reader: artifact.Open(dir.Path()), req: req}
	if req.Wait <= 0 {
		_, err := p.turn()
		return p.page, err
	}
	limited, cancel := context.WithTimeout(ctx, time.Duration(req.Wait))
	defer cancel()
	err = e.await(limited, dir, func(*watch) (bool, error) {
		for limited.Err() == nil {
			full, err := p.turn()
			if full || err != nil {
				return full, err
			}
			if !p.further() {
				break
			}
		}
		return false, nil
	})
	if err != nil && limited.Err() != nil && ctx.Err() == nil && p.turned {
		err = nil // the wait is over and there is nothing more
	}
	return p.page, err
}

// A pager reads pages of one run until one holds something.
type pager struct {
	dir    *rundir.Dir
	reader *artifact.Reader
	req    paddock.PageRequest
	page   paddock.Page
	turned bool // page is one
}

// turn reads the page and reports whether it is worth returning.
func (p *pager) turn() (bool, error) {
	// First the outcome, then the bytes: what is there after the end is all.
	outcome, err := p.dir.Outcome()
	if err != nil {
		return false, err
	}
	page, err := p.reader.Page(p.req, outcome != nil)
	if errors.Is(err, fs.ErrNotExist) && empty(outcome, p.req.Stream) {
		page, err = emptyPage(p.req, outcome != nil), nil
	}
	if err == nil {
		err = whole(outcome, page.Stream, page.Total)
	}
	if err != nil {
		return false, fmt.Errorf("run %s: %w", p.dir.ID(), err)
	}
	if p.turned {
		page.Offset = p.page.Offset // of where the caller asked us to begin
	}
	p.page, p.turned = page, true
	return page.Content != "" || page.Matches > 0 || page.EOF, nil
}

// further moves on behind lines that didn't match, and reports whether it did.
func (p *pager) further() bool {
	if p.req.Grep == "" || p.page.NextOffset <= p.page.Offset || p.page.NextOffset == p.req.Offset {
		return false
	}
	p.req.Offset, p.req.Line, p.req.Tail, p.req.Since = p.page.NextOffset, 0, 0, nil
	return true
}

// empty reports whether a stream may have no file: its run hasn't got that far,
// or never did.
func empty(outcome *paddock.Outcome, s paddock.Stream) bool {
	return outcome == nil || recorded(outcome, s) == 0
}

func recorded(outcome *paddock.Outcome, s paddock.Stream) int64 {
	switch s {
	case "", paddock.Stdout:
		return outcome.Stdout.Bytes
	case paddock.Stderr:
		return outcome.Stderr.Bytes
	}
	return outcome.Stdout.Bytes + outcome.Stderr.Bytes
}

func emptyPage(req paddock.PageRequest, sealed bool) paddock.Page {
	s := req.Stream
	if s == "" {
		s = paddock.Stdout
	}
	return paddock.Page{Stream: s, Encoding: "utf-8", EOF: sealed}
}

// whole says so when what is kept isn't what was recorded at the end, if that
// could be recorded.
func whole(outcome *paddock.Outcome, s paddock.Stream, total int64) error {
	if outcome == nil || outcome.Stdout.Digest == "" || outcome.Stderr.Digest == "" {
		return nil
	}
	if want := recorded(outcome, s); total != want {
		return fmt.Errorf("its %s has %d bytes and %d were recorded: the kept output was changed", s, total, want)
	}
	return nil
}

// Follow writes a stream from offset to w, as it comes, until the run is settled
// and everything is written.
func (e *Executor) Follow(ctx context.Context, id paddock.RunID, s paddock.Stream, offset int64, w io.Writer) error {
	dir, err := e.state.Run(id)
	if err != nil {
		return err
	}
	reader := artifact.Open(dir.Path())
	return e.await(ctx, dir, func(*watch) (bool, error) {
		outcome, err := dir.Outcome()
		if err != nil {
			return false, err
		}
		read := reader.Copy
		if outcome != nil {
			read = reader.CopySealed
		}
		reached, err := read(w, s, offset)
		if errors.Is(err, fs.ErrNotExist) && empty(outcome, s) {
			err = nil
		}
		offset = max(offset, reached)
		if err == nil && outcome != nil {
			err = whole(outcome, s, offset)
		}
		return outcome != nil, err
	})
}
