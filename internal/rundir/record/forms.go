package record

import (
	"cmp"
	"fmt"
	"os"
	"time"

	"paddock"
	"paddock/internal/rundir/record/durable"
	"paddock/internal/rundir/record/durable/links"
	"paddock/internal/rundir/record/durable/outcome"
	"paddock/internal/rundir/record/durable/outcome/addenda"
	"paddock/internal/rundir/record/durable/sealed"
	"paddock/internal/rundir/record/label"
)

// An Intent is what is about to be run, as it was asked for and granted.
type Intent struct {
	Request   paddock.Request
	Decision  paddock.Decision
	CreatedAt time.Time
	Waits     bool             // persons must approve it before it starts
	Beside    func(dir string) // unless nil, puts more into the directory before that is durable
	Locked    func(*os.File)   // unless nil, is given the run's lock before anything is written
	Root      string           // the real path in which something may be made for it from then on
}

// Sealed is what request.json and decision.json say of a run for ever.
type Sealed = sealed.Sealed

// An Entry is what claim.json, and the links to it elsewhere, say of a run.
type Entry = links.Entry

// Principal returns who asked for the run.
func (d *Dir) Principal() (paddock.Principal, error) {
	r, err := d.memory.Request(d.path, d.id)
	return r.Principal, err
}

// Whose returns who asked for the run, and what it is called.
func (d *Dir) Whose() (paddock.Principal, string, error) {
	r, err := d.memory.Request(d.path, d.id)
	return r.Principal, cmp.Or(r.Command.Label, label.Of(r.Command.Argv)), err
}

// Sealed returns what the run was asked and granted to be.
func (d *Dir) Sealed() (Sealed, error) { return d.memory.Of(d.path, d.id) }

// Remember reads what Sealed returns, which never changes, for the last time.
func (d *Dir) Remember() error { return d.memory.Keep(d.path, d.id) }

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
	if err := durable.Place(d.file("started.json"), b); err != nil {
		return err
	}
	d.started.Store(&s)
	return nil
}

// Started returns what started.json says; nil when the program hasn't started,
// or a power cut came before that was durable. Beside an outcome, which comes
// after it, a torn one is damage and an error.
func (d *Dir) Started() (*Started, error) {
	if known := d.started.Load(); known != nil {
		return known, nil
	}
	var f startedFile
	err := durable.ReadJSON(d.file("started.json"), &f)
	if err == nil {
		if d.memory.Kept() {
			d.started.Store(&f.Started)
		}
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

// PrepareOutcome does of PublishOutcome all that nobody sees.
func (d *Dir) PrepareOutcome(o paddock.Outcome) (*durable.Pending, error) {
	return outcome.Prepare(d.path, o, "started.json")
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
func (d *Dir) Outcome() (*paddock.Outcome, error) {
	if told := d.told.Load(); told != nil {
		o := *told
		return &o, nil
	}
	return outcome.Of(d.path)
}

// Tell has d believe that o is the run's outcome. It is for the word of the run's own
// supervisor that it has written o down, and that nobody was there before it.
func (d *Dir) Tell(o paddock.Outcome) {
	if o.State.Settled() {
		d.told.Store(&o)
	}
}

// Told reports whether the outcome is known by Tell.
func (d *Dir) Told() bool { return d.told.Load() != nil }

// AddAddendum writes durably down what became known of the end of a settled run;
// added is false where it was known.
func (d *Dir) AddAddendum(a paddock.Addendum) (added bool, err error) { return addenda.Add(d.path, a) }

// Addenda returns what became known of the end later, oldest first.
func (d *Dir) Addenda() ([]paddock.Addendum, error) { return addenda.Of(d.path) }

// Hash names a principal in file names and entries.
func Hash(p paddock.Principal) string { return links.Hash(p) }

// IsOwner reports whether a word can be what [Hash] returns.
func IsOwner(principal string) bool { return links.IsOwner(principal) }
