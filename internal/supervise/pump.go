//go:build linux

package supervise

import (
	"os"
	"slices"
	"syscall"

	"paddock"
	"paddock/internal/contain"
	"paddock/internal/spawn"
	"paddock/internal/supervise/intake"
	"paddock/internal/supervise/pipes"
	"paddock/internal/supervise/walls"
)

// start makes the pipes, starts the program and what moves bytes through them.
func (r *run) start(plan *contain.Plan) (*pipes.Pipes, error) {
	p, err := pipes.Open(r.files.Stdin != nil)
	if err != nil {
		return nil, err
	}
	defer p.CloseTheirs()
	if err := walls.Give(p.Theirs, plan.Enforced.Identity); err != nil {
		p.Close()
		return nil, err
	}
	r.program, err = spawn.Start(spawn.Spec{
		Argv: r.job.Argv, Env: slices.Concat(r.job.Env, r.hiding.Env()), Exec: r.files.Exec, Plan: plan,
		Stdin: p.Theirs[2], Stdout: p.Theirs[0], Stderr: p.Theirs[1],
		Isolation: r.job.Isolation, Name: string(r.job.RunID), Cgroup: r.bounds.Cgroup(), Ahead: r.opt.Ready.Ahead.Take(),
	})
	if err != nil {
		p.Close()
		return nil, err
	}
	_ = r.files.Exec.Close() // it is executed: whoever waits to write to it may
	_ = r.files.Door.Close() // nil, too; it ends with the last of the program's
	p.Theirs = r.onTerminal(p.Theirs)
	p.Begin(r.intake().Take, r.files.Stdin)
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
