// Package rows is what the queue has of runs, made of requests and read as records.
//
// # Limits
//
// A row is what is known of a run, and gives nobody authority: what is run by it stands in
// the order that it carries, which is signed.
package rows

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/v2"
	"slices"
	"strings"
	"time"

	"paddock"
	"paddock/internal/journal/sign"
	"paddock/internal/lease/order"
	"paddock/internal/store"
	"paddock/internal/trace"
)

// Rows are what a front asks of a store.
type Rows interface {
	store.Runs
	store.Copies
}

// Lasts is how long an order is good: what waits longer in the queue isn't started.
const Lasts = order.Usual

// Owner is whom rows say a principal to be. It is his whole name, put into a form that
// rows can have.
func Owner(p paddock.Principal) store.UserID {
	sum := sha256.Sum256([]byte(string(p.Kind) + ":" + p.ID))
	return store.UserID("p-" + hex.EncodeToString(sum[:20]))
}

// Scope is what of all rows p may see.
func Scope(p paddock.Principal) store.Scope {
	if p.Kind == paddock.Operator {
		return store.Everyone()
	}
	return store.Of(Owner(p))
}

// Workspace is how rows name the workspace that a command is confined to, if it is to one:
// by its directory, in a form that rows can have. What a clone made in a workspace counts
// as a part of it. Roots are those that workspaces are in, each as ROOT/ACCOUNT/NAME.
func Workspace(dir string, roots []string) store.WorkspaceID {
	if dir == "" {
		return ""
	}
	for _, root := range roots {
		below, ok := strings.CutPrefix(dir, strings.TrimSuffix(root, "/")+"/")
		if parts := strings.SplitN(below, "/", 3); ok && len(parts) == 3 {
			dir = strings.TrimSuffix(dir, "/"+parts[2])
		}
	}
	sum := sha256.Sum256([]byte(dir))
	return store.WorkspaceID("d-" + hex.EncodeToString(sum[:20]))
}

// A Placement says by whom a run may be carried out, and when.
type Placement struct {
	// Needs are labels that the worker must have.
	Needs []string
	// Priority orders one's own runs: the highest first, from -100 to 100.
	Priority int64
	// Roots are those in which workspaces are.
	Roots []string
}

// Check refuses what is no place.
func (p Placement) Check() error {
	if p.Priority < -store.MostPriority || p.Priority > store.MostPriority {
		return paddock.Refused(paddock.InvalidRequest, "priority is %d; it is from -%d to %d.", p.Priority, store.MostPriority, store.MostPriority)
	}
	if len(p.Needs) > 16 {
		return paddock.Refused(paddock.InvalidRequest, "needs has %d labels; it has at most 16.", len(p.Needs))
	}
	for _, word := range p.Needs {
		if word == "" || len(word) > 60 || strings.Trim(word, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != "" {
			return paddock.Refused(paddock.InvalidRequest, "needs has %.80q; a label is at most 60 of a-z, 0-9, -, _ and dots.", word)
		}
	}
	return nil
}

// Agree is the error of queueing, or store.ErrConflict where the row that there is now was
// queued earlier, for other workers or with another rank; through which server is no part of that.
func (p Placement) Agree(kept store.Run, err error) error {
	own := func(needs []string) []string {
		needs = slices.DeleteFunc(slices.Clone(needs), func(w string) bool { return strings.HasPrefix(w, order.SignedBy) })
		slices.Sort(needs)
		return slices.Compact(needs)
	}
	if err == nil && (p.Priority != kept.Priority || !slices.Equal(own(p.Needs), own(kept.Needs))) {
		return store.ErrConflict
	}
	return err
}

// Entry is the row of a new run, with an order that the key signs, and the order's nonce.
// Policy is the digest of what let it in, if anything did; trace what it is a part of.
func Entry(req paddock.Request, at Placement, policy paddock.Digest, from trace.Context, key *sign.Key, now time.Time) (store.Run, string, error) {
	id, err := paddock.NewRunID(now, nil)
	if err != nil {
		return store.Run{}, "", err
	}
	once := req.IdempotencyKey
	req.IdempotencyKey = "" // of this door; no worker is to find another run by it
	o, err := order.New(id, req, now, Lasts, nil)
	if err != nil {
		return store.Run{}, "", err
	}
	o.Policy = policy
	if from.Sampled {
		o.Trace = from.String()
	}
	envelope, err := o.Seal(key)
	if err != nil {
		return store.Run{}, "", err
	}
	if len(envelope) > store.MostEnvelope {
		return store.Run{}, "", paddock.Refused(paddock.InvalidRequest, "The request is too long to be queued: signed it has %d bytes and may have %d. Put what it reads into a file.", len(envelope), store.MostEnvelope)
	}
	return store.Run{
		ID: id, Owner: Owner(req.Principal), Principal: req.Principal.ID, Workspace: Workspace(req.Command.Workspace, at.Roots), State: paddock.Queued, Priority: at.Priority, Needs: at.Needs,
		Label: label(req.Command), Envelope: envelope, Key: once, Request: o.Digest, Created: store.At(id.Time()),
	}, o.Nonce, nil
}

// label is the run in a line.
func label(c paddock.Command) string {
	text := c.Label
	if text == "" {
		text = strings.Join(c.Argv, " ")
	}
	text = strings.ToValidUTF8(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text), "?")
	if len(text) > 200 {
		text = strings.ToValidUTF8(text[:200], "")
	}
	return text
}

// Record is what a row says of its run. What was asked for is shown of orders that the key
// signed.
func Record(r store.Run, key *sign.Public, now time.Time) paddock.Run {
	run := paddock.Run{
		ID: r.ID, State: r.State, Label: r.Label, Argv: []string{}, WorkspaceMark: string(r.Workspace), Principal: paddock.Principal{Kind: paddock.User, ID: r.Principal}, Door: paddock.DoorHTTP,
		CreatedAt: r.Created.Time, RequestDigest: r.Request,
		Stdout: paddock.StreamSummary{Bytes: r.StdoutBytes, Digest: r.StdoutDigest}, Stderr: paddock.StreamSummary{Bytes: r.StderrBytes, Digest: r.StderrDigest},
	}
	if o, ok := Order(r, key); ok {
		run.Argv, run.Dir, run.Workspace, run.PolicyDigest = o.Request.Command.Argv, o.Request.Command.Dir, o.Request.Command.Workspace, o.Policy
	}
	if !r.Started.IsZero() {
		run.StartedAt = &r.Started.Time
		run.Duration = paddock.Duration(now.Sub(r.Started.Time))
	}
	var o paddock.Outcome
	if len(r.Outcome) > 0 && json.Unmarshal(r.Outcome, &o) == nil {
		run.Outcome, run.Stdout, run.Stderr = &o, o.Stdout, o.Stderr
		if run.StartedAt != nil {
			run.Duration = paddock.Duration(o.EndedAt.Sub(*run.StartedAt))
		}
	}
	return run
}

// Order is what the key signed for a row. Of others' doors nothing is shown, and of
// runs that have begun there is nothing any more.
func Order(r store.Run, key *sign.Public) (order.Order, bool) {
	o, err := order.Open(r.Envelope, r.ID, []*sign.Public{key}, r.Created.Time)
	return o, err == nil
}

// Canceled is how a run ends that nobody had begun.
func Canceled(p paddock.Principal, why string, now time.Time) (store.Verdict, error) {
	at := store.At(now)
	text, err := json.Marshal(paddock.Outcome{State: paddock.Killed, EndedAt: at.Time, SettledAt: at.Time,
		Reason: paddock.Reason{Kind: paddock.ReasonKill, By: p.ID, Why: why, Detail: "before the program was started"}}, json.Deterministic(true))
	return store.Verdict{State: paddock.Killed, Outcome: text, At: at}, err
}

// Adopted is the row of a run that is over and of which only the record is left. It waits,
// which no worker takes, and is there to be settled at once. The nonce is of nothing.
func Adopted(run paddock.Run, req paddock.Request) (row store.Run, nonce string) {
	return store.Run{
		ID: run.ID, Owner: Owner(req.Principal), Principal: req.Principal.ID, State: paddock.Waiting, Label: label(req.Command),
		Request: run.RequestDigest, Created: store.At(run.ID.Time()),
	}, "adopted-" + string(run.ID)
}

// Agreed is a run of the directory here, as it is shown alone: the directory has the last
// word on its end where the rows aren't shared, else its row has.
func Agreed(shared bool, row, here paddock.Run) paddock.Run {
	if !shared && here.State.Settled() {
		return here
	}
	return Settled(row, here)
}

// Settled is a run as its machine has it, that came out as its row says.
func Settled(row, run paddock.Run) paddock.Run {
	switch {
	case row.State == run.State || !row.State.Settled() && !run.State.Settled():
		return run
	case !row.State.Settled():
		run.State, run.Outcome = row.State, nil
		return run
	case row.Outcome == nil:
		return row
	case !run.State.Settled():
		run.State, run.Outcome, run.Duration = row.State, row.Outcome, row.Duration
		return run
	}
	end := *row.Outcome
	end.Stdout, end.Stderr = run.Stdout, run.Stderr
	run.State, run.Outcome = row.State, &end
	return run
}
