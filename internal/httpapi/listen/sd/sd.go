// Package sd speaks with the service manager that started us, if it is systemd's kind:
// it takes over a socket that was opened for us, and says when we are ready.
//
// # Limits
//
// One socket, named by LISTEN_FDS and LISTEN_PID; notifications without descriptors.
package sd

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
)

// firstDescriptor is where the manager puts what it hands over.
const firstDescriptor = 3

// Listener returns the socket that was opened for us; nil if none was.
func Listener(env func(string) (string, bool), pid int) (net.Listener, error) {
	count, ok := env("LISTEN_FDS")
	if owner, _ := env("LISTEN_PID"); !ok || owner != strconv.Itoa(pid) {
		return nil, nil
	}
	if count != "1" {
		return nil, fmt.Errorf("LISTEN_FDS is %.20q: one socket is wanted", count)
	}
	return take(firstDescriptor)
}

func take(descriptor uintptr) (net.Listener, error) {
	f := os.NewFile(descriptor, "the socket of LISTEN_FDS")
	if f == nil {
		return nil, fmt.Errorf("the descriptor %d of LISTEN_FDS isn't open", descriptor)
	}
	l, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("the socket of LISTEN_FDS: %w", err)
	}
	return l, f.Close() // l has a copy, which no program that is started inherits
}

// Notify tells the manager, if there is one: READY=1, STOPPING=1.
func Notify(ctx context.Context, env func(string) (string, bool), state string) error {
	name, ok := env("NOTIFY_SOCKET")
	if !ok || name == "" {
		return nil
	}
	if strings.HasPrefix(name, "@") {
		name = "\x00" + name[1:]
	}
	c, err := (&net.Dialer{}).DialContext(ctx, "unixgram", name)
	if err != nil {
		return fmt.Errorf("NOTIFY_SOCKET: %w", err)
	}
	if _, err := c.Write([]byte(state)); err != nil {
		_ = c.Close()
		return fmt.Errorf("NOTIFY_SOCKET: %w", err)
	}
	return c.Close()
}
