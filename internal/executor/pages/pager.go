// Package pages reads the output of runs by what their records say: an output
// that isn't there yet is empty, one that is missing is an error, and one that
// isn't what was recorded at the end is an error, too.
//
// # Limits
//
// The package asks for no permission, and waits by who is asked to.
package pages

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"paddock"
	"paddock/internal/artifact"
	"paddock/internal/artifact/packed"
	"paddock/internal/rundir"
	"paddock/internal/rundir/record/durable/losses"
	"paddock/internal/rundir/record/durable/prune"
)

// Read returns one page. Where req waits, await is asked to call turns whenever there may be more, until
// that says that there is, or fails, or the context ends.
func Read(ctx context.Context, dir *rundir.Dir, req paddock.PageRequest, await func(ctx context.Context, turns func() (bool, error)) error) (paddock.Page, error) {
	pager := New(dir, req)
	if req.Wait <= 0 {
		_, err := pager.Turn()
		page, _ := pager.Page()
		return page, err
	}
	limited, cancel := context.WithTimeout(ctx, time.Duration(req.Wait))
	defer cancel()
	err := await(limited, func() (bool, error) { return pager.Turns(limited) })
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = pager.Once() // the wait is over and there is nothing more
	}
	page, _ := pager.Page()
	return page, err
}

// A Pager reads pages of one run until one holds something.
type Pager struct {
	dir    *rundir.Dir
	reader *artifact.Reader
	req    paddock.PageRequest
	page   paddock.Page
	turned bool // page is one
}

// New returns a Pager of the run in dir that begins at what req asks for.
func New(dir *rundir.Dir, req paddock.PageRequest) *Pager {
	reader := packed.Open(dir.Path())
	if req.Unmasked {
		reader = reader.Unmasked()
	}
	return &Pager{dir: dir, reader: reader, req: req}
}

// Page returns the page read last, and whether one was.
func (p *Pager) Page() (paddock.Page, bool) { return p.page, p.turned }

// Once reads a page if none was read yet: on a busy machine a wait may be over
// before anybody looked.
func (p *Pager) Once() error {
	if p.turned {
		return nil
	}
	_, err := p.Turn()
	return err
}

// Turn reads the page and reports whether it is worth returning.
func (p *Pager) Turn() (bool, error) {
	// First the outcome, then the bytes: what is there after the end is all.
	outcome, err := p.dir.Outcome()
	if err != nil {
		return false, err
	}
	if err := gone(p.dir, outcome, p.req.Stream); err != nil {
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
		if err := gone(p.dir, outcome, p.req.Stream); err != nil { // just now
			return false, err
		}
		return false, fmt.Errorf("run %s: %w", p.dir.ID(), err)
	}
	if page.NextOffset == page.Total {
		if page.Losses, err = dropped(p.dir, outcome, page.Stream); err != nil {
			return false, fmt.Errorf("run %s: %w", p.dir.ID(), err)
		}
	}
	if p.turned {
		page.Offset = p.page.Offset // of where the caller asked us to begin
	}
	p.page, p.turned = page, true
	// A view of bytes that aren't shown is empty, and yet they were read.
	read := page.View != "" && p.req.Grep == "" && page.NextOffset > p.req.Offset
	return page.Content != "" || page.Matches > 0 || read || page.EOF, nil
}

// Further moves on behind lines that didn't match, and reports whether it did.
func (p *Pager) Further() bool {
	if p.req.Grep == "" || p.page.NextOffset <= p.page.Offset || p.page.NextOffset == p.req.Offset {
		return false
	}
	p.req.Offset, p.req.Line, p.req.Tail, p.req.Since = p.page.NextOffset, 0, 0, nil
	p.req.GrepOwed = p.page.GrepOwed
	return true
}

// Turns turns pages until one is worth returning, which it reports, there are no more or
// ctx has ended.
func (p *Pager) Turns(ctx context.Context) (bool, error) {
	for ctx.Err() == nil {
		if full, err := p.Turn(); full || err != nil || !p.Further() {
			return full, err
		}
	}
	return false, nil
}

// gone refuses for output that was removed. A stream that never had a byte is as
// it was.
func gone(dir *rundir.Dir, outcome *paddock.Outcome, s paddock.Stream) error {
	if outcome == nil || recorded(outcome, s) == 0 {
		return nil
	}
	_, pruned, err := prune.Of(dir.Path())
	if err != nil || pruned == nil {
		return err
	}
	return paddock.Refused(paddock.Pruned, "The output of run %s, %d bytes of %s, was removed at %s (%s, by %s).",
		dir.ID(), recorded(outcome, s), streamName(s), pruned.At.UTC().Format(time.RFC3339), pruned.Reason, pruned.By)
}

func streamName(s paddock.Stream) paddock.Stream {
	if s == "" {
		return paddock.Stdout
	}
	return s
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

// dropped is what the end of a stream has to tell.
func dropped(dir *rundir.Dir, outcome *paddock.Outcome, s paddock.Stream) ([]paddock.Loss, error) {
	var all []paddock.Loss
	var err error
	if outcome == nil {
		all, err = losses.Read(dir.Path())
	} else {
		all = paddock.Run{Stdout: outcome.Stdout, Stderr: outcome.Stderr}.Losses()
	}
	return slices.DeleteFunc(all, func(l paddock.Loss) bool { return s != paddock.Combined && s != l.Stream }), err
}

func emptyPage(req paddock.PageRequest, sealed bool) paddock.Page {
	return paddock.Page{Stream: streamName(req.Stream), Encoding: "utf-8", EOF: sealed}
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

// A Follower copies one stream of a run.
type Follower struct {
	dir    *rundir.Dir
	reader *artifact.Reader
	stream paddock.Stream
	offset int64
}

// Follow returns a Follower of stream s that begins at offset.
func Follow(dir *rundir.Dir, s paddock.Stream, offset int64) *Follower {
	return &Follower{dir: dir, reader: packed.Open(dir.Path()), stream: s, offset: offset}
}

// Copy writes what is there and wasn't written yet to w, and reports whether
// that was all.
func (f *Follower) Copy(w io.Writer) (end bool, err error) {
	outcome, err := f.dir.Outcome()
	if err != nil {
		return false, err
	}
	if err := gone(f.dir, outcome, f.stream); err != nil {
		return false, err
	}
	read := f.reader.Copy
	if outcome != nil {
		read = f.reader.CopySealed
	}
	reached, err := read(w, f.stream, f.offset)
	if errors.Is(err, fs.ErrNotExist) && empty(outcome, f.stream) {
		err = nil
	}
	f.offset = max(f.offset, reached)
	if err == nil {
		err = whole(outcome, f.stream, f.offset)
	}
	if err != nil {
		if err := gone(f.dir, outcome, f.stream); err != nil { // just now
			return false, err
		}
	}
	return outcome != nil, err
}
