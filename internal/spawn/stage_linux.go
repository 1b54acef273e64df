package spawn

import (
	"fmt"
	"math"
	"net"
	"os"

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
	process *os.Process
	conn    *net.UnixConn
}

// Conn returns our end of the socket; closing it is the caller's business.
func (s *Stage) Conn() *net.UnixConn { return s.conn }

// PID returns the supervisor's process id.
func (s *Stage) PID() int { return s.process.Pid }

// Kill ends the supervisor at once, and with it, where the tree is held by the
// kernel, its run. For a supervisor that doesn't answer.
func (s *Stage) Kill() error { return s.process.Kill() }

// Wait reaps the supervisor, this one child and no other, when it ends. It must
// be called exactly once.
func (s *Stage) Wait() error {
	_, err := s.process.Wait()
	return err
}
