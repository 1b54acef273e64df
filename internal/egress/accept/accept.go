// Package accept takes connections from a listener, no more at a time than
// there is room for, and outlives none of them.
//
// # Limits
//
// It knows nothing of what is said on a connection. When there is no room it
// waits, and the system's backlog with it: a tool that opens too many
// connections is slowed down, not refused.
package accept

import (
	"context"
	"errors"
	"net"
	"sync"
	"syscall"
	"time"
)

// pause is how long accepting waits when the system has no descriptor or memory
// for a connection.
const pause = 50 * time.Millisecond

// Room is places for connections.
type Room struct {
	places chan struct{}
	once   sync.Once
	full   func()
}

// NewRoom makes room for n connections. full is called when it is used up for
// the first time.
func NewRoom(n int, full func()) *Room { return &Room{places: make(chan struct{}, n), full: full} }

// take waits for a place; it is false when ctx has ended.
func (r *Room) take(ctx context.Context) bool {
	select {
	case r.places <- struct{}{}:
		return true
	default:
	}
	r.once.Do(r.full)
	select {
	case r.places <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// Serve calls handle for every connection of ln, each in a goroutine of its
// own, until ctx ends, then waits for them and returns nil. It closes ln, and
// handle closes its connection, also when the context that it is given ends.
// An error means that nothing can be accepted any more.
func Serve(ctx context.Context, ln net.Listener, room *Room, handle func(context.Context, net.Conn)) error {
	ctx, cancel := context.WithCancel(ctx)
	var open sync.WaitGroup
	defer open.Wait()
	defer cancel()
	defer ln.Close()
	stop := context.AfterFunc(ctx, func() { ln.Close() })
	defer stop()
	for room.take(ctx) {
		conn, err := ln.Accept()
		if err == nil {
			open.Go(func() {
				defer func() { <-room.places }()
				handle(ctx, conn)
			})
			continue
		}
		<-room.places
		if ctx.Err() != nil {
			return nil
		}
		if !passing(err) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
	return nil
}

// passing tells whether an error of accept is about one connection or a
// shortage, and not about the listener.
func passing(err error) bool {
	for _, e := range []error{syscall.ECONNABORTED, syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
