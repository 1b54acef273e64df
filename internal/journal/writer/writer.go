// Package writer adds entries to a journal, from as many processes at once as
// like to.
//
// Entries are written under a lock that all of them share, as one write, and are
// durable when Append returns. The disk is asked outside of the lock, once for
// all who wait: lines follow one another in one file, so what makes a line
// durable makes all before it durable.
//
// What a crash left of a line is never taken away. The next writer closes it and
// says in a recovered entry how long it was and what digest it has.
//
// # Limits
//
// The writer believes the last entry that it finds whole and reads nothing
// before: package audit checks the rest. It signs nothing.
package writer

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"paddock"
	"paddock/internal/failpoint"
	"paddock/internal/journal"
)

// SegmentSize is past which the next entry begins a segment.
const SegmentSize = 16 << 20

// mostAtOnce bounds what one write takes.
const mostAtOnce = 64

// Options inject what tests replace. The zero value is for real use.
type Options struct {
	// Now returns the time; nil means time.Now.
	Now func() time.Time
	// SegmentSize is past which the next entry begins a segment; zero means the
	// constant.
	SegmentSize int64
	// Step, when set, is called before each step that a crash could precede; its
	// error is taken for the disk's.
	Step func(name string) error
}

// A Writer adds entries to one journal. Its methods may be called concurrently.
// See [Open].
type Writer struct {
	dir  string
	opt  Options
	lock *os.File
	turn chan struct{} // holds one token: the goroutine that may try for the lock

	// Guarded by turn.
	end     *end // nil: must be looked for
	created bool // the segment's name may not be durable

	sync syncing
}

// An end is where the journal ends, as we left it.
type end struct {
	file   *os.File // the last segment, open to append
	number int
	size   int64
	seq    int64
	digest paddock.Digest
	id     string
	fresh  bool // the last segment has no entry yet
}

// Open opens the journal at dir and makes it, owner-only, where it is missing.
// Nothing is written before the first entry.
func Open(dir string, opt Options) (*Writer, error) {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.SegmentSize <= 0 {
		opt.SegmentSize = SegmentSize
	}
	if opt.Step == nil {
		opt.Step = func(name string) error { return failpoint.At("journal/" + name) }
	}
	lock, err := openLock(dir)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	w := &Writer{dir: dir, opt: opt, lock: lock, turn: make(chan struct{}, 1)}
	w.sync.wake = sync.NewCond(&w.sync.mu)
	return w, nil
}

// Close lets go of the journal.
func (w *Writer) Close() error {
	w.turn <- struct{}{}
	defer func() { <-w.turn }()
	err := w.lock.Close()
	if errors.Is(err, fs.ErrClosed) {
		err = nil
	}
	w.forget()
	return err
}

// Append adds entries, next to one another, and returns when they are durable.
// When it fails some of them may be there.
func (w *Writer) Append(ctx context.Context, entries ...journal.Entry) error {
	return w.append(ctx, func() ([]journal.Entry, error) { return entries, nil })
}

// AppendWhere is Append of what choose returns, which is called while nobody
// else can add anything. It must be quick.
func (w *Writer) AppendWhere(ctx context.Context, choose func() ([]journal.Entry, error)) error {
	return w.append(ctx, choose)
}

// Look finds out where the journal ends, so that an Append which soon follows only has
// to see that nobody added anything meanwhile. It writes nothing. What goes wrong goes
// wrong in the Append, too, and is said there.
func (w *Writer) Look(ctx context.Context) {
	_ = w.locked(ctx, func() error {
		segments, err := journal.Segments(w.dir)
		if err != nil || len(segments) == 0 {
			return err // to find is to make the first one
		}
		if junk, err := w.find(); err == nil && (junk != nil || w.end.seq == 0) {
			w.forget() // whoever writes has more to do
		}
		return nil
	})
}

func (w *Writer) append(ctx context.Context, choose func() ([]journal.Entry, error)) error {
	var ticket int64
	err := w.locked(ctx, func() error {
		entries, err := choose()
		if err != nil || len(entries) == 0 {
			return err
		}
		if len(entries) > mostAtOnce {
			return fmt.Errorf("%d entries at once are more than %d", len(entries), mostAtOnce)
		}
		if err := w.write(entries); err != nil {
			w.forget()
			return err
		}
		ticket = w.sync.wrote(w.end.file)
		return nil
	})
	if err == nil && ticket > 0 {
		err = w.sync.wait(ticket, w.opt.Step)
	}
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	failpoint.Here("journal/told")
	return nil
}

// locked calls fn while no other process or goroutine can add anything.
func (w *Writer) locked(ctx context.Context, fn func() error) (err error) {
	select {
	case w.turn <- struct{}{}:
		defer func() { <-w.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := w.takeLock(ctx); err != nil {
		return err
	}
	// Unlocked and not only closed: a child that is just being started may hold
	// a copy of the descriptor until it has become its program.
	defer func() { err = errors.Join(err, journal.Unlock(w.lock)) }()
	return fn()
}

// takeLock takes the lock that is at its place now: others may have moved the
// whole journal away and begun another.
func (w *Writer) takeLock(ctx context.Context) error {
	for {
		if err := journal.Lock(ctx, w.lock, true); err != nil {
			return err
		}
		there, err := os.Lstat(w.lock.Name())
		if ignoreMissing(err) != nil {
			return errors.Join(err, journal.Unlock(w.lock))
		}
		if ours, e := w.lock.Stat(); err == nil && e == nil && os.SameFile(there, ours) {
			return nil
		}
		if err := journal.Unlock(w.lock); err != nil {
			return err
		}
		w.forget()
		other, err := openLock(w.dir)
		if err != nil {
			return err
		}
		w.lock, other = other, w.lock
		_ = other.Close() // its place is gone
	}
}

// write adds entries at the end of the journal. We have the lock.
func (w *Writer) write(entries []journal.Entry) error {
	junk, err := w.find()
	if err != nil {
		return err
	}
	var head []journal.Entry
	switch {
	case w.end.seq == 0:
		head = append(head, journal.Entry{Kind: journal.Begin, Begin: &journal.BeginDetail{Version: 1, ID: w.end.id}})
	case w.end.fresh || junk == nil && w.end.size >= w.opt.SegmentSize:
		rotate, err := w.rotate()
		if err != nil {
			return err
		}
		head = append(head, rotate)
	}
	var text []byte
	if junk != nil {
		if !junk.closed {
			text = append(text, '\n')
		}
	}
	if junk != nil && !junk.lacksEnd {
		head = append(head, journal.Entry{Kind: journal.Recovered, Recovered: &journal.RecoveredDetail{Bytes: junk.bytes, Digest: junk.digest}})
	}
	seq, digest := w.end.seq, w.end.digest
	for _, e := range append(head, entries...) {
		e.Seq, e.Prev, e.Time = seq+1, digest, w.opt.Now().UTC()
		line, err := journal.Seal(&e)
		if err != nil {
			return err
		}
		text, seq, digest = append(text, line...), e.Seq, e.Digest
	}
	if err := w.opt.Step("write"); err != nil {
		return err
	}
	if n, err := w.end.file.Write(text); err != nil {
		// What got there is torn, and whoever comes next says so.
		return fmt.Errorf("after %d of %d bytes: %w", n, len(text), err)
	}
	w.end.size += int64(len(text))
	w.end.seq, w.end.digest, w.end.fresh = seq, digest, false
	if w.created {
		if err := syncDir(w.dir); err != nil {
			return err
		}
		w.created = false
	}
	return nil
}

// rotate begins a segment, unless one without entries is there, and returns what
// must be its first entry. The segment before is read once, for its tree.
func (w *Writer) rotate() (journal.Entry, error) {
	before := w.end.number
	if w.end.fresh {
		before--
	}
	tree, err := treeUpTo(w.dir, before)
	if err != nil {
		return journal.Entry{}, err
	}
	if tree.Size() != w.end.seq {
		return journal.Entry{}, fmt.Errorf("segment %d doesn't add up to %d entries: paddock audit verify says what is wrong with it", before, w.end.seq)
	}
	if !w.end.fresh {
		// Nothing may become durable in the next segment before all of this one
		// is, whoever wrote it.
		if err := w.end.file.Sync(); err != nil {
			return journal.Entry{}, err
		}
		w.sync.done()
		next, err := w.create(before + 1)
		if err != nil {
			return journal.Entry{}, err
		}
		w.sync.retire(w.end.file)
		w.end.file, w.end.number, w.end.size, w.end.fresh = next, before+1, 0, true
	}
	return journal.Entry{Kind: journal.Rotate, Rotate: &journal.RotateDetail{ID: w.end.id, Segment: w.end.number, Tree: tree.Frontier()}}, nil
}

func (w *Writer) create(number int) (*os.File, error) {
	if err := w.opt.Step("create"); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(w.dir, journal.Name(number)), os.O_RDWR|os.O_APPEND|os.O_CREATE|journal.Guarded, 0o600)
	if err == nil {
		w.created = true
	}
	return file, err
}

// forget lets go of the end, so that it is looked for again. Lines that somebody
// waits for become durable first.
func (w *Writer) forget() {
	if w.end == nil {
		return
	}
	file := w.end.file
	w.end = nil
	w.sync.flush()
	w.sync.retire(file)
}

func newID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails: crypto/rand ends the program first
	return hex.EncodeToString(b[:])
}
