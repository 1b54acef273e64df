// Package evidence has the verbs about what can be shown of the past: the
// journal's entries, whether it is whole, its checkpoints, and whether what is
// kept of a run is what was told of it.
//
// # Limits
//
// All of it is the operator's: the journal tells of everybody's runs. It starts
// no run and settles none.
package evidence

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"time"

	"paddock"
	"paddock/internal/executor/signing"
	"paddock/internal/journal"
	"paddock/internal/journal/audit"
	"paddock/internal/journal/sign"
	"paddock/internal/rundir"
)

// Evidence is that of one state directory. See [Open].
type Evidence struct {
	state *rundir.State
	dir   string
	now   func() time.Time
}

// Open opens the state directory at path for p, who closes it again.
func Open(p paddock.Principal, path string, now func() time.Time) (*Evidence, error) {
	if p.Kind != paddock.Operator || p.ID == "" {
		return nil, paddock.Refused(paddock.Forbidden, "Only an operator may look at the journal.")
	}
	state, err := rundir.Open(path)
	if err != nil {
		state, err = rundir.OpenToRead(path, err)
	}
	if err != nil {
		return nil, err
	}
	return &Evidence{state, journal.Dir(state.Path()), now}, nil
}

// Close lets go of the state directory.
func (e *Evidence) Close() error { return e.state.Close() }

// State is the state directory, for packages below this one.
func (e *Evidence) State() *rundir.State { return e.state }

// Now is the time.
func (e *Evidence) Now() time.Time { return e.now() }

// ReadOnly says why nothing can be signed into the journal; nil where it can.
func (e *Evidence) ReadOnly() error { return e.state.ReadOnly() }

func (e *Evidence) writable() error {
	if why := e.state.ReadOnly(); why != nil {
		return paddock.Refused(paddock.Unrecordable, "Nothing can be written down here: %v.", why)
	}
	return nil
}

// errEmpty is of a state directory in which nothing was ever told.
func errEmpty(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		r := paddock.Refused(paddock.NotFound, "There is no journal yet: nothing was run or refused here.")
		r.Hint = "Run something first, or name the right state directory with --state."
		return r
	}
	return err
}

// A Filter narrows what is listed. The zero Filter lists everything.
type Filter struct {
	Run   paddock.RunID
	Kind  journal.Kind
	Since time.Time
	// After leaves out the entries up to that number.
	After int64
	// Archive lists further directories that have segments.
	Archive []string
}

// List calls each with the entries that fit, oldest first, and with their lines,
// which are good until it returns. It returns how many lines of those that were read
// aren't whole entries, which Verify tells of.
func (e *Evidence) List(ctx context.Context, f Filter, each func(entry journal.Entry, line []byte) error) (broken int, err error) {
	segments, err := journal.Snapshot(ctx, append([]string{e.dir}, f.Archive...)...)
	if err != nil {
		return 0, errEmpty(err)
	}
	for i, s := range segments {
		if f.After > 0 && i+1 < len(segments) && begins(segments[i+1]) <= f.After {
			continue // all of it is before
		}
		err := journal.ScanSegment(s, func(l journal.Line) error {
			entry, err := l.Entry()
			switch {
			case err != nil:
				broken++
				return ctx.Err()
			case f.Run != "" && entry.Run != f.Run, f.Kind != "" && entry.Kind != f.Kind, entry.Seq <= f.After, entry.Time.Before(f.Since):
				return ctx.Err()
			}
			return each(entry, l.Bytes)
		})
		if err != nil {
			return broken, err
		}
	}
	return broken, nil
}

// begins is the number of a segment's first entry; larger than any where there is none.
func begins(s journal.Segment) int64 {
	seq, stop := int64(math.MaxInt64), errors.New("found")
	_ = journal.ScanSegment(s, func(l journal.Line) error { // what can't be read is told of when it is its turn
		if e, err := l.Entry(); err == nil {
			seq = e.Seq
		}
		return stop
	})
	return seq
}

// Against says what a journal is verified against.
type Against struct {
	Heads       []journal.Head
	Checkpoints []string // signed notes
	Archive     []string
	// Keys are the public keys that may have signed. None means the one that lies
	// beside the journal, if there is one, and that checkpoints by others are
	// only counted.
	Keys []*sign.Public
}

// Verify checks the whole journal, and its newest checkpoint.
func (e *Evidence) Verify(ctx context.Context, a Against) (*audit.Report, error) {
	return e.VerifyEach(ctx, a, nil)
}

// VerifyEach is Verify, and gives each every whole entry.
func (e *Evidence) VerifyEach(ctx context.Context, a Against, each func(journal.Entry) error) (*audit.Report, error) {
	opt, err := e.options(a)
	if err != nil {
		return nil, err
	}
	opt.Each = each
	report, err := audit.Run(ctx, e.dir, opt)
	return report, errEmpty(err)
}

func (e *Evidence) options(a Against) (audit.Options, error) {
	opt := audit.Options{Heads: a.Heads, Checkpoints: a.Checkpoints, Archive: a.Archive}
	keys := a.Keys
	if len(keys) == 0 {
		opt.Strangers = true
		beside, err := sign.LoadPublic(e.keyPath("") + ".pub")
		switch {
		case err == nil:
			keys = append(keys, beside)
		case !errors.Is(err, fs.ErrNotExist):
			return opt, err
		}
	}
	if len(keys) == 0 {
		return opt, nil
	}
	opt.OpenNote = func(note string) (s journal.Statement, err error) {
		for _, key := range keys {
			if s, err = key.Open(note); !errors.Is(err, journal.ErrUnknownKey) {
				break
			}
		}
		return s, err
	}
	newest, err := sign.Newest(e.dir)
	if newest != "" {
		opt.Checkpoints = append(opt.Checkpoints, newest)
	}
	return opt, err
}

// Head returns the newest entry of a journal in which nothing is wrong.
func (e *Evidence) Head(ctx context.Context) (journal.Head, error) {
	report, err := e.Verify(ctx, Against{})
	if err != nil {
		return journal.Head{}, err
	}
	if report.Segments == 0 && len(report.Missing) == 0 {
		return journal.Head{}, errEmpty(fs.ErrNotExist)
	}
	return report.Head, wrong(report)
}

// ErrNotWhole is the error of a journal that can't be vouched for.
var ErrNotWhole = signing.ErrNotWhole

// wrong is an error when a journal can't be vouched for.
func wrong(r *audit.Report) error {
	if r.Whole() {
		return nil
	}
	return fmt.Errorf("%w; the first fault is %v. paddock audit verify tells of all", ErrNotWhole, r.Faults[0])
}

// Key returns the signing key at path, or the one beside the journal when that is
// empty. It is made when it is used for the first time.
func (e *Evidence) Key(path string) (key *sign.Key, made bool, err error) {
	if _, err := journal.Segments(e.dir); err != nil {
		return nil, false, errEmpty(err)
	}
	if path == "" && e.state.ReadOnly() != nil {
		key, err := sign.Load(e.keyPath(path))
		return key, false, err
	}
	return sign.LoadOrCreate(e.keyPath(path))
}

func (e *Evidence) keyPath(path string) string { return signing.KeyPath(e.dir, path) }

// Checkpoint verifies the journal, signs what was verified, and adds that to it.
// It returns the signed note.
func (e *Evidence) Checkpoint(ctx context.Context, key *sign.Key) (note string, err error) {
	if err := e.writable(); err != nil {
		return "", err
	}
	opt, err := signing.Options(e.dir, key)
	if err != nil {
		return "", err
	}
	begin := func() *audit.Audit { return audit.New(e.dir, opt) }
	note, err = signing.Checkpoint(ctx, e.dir, begin(), begin, key, e.now, nil)
	return note, errEmpty(err)
}

// Schedule says how often the journal is signed by itself; nil when it isn't.
func (e *Evidence) Schedule() (*signing.Schedule, error) { return signing.ReadSchedule(e.dir) }

// SetSchedule has the journal signed by itself from now on, by processes that live
// for more than some seconds, and at once, so that what doesn't work is known. Nil
// ends it. The key is made when it is used for the first time.
func (e *Evidence) SetSchedule(ctx context.Context, s *signing.Schedule) (made bool, err error) {
	if err := e.writable(); err != nil {
		return false, err
	}
	if s == nil {
		return false, signing.SetSchedule(e.dir, nil)
	}
	if err := s.Check(); err != nil {
		return false, paddock.Refused(paddock.InvalidRequest, "The schedule makes no sense: %v.", err)
	}
	key, made, err := e.Key(s.Key)
	if err == nil {
		_, err = e.Checkpoint(ctx, key)
	}
	if err != nil {
		return made, err
	}
	return made, signing.SetSchedule(e.dir, s)
}
