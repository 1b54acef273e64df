package feed

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sort"
	"sync"
	"time"

	"paddock"
)

const (
	pageBytes = 64 << 10
	// kept bounds what a source keeps for its followers, in bytes of encoded messages.
	kept = 1 << 20
	// longWait is how long one question for more waits; shortWait the same while it
	// isn't known yet whether there will be a program.
	longWait  = 30 * time.Second
	shortWait = 500 * time.Millisecond
	// awayWait is how long to wait before a machine is asked again that wasn't there. Who
	// asks for us has waited for it already.
	awayWait = 250 * time.Millisecond
)

// A Hub has a source for each run that is followed. Its methods may be called
// concurrently.
type Hub struct {
	house House
	life  context.Context
	end   context.CancelFunc
	work  sync.WaitGroup

	mu      sync.Mutex
	sources map[paddock.RunID]*source // guarded by mu
	closed  bool                      // guarded by mu
}

// New returns a Hub, which keeps ctx's values but not its end.
func New(ctx context.Context, house House) *Hub {
	h := &Hub{house: house, sources: map[paddock.RunID]*source{}}
	h.life, h.end = context.WithCancel(context.WithoutCancel(ctx))
	return h
}

// Close ends all following. Runs go on.
func (h *Hub) Close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.end()
	h.work.Wait()
}

// Done is closed when the Hub is.
func (h *Hub) Done() <-chan struct{} { return h.life.Done() }

// Runs returns how many runs are read at the moment.
func (h *Hub) Runs() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.sources)
}

// A source reads one run.
type source struct {
	hub  *Hub
	id   paddock.RunID
	as   paddock.Principal
	stop context.CancelFunc
	refs int // guarded by Hub.mu

	mu      sync.Mutex // guards all below
	changed chan struct{}
	run     paddock.Run
	begun   bool // it is known whether there is or was a program
	settled bool
	pos     int64 // the end of what was cut
	recent  []Message
	size    int // of recent
	err     error
}

// acquire returns the source of a run that as may see. The caller releases it.
func (h *Hub) acquire(as paddock.Principal, run paddock.Run) (*source, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, context.Canceled
	}
	if s := h.sources[run.ID]; s != nil && s.usable() {
		s.refs++
		return s, nil
	}
	ctx, stop := context.WithCancel(h.life)
	s := &source{hub: h, id: run.ID, as: as, stop: stop, refs: 1, changed: make(chan struct{}), run: run, pos: -1}
	s.begun, s.settled = run.StartedAt != nil || run.State.Settled(), false
	h.sources[run.ID] = s
	h.work.Go(func() {
		err := guarded(func() error { return s.read(ctx) })
		if err != nil {
			s.set(func() { s.err = err })
		}
	})
	return s, nil
}

// guarded returns f's error, and a panic as one: nothing that is wrong with one run ends a
// server that others use. Whoever follows the run is told, and the log has it.
func guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("a panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}

func (h *Hub) release(s *source) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.refs--; s.refs > 0 {
		return
	}
	s.stop()
	if h.sources[s.id] == s {
		delete(h.sources, s.id)
	}
}

func (s *source) usable() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err == nil
}

func (s *source) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	close(s.changed)
	s.changed = make(chan struct{})
}

// read follows the run from where it is now to its end.
func (s *source) read(ctx context.Context) error {
	ask := paddock.PageRequest{Stream: paddock.Combined, Raw: true, Limit: 1}
	page, err := s.output(ctx, ask)
	if err != nil {
		return s.over(ctx, err)
	}
	ask.Limit = pageBytes
	at, held := page.Total, int64(0)
	s.set(func() { s.pos = at })
	for {
		ask.Offset, ask.Wait = at+held, paddock.Duration(s.patience())
		if page, err = s.output(ctx, ask); err != nil {
			return s.over(ctx, err)
		}
		if more := page.NextOffset > page.Offset || page.EOF; held > 0 && more {
			ask.Offset, ask.Wait = at, 0
			if page, err = s.output(ctx, ask); err != nil {
				return s.over(ctx, err)
			}
		}
		messages, err := cut(s.id, page, !page.EOF)
		if err != nil {
			return err
		}
		if n := len(messages); n > 0 {
			at = messages[n-1].Last - firstByte + 1
		}
		held = page.NextOffset - at
		if err := s.look(ctx, page.EOF); err != nil {
			return err
		}
		s.add(messages, at, page.EOF)
		if page.EOF {
			return nil
		}
	}
}

// output reads a page, as soon as the machine that has it is there.
func (s *source) output(ctx context.Context, ask paddock.PageRequest) (paddock.Page, error) {
	for {
		page, err := s.hub.house.Output(ctx, s.as, s.id, ask)
		if !away(err) {
			return page, err
		}
		if err := pause(ctx, awayWait); err != nil {
			return page, err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// patience is how long to wait for more.
func (s *source) patience() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.begun {
		return longWait
	}
	return shortWait
}

// look finds out whether the program started, until that is known.
func (s *source) look(ctx context.Context, settled bool) error {
	s.mu.Lock()
	begun := s.begun
	s.mu.Unlock()
	if begun && !settled {
		return nil
	}
	run, err := s.hub.house.Look(ctx, s.as, s.id)
	for away(err) {
		if err := pause(ctx, awayWait); err != nil {
			return err
		}
		run, err = s.hub.house.Look(ctx, s.as, s.id)
	}
	if err != nil {
		return err
	}
	begun = run.StartedAt != nil || run.State.Settled()
	s.set(func() { s.run, s.begun = run, begun })
	return nil
}

// over is what an error while reading means: that the output was removed is no fault,
// since the end is known then.
func (s *source) over(ctx context.Context, err error) error {
	if prunedBy(err) == nil {
		return err
	}
	if err := s.look(ctx, true); err != nil {
		return err
	}
	s.set(func() { s.pos, s.settled = total(s.run), true })
	return nil
}

func (s *source) add(messages []Message, at int64, settled bool) {
	s.set(func() {
		s.pos, s.settled = at, settled
		s.recent = append(s.recent, messages...)
		for _, m := range messages {
			s.size += len(m.Data)
		}
		first := 0
		for ; s.size > kept && first < len(s.recent); first++ {
			s.size -= len(s.recent[first].Data)
		}
		s.recent = slices.Delete(s.recent, 0, first)
	})
}

// total is how many bytes a settled run printed.
func total(run paddock.Run) int64 {
	if run.Outcome == nil {
		return 0
	}
	return run.Outcome.Stdout.Bytes + run.Outcome.Stderr.Bytes
}

// A moment is how a source stands.
type moment struct {
	run     paddock.Run
	begun   bool
	settled bool
	pos     int64
	err     error
	changed <-chan struct{}
	// ready are messages that begin with the number that was asked for. If there are
	// none, within is the end of the message that contains it, or zero.
	ready  []Message
	within int64
}

// most is how many messages are handed over at once, and at least one; mostBytes is past
// which size of them no further one is, since each client gets a copy.
const (
	most      = 64
	mostBytes = pageBytes
)

func (s *source) now(number int64) moment {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := moment{run: s.run, begun: s.begun, settled: s.settled, pos: s.pos, err: s.err, changed: s.changed}
	i := sort.Search(len(s.recent), func(i int) bool { return s.recent[i].Last >= number })
	switch {
	case i == len(s.recent) || s.recent[i].First > number:
	case s.recent[i].First == number:
		to := i + 1
		for size := len(s.recent[i].Data); size < mostBytes && to < min(len(s.recent), i+most); to++ {
			size += len(s.recent[to].Data)
		}
		m.ready = slices.Clone(s.recent[i:to])
	default:
		m.within = s.recent[i].Last + 1
	}
	return m
}
