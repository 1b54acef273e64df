//go:build unix

package doorway

import (
	"errors"

	"golang.org/x/sys/unix"
)

// streams refuses a descriptor that is no socket for a stream of bytes.
func streams(fd int) error {
	kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	if err == nil && kind != unix.SOCK_STREAM {
		err = errors.New("it is another kind of socket")
	}
	return err
}
