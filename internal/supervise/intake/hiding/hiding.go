//go:build linux

// Package hiding keeps secrets out of what is seen of a run's output: it finds them
// before a byte is banked, and writes down where they are, or takes them out.
//
// # Limits
//
// It finds what package redact finds. What may be the beginning of a secret is kept
// back until more comes or the stream ends, in memory: a supervisor that is killed
// takes it along, as it does what is in a pipe.
package hiding

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/artifact/masks"
	"paddock/internal/artifact/pages/moment/frames"
	"paddock/internal/control/handover"
	"paddock/internal/egress/credential"
	"paddock/internal/egress/ledger"
	"paddock/internal/redact"
)

// A Hiding hides the secrets of one run. Nil hides none. Different streams may be
// passed through it concurrently.
type Hiding struct {
	env      []string
	patterns *redact.Patterns
	stored   bool
	cap      int64
	streams  [2]stream
	sink     *os.File // takes standard output, of which nothing is banked then
	reach    []string
}

// ErrOver is the error of a sink that takes no more.
var ErrOver = errors.New("that is more than a secret has")

// stream is one of the two that a run has.
type stream struct {
	finds  *redact.Stream
	masks  *masks.Writer
	offset int64 // of the next byte to come out
	masked int64
	failed error
}

// Open reads what the job's supervisor knows of secrets, and closes it. Before it
// returns the run's directory says durably that there is something to hide. Where
// output isn't to be kept, sink takes it, standard error goes nowhere, and the Hiding
// owns the sink.
func Open(job handover.Job, known, sink *os.File) (_ *Hiding, err error) {
	if job.HasSink {
		return &Hiding{sink: sink, cap: job.OutputCap, reach: job.Contain.Reach}, nil
	}
	if known == nil {
		return nil, nil
	}
	k, err := credential.OpenKnown(known)
	if err = errors.Join(err, known.Close()); err != nil {
		return nil, err
	}
	h := &Hiding{env: k.Env, patterns: redact.Compile(k.Hide...), stored: job.Redact == paddock.RedactStored, cap: job.OutputCap}
	for i := range h.streams {
		s := &h.streams[i]
		s.finds = h.patterns.Stream()
		if h.patterns == nil || h.stored {
			continue
		}
		if s.masks, err = masks.Create(filepath.Join(job.RunDir, string(frames.Streams[i])), unix.O_NOFOLLOW); err != nil {
			return nil, errors.Join(err, h.Close())
		}
	}
	dir, err := os.Open(job.RunDir)
	if err == nil {
		err = errors.Join(dir.Sync(), dir.Close())
	}
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// Env has the secrets that the program gets, as NAME=value.
func (h *Hiding) Env() []string {
	if h == nil {
		return nil
	}
	return h.env
}

// Blind says that there is nothing to find: then Pass gives back what it gets.
func (h *Hiding) Blind() bool { return h == nil || h.patterns == nil && h.sink == nil }

// Pass takes the next bytes of a stream, and returns those that can be banked now,
// with what is hidden there written down or taken out. With an error they must not be
// banked, nor may anything that comes later.
func (h *Hiding) Pass(s paddock.Stream, b []byte) ([]byte, error) {
	i, ok := frames.Number(s)
	switch {
	case h == nil || !ok:
		return b, nil
	case h.sink != nil:
		return h.pour(s, b)
	}
	return h.streams[i].out(h, b, h.streams[i].finds.Next)
}

// pour gives standard output to the sink. Only what it has no room for comes back, with
// an error.
func (h *Hiding) pour(s paddock.Stream, b []byte) ([]byte, error) {
	if s != paddock.Stdout {
		return nil, nil
	}
	over := h.streams[0].offset+int64(len(b)) > h.cap
	if over {
		b = b[:h.cap-h.streams[0].offset]
	}
	n, err := h.sink.WriteAt(b, h.streams[0].offset)
	h.streams[0].offset += int64(n)
	if err == nil && over {
		err = ErrOver
	}
	if err != nil {
		return []byte{0}, err // how much it was is nobody's business
	}
	return nil, nil
}

// Rest is Pass for what was kept back, at the end of a stream.
func (h *Hiding) Rest(s paddock.Stream) ([]byte, error) {
	i, ok := frames.Number(s)
	if h == nil || h.sink != nil || !ok {
		return nil, nil
	}
	return h.streams[i].out(h, nil, func([]byte) ([]byte, []redact.Span) { return h.streams[i].finds.End() })
}

func (s *stream) out(h *Hiding, b []byte, next func([]byte) ([]byte, []redact.Span)) ([]byte, error) {
	ready, spans := next(b)
	for _, f := range spans {
		s.masked += max(0, min(f.End(), h.cap)-f.Offset)
	}
	switch {
	case s.failed != nil:
	case h.stored:
		redact.Hide(ready, s.offset, spans)
	case len(spans) > 0:
		if err := s.masks.Add(spans); err != nil {
			s.failed = fmt.Errorf("where secrets are can't be written down: %w", err)
		}
	}
	s.offset += int64(len(ready))
	return ready, s.failed
}

// Masked is how many of the bytes that a stream's cap lets through are hidden.
func (h *Hiding) Masked(s paddock.Stream) int64 {
	i, ok := frames.Number(s)
	if h == nil || !ok {
		return 0
	}
	return h.streams[i].masked
}

// Denials returns what was denied with the secrets hidden that a program put into it.
func (h *Hiding) Denials(list []paddock.Denial) []paddock.Denial {
	if h == nil {
		return list
	}
	for i := range list {
		if h.sink != nil {
			list[i].Text, list[i].Arguments = "what it was isn't kept", ""
			continue
		}
		list[i].Text, list[i].Arguments = h.patterns.Hidden(list[i].Text), h.patterns.Hidden(list[i].Arguments)
	}
	return list
}

// Entry returns what was asked of the run's proxy with the secrets hidden that a
// program put into it. Who says a secret is told of by the places that he may reach.
func (h *Hiding) Entry(e ledger.Entry) ledger.Entry {
	switch {
	case h == nil:
	case h.sink == nil:
		e.Host, e.Reason = h.patterns.Hidden(e.Host), h.patterns.Hidden(e.Reason)
	case !slices.Contains(h.reach, net.JoinHostPort(e.Host, strconv.Itoa(e.Port))):
		e.Host, e.Address, e.Reason = "", "", ""
	}
	return e
}

// Close lets go of the files.
func (h *Hiding) Close() (err error) {
	if h == nil {
		return nil
	}
	if h.sink != nil {
		err = h.sink.Close()
	}
	for _, s := range h.streams {
		if s.masks != nil {
			err = errors.Join(err, s.masks.Close())
		}
	}
	return err
}
