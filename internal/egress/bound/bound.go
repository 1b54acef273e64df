// Package bound holds how much of the egress proxy a run may use.
//
// # Limits
//
// They bound memory, descriptors and time, not bytes: how much a run may send to
// a listed host is nobody's to say here.
package bound

import (
	"errors"
	"time"
)

// Limits bound a proxy. A zero field means the default in its comment.
type Limits struct {
	// Connections are open at the same time; further ones wait. 256.
	Connections int
	// HeaderBytes is the longest head of a request. 32 KiB.
	HeaderBytes int
	// Handshake is how long a client may take to say what it wants. 15 s.
	Handshake time.Duration
	// Connect is how long resolving and connecting may take. 30 s.
	Connect time.Duration
	// Idle closes a connection on which nothing has moved for so long. 10 min.
	Idle time.Duration
	// Total closes every connection after so long. 24 h.
	Total time.Duration
}

var errNegative = errors.New("a limit is negative")

// Filled returns the limits with defaults in the place of zeros.
func (l Limits) Filled() (Limits, error) {
	for _, n := range []struct {
		field    *int
		standard int
	}{{&l.Connections, 256}, {&l.HeaderBytes, 32 << 10}} {
		if *n.field < 0 {
			return Limits{}, errNegative
		}
		if *n.field == 0 {
			*n.field = n.standard
		}
	}
	for _, d := range []struct{ field, standard *time.Duration }{
		{&l.Handshake, new(15 * time.Second)}, {&l.Connect, new(30 * time.Second)},
		{&l.Idle, new(10 * time.Minute)}, {&l.Total, new(24 * time.Hour)},
	} {
		if *d.field < 0 {
			return Limits{}, errNegative
		}
		if *d.field == 0 {
			*d.field = *d.standard
		}
	}
	return l, nil
}
