//go:build linux

// Package terminal is the supervisor's side of a run's terminal: what the program prints
// there is handed on to be kept, what somebody types is handed to the program, and who
// typed, and how large the terminal was, is written down beside the output.
//
// One attachment types at a time: the last that took the keyboard. All others watch.
//
// # Limits
//
// What is printed isn't looked at, nor is what is typed, and that isn't kept unless the
// terminal echoes it. What the program doesn't read is held up to [MostWaiting] bytes and
// refused beyond: no typist is made to wait, and no program.
package terminal

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/control/wire"
	"paddock/internal/rundir/record/terminals"
	"paddock/internal/spawn"
)

const (
	// MostWaiting is how many typed bytes wait for the program at most.
	MostWaiting = 64 << 10
	// mostNotes bounds the record: of more changes of size or writer none is made.
	mostNotes = 10_000
	// mostSizes is from how many on no size alone is written: a window that is dragged about
	// must not keep the next one from the keyboard.
	mostSizes = mostNotes * 9 / 10
	readSize  = 64 << 10
)

// A Terminal is that of one run; nil is that of a run without one. Its methods may be
// called concurrently.
type Terminal struct {
	printed func() int64 // bytes of the output that are kept
	now     func() time.Time

	mu      sync.Mutex
	record  *os.File
	notes   int
	master  *os.File // from the start of the program to the end of its tree
	slave   *os.File // keeps the terminal open when no process has it
	size    paddock.TerminalSize
	hand    string           // which attachment types
	by      string           // whose that is
	done    map[string]int64 // what each attachment typed last, by its number
	waiting []byte           // typed, and not yet given to the program
	more    sync.Cond

	pumping sync.WaitGroup
	held    atomic.Bool // somebody had the terminal when the tree was gone
}

// New returns the terminal of the run in dir, nil if size is: and writes down that size.
func New(dir string, size *paddock.TerminalSize, printed func() int64, now func() time.Time) (*Terminal, error) {
	if size == nil {
		return nil, nil
	}
	record, err := os.OpenFile(filepath.Join(dir, terminals.Name), os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	t := &Terminal{printed: printed, now: now, record: record, size: *size, done: map[string]int64{}}
	t.more.L = &t.mu
	if err := t.note(terminals.Note{Size: size}); err != nil {
		return nil, errors.Join(err, record.Close())
	}
	return t, nil
}

// Begin takes over master, the side of the started program's terminal at which is typed and
// read, the program's side of it, and to, where what is read goes. To is closed at the end.
//
// The program's side stays open here, so that the terminal isn't at its end when no process
// has it: one that was left behind may open it again.
func (t *Terminal) Begin(master, side, to *os.File) error {
	ours, err := pollable(master)
	if err != nil {
		return errors.Join(err, side.Close(), to.Close())
	}
	t.mu.Lock()
	t.master, t.slave = ours, side
	t.mu.Unlock()
	t.pumping.Go(func() { t.held.Store(pass(ours, to)) })
	t.pumping.Go(t.feed)
	return nil
}

// pollable returns f such that reads and writes of it can be given up.
func pollable(f *os.File) (*os.File, error) {
	defer f.Close()
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	var fd int
	controlErr := raw.Control(func(of uintptr) {
		if fd, err = unix.FcntlInt(of, unix.F_DUPFD_CLOEXEC, 0); err != nil {
			return
		}
		if err = unix.SetNonblock(fd, true); err != nil {
			err = errors.Join(err, unix.Close(fd))
		}
	})
	if err = errors.Join(controlErr, err); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "terminal"), nil
}

// pass hands on what is printed until nobody has the terminal any more, or its deadline:
// then somebody still held it.
func pass(from, to *os.File) (held bool) {
	defer to.Close()
	buffer := make([]byte, readSize)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return false // whoever kept it is gone
			}
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return rest(from, to, buffer)
		}
		if err != nil { // EIO
			return false
		}
	}
}

// rest hands on what the kernel has now; more is printed by somebody outside of the run.
func rest(from, to *os.File, buffer []byte) (held bool) {
	for left := 4 * readSize; left > 0; {
		n, err := spawn.ReadReady(from, buffer)
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return false
			}
			left -= n
		}
		if err != nil {
			return errors.Is(err, unix.EAGAIN)
		}
	}
	return true
}

// feed gives to the program what was typed.
func (t *Terminal) feed() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		for len(t.waiting) == 0 && t.master != nil {
			t.more.Wait()
		}
		master := t.master
		if master == nil {
			return
		}
		piece := t.waiting[:min(len(t.waiting), 4096)]
		t.mu.Unlock()
		n, err := master.Write(piece)
		t.mu.Lock()
		if t.waiting = append(t.waiting[:0], t.waiting[n:]...); err != nil && !errors.Is(err, io.ErrShortWrite) {
			t.waiting = nil // the terminal is gone
		}
	}
}

// Type does what an attachment asks: it takes the keyboard, changes the size, types.
// Either all of it is done or nothing.
func (t *Terminal) Type(in wire.Typed) error {
	if t == nil {
		return wire.Fault(wire.Unsupported, "this run has no terminal")
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if in.Number != 0 && in.Number <= t.done[in.Hand] {
		return nil // who asked didn't hear that it was done; others may have taken the keyboard since
	}
	take := in.Take && t.hand != in.Hand
	resize := in.Size != nil && (take || *in.Size != t.size) // the program may have changed it
	switch {
	case t.master == nil:
		return wire.Fault(wire.Failed, "the program has no terminal now: it hasn't started yet, or is over")
	case !take && t.hand != in.Hand && t.hand == "":
		return wire.Fault(wire.Taken, "nobody has the keyboard: take it first")
	case !take && t.hand != in.Hand:
		return wire.Fault(wire.Taken, "%s types there now; attach again to take the keyboard back", t.by)
	case len(t.waiting)+len(in.Input) > MostWaiting:
		return wire.Fault(wire.TooMany, "the program doesn't read what is typed: %d bytes wait for it already", len(t.waiting))
	case (take || resize) && t.notes+2 > mostNotes, resize && !take && t.notes >= mostSizes:
		return wire.Fault(wire.Failed, "the terminal has changed its size or its writer %d times, and no more is written down", t.notes)
	}
	if take {
		if err := t.note(terminals.Note{Writer: in.By}); err != nil {
			return wire.Fault(wire.Failed, "it can't be written down who types: %v", err)
		}
		t.hand, t.by = in.Hand, in.By
	}
	if resize {
		if err := t.resize(*in.Size); err != nil {
			return wire.Fault(wire.Failed, "the terminal can't be made that large: %v", err)
		}
	}
	t.waiting = append(t.waiting, in.Input...)
	if in.Number > 0 { // of whoever once had the keyboard, which was written down each time
		t.done[in.Hand] = in.Number
	}
	t.more.Broadcast()
	return nil
}

// resize changes the size and tells the program, by SIGWINCH. The caller holds mu.
func (t *Terminal) resize(size paddock.TerminalSize) error {
	if err := t.note(terminals.Note{Size: &size}); err != nil {
		return err
	}
	raw, err := t.master.SyscallConn()
	if err != nil {
		return err
	}
	controlErr := raw.Control(func(fd uintptr) {
		err = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(size.Rows), Col: uint16(size.Columns)})
	})
	if err = errors.Join(controlErr, err); err == nil {
		t.size = size
	}
	return err
}

// note writes a line of the record. The caller holds mu, or nobody else has t yet.
func (t *Terminal) note(n terminals.Note) error {
	n.At, n.Offset = t.now().UTC(), t.printed()
	line, err := json.Marshal(n)
	if err == nil {
		_, err = t.record.Write(append(line, '\n'))
	}
	if err == nil {
		t.notes++
	}
	return err
}

// Finish is for when the tree is gone: it hands on what is left, for limit at most where
// somebody outside of the tree still has the terminal; then held is set.
func (t *Terminal) Finish(limit time.Duration) (held bool) {
	if t == nil {
		return false
	}
	t.mu.Lock()
	master, slave := t.master, t.slave
	t.master, t.slave = nil, nil
	t.more.Broadcast()
	t.mu.Unlock()
	if master == nil {
		return false
	}
	_ = master.SetWriteDeadline(time.Unix(1, 0))      // terminals can have deadlines
	_ = master.SetReadDeadline(time.Now().Add(limit)) // likewise
	_ = slave.Close()                                 // nothing was written to it
	t.pumping.Wait()
	_ = master.Close()
	return t.held.Load()
}

// Close completes the record.
func (t *Terminal) Close() error {
	if t == nil {
		return nil
	}
	t.Finish(0)
	return errors.Join(t.record.Sync(), t.record.Close())
}
