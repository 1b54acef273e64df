package runner

import (
	"context"

	"paddock"
	"paddock/internal/clean"
)

// An Artifact is something that is kept: what a program or git printed, or what
// the host gave. Its id is that of its run.
type Artifact struct {
	ID    RunID
	Label string
	Bytes int64
	// Digest is of the bytes.
	Digest paddock.Digest
	// Preview is the beginning, as text without what terminals obey.
	Preview string
}

const mostPreview = 1000 // bytes

// BankArtifact keeps payload, which may be as long as the policy lets one stream
// of output be, under a label. It belongs to this Runner's principal, and is read,
// kept and pruned as the output of a run is; its run has the state [Banked].
func (r *Runner) BankArtifact(ctx context.Context, label string, payload []byte) (Artifact, error) {
	return r.bank(ctx, r.principal, label, payload)
}

// BankArtifactFor keeps payload for one of this Runner's delegates, or for a delegate of
// one: it is that agent's own then, which reads it with retrieve_context, and this Runner's
// no more. Delegates of others are refused.
func (r *Runner) BankArtifactFor(ctx context.Context, d Delegate, label string, payload []byte) (Artifact, error) {
	return r.bank(ctx, d.Session(), label, payload)
}

func (r *Runner) bank(ctx context.Context, of paddock.Principal, label string, payload []byte) (Artifact, error) {
	run, err := r.app.Bank(ctx, r.principal, of, paddock.DoorGo, label, payload)
	if err != nil {
		return Artifact{}, err
	}
	head := payload[:min(len(payload), mostPreview)]
	return Artifact{ID: run.ID, Label: run.Label, Bytes: run.Stdout.Bytes, Digest: run.Stdout.Digest, Preview: string(clean.Bytes(head, clean.Text))}, nil
}

// ReadArtifact returns one page of an artifact: of what was banked, or of the
// output of a command or of git, by the id of its run. Artifacts of others look
// like unknown ones.
func (r *Runner) ReadArtifact(ctx context.Context, id RunID, req PageRequest) (Page, error) {
	return r.app.Artifact(ctx, r.principal, id, req)
}
