// Package sealed has what is written down of a run before it is one, and never changes:
// request.json and decision.json.
//
// # Limits
//
// It doesn't ask whether the two fit each other; they are written once, by who judged.
package sealed

import (
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"paddock"
	"paddock/internal/rundir/record/durable"
)

// Sealed is what request.json and decision.json say of a run for ever. The
// values of environment variables and the text of standard input aren't in it.
type Sealed struct {
	ID paddock.RunID
	// Request without Command.Env, Command.ReplaceEnv and Stdin.Text.
	Request paddock.Request
	// RequestDigest is of the request as it was asked, with all of these.
	RequestDigest paddock.Digest
	Decision      paddock.Decision
	CreatedAt     time.Time
	// EnvironmentNames are those that the caller asked for, sorted;
	// ReplacesEnvironment is set when they were the whole environment.
	EnvironmentNames    []string
	ReplacesEnvironment bool
	// Stdin summarises the text given; nil when none was.
	Stdin *paddock.StreamSummary
	// BootID names the machine's start in which the run was made.
	BootID string
}

// A Request is request.json.
type Request struct {
	Version             int                    `json:"version"`
	ID                  paddock.RunID          `json:"id"`
	CreatedAt           time.Time              `json:"created_at"`
	BootID              string                 `json:"boot_id,omitempty"`
	RequestDigest       paddock.Digest         `json:"request_digest"`
	Request             paddock.Request        `json:"request"`
	EnvironmentNames    []string               `json:"environment_names,omitempty"`
	ReplacesEnvironment bool                   `json:"replaces_environment,omitempty"`
	Stdin               *paddock.StreamSummary `json:"stdin,omitempty"`
}

// FileVersion is the version of the file.
func (f *Request) FileVersion() int { return f.Version }

// A Decision is decision.json.
type Decision struct {
	Version  int              `json:"version"`
	Decision paddock.Decision `json:"decision"`
}

// FileVersion is the version of the file.
func (f *Decision) FileVersion() int { return f.Version }

// A Memory may know what the files of one run say, for who asks again and again. The zero
// Memory reads them each time. Its methods may be called concurrently; who is given
// something changes nothing in it.
type Memory struct {
	mu    sync.Mutex
	known *Sealed // guarded by mu
}

// Keep reads the files of the run in dir, and remembers what they say.
func (m *Memory) Keep(dir string, id paddock.RunID) error {
	s, err := m.Of(dir, id)
	if err == nil {
		m.mu.Lock()
		m.known = &s
		m.mu.Unlock()
	}
	return err
}

// Kept reports whether it knows.
func (m *Memory) Kept() bool { return m.recall() != nil }

func (m *Memory) recall() *Sealed {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.known
}

// Of is what the files of the run in dir say.
func (m *Memory) Of(dir string, id paddock.RunID) (Sealed, error) {
	if known := m.recall(); known != nil {
		return *known, nil
	}
	r, err := asked(dir, id)
	if err != nil {
		return Sealed{}, err
	}
	var j Decision
	if err := durable.ReadJSON(filepath.Join(dir, "decision.json"), &j); err != nil {
		return Sealed{}, err
	}
	return Sealed{
		ID: r.ID, Request: r.Request, RequestDigest: r.RequestDigest, Decision: j.Decision, CreatedAt: r.CreatedAt,
		EnvironmentNames: r.EnvironmentNames, ReplacesEnvironment: r.ReplacesEnvironment, Stdin: r.Stdin, BootID: r.BootID,
	}, nil
}

// Request is what request.json of the run in dir says of who asked, and for what.
func (m *Memory) Request(dir string, id paddock.RunID) (paddock.Request, error) {
	if known := m.recall(); known != nil {
		return known.Request, nil
	}
	r, err := asked(dir, id)
	return r.Request, err
}

// asked reads request.json.
func asked(dir string, id paddock.RunID) (r Request, err error) {
	name := filepath.Join(dir, "request.json")
	if err = durable.ReadJSON(name, &r); err == nil && r.ID != id {
		err = fmt.Errorf("%s is of another run, %q", name, r.ID)
	}
	return r, err
}
