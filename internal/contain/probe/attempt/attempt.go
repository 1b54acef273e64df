// Package attempt is the list of what containment is there to prevent, and of what
// it must leave alone, each with the row of docs/threat-model.md that says so and
// with what every level promises of it. `paddock doctor` makes these attempts from
// inside of a run, and so do the tests of containment.
//
// Every attempt is harmless where it succeeds: it goes for [Targets] that whoever
// asks has made for it, changes nothing or the same to the same, or asks the kernel
// in a way that can't be fulfilled. The few that aren't are marked as rough; they
// are in a package of their own, which only tests link.
//
// # Limits
//
// An attempt that fails proves nothing by itself: the same one must be seen to
// succeed where nothing prevents it. The package starts no programs. What needs a
// shell is in package lines.
package attempt

import (
	"errors"
	"slices"

	"paddock"
)

// Targets are what is attempted, made by whoever asks, as belonging to the user
// that the run belongs to. Paths are absolute; what is empty or zero isn't
// attempted.
type Targets struct {
	// Level is what the run is contained as.
	Level paddock.Level `json:"level"`
	// Root is the workspace of the run.
	Root string `json:"root"`
	// Outside is a directory outside of all that was granted, on the file system of
	// the workspace. It has the files "secret", "victim", "removable" and "movable",
	// and the sockets "socket", which answers, and "datagrams".
	Outside string `json:"outside,omitempty"`
	// RootOnly is a file that only root may read, in a directory that is shown.
	RootOnly string `json:"root_only,omitempty"`
	// Home is the account's home directory, and Key a private key in it.
	Home string `json:"home,omitempty"`
	Key  string `json:"key,omitempty"`
	// Neighbor is a file in another workspace.
	Neighbor string `json:"neighbor,omitempty"`
	// State is a file in the state directory, Output an earlier run's output there,
	// Journal the directory of the journal, and Policy the policy's file.
	State   string `json:"state,omitempty"`
	Output  string `json:"output,omitempty"`
	Journal string `json:"journal,omitempty"`
	Policy  string `json:"policy,omitempty"`
	// Tmp and Shm are files in the machine's /tmp and /dev/shm, Etc one of /etc that
	// no program needs.
	Tmp string `json:"tmp,omitempty"`
	Shm string `json:"shm,omitempty"`
	Etc string `json:"etc,omitempty"`
	// PID is a process outside, of the same account, and PIDNamespace the namespace
	// that it is in.
	PID          int    `json:"pid,omitempty"`
	PIDNamespace string `json:"pid_namespace,omitempty"`
	// Abstract is the name of an abstract Unix socket that answers, TCP4, TCP6 and
	// UDP4 are ports on the machine's loopback that do.
	Abstract string `json:"abstract,omitempty"`
	TCP4     int    `json:"tcp4,omitempty"`
	TCP6     int    `json:"tcp6,omitempty"`
	UDP4     int    `json:"udp4,omitempty"`
	// SharedMemory is the key of a System V segment of the machine.
	SharedMemory int `json:"shared_memory,omitempty"`
	// Host is the machine's name, User that of an account in its /etc/passwd.
	Host string `json:"host,omitempty"`
	User string `json:"user,omitempty"`
	// OpenFiles is the limit that the policy has for open files.
	OpenFiles int `json:"open_files,omitempty"`
}

// Made is the name of a file that is made in Targets.Outside.
const Made = "made"

// An Attempt is one thing that a program tries.
type Attempt struct {
	Name string
	// Check is the line of `paddock doctor` that it is part of, by which it has its
	// row; empty where no row speaks of it.
	Check string
	// Promises has an [Expectation] each for full, standard and off.
	Promises string
	// Rough is set where it would do harm if it succeeded.
	Rough bool
}

// An Expectation is what a level promises of an attempt.
type Expectation byte

// The expectations.
const (
	Held    Expectation = 'h' // it must fail
	Open    Expectation = 'o' // it must succeed: nothing is promised, or the thing is needed
	Unsaid  Expectation = '-' // it depends on the machine and is nobody's promise
	Untried Expectation = 'x' // it isn't even tried: without containment it would do harm
)

// Expect returns one of those that are written in promises.
func Expect(promises string, level paddock.Level) Expectation {
	i := slices.Index([]paddock.Level{paddock.Full, paddock.Standard, paddock.Off}, level)
	if i < 0 || i >= len(promises) {
		return Untried
	}
	return Expectation(promises[i])
}

// At returns what the level promises.
func (a Attempt) At(level paddock.Level) Expectation { return Expect(a.Promises, level) }

// A Deed returns nil when it succeeded, or what stood in its way.
type Deed func(Targets) error

// ErrHeld is for what was prevented without the kernel's saying so, and ErrUntried
// for what there was nothing to attempt on.
var (
	ErrHeld    = errors.New("no effect")
	ErrUntried = errors.New("there was nothing to attempt it on")
)

// An Answer is what came of an attempt.
type Answer struct {
	Succeeded bool `json:"succeeded,omitempty"`
	Untried   bool `json:"untried,omitempty"`
	// Hindrance says what stood in its way.
	Hindrance string `json:"hindrance,omitempty"`
}
