// Package anchors writes the heads of workers' journals into the journal of a server,
// and says when one of them isn't what it was: whoever cuts off, changes or puts back
// the journal of a worker would have to change the server's, too.
//
// A worker tells how far its journal has come, signed by the key beside it, and the
// hashes of what came to it. The first time it is believed; from then on it must have
// grown from what was known ([growth.Known]). What isn't so is an alarm: it is in the
// server's journal, on its log, in the list of workers and among the numbers, until the
// worker tells again what fits, or is removed. A worker that told once and then is connected
// and doesn't tell is an alarm, too: it can have a question break whenever it likes.
//
// # Limits
//
// A worker that lies from the beginning is believed: what it tells is held to what it
// told, and what is on its disk is held to it by `paddock audit verify --head`. A
// journal that is changed between two questions, in what came between them, isn't found.
// What several servers know is each one's own.
package anchors

import (
	"context"
	jsonv2 "encoding/json/v2"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"paddock"
	"paddock/internal/journal"
	"paddock/internal/journal/growth"
	"paddock/internal/journal/short"
	"paddock/internal/journal/sign"
)

// How often is asked and written down.
const (
	// Every is how long until a worker is asked again, and the least that it is left alone.
	Every = time.Minute
	// soon is how long until one is asked again that had nothing to tell yet: it has just
	// begun, and its first entries are to be known before anybody can take them away.
	soon = time.Second
	// Rest is how long nothing more is written of a journal that only grew.
	Rest = 5 * time.Minute
)

const (
	// atOnce is how many workers are asked at once, and each how long one may take for all
	// that it has to tell: who is slow, or means to be, holds up few others and not for long.
	atOnce = 8
	each   = 20 * time.Second
)

// mostTurns bounds how often a worker is asked at once that has much to tell.
const mostTurns = 10

const mostProblem = 500

// Hub has the connections of workers. *relay.Hub is one.
type Hub interface {
	Workers() []string
	Changed() <-chan struct{}
	Head(ctx context.Context, worker string, from int64) ([]byte, error)
}

// Config is what a Keeper works with. Removed, Warn and Pause may be nil: no worker is
// removed, nobody is warned, and the time is a real one.
type Config struct {
	Hub Hub
	// State is the directory in which is kept what is known.
	State string
	// Append adds to the server's journal.
	Append func(ctx context.Context, entries ...journal.Entry) error
	Now    func() time.Time
	// Removed says whether a worker was taken away.
	Removed func(ctx context.Context, worker string) (bool, error)
	// Warn says an alarm, or that something can't be kept.
	Warn func(error)
	// Pause waits for d, or until soon is closed.
	Pause func(ctx context.Context, d time.Duration, soon <-chan struct{})
}

// A Keeper asks workers and keeps what they told.
type Keeper struct {
	Config
	mu    sync.Mutex
	known map[string]*Worker // guarded by mu

	// judging is held while what a worker told is held to what is known and becomes known:
	// of two that tell of one journal at once, one is the first.
	judging sync.Mutex
	silent  map[string]silence // by worker; guarded by judging
}

// A Worker is what is known of one worker's journal.
type Worker struct {
	growth.Known
	// Asked is when it told last, Written when that was written down last.
	Asked   time.Time `json:"asked"`
	Written time.Time `json:"written"`
	// Problem says why what it tells now isn't believed.
	Problem string `json:"problem,omitempty"`
	// Gone is set as long as the worker is removed. What is known is kept: who could have it
	// forgotten by a removal that is taken back would have no alarm any more.
	Gone bool `json:"gone,omitempty"`
}

// Open reads what is known.
func Open(c Config) (*Keeper, error) {
	known, err := read(c.State)
	if err != nil {
		return nil, err
	}
	if c.Warn == nil {
		c.Warn = func(error) {}
	}
	if c.Pause == nil {
		c.Pause = pause
	}
	return &Keeper{Config: c, known: known, silent: map[string]silence{}}, nil
}

func pause(ctx context.Context, d time.Duration, soon <-chan struct{}) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	case <-soon:
	}
}

// Run asks all workers, those that come at once and the others from time to time, until
// ctx ends.
func (k *Keeper) Run(ctx context.Context) {
	next := soon
	for ctx.Err() == nil {
		changed := k.Hub.Changed()
		k.Round(ctx)
		if !slices.ContainsFunc(k.Hub.Workers(), k.untold) {
			next = Every
		}
		k.Pause(ctx, next, changed)
		select {
		case <-changed:
			next = soon
		default:
			next = min(Every, 2*next) // of an older version, perhaps, and never tells
		}
	}
}

// untold reports whether nothing is known of a worker's journal.
func (k *Keeper) untold(worker string) bool {
	_, known := k.Of(worker)
	return !known
}

// Round asks those that weren't asked lately.
func (k *Keeper) Round(ctx context.Context) {
	if err := k.removed(ctx); err != nil && ctx.Err() == nil {
		k.Warn(fmt.Errorf("which workers were removed isn't known, so alarms of them go on: %w", err))
	}
	all := k.Hub.Workers()
	faults := make([]error, len(all))
	var asking sync.WaitGroup
	turn := make(chan struct{}, atOnce)
	for i, w := range all {
		if is, _ := k.Of(w); is.Gone {
			continue
		}
		turn <- struct{}{}
		asking.Go(func() {
			defer func() { <-turn }()
			faults[i] = k.ask(ctx, w)
		})
	}
	asking.Wait()
	for i, w := range all {
		if faults[i] != nil && ctx.Err() == nil {
			k.Warn(fmt.Errorf("the journal of worker %.80s: %w", w, faults[i]))
		}
	}
}

// Of is what is known of a worker's journal.
func (k *Keeper) Of(worker string) (Worker, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	w := k.known[worker]
	if w == nil {
		return Worker{}, false
	}
	return *w, true
}

// A Journal is what is shown of how far a worker's has come.
type Journal struct {
	Entries int64 `json:"entries"`
	// At is when it told so last.
	At time.Time `json:"at"`
	// Problem says why what it tells now isn't believed: an alarm.
	Problem string `json:"problem,omitempty"`
}

// Shown is what is shown of a worker's journal; nil as long as it told nothing.
func (k *Keeper) Shown(worker string) *Journal {
	w, known := k.Of(worker)
	if !known {
		return nil
	}
	return &Journal{w.Size, w.Asked, w.Problem}
}

// ask asks one worker until it has told all, or enough for once.
func (k *Keeper) ask(ctx context.Context, worker string) error {
	limited, cancel := context.WithTimeout(ctx, each)
	defer cancel()
	k.judging.Lock()
	defer k.judging.Unlock()
	w, _ := k.Of(worker)
	now := k.Now()
	if since := now.Sub(w.Asked); since >= 0 && since < Every {
		return nil
	}
	before := w
	w.Asked = now
	for range mostTurns {
		from := w.Size
		k.judging.Unlock()
		told, problem, err := k.told(limited, worker, from)
		k.judging.Lock()
		if err == nil {
			delete(k.silent, worker)
		} else if problem = k.still(worker, before); problem == nil {
			return nil // it is away, which others say, or never told
		} else {
			w.Asked = before.Asked
		}
		if problem == nil {
			problem = k.foreign(worker, told)
		}
		if problem == nil {
			w.Known, problem = w.Grown(told, signed)
		}
		w.Problem = ""
		if problem != nil {
			w.Problem = short.Text(problem.Error(), mostProblem)
			break
		}
		if w.Size < from+growth.MostLeaves || from == 0 {
			break
		}
	}
	return k.keep(ctx, worker, before, w)
}

// told is what a worker says. A problem is what it says that can't be; an error says
// that it couldn't be asked.
func (k *Keeper) told(ctx context.Context, worker string, from int64) (t *growth.Told, problem, err error) {
	text, err := k.Hub.Head(ctx, worker, from)
	var refusal *paddock.Refusal
	switch {
	case errors.As(err, &refusal) && refusal.Code == paddock.Away:
		return nil, nil, err
	case errors.As(err, &refusal) && from > 0:
		return nil, errors.New("it doesn't tell of its journal any more"), nil
	case errors.As(err, &refusal): // of an older version, or it has none yet
		return nil, nil, err
	case err != nil && ctx.Err() != nil:
		return nil, nil, err
	case err != nil:
		return nil, fmt.Errorf("it can't tell of its journal: %w", err), nil
	}
	t = &growth.Told{}
	if err := jsonv2.Unmarshal(text, t); err != nil {
		return nil, errors.New("what it tells of its journal isn't understood"), nil
	}
	return t, nil, nil
}

// foreign says whether it is the journal of another worker.
func (k *Keeper) foreign(worker string, t *growth.Told) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for other, w := range k.known {
		if other != worker && !w.Gone && w.Journal != "" && w.Journal == t.Journal {
			return fmt.Errorf("it tells of the journal of worker %.80s", other)
		}
	}
	return nil
}

// signed opens a note.
func signed(key, note string) (journal.Statement, error) {
	public, err := sign.ParsePublic(key)
	if err != nil {
		return journal.Statement{}, err
	}
	return public.Open(note)
}
