// Package asking lets a worker ask the servers that it is connected to for warrants, over
// connections on which only servers ask: a server asks what the worker wants, and waits.
// What it has to give is in its next question. So one that has nothing to do with the other
// costs a question now and then, and a warrant is there and back once.
//
// A want that was told and whose answer got lost is told again, on whatever connection that
// server asks next; to be asked twice by the same process changes nothing.
//
// # Limits
//
// A server shows that it has the key that it speaks of, for this process of this worker,
// before it is told anything or believed in anything, also that there is no warrant. Which
// worker asks is known by the connection.
package asking

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"paddock"
	"paddock/internal/journal/sign"
	"paddock/internal/lease/order"
	"paddock/internal/lease/order/warrant"
)

const (
	// Hold is how long a question is open that has no answer yet.
	Hold = 25 * time.Second
	// mostWants and mostBytes are what is told at once.
	mostWants = 32
	mostBytes = 6 << 20
	// mostBlank is how often a server may ask without having shown its key.
	mostBlank = 4
)

// A Question of a server: what is wanted of it?
type Question struct {
	// Signer is the label of the key by which the server signs, and Proof that it has it:
	// there is none in the first question, before it knows whom it asks.
	Signer string `json:"signer"`
	Proof  []byte `json:"proof,omitempty"`
	// Given are the answers to what was wanted.
	Given []Given `json:"given,omitempty"`
}

// A Given is a warrant, or why there is none.
type Given struct {
	Run     paddock.RunID    `json:"run"`
	Warrant []byte           `json:"warrant,omitempty"`
	Refusal *paddock.Refusal `json:"refusal,omitempty"`
}

// Wants are of one process of a worker.
type Wants struct {
	Asker string `json:"asker"`
	Wants []Want `json:"wants,omitempty"`
}

// A Want is an order for which there is to be a warrant.
type Want struct {
	Run      paddock.RunID `json:"run"`
	Envelope []byte        `json:"envelope"`
}

// A Desk has what the process of a worker wants. It must be made with [NewDesk].
type Desk struct {
	worker, asker string
	keys          []*sign.Public

	mu      sync.Mutex
	changed chan struct{}          // guarded by mu; closed when there are more wants
	wants   map[paddock.RunID]*one // guarded by mu
	reached map[string]int         // sessions by signer; guarded by mu
}

type one struct {
	Want
	signer string
	told   chan Given
}

// NewDesk returns one of a process of that worker, which follows what those with keys sign.
func NewDesk(worker string, keys ...*sign.Public) *Desk {
	return &Desk{worker: worker, asker: warrant.NewAsker(), keys: keys, changed: make(chan struct{}), wants: map[paddock.RunID]*one{}, reached: map[string]int{}}
}

// Reaches implements lease.Signers: whether a server with the key asks here.
func (d *Desk) Reaches(key *sign.Public) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.reached[order.Signer(key)] > 0
}

// First implements lease.Signers.
func (d *Desk) First(ctx context.Context, o order.Order, envelope []byte, by *sign.Public) error {
	w := &one{Want{o.Run, envelope}, order.Signer(by), make(chan Given, 1)}
	if !d.want(w) {
		return fmt.Errorf("a warrant for run %s is asked for already", o.Run)
	}
	defer d.unwant(o.Run)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case g := <-w.told:
		if g.Refusal != nil {
			return g.Refusal
		}
		return warrant.Check(g.Warrant, o, by, d.worker, d.asker)
	}
}

func (d *Desk) want(w *one) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.wants[w.Run] != nil {
		return false
	}
	d.wants[w.Run] = w
	close(d.changed)
	d.changed = make(chan struct{})
	return true
}

func (d *Desk) unwant(id paddock.RunID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.wants, id)
}

// A Session is one connection to a server.
type Session struct {
	desk   *Desk
	signer string // guarded by the desk's mu; empty until it showed that it has that key
	blank  int    // questions that showed nothing; guarded by the desk's mu
	over   bool   // guarded by the desk's mu
}

// Session begins one. A nil desk has none: it wants nothing.
func (d *Desk) Session() *Session {
	if d == nil {
		return nil
	}
	return &Session{desk: d}
}

// End ends it.
func (s *Session) End() {
	if s == nil {
		return
	}
	s.desk.mu.Lock()
	defer s.desk.mu.Unlock()
	if !s.over && s.signer != "" {
		s.desk.reached[s.signer]--
	}
	s.over = true
}

// Answer takes what was given and says what is wanted, as soon as there is something or
// after some time.
func (s *Session) Answer(ctx context.Context, q Question) (Wants, error) {
	if s == nil {
		return Wants{}, paddock.Refused(paddock.InvalidRequest, "This worker wants nothing of servers.")
	}
	d := s.desk
	switch known, err := s.take(q); {
	case err != nil:
		return Wants{}, err
	case !known:
		return Wants{Asker: d.asker}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, Hold)
	defer cancel()
	for {
		d.mu.Lock()
		w, changed := d.of(q.Signer), d.changed
		d.mu.Unlock()
		if len(w.Wants) > 0 {
			return w, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return w, nil
		}
	}
}

// take notes who asks, and what is given. Who isn't known is to show its key.
func (s *Session) take(q Question) (known bool, err error) {
	if hex, ok := strings.CutPrefix(q.Signer, order.SignedBy); !ok || len(hex) != 16 || strings.Trim(hex, "0123456789abcdef") != "" || len(q.Given) > mostWants {
		return false, paddock.Refused(paddock.InvalidRequest, "A server says which key it signs with, and gives at most %d warrants at once.", mostWants)
	}
	d := s.desk
	shown := d.shows(q)
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(q.Proof) == 0 {
		s.blank++
	}
	switch {
	case s.over:
		return false, paddock.Refused(paddock.InvalidRequest, "The connection is over.")
	case s.signer == "" && len(q.Proof) == 0 && s.blank <= mostBlank: // an answer can be lost
		return false, nil
	case s.signer == "" && !shown:
		return false, paddock.Refused(paddock.Forbidden, "Who asks for this worker's wants shows that it has the key that it signs with, and that this worker follows.")
	case s.signer == "":
		s.signer = q.Signer
		d.reached[s.signer]++
	case s.signer != q.Signer:
		return false, paddock.Refused(paddock.InvalidRequest, "A server signs with one key.")
	}
	for _, g := range q.Given {
		if w := d.wants[g.Run]; w != nil && w.signer == q.Signer {
			delete(d.wants, g.Run)
			w.told <- g // has room for the one that there is
		}
	}
	return true, nil
}

// shows reports whether who asks has the key of which it speaks.
func (d *Desk) shows(q Question) bool {
	i := slices.IndexFunc(d.keys, func(k *sign.Public) bool { return order.Signer(k) == q.Signer })
	return i >= 0 && len(q.Proof) > 0 && warrant.Shows(q.Proof, d.keys[i], d.worker, d.asker)
}

// of is what is wanted of a signer, called with the lock.
func (d *Desk) of(signer string) Wants {
	w, size := Wants{Asker: d.asker}, 0
	for _, one := range d.wants {
		if one.signer != signer || len(w.Wants) > 0 && size+len(one.Envelope) > mostBytes {
			continue
		}
		size += len(one.Envelope)
		if w.Wants = append(w.Wants, one.Want); len(w.Wants) == mostWants {
			break
		}
	}
	return w
}

// A Giver is a server's side. Warn is told of faults; Pause waits after one, and nil means
// for the time that it is told.
type Giver struct {
	*warrant.Giver
	Warn  func(error)
	Pause func(ctx context.Context, d time.Duration)
}

// rest is how long a server waits after a fault.
const rest = time.Second

// Serve asks a worker by ask what it wants, and gives it, until ctx ends or the worker
// refuses to say, as older ones do.
func (g *Giver) Serve(ctx context.Context, worker string, ask func(ctx context.Context, q Question) (Wants, error)) {
	q := Question{Signer: order.Signer(&g.Key.Public)}
	for vain := 0; ctx.Err() == nil; {
		begun := g.Now()
		w, err := ask(ctx, q)
		var refused *paddock.Refusal
		if errors.As(err, &refused) {
			return
		}
		q.Given = nil
		if err == nil {
			if err = g.answer(&q, worker, w); errors.As(err, &refused) {
				return // it doesn't say who it is
			}
			if err != nil {
				g.Warn(fmt.Errorf("a warrant for worker %.80s: %w", worker, err))
			}
		}
		// One that answers at once and wants nothing that it may have would keep us busy.
		if vain++; g.Now().Sub(begun) >= Hold/2 || slices.ContainsFunc(q.Given, func(g Given) bool { return g.Refusal == nil }) {
			vain = 0
		}
		if (err != nil || vain > mostVain) && ctx.Err() == nil {
			g.pause(ctx)
		}
	}
}

// mostVain is how often in a row a worker may want nothing that it may have.
const mostVain = 32

// answer puts into q what the worker is told next.
func (g *Giver) answer(q *Question, worker string, w Wants) (err error) {
	if len(q.Proof) == 0 {
		if q.Proof, err = g.Show(worker, w.Asker); err != nil {
			return err
		}
	}
	q.Given, err = g.answers(worker, w)
	return err
}

func (g *Giver) answers(worker string, w Wants) (given []Given, fault error) {
	for _, one := range w.Wants[:min(len(w.Wants), mostWants)] {
		text, err := g.Give(one.Envelope, one.Run, worker, w.Asker)
		var refused *paddock.Refusal
		switch {
		case errors.As(err, &refused):
			given = append(given, Given{Run: one.Run, Refusal: refused})
		case err != nil:
			fault = err // it is wanted again
		default:
			given = append(given, Given{Run: one.Run, Warrant: text})
		}
	}
	return given, fault
}

func (g *Giver) pause(ctx context.Context) {
	if g.Pause != nil {
		g.Pause(ctx, rest)
		return
	}
	t := time.NewTimer(rest)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
