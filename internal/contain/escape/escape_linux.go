// Package escape attempts, from inside of a run, what containment is there to
// prevent. It is the attacker's part of the table *guarantee × level* in
// docs/threat-model.md: [Try] makes attempts by name and says which succeeded.
//
// Every attempt is harmless when it succeeds: it goes for what was put there to
// be got at, or asks the kernel for something in a way that can't be fulfilled.
//
// # Limits
//
// The package doesn't know what is promised at which level; its callers do. An
// attempt that fails proves nothing by itself: the same one must be seen to
// succeed where nothing prevents it. It starts no programs.
package escape

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"

	"paddock/internal/contain/escape/ordinary"
)

// An Aim says where the things are that attempts go for. Whoever starts the run
// makes them, as belonging to the user that the run belongs to.
type Aim struct {
	// Root is the workspace.
	Root string
	// Outside is a directory outside of all that was granted, on the file system
	// of the workspace. It has the files "secret", "victim" and "program", and
	// the socket "socket", which answers.
	Outside string
	// Key, Policy, Neighbor and Output are files: a private key in the account's
	// home, the policy, one in another workspace, and an earlier run's output.
	Key, Policy, Neighbor, Output string
	// Home is the account's home directory.
	Home string
	// Tmp and Shm are files in the machine's /tmp and /dev/shm.
	Tmp, Shm string
	// Abstract is the name of an abstract Unix socket that answers.
	Abstract string
	// TCP4, TCP6 and UDP4 are ports on the machine's loopback that answer.
	TCP4, TCP6, UDP4 int
	// PID is a process outside, with PIDNamespace the namespace it is in.
	PID          int
	PIDNamespace string
	// SharedMemory is the key of a System V segment of the machine.
	SharedMemory int
	// Host is the machine's name, User that of an account in its /etc/passwd.
	Host, User string
}

// An attempt returns nil when it succeeded, or what stood in its way.
type attempt func(Aim) error

// errHeld is for what was prevented without the kernel's saying so.
var errHeld = errors.New("no effect")

// Names lists all attempts.
func Names() []string { return slices.Sorted(maps.Keys(attempts())) }

func attempts() map[string]attempt {
	all := map[string]attempt{}
	for _, group := range []map[string]attempt{files(), outsideFiles(), processes(), holder(), mounts(), kernel(), devices(), sockets(), reached(), views(), powers()} {
		for name, try := range group {
			if all[name] != nil {
				panic("bug: two attempts called " + name)
			}
			all[name] = try
		}
	}
	for name, do := range ordinary.Deeds() {
		all[name] = func(a Aim) error { return do(a.Root) }
	}
	return all
}

// Try makes the attempts of these names, one after the other. For each it tells
// what stood in its way; an empty text means that it succeeded.
func Try(aim Aim, names []string) (map[string]string, error) {
	all := attempts()
	found := map[string]string{}
	for _, name := range names {
		try := all[name]
		if try == nil {
			return nil, fmt.Errorf("escape: there is no attempt called %q", name)
		}
		found[name] = alone(try, aim)
	}
	return found, nil
}

// alone makes an attempt on a thread of its own, which ends with it: what it
// does to itself doesn't last.
func alone(try attempt, aim Aim) string {
	answer := make(chan string)
	go func() {
		runtime.LockOSThread()
		defer func() {
			if r := recover(); r != nil {
				answer <- fmt.Sprint("panic: ", r)
			}
		}()
		if err := try(aim); err != nil {
			answer <- err.Error()
			return
		}
		answer <- ""
	}()
	return <-answer
}
