// Package parcel makes of what was judged that which a supervisor is handed.
//
// # Limits
//
// Nothing is decided here and nothing is started.
package parcel

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"paddock"
	"paddock/internal/control/handover"
	"paddock/internal/executor/judge"
	"paddock/internal/rundir"
)

// A Maker knows what is the same in every parcel of an executor.
type Maker struct {
	Judge     *judge.Judge
	State     *rundir.State
	Grace     paddock.Duration
	Isolation []paddock.Isolation
	Stage     paddock.Digest
	Journal   string
}

// A Parcel is the job and the descriptors that come with it, but for the run's lock,
// which goes first.
type Parcel struct {
	Text  []byte
	Files []*os.File
	own   []*os.File
}

// Close closes what was opened for the parcel.
func (p *Parcel) Close() {
	for _, f := range p.own {
		_ = f.Close() // sealed memory: whoever is to have it has it
	}
}

// Make packs the run id, which j allows and which needn't be there yet. Sink takes what
// its program prints, where that isn't kept. Step says what failed.
func (m Maker) Make(ctx context.Context, id paddock.RunID, req paddock.Request, j *judge.Judgement, sink *os.File) (p Parcel, step string, err error) {
	grant := j.Decision.Grant()
	listed, err := m.Judge.Listed(ctx, grant)
	if err != nil {
		return p, "find what is listed", err
	}
	root, err := rootOf(j)
	if err != nil {
		return p, "find the workspace", err
	}
	secrets, err := j.Sealed()
	if err != nil {
		return p, "hand over the secrets", err
	}
	known, err := j.Known()
	if err != nil {
		_ = secrets.Close() // nil, too
		return p, "hand over the secrets", err
	}
	p.own = slices.DeleteFunc([]*os.File{secrets, known}, isNil)
	p.Text, err = json.Marshal(handover.Job{
		Version: handover.JobVersion, RunDir: m.State.PathOf(id), RunID: id, Argv: j.Found.Launch.Argv(grant.Argv), Env: grant.Environment, Path: j.Found.Launch.Path,
		Contain: grant.Contain, Dir: grant.Dir, Root: root, Home: j.Home(), Programs: j.Programs(), Listed: listed,
		Held: j.Found.Launch.Held, Copies: j.Copies(), Limits: grant.Limits, OpenFiles: grant.Limits.OpenFiles, Timeout: grant.Limits.Timeout, OutputCap: grant.Limits.Output,
		Grace: m.Grace, Reserve: j.Reserve(), Tied: req.Tied, Isolation: m.Isolation, LeaveCgroup: !req.Tied,
		Terminal: req.Command.Terminal, HasSecrets: secrets != nil, HasKnown: known != nil, HasSink: sink != nil, HasDoor: j.Door != nil, Redact: grant.Redact, StageDigest: m.Stage, Journal: m.Journal,
	})
	if err != nil {
		p.Close()
		return p, "describe the run", err
	}
	p.Files = slices.DeleteFunc([]*os.File{j.Found.DirFile, j.Found.Launch.File, secrets, known, sink, j.Door}, isNil)
	for _, c := range j.Found.Launch.Copies {
		p.Files = append(p.Files, c.File)
	}
	return p, "", nil
}

// Word is what is said of the run in dir when it is written down: when j took what it may
// use, and lease is as in [handover.Word].
func (m Maker) Word(ctx context.Context, dir *rundir.Dir, j *judge.Judgement, lease int64) (text []byte, files []*os.File, step string, err error) {
	stdin, err := j.Stdin(ctx, m.State, dir)
	if err != nil {
		return nil, nil, "open the standard input", err
	}
	text, err = json.Marshal(handover.Word{Written: true, Follows: true, Room: j.Room().Bytes, RoomBy: j.Room().Counter, Lease: lease, HasStdin: stdin != nil})
	return text, slices.DeleteFunc([]*os.File{stdin}, isNil), "describe the run", err
}

// rootOf is the root that was judged, where its name still leads there: to a directory
// around it a link would lead, too, and whatever is in that would be the run's.
func rootOf(j *judge.Judgement) (string, error) {
	root, err := judge.Workspace(j.Decision.Grant())
	if err == nil && root != j.Found.Root {
		err = fmt.Errorf("%s leads elsewhere than it did when it was judged", j.Decision.Grant().Root)
	}
	return root, err
}

func isNil(f *os.File) bool { return f == nil }
