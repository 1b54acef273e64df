//go:build !linux

package handover

import (
	"errors"
	"net"
	"os"
)

var errSystem = errors.New("jobs are handed over on Linux only")

// Send fails: there are no supervisors on this system.
func Send(*net.UnixConn, []byte, []*os.File) error { return errSystem }

// Receive fails: there are no supervisors on this system.
func Receive(*net.UnixConn) ([]byte, []*os.File, error) { return nil, nil, errSystem }

// Rouse tells nobody: there are no supervisors on this system.
func Rouse(*net.UnixConn) {}

// Await fails: there are no supervisors on this system.
func Await(*net.UnixConn, func()) ([]byte, []*os.File, error) { return nil, nil, errSystem }

// Ready reports nothing to wait for.
func Ready(*net.UnixConn) bool { return true }
