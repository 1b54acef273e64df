package artifact

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"paddock"
	"paddock/internal/artifact/pages/moment/frames"
	"paddock/internal/failpoint"
)

// A file is what a Bank needs of *os.File.
type file interface {
	io.ReaderAt
	io.Writer
	io.WriterAt
	io.Closer
	Sync() error
}

// A Bank appends output to the files stdout, stderr and frames of a directory.
// Its methods may be called concurrently. The zero Bank keeps nothing: every
// Append to it fails.
type Bank struct {
	cap  int64
	now  func() time.Time
	dir  *os.File // opened once, so that a renamed directory is still the one
	kept [2]kept

	order  sync.Mutex // guards what follows; taken after a stream's own lock
	frames *frames.Writer
	file   file // of the frames
	timer  *time.Timer
	closed bool

	ending sync.Mutex // guards what follows, held through Seal and Close
	ended  bool
	sums   [2]paddock.StreamSummary
	err    error
}

// Create makes the three files in dir, and later those of the marks of lines, which must not have them yet. The caller
// ends the Bank with Seal, or with Close to leave the output as it is.
func Create(dir string, opt Options) (*Bank, error) {
	if opt.Cap <= 0 {
		return nil, fmt.Errorf("keeping output: a cap of %d bytes keeps nothing", opt.Cap)
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	d, err := os.OpenFile(dir, os.O_RDONLY|noFollow, 0)
	if err != nil {
		return nil, fmt.Errorf("keeping output: %w", err)
	}
	b := &Bank{cap: opt.Cap, now: opt.Now, dir: d}
	var made []*os.File
	for _, name := range []string{string(frames.Streams[0]), string(frames.Streams[1]), frames.Name} {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE|os.O_EXCL|noFollow, 0o600)
		if err == nil {
			made = append(made, f)
			if name == frames.Name {
				b.frames, err = frames.Create(f)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("keeping output: %w", errors.Join(err, undo(d, made)))
		}
	}
	for i := range b.kept {
		b.kept[i].init(made[i], made[i].Name())
	}
	b.file = made[2]
	return b, nil
}

// undo leaves nothing of a Create that failed.
func undo(dir *os.File, made []*os.File) error {
	errs := []error{dir.Close()}
	for _, f := range made {
		errs = append(errs, f.Close(), os.Remove(f.Name()))
	}
	return errors.Join(errs...)
}

// Append keeps p as the next bytes of stream s. It returns how many were kept:
// fewer than len(p) when the cap is reached (over is true then; exactly full is
// not over) or when writing failed. Bytes that weren't kept are counted only by
// Drop. A failure leaves the Bank usable: what it says is kept is in the file.
// Who has the rest may try again. Once it is given to Drop, Append fails as it did
// then: what is kept is the beginning of what was printed, and has no holes.
func (b *Bank) Append(s paddock.Stream, p []byte) (kept int, over bool, err error) {
	i, ok := frames.Number(s)
	if !ok {
		return 0, false, fmt.Errorf("keeping output: no stream %q can be appended to", s)
	}
	k := &b.kept[i]
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.open {
		return 0, false, ErrSealed
	}
	if len(p) == 0 {
		return 0, false, nil
	}
	if k.failed != nil && k.dropped.Load() > 0 {
		return 0, false, k.failed
	}
	if room := b.cap - k.size.Load(); int64(len(p)) > room {
		p, over = p[:room], true
	}
	kept, err = k.write(p)
	if err != nil {
		over, err = false, fmt.Errorf("keeping %s: %w", s, err)
	}
	k.failed = err
	return kept, over, errors.Join(err, failpoint.At("output/frame"), b.note(i, k.size.Load()))
}

// note puts what arrived in order. A stream's lock is held.
func (b *Bank) note(stream int, size int64) error {
	b.order.Lock()
	defer b.order.Unlock()
	waiting, err := b.frames.Grow(stream, size, b.now().UnixNano())
	b.later(waiting)
	return err
}

// catchUp covers bytes that waited for others to share a record with. What
// fails here is tried again, and told, by the next Append or by Seal.
func (b *Bank) catchUp() {
	b.order.Lock()
	defer b.order.Unlock()
	b.timer = nil
	if !b.closed {
		b.frames.Settle() //nolint:errcheck // see above
	}
}

// Drop counts n bytes that arrived after the cap, or couldn't be kept.
func (b *Bank) Drop(s paddock.Stream, n int64) { b.Lose(s, n, "") }

// Lose is Drop for a cause. What is kept stays the beginning of what was printed
// if the caller appends nothing more to s.
func (b *Bank) Lose(s paddock.Stream, n int64, cause paddock.ReasonKind) {
	if i, ok := frames.Number(s); ok && n > 0 {
		now := b.now()
		b.kept[i].lose(paddock.Loss{Stream: s, Bytes: n, Cause: cause}, now)
		b.mark(i, n, now)
	}
}

// mark says among the frames that bytes were dropped. What fails here is tried again,
// and told, by the next Append or by Seal.
func (b *Bank) mark(stream int, n int64, now time.Time) {
	b.order.Lock()
	defer b.order.Unlock()
	if b.closed || b.frames == nil {
		return
	}
	waiting, _ := b.frames.Drop(stream, n, now.UnixNano())
	b.later(waiting)
}

// later has somebody come back for what waits. The order's lock is held.
func (b *Bank) later(waiting bool) {
	if waiting && b.timer == nil {
		b.timer = time.AfterFunc(frames.Pause, b.catchUp)
	}
}

// Losses returns what was dropped so far.
func (b *Bank) Losses() (all []paddock.Loss) {
	for i := range b.kept {
		if l := b.kept[i].lost(); l != nil {
			all = append(all, *l)
		}
	}
	return all
}

// Size returns the bytes kept of s so far; combined is the sum.
func (b *Bank) Size(s paddock.Stream) int64 {
	if s == paddock.Combined {
		return b.kept[0].size.Load() + b.kept[1].size.Load()
	}
	if i, ok := frames.Number(s); ok {
		return b.kept[i].size.Load()
	}
	return 0
}

// Seal flushes and fsyncs the files and returns the summaries with digests. The
// files' names become durable with the directory: who writes the outcome beside
// them makes it so for both.
// Nothing can be appended afterwards. Sealing again returns the same. With an
// error the sizes are still right; a digest that couldn't be made is empty.
func (b *Bank) Seal() (stdout, stderr paddock.StreamSummary, err error) {
	b.ending.Lock()
	defer b.ending.Unlock()
	if !b.ended {
		b.ended = true
		b.err = errors.Join(failpoint.At("output/seal"), b.shut(), b.settle(), b.release())
		failpoint.Here("output/sealed")
	}
	return b.sums[0], b.sums[1], b.err
}

// Close ends the Bank without sealing: what is kept stays as it is, without
// digests. After Seal it does nothing.
func (b *Bank) Close() error {
	b.ending.Lock()
	defer b.ending.Unlock()
	if b.ended {
		return nil
	}
	b.ended, b.err = true, ErrSealed
	return errors.Join(b.shut(), b.release())
}

// shut waits for the Appends that have begun, lets no other begin and covers
// the last bytes.
func (b *Bank) shut() error {
	for i := range b.kept {
		b.kept[i].shut()
	}
	b.order.Lock()
	defer b.order.Unlock()
	b.closed = true
	if b.timer != nil {
		b.timer.Stop()
	}
	if b.dir == nil {
		return errors.New("this Bank was never created")
	}
	return b.frames.Settle()
}

// settle makes what is kept durable while the digests catch up.
func (b *Bank) settle() error {
	if b.dir == nil {
		return nil
	}
	var wait sync.WaitGroup
	var errs [8]error
	flush := func(i int, f file) { wait.Go(func() { errs[i] = f.Sync() }) }
	for i := range b.kept {
		// An empty file has nothing to lose but its name, which is the
		// directory's.
		if b.kept[i].size.Load() > 0 {
			flush(i, b.kept[i].f)
		}
		if !b.kept[i].behind.Load() && b.kept[i].marked.Load() != nil {
			flush(6+i, b.kept[i].marked.Load())
		}
	}
	if b.frames.Count() > 0 {
		flush(2, b.file)
	}
	for i := range b.kept {
		b.sums[i], errs[3+i] = b.kept[i].summary()
		if b.kept[i].behind.Load() && b.kept[i].marked.Load() != nil { // they were made with the digest
			flush(6+i, b.kept[i].marked.Load())
		}
	}
	wait.Wait()
	return errors.Join(errs[:]...)
}

func (b *Bank) release() error {
	if b.dir == nil {
		return nil
	}
	return errors.Join(b.kept[0].close(), b.kept[1].close(), b.file.Close(), b.dir.Close())
}
