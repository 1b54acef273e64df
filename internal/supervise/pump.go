//go:build linux

package supervise

import (
	"errors"
	"io"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"paddock"
	"paddock/internal/contain"
	"paddock/internal/spawn"
	"paddock/internal/supervise/hiding"
	"paddock/internal/supervise/walls"
)

// readSize is the most that is read from a pipe at once: larger reads gain
// nothing, smaller ones cost a system call each.
const readSize = 128 << 10

// pumps are what moves bytes between the program and the run's directory.
type pumps struct {
	ours    []*os.File
	stdin   *os.File
	reading sync.WaitGroup
	feeding sync.WaitGroup

	mu      sync.Mutex
	outside bool // a pipe was still held after the tree was gone
}

// start makes the pipes, starts the program and the pumps.
func (r *run) start(plan *contain.Plan) (*pumps, error) {
	p := &pumps{}
	var theirs []*os.File
	defer func() {
		for _, f := range theirs {
			_ = f.Close() // the program has its own
		}
	}()
	for range 2 {
		ours, its, err := spawn.OutputPipe()
		if err != nil {
			p.close()
			return nil, err
		}
		p.ours, theirs = append(p.ours, ours), append(theirs, its)
	}
	stdin, err := r.openStdin(p)
	if err != nil {
		p.close()
		return nil, err
	}
	theirs = append(theirs, stdin)
	if err := walls.Give(theirs, plan.Enforced.Identity); err != nil {
		p.close()
		return nil, err
	}
	r.program, err = spawn.Start(spawn.Spec{
		Argv: r.job.Argv, Env: slices.Concat(r.job.Env, r.hiding.Env()), Exec: r.files.Exec, Plan: plan,
		Stdin: stdin, Stdout: theirs[0], Stderr: theirs[1],
		Isolation: r.job.Isolation, Name: string(r.job.RunID), Cgroup: r.bounds.Cgroup(),
	})
	if err != nil {
		p.close()
		return nil, err
	}
	_ = r.files.Exec.Close() // it is executed: whoever waits to write to it may
	_ = r.files.Door.Close() // nil, too; it ends with the last of the program's
	for i, stream := range []paddock.Stream{paddock.Stdout, paddock.Stderr} {
		p.reading.Go(func() {
			r.pump(p, stream, p.ours[i])
			r.rest(stream)
		})
	}
	if p.stdin != nil {
		p.feeding.Go(func() {
			// A program that doesn't read all of its input is no error.
			_, _ = io.Copy(p.stdin, r.files.Stdin)
			_ = p.stdin.Close()
		})
	}
	return p, nil
}

func (r *run) openStdin(p *pumps) (*os.File, error) {
	if r.files.Stdin == nil {
		return os.Open(os.DevNull)
	}
	ours, theirs, err := spawn.InputPipe()
	if err != nil {
		return nil, err
	}
	p.stdin = ours
	return theirs, nil
}

// pump keeps what arrives on one pipe until its end.
func (r *run) pump(p *pumps, stream paddock.Stream, from *os.File) {
	buffer := make([]byte, readSize)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			r.keep(stream, buffer[:n])
		}
		if err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				r.pumpRest(p, stream, from, buffer)
			}
			return
		}
	}
}

// pumpRest takes what is in the pipe when the time is over: the program wrote
// it, and that we were slow must not cost it. More is somebody else's.
func (r *run) pumpRest(p *pumps, stream paddock.Stream, from *os.File, buffer []byte) {
	left := spawn.Buffered(from)
	for {
		n, err := spawn.ReadReady(from, buffer[:min(len(buffer), max(left, 1))])
		if n > 0 {
			r.keep(stream, buffer[:n])
			left -= n
		}
		if err != nil || left < 0 {
			p.mu.Lock()
			p.outside = p.outside || !errors.Is(err, io.EOF)
			p.mu.Unlock()
			return
		}
	}
}

// keep banks what can be banked now that b has arrived.
func (r *run) keep(stream paddock.Stream, b []byte) {
	ready, err := r.hiding.Pass(stream, b)
	if len(ready) > 0 {
		r.keepReady(stream, ready, err)
	}
	r.silence.Printed()
	r.hub.Output(r.bank.Size(paddock.Stdout), r.bank.Size(paddock.Stderr))
}

// rest banks what was kept back of a stream that has ended.
func (r *run) rest(stream paddock.Stream) {
	if ready, err := r.hiding.Rest(stream); len(ready) > 0 {
		r.keepReady(stream, ready, err)
		r.hub.Output(r.bank.Size(paddock.Stdout), r.bank.Size(paddock.Stderr))
	}
}

// keepReady banks b, unless err says that it may not be. What there is no room for is
// read on and counted, so that no full pipe stops the program: in its ending, or as
// long as it runs where a limit drops.
func (r *run) keepReady(stream paddock.Stream, b []byte, err error) {
	var why *paddock.Reason
	kept, over := 0, false
	if err == nil {
		fits := 0
		fits, why = r.room.Take(stream, len(b))
		kept, over, err = r.bank.Append(stream, b[:fits])
	}
	if errors.Is(err, hiding.ErrOver) {
		over, err = true, nil
	}
	if err != nil {
		why = &paddock.Reason{Kind: paddock.ReasonSink, Stream: stream, Detail: err.Error()}
	} else if over {
		why = &paddock.Reason{Kind: paddock.ReasonOutputLimit, Stream: stream, Limit: r.job.OutputCap}
	}
	if why != nil {
		r.bank.Lose(stream, int64(len(b)-kept), why.Kind)
		if r.job.Limits.AtLimit == paddock.AtLimitDrop && err == nil {
			why = r.room.Note(r.job.RunDir, r.bank.Losses())
		}
		if why != nil {
			r.ask(end{*why, syscall.SIGTERM})
		}
	}
}

// drain reads what is left in the pipes after the tree is gone. All of it is
// there already, so the limit is only met when somebody outside of the tree
// holds a pipe open.
func (p *pumps) drain() {
	deadline := time.Now().Add(drainLimit)
	for _, f := range p.ours {
		// Without a deadline the read would wait for whoever holds the pipe.
		if err := f.SetReadDeadline(deadline); err != nil {
			_ = f.Close()
		}
	}
	p.reading.Wait()
	p.close()
	p.feeding.Wait()
}

func (p *pumps) held() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.outside
}

func (p *pumps) close() {
	for _, f := range p.ours {
		_ = f.Close() // read to its end, or of no use
	}
	if p.stdin != nil {
		_ = p.stdin.Close() // closing again is harmless
	}
}
