// Package signing signs what a journal tells so far: when somebody asks for it,
// and by itself as often as the journal's schedule says, in processes that live
// long enough.
//
// # Limits
//
// It signs nothing that it hasn't verified, and stops when the journal isn't
// whole. Supervisors don't have it: a key is where people and servers are. A key
// that lies beside the journal proves nothing against who may read both.
package signing

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"paddock/internal/journal"
	"paddock/internal/journal/audit"
	"paddock/internal/journal/sign"
	"paddock/internal/journal/writer"
)

// ErrNotWhole is the error of a journal that can't be signed because something in
// it is wrong.
var ErrNotWhole = errors.New("the journal isn't whole, so nothing is said or signed of it")

// Checkpoint reads on what a was not given yet, signs all of it and adds that to
// the journal at dir, all but the reading while nobody else can add anything. If due
// isn't nil it is asked then, and without it nothing is signed and note is empty.
func Checkpoint(ctx context.Context, dir string, a *audit.Audit, again func() *audit.Audit, key *sign.Key, now func() time.Time, due func() bool) (note string, err error) {
	w, err := writer.Open(dir, writer.Options{Now: now})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	// Most is read while others may write on, and only the rest under the lock.
	if err := a.Read(ctx); err != nil {
		return "", err
	}
	err = w.AppendWhere(ctx, func() ([]journal.Entry, error) {
		if a.Torn() {
			a = again()
		}
		if err := a.ReadLocked(ctx); err != nil {
			return nil, err
		}
		if due != nil && !due() {
			return nil, nil
		}
		report := a.Finish()
		s, ok := report.Statement()
		if !ok {
			return nil, wrong(report)
		}
		if note, err = key.Checkpoint(s); err != nil {
			return nil, err
		}
		return []journal.Entry{{Kind: journal.Checkpoint, Checkpoint: note}}, nil
	})
	if err != nil || note == "" {
		return "", err
	}
	return note, sign.SetNewest(dir, note)
}

func wrong(r *audit.Report) error {
	if r.Whole() {
		return errors.New("the journal can't be signed")
	}
	return fmt.Errorf("%w; the first fault is %v. paddock audit verify tells of all", ErrNotWhole, r.Faults[0])
}

// Options are what a journal at dir is verified against before key signs it: its
// newest checkpoint, if that is by the same key. Others are only counted.
func Options(dir string, key *sign.Key) (audit.Options, error) {
	newest, err := sign.Newest(dir)
	opt := audit.Options{OpenNote: key.Open, Strangers: true} // whoever looks has to know the keys of before
	if newest != "" {
		opt.Checkpoints = []string{newest}
	}
	return opt, err
}

// retryAfter is how long a Signer waits after something went wrong.
const retryAfter = time.Minute

// A Signer keeps to the schedule of one journal, for as long as somebody gives it
// turns. It belongs to one goroutine.
type Signer struct {
	dir string
	now func() time.Time

	plan     Schedule
	key      *sign.Key
	audit    *audit.Audit // has read the journal so far; nil before the first
	unsigned int          // entries since the last checkpoint of our key
	since    time.Time    // of the first of them
	rest     time.Time    // until then nothing is tried
}

// New returns a Signer of the journal at dir.
func New(dir string, now func() time.Time) *Signer { return &Signer{dir: dir, now: now} }

// Turn signs the journal if it is time to. Its first turn reads all of it, later
// ones what was added.
func (s *Signer) Turn(ctx context.Context) error {
	if s.now().Before(s.rest) {
		return nil
	}
	err := s.turn(ctx)
	if err != nil {
		s.audit, s.key = nil, nil
		s.rest = s.now().Add(retryAfter)
		if errors.Is(err, fs.ErrNotExist) && s.plan == (Schedule{}) {
			return nil // no journal yet
		}
		return fmt.Errorf("automatic checkpoint: %w", err)
	}
	return nil
}

func (s *Signer) turn(ctx context.Context) error {
	plan, err := ReadSchedule(s.dir)
	if err != nil || plan == nil {
		s.plan, s.audit, s.key = Schedule{}, nil, nil
		return err
	}
	if *plan != s.plan || s.key == nil {
		s.plan, s.audit = *plan, nil
		if s.key, err = sign.Load(plan.KeyPath(s.dir)); err != nil {
			return err
		}
	}
	if s.audit == nil || s.audit.Torn() {
		if err := s.begin(); err != nil {
			return err
		}
	}
	if err := s.audit.Read(ctx); err != nil {
		return err
	}
	if !s.due() {
		return nil
	}
	_, err = Checkpoint(ctx, s.dir, s.audit, func() *audit.Audit {
		if err := s.begin(); err != nil {
			return s.audit // whose fault is told
		}
		return s.audit
	}, s.key, s.now, s.due)
	return err
}

// begin has the journal read from its start.
func (s *Signer) begin() error {
	opt, err := Options(s.dir, s.key)
	if err != nil {
		return err
	}
	s.unsigned = 0
	opt.Each = s.count
	s.audit = audit.New(s.dir, opt)
	return nil
}

// count notes what isn't signed yet. What only frames entries needn't be.
func (s *Signer) count(e journal.Entry) error {
	switch e.Kind {
	case journal.Begin, journal.Rotate, journal.Recovered:
		return nil
	case journal.Checkpoint:
		if _, err := s.key.Open(e.Checkpoint); err == nil {
			s.unsigned = 0
		}
		return nil
	}
	if s.unsigned == 0 {
		s.since = e.Time
	}
	s.unsigned++
	return nil
}

func (s *Signer) due() bool {
	if s.unsigned == 0 {
		return false
	}
	many := s.plan.Entries > 0 && s.unsigned >= s.plan.Entries
	// An entry of the future is of a clock that was set back.
	age := s.now().Sub(s.since)
	return many || s.plan.Every > 0 && (age >= s.plan.Every || age < 0)
}

// KeyPath is where the key of a journal at dir is, unless path names another.
func KeyPath(dir, path string) string {
	if path == "" {
		return filepath.Join(dir, "key")
	}
	return path
}
