package order

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"paddock/internal/rundir/record/durable"
)

// ErrForgotten is an order from before the notes of what was followed were put back: it may
// have been followed, and nobody here knows any more.
var ErrForgotten = errors.New("the order is older than what is known here of orders that were followed, so it may have been; ask for the run again")

const (
	// noted has the time until which the notes are known to be complete, and complete the one
	// from which on they are again.
	noted, complete = "noted", "complete-from"
	mostTime        = 64
)

// Noted is until when the notes are known to have been kept; the zero time says that nobody
// wrote that down, and bare that there are no notes either.
func (n *Nonces) Noted() (at time.Time, bare bool, err error) {
	at, err = readTime(filepath.Join(n.dir, noted))
	if err != nil || !at.IsZero() {
		return at, false, err
	}
	names, err := os.ReadDir(n.dir)
	for _, e := range names {
		if strings.HasPrefix(e.Name(), "until-") {
			return time.Time{}, false, err
		}
	}
	return time.Time{}, true, err
}

// Note writes down that the notes are kept at this time.
func (n *Nonces) Note(now time.Time) error {
	was, err := readTime(filepath.Join(n.dir, noted))
	if err != nil || !now.After(was) {
		return err
	}
	return durable.Replace(filepath.Join(n.dir, noted), formTime(now))
}

// Complete is the time from which on orders are followed, where which were before isn't known.
func (n *Nonces) Complete() time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.from
}

// From has no order followed any more that was made before a time: which of those were isn't
// known. It is there for good once it returns, and a clock that is set back changes nothing.
func (n *Nonces) From(at time.Time) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !at.After(n.from) {
		return nil
	}
	if err := durable.Replace(filepath.Join(n.dir, complete), formTime(at)); err != nil {
		return err
	}
	n.from = at
	return nil
}

func formTime(at time.Time) []byte { return []byte(at.UTC().Format(time.RFC3339Nano) + "\n") }

func readTime(name string) (time.Time, error) {
	text, err := durable.Read(name, mostTime)
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	at, err := time.Parse(time.RFC3339Nano+"\n", string(text))
	if err != nil {
		return time.Time{}, fmt.Errorf("%s has no time: remove it if nobody put this directory back", name)
	}
	return at, nil
}
