package store

import (
	"context"
	"time"

	"paddock"
)

// The longest of each sort, in bytes.
const (
	MostID       = 64
	MostName     = 200
	MostText     = 2000
	MostEnvelope = 1 << 20
	MostOutcome  = 256 << 10
	MostWords    = 64
)

// MostPriority and its negative are the ends of a run's priority.
const MostPriority = 100

// A Scope says whose things a question is about. The zero Scope is nobody's.
type Scope struct {
	Owner UserID
	All   bool
}

// Of is the Scope of what belongs to u.
func Of(u UserID) Scope { return Scope{Owner: u} }

// Everyone is the Scope of those who may see what is anybody's.
func Everyone() Scope { return Scope{All: true} }

// A Cursor is a place in a list whose newest comes first. The zero Cursor is its
// beginning.
type Cursor struct {
	Created Moment
	ID      string
}

// A Page is a part of a list. More says whether anything follows Next.
type Page[T any] struct {
	Items []T
	Next  Cursor
	More  bool
}

// MostPage is the longest page that is given, whatever was asked for.
const MostPage = 500

// Accounts keeps people.
type Accounts interface {
	AddUser(ctx context.Context, u User) error
	// AddFirstUser adds one only where there is none, or answers ErrExists.
	AddFirstUser(ctx context.Context, u User) error
	User(ctx context.Context, id UserID) (User, error)
	UserNamed(ctx context.Context, name string) (User, error)
	Users(ctx context.Context, after Cursor, most int) (Page[User], error)
	// ChangeUser replaces name, role, password and disabled of the user if u.Revision
	// is what is kept, and returns what is kept then.
	ChangeUser(ctx context.Context, u User) (User, error)

	AddIdentity(ctx context.Context, i Identity) error
	// Identity finds who logs in and notes that he did.
	Identity(ctx context.Context, issuer, subject string, now Moment) (Identity, error)
	Identities(ctx context.Context, owner UserID) ([]Identity, error)
	RemoveIdentity(ctx context.Context, owner UserID, issuer, subject string) error

	AddFactor(ctx context.Context, f Factor) error
	Factors(ctx context.Context, owner UserID) ([]Factor, error)
	// FactorByHandle finds a passkey.
	FactorByHandle(ctx context.Context, handle string) (Factor, error)
	// UseFactor keeps data and the counter, which must be higher than what is kept
	// (or both 0, of passkeys that don't count): else it was used before, ErrOver.
	UseFactor(ctx context.Context, owner UserID, id FactorID, counter int64, data []byte, now Moment) error
	RemoveFactor(ctx context.Context, owner UserID, id FactorID) error
}

// Logins keeps what people and their programs show to be let in. What is revoked,
// used, expired, or of a disabled user is ErrNotFound.
type Logins interface {
	AddInvitation(ctx context.Context, i Invitation) error
	Invitation(ctx context.Context, code Hash, now Moment) (Invitation, error)
	// AcceptInvitation uses the code up and makes the account, with the identity if
	// there is one: all of it or nothing. The role is the invitation's.
	AcceptInvitation(ctx context.Context, code Hash, u User, as *Identity, now Moment) (User, error)
	Invitations(ctx context.Context, s Scope, after Cursor, most int) (Page[Invitation], error)
	RemoveInvitation(ctx context.Context, s Scope, id InvitationID) error

	AddSession(ctx context.Context, s Session) error
	Session(ctx context.Context, secret Hash, now Moment) (Session, User, error)
	// SeeSession notes that the session is used.
	SeeSession(ctx context.Context, id SessionID, now Moment) error
	// RotateSession gives the session another secret, and what was proven in it.
	RotateSession(ctx context.Context, old, new Hash, proven, now Moment) error
	// Sessions are those that are still good, newest first.
	Sessions(ctx context.Context, owner UserID, now Moment) ([]Session, error)
	EndSession(ctx context.Context, owner UserID, id SessionID, now Moment) error
	// EndSessions ends all of the owner's but one, which may be empty.
	EndSessions(ctx context.Context, owner UserID, but SessionID, now Moment) (int, error)

	AddToken(ctx context.Context, t Token) error
	Token(ctx context.Context, secret Hash, now Moment) (Token, User, error)
	SeeToken(ctx context.Context, id TokenID, now Moment) error
	// Tokens are all, also those that are over.
	Tokens(ctx context.Context, s Scope, after Cursor, most int) (Page[Token], error)
	RevokeToken(ctx context.Context, s Scope, id TokenID, now Moment) error

	AddLink(ctx context.Context, l LoginLink) error
	// UseLink uses the link up.
	UseLink(ctx context.Context, secret Hash, now Moment) (LoginLink, User, error)

	// Forget removes what was over before that moment, at most so many of each kind.
	Forget(ctx context.Context, before Moment, most int) (int, error)
}

// Workspaces keeps workspaces.
type Workspaces interface {
	AddWorkspace(ctx context.Context, w Workspace) error
	Workspace(ctx context.Context, s Scope, id WorkspaceID) (Workspace, error)
	WorkspaceNamed(ctx context.Context, owner UserID, name string) (Workspace, error)
	Workspaces(ctx context.Context, s Scope, after Cursor, most int) (Page[Workspace], error)
	ArchiveWorkspace(ctx context.Context, s Scope, id WorkspaceID, now Moment) error
}

// A RunFilter narrows a list of runs. Its zero value narrows nothing.
type RunFilter struct {
	State     paddock.State
	Workspace WorkspaceID
}

// A Verdict is how a run is settled.
type Verdict struct {
	State   paddock.State
	Outcome []byte
	At      Moment
	// Started is when its program did, for who hasn't said so before.
	Started Moment
}

// Runs is the front door's side of the queue.
type Runs interface {
	// Enqueue adds a run that is queued or waiting. If the owner's key was used for
	// the same request, what is kept is returned, and again is true.
	Enqueue(ctx context.Context, r Run, nonce string) (kept Run, again bool, err error)
	Run(ctx context.Context, s Scope, id paddock.RunID) (Run, error)
	Runs(ctx context.Context, s Scope, f RunFilter, after Cursor, most int) (Page[Run], error)
	// Admit moves a run from waiting to queued, with the envelope that it now has.
	Admit(ctx context.Context, id paddock.RunID, envelope []byte) (Run, error)
	// Cancel asks for the end of a run. One that nobody has claimed is settled with
	// the verdict; of one that is claimed its worker is told.
	Cancel(ctx context.Context, s Scope, id paddock.RunID, by, why string, v Verdict) (Run, error)
	// Turn settles a run that waits or is queued and that won't be started: refused,
	// expired. ErrOver says that it was claimed or settled first.
	Turn(ctx context.Context, id paddock.RunID, v Verdict) (Run, error)
	// KeepRun protects the output until a moment, or no more.
	KeepRun(ctx context.Context, s Scope, id paddock.RunID, until Moment) error
	// Prunable are runs that settled before a moment and whose output may go.
	Prunable(ctx context.Context, before, now Moment, most int) ([]paddock.RunID, error)
	// PrunedRun says that it went, and drops the run's copy.
	PrunedRun(ctx context.Context, id paddock.RunID, now Moment) error
	// Latest are the newest runs of each owner, newest first.
	Latest(ctx context.Context, after Cursor, most int) (Page[Run], error)
	// CountRuns counts those that aren't settled, by state.
	CountRuns(ctx context.Context) (map[paddock.State]int64, error)
}

// A Held run is one that its worker has a lease of.
type Held struct {
	Run    paddock.RunID
	Worker WorkerID
	Epoch  int64
	Fence  int64
}

// A Waiter is what is needed of a queued run to choose it.
type Waiter struct {
	ID        paddock.RunID
	Owner     UserID
	Workspace WorkspaceID
	Priority  int64
	Needs     Words
	Created   Moment
}

// A Share is what an owner has of the workers.
type Share struct {
	Owner UserID
	// Live is how many runs of the owner workers have, LastClaimed when they got
	// the last one.
	Live        int64
	LastClaimed Moment
}

// A Line is the queue while somebody chooses from it: nobody else does.
type Line interface {
	// Worker is who asks.
	Worker() Worker
	// Held is how many runs the worker has.
	Held(ctx context.Context) (int64, error)
	// Owners are those who have something queued.
	Owners(ctx context.Context) ([]Share, error)
	// Busy is how many runs each workspace has that are claimed and not settled.
	Busy(ctx context.Context) (map[WorkspaceID]int64, error)
	// Queued are the owner's next ones after a run of theirs, by priority and age.
	Queued(ctx context.Context, owner UserID, after *Waiter, most int) ([]Waiter, error)
}

// A Term is how long a lease is meant to last.
type Term struct{ Now, Until, LostAfter Moment }

// A Beat is the last sign of a worker that has runs, or is to have some.
type Beat struct {
	Worker      WorkerID
	Epoch, Beat int64
	// Live runs it has; of them, so many are unreachable.
	Live, Unreachable int64
	// Lease is within what time the worker means to beat again, and Lost after how long
	// a silence its supervisors will surely have ended its runs, as it said itself.
	Lease, Lost time.Duration
}

// Queue is the workers' side. It needs rights on runs and workers alone.
type Queue interface {
	// Enlist begins an epoch of the worker. What an older epoch writes is ErrFenced.
	Enlist(ctx context.Context, id WorkerID, labels Words, capacity int64, version string, now Moment) (Worker, error)
	// Claim lets pick choose, and gives the worker what it chose that is still
	// queued. No other claim happens meanwhile.
	Claim(ctx context.Context, id WorkerID, epoch int64, t Term, pick func(context.Context, Line) ([]paddock.RunID, error)) ([]Run, error)
	// Waits says whether anything is queued at all.
	Waits(ctx context.Context) (bool, error)
	// Holds returns all runs that the worker has. It changes nothing.
	Holds(ctx context.Context, id WorkerID, epoch int64) ([]Run, error)
	// Renew is a beat of the worker. It returns all runs that it has; those that
	// were unreachable no longer are.
	Renew(ctx context.Context, id WorkerID, epoch int64, t Term) (Worker, []Run, error)
	// Start writes that the program became the program, Advance how far it has come.
	Start(ctx context.Context, h Held, now Moment) error
	Advance(ctx context.Context, h Held, heads Heads) error
	// Settle writes how it ended, and that it started if that isn't written yet. To repeat
	// it with the same verdict is no error.
	Settle(ctx context.Context, h Held, heads Heads, v Verdict) error

	// Beats are of all workers that have runs.
	Beats(ctx context.Context) ([]Beat, error)
	// Miss makes the runs of a worker unreachable, if it is still at that beat.
	Miss(ctx context.Context, b Beat) (int, error)
	// Lose settles them, if it is still at that beat, and takes the worker's leases.
	Lose(ctx context.Context, b Beat, v Verdict) ([]paddock.RunID, error)
}

// Offers is for a worker in the process that queues.
type Offers interface {
	// Offer is Enqueue and Claim at once: what pick chooses after the run was added is
	// claimed in the same transaction, or nothing happens. Chosen is told what was
	// claimed before that counts; its error undoes everything. The queued run may be
	// among what is returned, or wait behind it.
	Offer(ctx context.Context, r Run, nonce string, id WorkerID, epoch int64, t Term,
		pick func(context.Context, Line) ([]paddock.RunID, error), chosen func([]Run) error) (kept Run, again bool, got []Run, err error)
}

// Workers keeps workers.
type Workers interface {
	AddWorker(ctx context.Context, w Worker) error
	Worker(ctx context.Context, id WorkerID) (Worker, error)
	WorkerByCredential(ctx context.Context, credential Hash) (Worker, error)
	Workers(ctx context.Context, after Cursor, most int) (Page[Worker], error)
	SetWorkerMode(ctx context.Context, id WorkerID, m Mode) error
	// TakeOver gives a worker the runs that all others have, and says how many: for who
	// knows that there are no others any more.
	TakeOver(ctx context.Context, id WorkerID) (int, error)
	// RemoveWorker takes a worker away that has no runs, or answers ErrStale.
	RemoveWorker(ctx context.Context, id WorkerID, now Moment) error
}

// Approvals keeps what persons are asked, and their signatures.
type Approvals interface {
	Ask(ctx context.Context, a Approval) error
	Approval(ctx context.Context, s Scope, id paddock.ApprovalID) (Approval, []Vote, error)
	// Approvals are those in a state, or all.
	Approvals(ctx context.Context, s Scope, state paddock.ApprovalState, after Cursor, most int) (Page[Approval], error)
	// AddVote adds the first vote of a key while the approval is open.
	AddVote(ctx context.Context, v Vote) error
	CloseApproval(ctx context.Context, id paddock.ApprovalID, state paddock.ApprovalState, now Moment) error
}

// Store is all of it.
type Store interface {
	Accounts
	Logins
	Workspaces
	Runs
	Copies
	Queue
	Offers
	Workers
	Approvals

	// Ping says whether the database answers.
	Ping(ctx context.Context) error
	Close() error
}
