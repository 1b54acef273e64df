package rundir

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"paddock"
	"paddock/internal/rundir/durable"
)

// A Dir is the directory of one run. One that was opened may be used by many
// goroutines; one that is being prepared belongs to who prepares it.
type Dir struct {
	id        paddock.RunID
	path      string
	lock      *os.File // nil unless this Dir was prepared here
	principal string   // its hash; empty unless prepared here
	published bool
}

// OpenRun opens the run directory at path.
func OpenRun(path string) (*Dir, error) {
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("run directory %q isn't an absolute path", path)
	}
	id, err := paddock.ParseRunID(filepath.Base(path))
	if err != nil {
		return nil, fmt.Errorf("run directory %s: %w", path, err)
	}
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("run directory %s isn't a directory", path)
	}
	return &Dir{id: id, path: filepath.Clean(path), published: true}, nil
}

// ID returns the run's id.
func (d *Dir) ID() paddock.RunID { return d.id }

// Path returns where the directory is. Publishing changes it.
func (d *Dir) Path() string { return d.path }

// Lock returns the descriptor that holds the run's lock, for the supervisor to
// inherit; nil when this Dir was opened and not prepared, or let go of it.
func (d *Dir) Lock() *os.File { return d.lock }

// ReleaseLock closes our descriptor of the lock. The lock goes on for as long
// as a supervisor has the descriptor: it is closed and not unlocked, because
// unlocking would be for both.
func (d *Dir) ReleaseLock() error {
	if d.lock == nil {
		return nil
	}
	f := d.lock
	d.lock = nil
	return f.Close()
}

// Abandon removes a directory that was prepared and will not be published, and
// its lock with it. On a published one it does nothing.
func (d *Dir) Abandon() error {
	if d.published {
		return nil
	}
	d.published = true // and so never twice
	// The lock is kept to the last, so that no sweeper comes in between.
	return errors.Join(os.RemoveAll(d.path), d.ReleaseLock())
}

// Token returns the secret by which this user's processes know each other on
// the run's control socket.
func (d *Dir) Token() (string, error) {
	name := d.file("token")
	b, err := durable.Read(name, 256)
	if err != nil {
		return "", err
	}
	token := strings.TrimSuffix(string(b), "\n")
	if raw, err := hex.DecodeString(token); err != nil || len(raw) != tokenBytes {
		return "", fmt.Errorf("%s doesn't hold a token", name)
	}
	return token, nil
}

// OpenStdin opens the text that the program reads; fs.ErrNotExist when no text
// was given.
func (d *Dir) OpenStdin() (*os.File, error) { return durable.Open(d.file("stdin")) }

// Started is what is known once the program has become the program.
type Started struct {
	Supervisor paddock.Process   `json:"supervisor"`
	At         time.Time         `json:"at"`
	LeaderPID  int               `json:"leader_pid"`
	Isolation  paddock.Isolation `json:"isolation"`
	Tree       paddock.Tree      `json:"tree"`
	// Cgroup says whether the supervisor left its caller's cgroup.
	Cgroup      string         `json:"cgroup,omitempty"`
	StageDigest paddock.Digest `json:"stage_digest,omitempty"`
	// Enforced is what the kernel was told to hold the run to.
	Enforced paddock.Enforced `json:"enforced,omitzero"`
	// Protocol is the version that the supervisor speaks on its control socket.
	Protocol int `json:"protocol"`
}

type startedFile struct {
	Version int     `json:"version"`
	Started Started `json:"started"`
}

func (f *startedFile) FileVersion() int { return f.Version }

// WriteStarted writes started.json in one step.
func (d *Dir) WriteStarted(s Started) error {
	b, err := durable.EncodeJSON(startedFile{durable.Version, s}, false)
	if err != nil {
		return fmt.Errorf("%s: %w", d.file("started.json"), err)
	}
	return durable.Replace(d.file("started.json"), b)
}

// Started returns what started.json says; nil when the program hasn't started.
func (d *Dir) Started() (*Started, error) {
	var f startedFile
	if err := durable.ReadJSON(d.file("started.json"), &f); err != nil {
		return nil, ignoreMissing(err)
	}
	return &f.Started, nil
}

type outcomeFile struct {
	Version int             `json:"version"`
	Outcome paddock.Outcome `json:"outcome"`
}

func (f *outcomeFile) FileVersion() int { return f.Version }

// PublishOutcome writes how the run ended, durably and all at once. The first
// outcome is the run's for ever: first is false when there was one already, and
// o is not written then.
func (d *Dir) PublishOutcome(o paddock.Outcome) (first bool, err error) {
	if !o.State.Settled() {
		return false, fmt.Errorf("%s: %q isn't the state of a settled run", d.file("outcome.json"), o.State)
	}
	b, err := durable.EncodeJSON(outcomeFile{durable.Version, o}, false)
	if err != nil {
		return false, fmt.Errorf("%s: %w", d.file("outcome.json"), err)
	}
	return durable.Publish(d.file("outcome.json"), b)
}

// Outcome returns how the run ended; nil when it isn't settled.
func (d *Dir) Outcome() (*paddock.Outcome, error) {
	var f outcomeFile
	if err := durable.ReadJSON(d.file("outcome.json"), &f); err != nil {
		return nil, ignoreMissing(err)
	}
	if !f.Outcome.State.Settled() {
		return nil, fmt.Errorf("%s has state %q, which isn't that of a settled run", d.file("outcome.json"), f.Outcome.State)
	}
	return &f.Outcome, nil
}

// settled says whether there is an outcome, without reading it.
func (d *Dir) settled() (bool, error) { return durable.Exists(d.file("outcome.json")) }

func (d *Dir) file(name string) string { return filepath.Join(d.path, name) }

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
