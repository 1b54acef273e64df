package stages

import (
	"errors"

	"golang.org/x/sys/unix"
)

// silent reports whether the supervisor has closed its end, having said nothing.
func (s *Stage) silent() bool {
	raw, err := s.Conn().SyscallConn()
	if err != nil {
		return true
	}
	gone := true
	err = raw.Read(func(fd uintptr) bool {
		n, _, err := unix.Recvfrom(int(fd), make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT)
		gone = err == nil && n == 0 || err != nil && !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR)
		return true
	})
	return err != nil || gone
}
