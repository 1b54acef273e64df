//go:build !linux

package spawn

import (
	"errors"
	"net"
	"os"
)

// ErrSystem is why nothing is started here.
var ErrSystem = errors.New("this version of Paddock runs commands on Linux only")

// A launch is what is known of a start; there is none on this system.
type launch struct{}

// An Ahead is a process that was forked ahead of its run; there is none on this system.
type Ahead struct{}

// A Stage is a supervisor that was started; there is none on this system.
type Stage struct{}

// StartStage fails: there are no supervisors on this system.
func StartStage(string, *os.File, string) (*Stage, error) { return nil, ErrSystem }

// Become fails: nothing is served from this system.
func Become([]string, []string, int) error { return ErrSystem }

// Conn returns nil.
func (s *Stage) Conn() *net.UnixConn { return nil }

// PID returns zero.
func (s *Stage) PID() int { return 0 }

// Kill fails.
func (s *Stage) Kill() error { return ErrSystem }

// Wait fails.
func (s *Stage) Wait() error { return ErrSystem }

// Ended implements what Linux has.
func (s *Stage) Ended() bool { return false }
