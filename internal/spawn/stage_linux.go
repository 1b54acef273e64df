package spawn

import (
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// StartStage starts the supervisor binary at path, in a session of its own, with
// an empty environment, no descriptors of ours and one end of a socket as
// descriptor 3. It ends by itself when the other end is closed before a job came.
// It is born in cgroup where that isn't nil and the kernel allows it. What it makes ready
// while it waits is said by ready: nothing where that is empty.
func StartStage(path string, cgroup *os.File, ready string) (*Stage, error) {
	command := []string{path}
	if ready != "" {
		command = append(command, ready)
	}
	return startBeside(command, nil, cgroup)
}

// StartProxy starts the supervisor binary at path as the proxy of one run, in the
// same way, except that what it says of its own end goes to stderr. It ends when
// the other end of its socket is closed, and so with its supervisor.
func StartProxy(path string, stderr *os.File) (*Stage, error) {
	return startBeside([]string{path, "egress"}, stderr, nil)
}

// stagePair returns the two ends of the socket between a supervisor and its
// starter.
func stagePair() (ours, theirs *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("socket pair: %w", err)
	}
	return os.NewFile(uintptr(pair[0]), "stage"), os.NewFile(uintptr(pair[1]), "stage"), nil
}

// Become makes this process the program at argv[0], with env and the descriptors below
// keep, and no other. It returns only an error.
func Become(argv, env []string, keep int) error {
	if err := unix.CloseRange(uint(keep), math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("closing descriptors: %w", err)
	}
	return replace(argv, env)
}

// A Stage is a supervisor that was started and waits for its job.
type Stage struct {
	pid  int
	conn *net.UnixConn

	mu     sync.Mutex
	reaped bool // its id may be another's now; guarded by mu
	fine   bool // it ended by itself, without an error; guarded by mu
}

// Conn returns our end of the socket; closing it is the caller's business.
func (s *Stage) Conn() *net.UnixConn { return s.conn }

// PID returns the supervisor's process id.
func (s *Stage) PID() int { return s.pid }

// Kill ends the supervisor at once, and with it, where the tree is held by the
// kernel, its run. For a supervisor that doesn't answer. The error is
// [os.ErrProcessDone] when it was reaped.
func (s *Stage) Kill() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reaped {
		return os.ErrProcessDone
	}
	return unix.Kill(s.pid, unix.SIGKILL)
}

// Wait reaps the supervisor, this one child and no other, when it ends. It must
// be called exactly once.
func (s *Stage) Wait() error {
	// Nobody may kill by an id that is free, and whoever kills isn't to wait for its end.
	if err := again(func() error { return unix.Waitid(unix.P_PID, s.pid, nil, unix.WEXITED|unix.WNOWAIT, nil) }); err != nil {
		return fmt.Errorf("waiting for the supervisor: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reaped = true
	var status unix.WaitStatus
	err := again(func() error { _, err := unix.Wait4(s.pid, &status, 0, nil); return err })
	s.fine = err == nil && status.Exited() && status.ExitStatus() == 0
	if err != nil {
		return fmt.Errorf("reaping the supervisor: %w", err)
	}
	return nil
}

// Ended reports whether the supervisor, which was waited for, ended by itself and without an
// error.
func (s *Stage) Ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fine
}

// again calls until no signal gets in between.
func again(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
