// Package spawn starts programs. It is the only package that does, and within
// it only spawn_linux.go does; the test in internal/house holds it to that.
//
// [StartStage] starts a supervisor. [Start] is what a supervisor uses to start
// the one program of its run, with a process of ours in between: it forks and
// never executes anything, its descriptors are a pipe for reports and nothing
// else, and its only work is to reap. Where the kernel gives a PID namespace it
// is that namespace's init, so that its end is the end of every process of the
// run, for whatever reason it comes. Elsewhere it is a guardian: it adopts
// orphans and sweeps them.
//
// The program is executed by descriptor in a directory given by descriptor, so
// no path is looked up again after it was judged.
//
// # Limits
//
// Spawn doesn't decide whether a program may run, keeps no clocks and reads no
// output. It can't end a process that is stuck in an uninterruptible wait:
// [Program.Kill] returns, [Program.Done] isn't closed until the kernel lets go.
package spawn

import (
	"fmt"
	"os"
	"syscall"

	"paddock/internal/contain"
	"paddock/internal/contain/lifecycle"

	"paddock"
)

// A Spec says what to start. The zero Spec is invalid: there is no default
// program, directory or stream.
type Spec struct {
	// Argv is what the program sees; Argv[0] is a word, never looked up.
	Argv []string
	// Env is the whole environment; nil is an empty one, unlike in os/exec.
	Env []string
	// Exec is the file that is executed, opened for reading or with O_PATH. A
	// script can't be executed by descriptor: name its interpreter here.
	Exec *os.File
	// Stdin, Stdout and Stderr become descriptors 0, 1 and 2; the program
	// inherits no other.
	Stdin, Stdout, Stderr *os.File
	// Plan is what the process in between and the program do before the program
	// is one. It is used once.
	Plan *contain.Plan
	// Isolation lists the means of holding the tree, to be tried in order.
	Isolation []paddock.Isolation
	// Name is used for the run's cgroup, where one is made. None is where Cgroup
	// is given: one that holds the run already, and that its giver removes.
	Name   string
	Cgroup *lifecycle.Cgroup
	// Plain takes the plain road, which copies this process's memory: slower,
	// and the same to whoever looks. It is taken anyway where the other fails
	// before it begins.
	Plain bool

	// Ahead is a process in between that was forked ahead, for the run if it fits; nil is
	// none. It is gone after the start.
	Ahead *Ahead

	tamper func(*launch) // for tests, before the fork; nil for everybody else
}

// An Exit is how the leader, the program itself, ended.
type Exit struct {
	Status syscall.WaitStatus
}

// An End is what was found when the tree was gone.
type End struct {
	// Leftovers counts the processes that outlived the leader and were reaped.
	Leftovers int
	// Survivors counts processes that could not be ended: zero, unless Tree is
	// best-effort or the kernel refused.
	Survivors int
}

// A StartError says which step kept the program from starting. No instruction
// of the program has run.
type StartError struct {
	Step string
	Err  error
}

// Error names the step and the kernel's answer.
func (e *StartError) Error() string { return fmt.Sprintf("%s: %v", e.Step, e.Err) }

// Unwrap returns the kernel's answer.
func (e *StartError) Unwrap() error { return e.Err }
