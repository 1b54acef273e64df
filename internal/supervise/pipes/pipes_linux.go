// Package pipes has the pipes between a program and its supervisor, and what moves
// bytes through them.
//
// # Limits
//
// It doesn't know what is kept of what the program prints, or when the run is over.
package pipes

import (
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"paddock"
	"paddock/internal/spawn"
)

// Pipes are those of one run.
type Pipes struct {
	// Theirs are the program's ends: its standard output, its standard error, and what it
	// reads. They are to be closed when the program has its own.
	Theirs []*os.File
	// Outside is set when a pipe was still held after the tree was gone.
	Outside atomic.Bool

	ours    []*os.File
	stdin   *os.File
	reading sync.WaitGroup
	feeding sync.WaitGroup
}

// Open makes the pipes. A program that isn't fed reads nothing.
func Open(fed bool) (p *Pipes, err error) {
	p = &Pipes{}
	defer func() {
		if err != nil {
			p.Close()
			p.CloseTheirs()
		}
	}()
	for range 2 {
		ours, theirs, err := spawn.OutputPipe()
		if err != nil {
			return nil, err
		}
		p.ours, p.Theirs = append(p.ours, ours), append(p.Theirs, theirs)
	}
	var stdin *os.File
	if !fed {
		stdin, err = spawn.NoInput()
	} else {
		p.stdin, stdin, err = spawn.InputPipe()
	}
	if err != nil {
		return nil, err
	}
	p.Theirs = append(p.Theirs, stdin)
	return p, nil
}

// CloseTheirs closes the program's ends, of which it has its own.
func (p *Pipes) CloseTheirs() {
	for _, f := range p.Theirs {
		_ = f.Close() // nothing went through
	}
	p.Theirs = nil
}

// Begin has take take what the program prints, a stream at a time, and feeds it from stdin.
// Take reports whether somebody held the pipe when its time was over.
func (p *Pipes) Begin(take func(paddock.Stream, *os.File) (held bool), stdin *os.File) {
	for i, stream := range []paddock.Stream{paddock.Stdout, paddock.Stderr} {
		p.reading.Go(func() {
			if take(stream, p.ours[i]) {
				p.Outside.Store(true)
			}
		})
	}
	if p.stdin != nil {
		p.feeding.Go(func() {
			// A program that doesn't read all of its input is no error.
			_, _ = io.Copy(p.stdin, stdin)
			_ = p.stdin.Close()
		})
	}
}

// Drain reads what is left in the pipes after the tree is gone. All of it is there
// already, so limit is only met when somebody outside of the tree holds a pipe open.
func (p *Pipes) Drain(limit time.Duration) {
	deadline := time.Now().Add(limit)
	for _, f := range p.ours {
		// Without a deadline the read would wait for whoever holds the pipe.
		if err := f.SetReadDeadline(deadline); err != nil {
			_ = f.Close()
		}
	}
	p.reading.Wait()
	p.Close()
	p.feeding.Wait()
}

// Close closes our ends.
func (p *Pipes) Close() {
	for _, f := range p.ours {
		_ = f.Close() // read to its end, or of no use
	}
	if p.stdin != nil {
		_ = p.stdin.Close() // closing again is harmless
	}
}
