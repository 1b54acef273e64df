package record

import (
	"fmt"
	"time"

	"paddock"
	"paddock/internal/rundir/record/durable"
	"paddock/internal/rundir/record/durable/links"
	"paddock/internal/rundir/record/durable/outcome"
	"paddock/internal/rundir/record/durable/outcome/addenda"
)

// An Intent is what is about to be run, as it was asked for and granted.
type Intent struct {
	Request   paddock.Request
	Decision  paddock.Decision
	CreatedAt time.Time
	Waits     bool             // persons must approve it before it starts
	Beside    func(dir string) // unless nil, puts more into the directory before that is durable
}

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

type requestFile struct {
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

func (f *requestFile) FileVersion() int { return f.Version }

type decisionFile struct {
	Version  int              `json:"version"`
	Decision paddock.Decision `json:"decision"`
}

func (f *decisionFile) FileVersion() int { return f.Version }

// An Entry is what claim.json, and the links to it elsewhere, say of a run.
type Entry = links.Entry

// asked reads request.json.
func (d *Dir) asked() (r requestFile, err error) {
	if err = durable.ReadJSON(d.file("request.json"), &r); err == nil && r.ID != d.id {
		err = fmt.Errorf("%s is of another run, %q", d.file("request.json"), r.ID)
	}
	return r, err
}

// Principal returns who asked for the run.
func (d *Dir) Principal() (paddock.Principal, error) {
	r, err := d.asked()
	return r.Request.Principal, err
}

// Sealed returns what the run was asked and granted to be.
func (d *Dir) Sealed() (Sealed, error) {
	r, err := d.asked()
	if err != nil {
		return Sealed{}, err
	}
	var j decisionFile
	if err := durable.ReadJSON(d.file("decision.json"), &j); err != nil {
		return Sealed{}, err
	}
	return Sealed{
		ID: r.ID, Request: r.Request, RequestDigest: r.RequestDigest, Decision: j.Decision, CreatedAt: r.CreatedAt,
		EnvironmentNames: r.EnvironmentNames, ReplacesEnvironment: r.ReplacesEnvironment, Stdin: r.Stdin, BootID: r.BootID,
	}, nil
}

// Started is what is known once the program has become the program.
type Started struct {
	Supervisor  paddock.Process   `json:"supervisor"`
	At          time.Time         `json:"at"`
	LeaderPID   int               `json:"leader_pid"`
	Namespace   string            `json:"pid_namespace,omitempty"` // the leader's, as the kernel calls it
	Isolation   paddock.Isolation `json:"isolation"`
	Tree        paddock.Tree      `json:"tree"`
	Cgroup      string            `json:"cgroup,omitempty"` // whether the supervisor left its caller's
	StageDigest paddock.Digest    `json:"stage_digest,omitempty"`
	Enforced    paddock.Enforced  `json:"enforced,omitzero"` // what the kernel was told to hold the run to
	Protocol    int               `json:"protocol"`          // that the supervisor speaks on its control socket
}

type startedFile struct {
	Version int     `json:"version"`
	Started Started `json:"started"`
}

func (f *startedFile) FileVersion() int { return f.Version }

// WriteStarted writes started.json in one step. It becomes durable with the
// outcome. A power cut before that may take it along: what is left tells of a
// run that was about to start, which is how such a run is found lost anyway.
func (d *Dir) WriteStarted(s Started) error {
	b, err := durable.EncodeJSON(startedFile{durable.Version, s}, false)
	if err != nil {
		return fmt.Errorf("%s: %w", d.file("started.json"), err)
	}
	return durable.Place(d.file("started.json"), b)
}

// Started returns what started.json says; nil when the program hasn't started,
// or a power cut came before that was durable. Beside an outcome, which comes
// after it, a torn one is damage and an error.
func (d *Dir) Started() (*Started, error) {
	var f startedFile
	err := durable.ReadJSON(d.file("started.json"), &f)
	if err == nil {
		return &f.Started, nil
	}
	if torn, readErr := d.tornStart(); readErr != nil || torn {
		settled, settledErr := Settled(d.path)
		if readErr == nil && settledErr == nil && !settled {
			return nil, nil
		}
	}
	return nil, durable.IgnoreMissing(err)
}

// tornStart says whether there is a started.json that a power cut has torn.
func (d *Dir) tornStart() (bool, error) {
	b, err := durable.Read(d.file("started.json"), durable.MaxJSON)
	return err == nil && durable.Torn(b), durable.IgnoreMissing(err)
}

// PublishOutcome writes how the run ended, durably and all at once. The first
// outcome is the run's for ever: first is false when there was one already, and
// o is not written then.
func (d *Dir) PublishOutcome(o paddock.Outcome) (first bool, err error) {
	return outcome.Publish(d.path, o, "started.json")
}

// Rehearse composes what a supervisor writes down, and reads the start as it does,
// without a file: the first time takes many times as long as the next.
func Rehearse(s Started, o paddock.Outcome) {
	if b, err := durable.EncodeJSON(startedFile{durable.Version, s}, false); err == nil {
		_ = durable.DecodeJSON(b, &startedFile{})
	}
	_, _ = durable.EncodeJSON(outcome.File{Version: durable.Version, Outcome: o}, false)
}

// Outcome returns how the run ended; nil when it isn't settled.
func (d *Dir) Outcome() (*paddock.Outcome, error) { return outcome.Of(d.path) }

// AddAddendum writes durably down what became known of the end of a settled run;
// added is false where it was known.
func (d *Dir) AddAddendum(a paddock.Addendum) (added bool, err error) { return addenda.Add(d.path, a) }

// Addenda returns what became known of the end later, oldest first.
func (d *Dir) Addenda() ([]paddock.Addendum, error) { return addenda.Of(d.path) }

// Hash names a principal in file names and entries.
func Hash(p paddock.Principal) string { return links.Hash(p) }

// IsOwner reports whether a word can be what [Hash] returns.
func IsOwner(principal string) bool { return links.IsOwner(principal) }
