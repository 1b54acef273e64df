//go:build linux

// Package intake takes what a program prints out of its pipes and has it kept.
//
// What nobody here has to look at goes from the pipe into the file inside the
// kernel, which copies it once. What secrets are looked for in, what a limit cuts,
// and what the file system doesn't take in this way is read and written.
//
// # Limits
//
// It doesn't know when a run is over: a pipe's deadline tells it. What there is no
// room for is read on and counted, so that no full pipe stops the program.
package intake

import (
	"errors"
	"io"
	"os"
	"sync/atomic"
	"syscall"

	"paddock"
	"paddock/internal/artifact"
	"paddock/internal/spawn"
	"paddock/internal/supervise/intake/hiding"
	"paddock/internal/supervise/intake/room"
)

const (
	// readSize is the most that is read from a pipe at once: larger reads gain
	// nothing, smaller ones cost a system call each.
	readSize = 128 << 10
	// spliceSize is the most that is kept at once without being read: a whole pipe.
	spliceSize = 1 << 20
)

// An Intake is that of one run. Its functions may be called concurrently.
type Intake struct {
	Bank   *artifact.Bank
	Room   *room.Room
	Hiding *hiding.Hiding
	// RunDir is the run's directory, Cap the most that is kept of a stream, and
	// Drop says that at a limit the run goes on without being kept.
	RunDir string
	Cap    int64
	Drop   bool
	// Kept is called when something came, Told when only more of it is kept, and
	// End when the run must end.
	Kept, Told func()
	End        func(paddock.Reason)

	unread atomic.Int64 // bytes that were kept without being read, for tests
}

// Take keeps what arrives on the pipe from until its end, or its deadline. It
// reports whether somebody still held the pipe then.
func (in *Intake) Take(stream paddock.Stream, from *os.File) (held bool) {
	err := in.splice(stream, from)
	var buffer []byte
	if err == nil {
		buffer = make([]byte, readSize)
		err = in.read(stream, from, buffer)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		if buffer == nil {
			buffer = make([]byte, readSize)
		}
		held = in.late(stream, from, buffer)
	}
	in.rest(stream)
	return held
}

// splice keeps what arrives without reading it, until its end: then it says why
// that is. Nil says that the rest is to be read.
func (in *Intake) splice(stream paddock.Stream, from *os.File) error {
	var aside between
	defer aside.close()
	for in.Hiding.Blind() {
		n, err := spawn.Arrived(from)
		if err != nil {
			return err
		}
		left := in.Bank.Left(stream)
		if left == 0 {
			return nil
		}
		aside.crowd(n)
		fits, why := in.Room.Take(stream, int(min(int64(n), left, spliceSize)))
		kept, err := in.keepUnread(stream, from, &aside, fits)
		if kept > 0 {
			in.Kept()
		}
		if why != nil || err != nil {
			return nil // whoever reads finds the same, and knows what to do
		}
	}
	return nil
}

// keepUnread keeps the next n bytes, or as many as there are.
func (in *Intake) keepUnread(stream paddock.Stream, from *os.File, aside *between, n int) (kept int, err error) {
	splice := func(from *os.File, n int) (int, error) { return in.Bank.Splice(stream, from, n) }
	var p passage
	for kept < n && err == nil {
		p, err = aside.pass(from, n-kept, splice)
		kept += p.kept
	}
	in.unread.Add(int64(kept))
	in.Room.Back(n - kept)
	if len(p.stuck) > 0 {
		in.keep(stream, p.stuck)
	}
	if p.lost > 0 {
		in.bank(stream, make([]byte, p.lost), err)
	}
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, io.EOF) { // somebody else read it
		err = nil
	}
	return kept, err
}

// read keeps what arrives until its end, and returns what that is.
func (in *Intake) read(stream paddock.Stream, from *os.File, buffer []byte) error {
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			in.keep(stream, buffer[:n])
		}
		if err != nil {
			return err
		}
	}
}

// late takes what is in the pipe when the time is over: the program wrote it, and
// that we were slow must not cost it. More is somebody else's.
func (in *Intake) late(stream paddock.Stream, from *os.File, buffer []byte) (held bool) {
	left := spawn.Buffered(from)
	for {
		n, err := spawn.ReadReady(from, buffer[:min(len(buffer), max(left, 1))])
		if n > 0 {
			in.keep(stream, buffer[:n])
			left -= n
		}
		if err != nil || left < 0 {
			return !errors.Is(err, io.EOF)
		}
	}
}

// keep banks what can be banked now that b has arrived.
func (in *Intake) keep(stream paddock.Stream, b []byte) {
	ready, err := in.Hiding.Pass(stream, b)
	if len(ready) > 0 {
		in.bank(stream, ready, err)
	}
	in.Kept()
}

// rest banks what was kept back of a stream that has ended.
func (in *Intake) rest(stream paddock.Stream) {
	if ready, err := in.Hiding.Rest(stream); len(ready) > 0 {
		in.bank(stream, ready, err)
		in.Told()
	}
}

// bank keeps b, unless err says that it may not be. What there is no room for is
// counted: in the run's ending, or as long as it runs where a limit drops.
func (in *Intake) bank(stream paddock.Stream, b []byte, err error) {
	var why *paddock.Reason
	kept, over := 0, false
	if err == nil {
		var fits int
		fits, why = in.Room.Take(stream, len(b))
		kept, over, err = in.Bank.Append(stream, b[:fits])
	}
	if errors.Is(err, hiding.ErrOver) {
		over, err = true, nil
	}
	if err != nil {
		why = &paddock.Reason{Kind: paddock.ReasonSink, Stream: stream, Detail: err.Error()}
	} else if over {
		why = &paddock.Reason{Kind: paddock.ReasonOutputLimit, Stream: stream, Limit: in.Cap}
	}
	if why != nil {
		in.Bank.Lose(stream, int64(len(b)-kept), why.Kind)
		if in.Drop && err == nil {
			why = in.Room.Note(in.RunDir, in.Bank.Losses())
		}
		if why != nil {
			in.End(*why)
		}
	}
}
