//go:build !linux

package socket

import (
	"context"
	"errors"
	"net"
	"os"
)

// Pair fails: there are no supervisors on this system.
func Pair() (net.Conn, *os.File, error) { return nil, nil, errors.ErrUnsupported }

// Listen fails: there are no supervisors on this system.
func Listen(string) (net.Listener, error) { return nil, errors.ErrUnsupported }

// Connect fails: there are no supervisors on this system.
func Connect(context.Context, string) (net.Conn, error) { return nil, errors.ErrUnsupported }
