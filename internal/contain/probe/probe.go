// Package probe attempts, from inside a run, what containment is to prevent, and
// says which attempts were held. The table of what must be held at which level
// is here too: it is docs/threat-model.md in values, and tests compare the two.
//
// Every attempt is harmless where nothing holds it: it goes to [Targets] that
// whoever asks has made for it, changes nothing or the same to the same, or
// gives the kernel an argument that it would reject after allowing the call.
//
// # Limits
//
// The package starts nothing: whoever wants to know starts a program that calls
// [Run]. What came of an attempt outside (a datagram that arrived, a file that
// changed) can be seen only there, and is the caller's to add. A promise that
// holds here today is no proof of it: the tests of a release attempt more.
package probe

import (
	"slices"

	"paddock"
)

// Targets are what is attempted, made by whoever asks. Paths are absolute; what
// is empty or zero isn't attempted.
type Targets struct {
	// Root is the workspace of the run.
	Root string `json:"root"`
	// Secret and Writable are files outside of it, which the account may read
	// and write.
	Secret   string `json:"secret,omitempty"`
	Writable string `json:"writable,omitempty"`
	// RootOnly is a file that only root may read, in a directory that is shown.
	RootOnly string `json:"root_only,omitempty"`
	// Key lies where keys lie in a home directory, Other in another root.
	Key   string `json:"key,omitempty"`
	Other string `json:"other,omitempty"`
	// State is a file in the state directory, and Policy the policy's file.
	State  string `json:"state,omitempty"`
	Policy string `json:"policy,omitempty"`
	// Tmp is a file in /tmp, Shm one in /dev/shm that may be written, Etc one of
	// /etc that no program needs.
	Tmp string `json:"tmp,omitempty"`
	Shm string `json:"shm,omitempty"`
	Etc string `json:"etc,omitempty"`
	// PID is a process outside, of the same account.
	PID int `json:"pid,omitempty"`
	// Socket and Abstract are listening Unix sockets, TCP and UDP addresses of
	// the machine's loopback where somebody listens.
	Socket   string `json:"socket,omitempty"`
	Abstract string `json:"abstract,omitempty"`
	TCP      string `json:"tcp,omitempty"`
	UDP      string `json:"udp,omitempty"`
	// OpenFiles is the limit that the policy has for open files.
	OpenFiles int `json:"open_files,omitempty"`
}

// Made is the end of the name of a file that is made beside Targets.Writable.
const Made = ".made"

// A Result is what came of one attempt.
type Result struct {
	Check string `json:"check"`
	Held  bool   `json:"held"`
	// Tried is false where there was nothing to attempt it on.
	Tried bool `json:"tried"`
	// Detail is what the kernel answered.
	Detail string `json:"detail"`
}

// A Promise says when a level holds something.
type Promise int

// The promises. The zero Promise is none.
const (
	Never Promise = iota
	Always
	// Hidden is held where the run has a PID namespace.
	Hidden
)

// Applies reports whether the promise is made to a run held by these means.
func (p Promise) Applies(by paddock.Isolation) bool {
	return p == Always || p == Hidden && slices.Contains([]paddock.Isolation{paddock.PIDNamespace, paddock.UserPIDNamespace}, by)
}

// A Check is one attempt and what is promised about it.
type Check struct {
	ID string
	// Row is the first cell of the row of docs/threat-model.md that promises it.
	Row string
	// Full, Standard and Off say what each level promises.
	Full, Standard, Off Promise
	// Meaning says what a program can do where it isn't held, and Remedy what to
	// do where it should have been.
	Meaning, Remedy string
}

// At returns what the level promises.
func (c Check) At(level paddock.Level) Promise {
	switch level {
	case paddock.Full:
		return c.Full
	case paddock.Standard:
		return c.Standard
	case paddock.Off:
		return c.Off
	}
	return Never
}

// Find returns the check called id.
func Find(id string) (Check, bool) {
	i := slices.IndexFunc(Table, func(c Check) bool { return c.ID == id })
	if i < 0 {
		return Check{}, false
	}
	return Table[i], true
}
