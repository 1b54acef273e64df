package spawn

import (
	"net"
	"os"
)

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
