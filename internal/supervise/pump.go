//go:build linux

package supervise

import (
	"io"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"paddock"
	"paddock/internal/contain"
	"paddock/internal/spawn"
	"paddock/internal/supervise/intake"
	"paddock/internal/supervise/walls"
)

// pumps are what moves bytes between the program and the run's directory.
type pumps struct {
	ours    []*os.File
	stdin   *os.File
	reading sync.WaitGroup
	feeding sync.WaitGroup
	outside atomic.Bool // a pipe was still held after the tree was gone
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
		Isolation: r.job.Isolation, Name: string(r.job.RunID), Cgroup: r.bounds.Cgroup(), Ahead: r.opt.Ahead.Take(),
	})
	if err != nil {
		p.close()
		return nil, err
	}
	_ = r.files.Exec.Close() // it is executed: whoever waits to write to it may
	_ = r.files.Door.Close() // nil, too; it ends with the last of the program's
	theirs = r.onTerminal(theirs)
	in := r.intake()
	for i, stream := range []paddock.Stream{paddock.Stdout, paddock.Stderr} {
		p.reading.Go(func() {
			if in.Take(stream, p.ours[i]) {
				p.outside.Store(true)
			}
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

// onTerminal has what is printed on the program's terminal come out of the first pipe, where
// it has one: then it has none of the pipes. It returns the ends that aren't used by that.
func (r *run) onTerminal(ends []*os.File) []*os.File {
	master, side := r.program.Terminal()
	if master == nil {
		return ends
	}
	if err := r.terminal.Begin(master, side, ends[0]); err != nil {
		r.begin(end{paddock.Reason{Kind: paddock.ReasonSink, Detail: "the terminal can't be read: " + err.Error()}, syscall.SIGKILL})
	}
	return ends[1:]
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

// intake is how what the program prints is kept.
func (r *run) intake() *intake.Intake {
	return &intake.Intake{
		Bank: r.bank, Room: r.room, Hiding: r.hiding, RunDir: r.job.RunDir,
		Cap: r.job.OutputCap, Drop: r.job.Limits.AtLimit == paddock.AtLimitDrop,
		Kept: func() {
			r.silence.Printed()
			r.told()
		},
		Told: r.told,
		End:  func(why paddock.Reason) { r.ask(end{why, syscall.SIGTERM}) },
	}
}

// told tells who follows how much is kept.
func (r *run) told() { r.hub.Output(r.bank.Size(paddock.Stdout), r.bank.Size(paddock.Stderr)) }

func (p *pumps) close() {
	for _, f := range p.ours {
		_ = f.Close() // read to its end, or of no use
	}
	if p.stdin != nil {
		_ = p.stdin.Close() // closing again is harmless
	}
}
