package rundir

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"paddock"
	"paddock/internal/rundir/durable"
)

const (
	tokenBytes = 32
	// maxArgv is more bytes of arguments than Linux gives a program. Held to
	// it, request.json stays far below what is read, however it is escaped.
	maxArgv = 6 << 20
)

// An Intent is what is about to be run, as it was asked for and granted.
type Intent struct {
	Request   paddock.Request
	Decision  paddock.Decision
	CreatedAt time.Time
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

// A claimFile is what the entries of active, unseen and keys say of their run.
type claimFile struct {
	Version       int            `json:"version"`
	ID            paddock.RunID  `json:"id"`
	Principal     string         `json:"principal"` // its hash
	RequestDigest paddock.Digest `json:"request_digest"`
}

func (f *claimFile) FileVersion() int { return f.Version }

// Sealed returns what the run was asked and granted to be.
func (d *Dir) Sealed() (Sealed, error) {
	var r requestFile
	if err := durable.ReadJSON(d.file("request.json"), &r); err != nil {
		return Sealed{}, err
	}
	var j decisionFile
	if err := durable.ReadJSON(d.file("decision.json"), &j); err != nil {
		return Sealed{}, err
	}
	if r.ID != d.id {
		return Sealed{}, fmt.Errorf("%s is of another run, %q", d.file("request.json"), r.ID)
	}
	return Sealed{
		ID: r.ID, Request: r.Request, RequestDigest: r.RequestDigest, Decision: j.Decision, CreatedAt: r.CreatedAt,
		EnvironmentNames: r.EnvironmentNames, ReplacesEnvironment: r.ReplacesEnvironment, Stdin: r.Stdin, BootID: r.BootID,
	}, nil
}

// Prepare writes a run down, durably, in a directory that is locked and that
// nobody sees yet. The caller publishes or abandons it; a directory that its
// maker left behind is swept by [State.Reconcile].
func (s *State) Prepare(ctx context.Context, id paddock.RunID, rec Intent) (*Dir, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	files, err := seal(id, rec)
	if err != nil {
		return nil, fmt.Errorf("run %q: %w", id, err)
	}
	d, err := s.makeLocked(id)
	if err != nil {
		return nil, err
	}
	d.principal = principalHash(rec.Request.Principal)
	if err := d.fill(files, s.at); err != nil {
		return nil, errors.Join(err, d.Abandon())
	}
	return d, nil
}

type sealedFile struct {
	name string
	data []byte
}

// seal composes the files of a new run. Only what was judged and allowed can
// become one.
func seal(id paddock.RunID, rec Intent) ([]sealedFile, error) {
	req, dec := rec.Request, rec.Decision
	if _, err := paddock.ParseRunID(string(id)); err != nil {
		return nil, err
	}
	if len(dayOf(id)) != len(dayForm) {
		return nil, errors.New("its time is past the year 9999")
	}
	if req.Principal.Kind == "" || req.Principal.ID == "" {
		return nil, errors.New("nobody asks for it")
	}
	if dec.Effect != paddock.Allow || dec.Grant == nil {
		return nil, fmt.Errorf("its decision is %q and not to allow it", dec.Effect)
	}
	size := 0
	for _, word := range req.Command.Argv {
		size += len(word)
	}
	if size > maxArgv {
		return nil, fmt.Errorf("its %d bytes of arguments are more than %d", size, maxArgv)
	}
	digest := req.Digest()
	if dec.RequestDigest != digest {
		return nil, errors.New("its decision is of another request")
	}
	var files []sealedFile
	r := requestFile{
		Version: durable.Version, ID: id, CreatedAt: rec.CreatedAt, BootID: BootID(), RequestDigest: digest, Request: req,
		EnvironmentNames: req.Command.EnvironmentNames(), ReplacesEnvironment: req.Command.ReplaceEnv != nil,
	}
	r.Request.Command.Env, r.Request.Command.ReplaceEnv = nil, nil
	if text := req.Command.Stdin.Text; text != nil {
		r.Request.Command.Stdin.Text = nil
		r.Stdin = &paddock.StreamSummary{Bytes: int64(len(*text)), Digest: paddock.DigestOf(sha256.Sum256([]byte(*text)))}
		files = append(files, sealedFile{"stdin", []byte(*text)})
	}
	claim := claimFile{Version: durable.Version, ID: id, Principal: principalHash(req.Principal), RequestDigest: digest}
	for _, f := range []struct {
		name string
		v    any
	}{{"request.json", r}, {"decision.json", decisionFile{durable.Version, dec}}, {"claim.json", claim}} {
		b, err := durable.EncodeJSON(f.v, true)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		files = append(files, sealedFile{f.name, b})
	}
	return append(files, sealedFile{"token", []byte(durable.RandomHex(tokenBytes) + "\n")}), nil
}

// makeLocked makes the temporary directory and takes its lock. Between the two
// a sweeper may take the directory for one that was left behind; then it has
// the lock, or made or removed the file, and we begin again beside it.
func (s *State) makeLocked(id paddock.RunID) (*Dir, error) {
	for try := range 100 {
		path := filepath.Join(s.path, tmpDir, string(id))
		if try > 0 {
			path += "." + strconv.Itoa(try)
		}
		if err := os.Mkdir(path, 0o700); errors.Is(err, fs.ErrExist) && try > 0 {
			continue
		} else if err != nil {
			return nil, err
		}
		s.at("made")
		f, err := takeNew(filepath.Join(path, "lock"), s.at)
		if err != nil {
			return nil, err
		}
		if f != nil {
			return &Dir{id: id, path: path, lock: f}, nil
		}
	}
	return nil, fmt.Errorf("run %s: its temporary directory is taken away again and again", id)
}

// takeNew makes and locks a new file; nil when a sweeper was there first.
func takeNew(name string, at func(string)) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL|durable.NoFollow, 0o600)
	if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	at("lock-made")
	got, err := durable.Lock(f)
	there := false
	if err == nil && got {
		there, err = isAt(f, name)
	}
	if err != nil || !there {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// isAt says whether the open file f is what name leads to.
func isAt(f *os.File, name string) (bool, error) {
	ours, err := f.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(ours, named), err
}

func (d *Dir) fill(files []sealedFile, at func(string)) error {
	for _, f := range files {
		if err := durable.Create(d.file(f.name), f.data); err != nil {
			return err
		}
		at("wrote-" + f.name)
	}
	return durable.SyncDir(d.path)
}
