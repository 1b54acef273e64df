// Package audit checks a journal: every line against its digest, each against
// the one before, the tree against its checkpoints and against what was saved
// elsewhere.
//
// # Limits
//
// A journal that somebody wrote anew from some entry on is whole in itself. It is
// found by a saved head or checkpoint, or by a checkpoint in it that they can't
// sign, and by nothing else. What a run printed is compared elsewhere.
package audit

import (
	"context"
	"errors"
	"fmt"

	"paddock"
	"paddock/internal/journal"
)

// mostFaults bounds how many faults are told of; more are counted.
const mostFaults = 1000

// Options say what to check a journal against.
type Options struct {
	// Archive lists further directories that have segments of it.
	Archive []string
	// Heads and Checkpoints were saved elsewhere. Checkpoints are signed notes.
	Heads       []journal.Head
	Checkpoints []string
	// OpenNote returns what a signed note says; its error is
	// [journal.ErrUnknownKey] when only unknown keys signed it. Nil knows no key,
	// and then checkpoints in the journal are counted and not checked.
	OpenNote func(note string) (journal.Statement, error)
	// Strangers means that checkpoints by unknown keys are only counted.
	Strangers bool
	// Each, when set, is given each whole entry.
	Each func(journal.Entry) error
}

// A Fault is something that is wrong.
type Fault struct {
	// Segment and Line are where; empty and zero for the journal as a whole.
	Segment string `json:"segment,omitempty"`
	Line    int    `json:"line,omitempty"`
	Message string `json:"message"`
}

func (f Fault) String() string {
	switch {
	case f.Segment == "":
		return f.Message
	case f.Line == 0:
		return f.Segment + ": " + f.Message
	}
	return fmt.Sprintf("%s:%d: %s", f.Segment, f.Line, f.Message)
}

// A Gap is segments that aren't here, and the entries in them.
type Gap struct {
	FirstSegment int   `json:"first_segment"`
	LastSegment  int   `json:"last_segment"`
	FirstEntry   int64 `json:"first_entry"`
	LastEntry    int64 `json:"last_entry"`
}

func (g Gap) String() string {
	return fmt.Sprintf("segments %d to %d with the entries %d to %d", g.FirstSegment, g.LastSegment, g.FirstEntry, g.LastEntry)
}

// A Report is what was found.
type Report struct {
	Journal  string `json:"journal"`
	Segments int    `json:"segments"`
	// Entries is how many were whole.
	Entries int64 `json:"entries"`
	// Head is the last entry.
	Head journal.Head `json:"head"`
	// Checkpoints were checked, Unsigned ones had no known key.
	Checkpoints int   `json:"checkpoints"`
	Unsigned    int   `json:"unsigned"`
	Saved       int   `json:"saved"` // heads and checkpoints from elsewhere that fit
	Recovered   int   `json:"recovered"`
	Missing     []Gap `json:"missing"`
	// Open is how many runs have a start and no end.
	Open   int     `json:"open"`
	Faults []Fault `json:"faults"`
	More   int     `json:"more_faults,omitempty"`

	tree *journal.Tree // nil when anything was wrong
}

// Whole says whether nothing is wrong. What is missing isn't wrong.
func (r *Report) Whole() bool { return len(r.Faults) == 0 }

// An Audit reads a journal, and again what was added meanwhile.
type Audit struct {
	dir     string
	opt     Options
	keyless bool
	Report

	segment journal.Segment // being read
	line    journal.Line    // being read
	last    journal.Line    // the last one of segment, with its end
	began   bool            // a first entry was seen
	jump    int             // segments that are missing before this one

	// chain is of the entries so far; nil when that can't be known. aside is the
	// tree before entries that only prepare the next one.
	chain *journal.Tree
	aside journal.Statement

	junk    *journal.Junk // lines that aren't entries, not explained yet
	pending []Fault       // what to say of them if nothing explains them
	bad     int64         // how many

	open  map[paddock.RunID]struct{}
	heads map[int64][]journal.Head
	notes map[int64][]journal.Statement
}

// New prepares an audit of the journal at dir.
func New(dir string, opt Options) *Audit {
	keyless := opt.OpenNote == nil
	if keyless {
		opt.OpenNote = func(string) (journal.Statement, error) { return journal.Statement{}, journal.ErrUnknownKey }
	}
	a := &Audit{
		dir: dir, opt: opt, keyless: keyless || opt.Strangers, chain: &journal.Tree{},
		open: map[paddock.RunID]struct{}{}, heads: map[int64][]journal.Head{}, notes: map[int64][]journal.Statement{},
	}
	a.Missing, a.Faults = []Gap{}, []Fault{}
	for _, h := range opt.Heads {
		a.heads[h.Seq] = append(a.heads[h.Seq], h)
	}
	for _, note := range opt.Checkpoints {
		s, err := opt.OpenNote(note)
		switch {
		case errors.Is(err, journal.ErrUnknownKey) && opt.Strangers:
		case errors.Is(err, journal.ErrUnknownKey):
			a.fault("a saved checkpoint is signed by a key that wasn't named: forged, or name its public key, too")
		case err != nil:
			a.fault("a saved checkpoint is forged or damaged: %v", err)
		default:
			a.notes[s.Size] = append(a.notes[s.Size], s)
		}
	}
	return a
}

// Run checks the whole journal.
func Run(ctx context.Context, dir string, opt Options) (*Report, error) {
	a := New(dir, opt)
	if err := a.Read(ctx); err != nil {
		return nil, err
	}
	return a.Finish(), nil
}

// Read checks what is there and wasn't read yet.
func (a *Audit) Read(ctx context.Context) error {
	segments, err := journal.Snapshot(ctx, append([]string{a.dir}, a.opt.Archive...)...)
	if err != nil {
		return err
	}
	return a.read(ctx, segments)
}

// Torn says whether what was read ends in something that isn't an entry. Then
// there is no reading on from there.
func (a *Audit) Torn() bool { return a.junk != nil }

// ReadLocked is Read for one who has the journal's lock.
func (a *Audit) ReadLocked(ctx context.Context) error {
	segments, err := journal.Segments(append([]string{a.dir}, a.opt.Archive...)...)
	if err != nil {
		return err
	}
	return a.read(ctx, segments)
}

func (a *Audit) read(ctx context.Context, segments []journal.Segment) error {
	for _, s := range segments {
		if s.Number < a.segment.Number {
			continue
		}
		from, lines := int64(0), 0
		if s.Number == a.segment.Number {
			from, lines = a.last.Offset, a.last.Number
		} else {
			a.unexplained("")
			a.jump = s.Number - a.segment.Number - 1
			a.Segments++
		}
		a.segment = s
		if err := a.readSegment(ctx, from, lines); err != nil {
			return err
		}
	}
	return nil
}

// Finish returns what was found.
func (a *Audit) Finish() *Report {
	a.unexplained("; if nobody is writing now, that was a crash, and the next one who writes closes it")
	for seq, heads := range a.heads {
		for _, h := range heads {
			a.unmet(seq, fmt.Sprintf("the saved head %s", h))
		}
	}
	for size := range a.notes {
		a.unmet(size, fmt.Sprintf("a saved checkpoint of %d entries", size))
	}
	if a.segment.Number == 0 && len(a.heads)+len(a.notes) == 0 {
		a.fault("there is no segment")
	}
	a.Open = len(a.open)
	a.tree = a.chain
	if !a.Whole() {
		a.tree = nil
	}
	return &a.Report
}

// unmet tells of something saved whose entry never came.
func (a *Audit) unmet(seq int64, what string) {
	for _, gap := range a.Missing {
		if seq >= gap.FirstEntry && seq <= gap.LastEntry {
			a.fault("%s can't be checked: its entry is in a segment that isn't here", what)
			return
		}
	}
	if seq > a.Head.Seq {
		a.fault("%s isn't reached: the journal ends with entry %d, and what came after was cut off", what, a.Head.Seq)
		return
	}
	a.fault("%s can't be checked, because of the faults before it", what)
}

// Statement returns what a checkpoint of all that was read says; ok is false
// when anything was wrong.
func (r *Report) Statement() (s journal.Statement, ok bool) {
	if r.tree == nil {
		return journal.Statement{}, false
	}
	return journal.Statement{Journal: r.Journal, Size: r.tree.Size(), Hash: r.tree.Hash()}, true
}

func (a *Audit) fault(format string, args ...any) {
	a.add(Fault{Message: fmt.Sprintf(format, args...)})
}

// here tells of the line that is being read.
func (a *Audit) here(format string, args ...any) {
	a.add(Fault{journal.Name(a.segment.Number), a.line.Number, fmt.Sprintf(format, args...)})
}

func (a *Audit) add(f Fault) {
	if len(a.Faults) == mostFaults {
		a.More++
		return
	}
	a.Faults = append(a.Faults, f)
}
