package store

import "paddock"

// A Workspace is a directory that runs may work in, by reference: the name of a
// root that the operator declared, and a path below it.
type Workspace struct {
	ID    WorkspaceID
	Owner UserID
	// Name is unique among the owner's.
	Name       string
	Root, Path string
	Created    Moment
	// Archived workspaces take no more runs.
	Archived Moment
}

// A Run is the row of one run. Until it is claimed the row is the truth and the
// entry of the queue; from then on it caches what the worker's directory says.
type Run struct {
	ID    paddock.RunID
	Owner UserID
	// Principal is who asked, as the envelope has it: a session or a token of the owner.
	Principal string
	Workspace WorkspaceID
	State     paddock.State
	// Priority orders the owner's own runs, the highest first.
	Priority int64
	// Needs are labels that a worker must have.
	Needs Words
	// Label is the run in a line, for lists.
	Label string
	// Envelope is what the front door signed. It alone says what to run, and only
	// to a worker that knows the key.
	Envelope Blob
	// RetryOf is the run of which this is a retry.
	RetryOf paddock.RunID
	// Key is the caller's idempotency key, Request the digest of what was asked.
	Key     string
	Request paddock.Digest
	Created Moment

	// Worker has the lease; Fence is the number without which nothing is written
	// about the run. It goes up at the claim and when the run is given up as lost.
	Worker  WorkerID
	Fence   int64
	Claimed Moment
	Started Moment
	Settled Moment

	// Cancel is when somebody asked for the end, with who and why.
	Cancel              Moment
	CancelBy, CancelWhy string

	// Outcome is paddock.Outcome as JSON, once the run is settled.
	Outcome Blob
	// Heads are how much there is of each stream, and how many events.
	StdoutBytes, StderrBytes   int64
	StdoutDigest, StderrDigest paddock.Digest
	Events                     int64

	// KeepUntil protects the output from pruning; Pruned is when it went.
	KeepUntil Moment
	Pruned    Moment
	// Revision counts the changes of the row.
	Revision int64
}

// Heads are how far the streams and events of a run have come.
type Heads struct {
	StdoutBytes, StderrBytes   int64
	StdoutDigest, StderrDigest paddock.Digest
	Events                     int64
}

// A Mode says what work a worker is given.
type Mode string

// The modes.
const (
	Open     Mode = "open"
	Cordoned Mode = "cordoned" // it gets no new runs
	Draining Mode = "draining" // no new runs, and it ends when it has none left
)

// A Worker is a machine that carries out runs.
type Worker struct {
	ID WorkerID
	// Name is unique among those that aren't removed.
	Name       string
	Credential Hash
	Labels     Words
	// Capacity is how many runs it carries out at once.
	Capacity int64
	Mode     Mode
	// Epoch goes up when the worker's process starts; one of an older epoch writes
	// nothing more. Beat goes up with each renewal.
	Epoch, Beat int64
	LastSeen    Moment
	// LeaseUntil is when the worker means to have renewed its leases, LostAfter when
	// its supervisors will surely have ended its runs if it doesn't. Both are by the
	// worker's clock and for people: see docs/design/0071-leases.md.
	LeaseUntil, LostAfter Moment
	Version               string
	Created               Moment
	Removed               Moment
}

// An Approval is what persons are asked about a run.
type Approval struct {
	ID    paddock.ApprovalID
	Run   paddock.RunID
	Owner UserID // of the run
	// Ask is the text that votes sign.
	Ask     Blob
	Created Moment
	Expires Moment
	// Closed is when no vote could change it any more, and State how it came out.
	Closed Moment
	State  paddock.ApprovalState
}

// A Vote is one signature about an approval. Which keys count isn't said here.
type Vote struct {
	Approval paddock.ApprovalID
	// Key that signed; one vote each.
	Key     string
	Approve bool
	// Envelope is the signed statement.
	Envelope Blob
	Created  Moment
}
