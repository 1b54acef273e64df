package postgres

import (
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// impatient gives up a connection on which nothing that was sent is acknowledged.
func impatient(network, _ string, raw syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	var bad error
	err := raw.Control(func(fd uintptr) {
		bad = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(unheard.Milliseconds()))
	})
	if err != nil {
		return err
	}
	return bad
}
