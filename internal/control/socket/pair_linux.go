package socket

import (
	"errors"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// Pair returns the two ends of a connection: one of ours, and one for a program.
func Pair() (ours net.Conn, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	f := os.NewFile(uintptr(fds[0]), "door")
	theirs = os.NewFile(uintptr(fds[1]), "door")
	ours, err = net.FileConn(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, nil, errors.Join(err, theirs.Close())
	}
	return ours, theirs, nil
}
