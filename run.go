package paddock

import (
	"fmt"
	"time"
)

// A State of a run. Settled states never change.
type State string

// The states. Queued and Unreachable are of runs that a server hands to workers.
const (
	Queued        State = "queued"  // no worker has claimed it yet
	Waiting       State = "waiting" // for approval; there is no program yet, and may never be
	Starting      State = "starting"
	Running       State = "running"
	Unreachable   State = "unreachable"     // its worker is silent; what became of it is open
	Exited        State = "exited"          // the program ended by itself; its status is in the reason
	Killed        State = "killed"          // ended by a request, a fault of ours, or a signal from elsewhere
	TimedOut      State = "timeout"         // only the wall clock gives this
	OutputLimit   State = "output-limit"    // only a stream's cap gives this
	FailedToStart State = "failed-to-start" // no instruction of the program has run
	Lost          State = "lost"            // the supervisor vanished without writing an outcome
	RefusedState  State = "refused"         // it waited for approval and didn't get it
	Banked        State = "banked"          // no program: somebody gave what is its stdout to keep
)

// Settled reports whether the state is final.
func (s State) Settled() bool {
	switch s {
	case Exited, Killed, TimedOut, OutputLimit, FailedToStart, Lost, RefusedState, Banked:
		return true
	}
	return false
}

// A ReasonKind says why a run ended, for programs.
type ReasonKind string

// The kinds of reasons.
const (
	ReasonExit        ReasonKind = "exit"          // the leader returned ExitCode
	ReasonSignal      ReasonKind = "signal"        // a signal that we did not send ended the leader
	ReasonKill        ReasonKind = "kill"          // somebody asked: By, Why
	ReasonAbort       ReasonKind = "abort"         // the context of the host program was canceled
	ReasonShutdown    ReasonKind = "shutdown"      // the owner closed and asked for its runs to end
	ReasonCallerGone  ReasonKind = "caller_gone"   // a tied run's caller ended
	ReasonTimeout     ReasonKind = "timeout"       // Limit is the time
	ReasonIdle        ReasonKind = "idle"          // nothing was printed for Limit; Detail has the question that it seems to have asked
	ReasonOutputLimit ReasonKind = "output_limit"  // Stream passed its cap, Limit bytes
	ReasonOutOfMemory ReasonKind = "out_of_memory" // the kernel ended processes of the tree for want of memory; Limit is bytes
	ReasonDiskLimit   ReasonKind = "disk_limit"    // the tree wrote more than Limit bytes, Written when it was looked at
	ReasonDiskReserve ReasonKind = "disk_reserve"  // the disk of the state directory came down to Limit bytes
	ReasonQuota       ReasonKind = "output_quota"  // the run printed Limit bytes, which a quota had left when it started; Detail names that
	ReasonSink        ReasonKind = "sink_error"    // output could not be kept; Detail says why
	ReasonStart       ReasonKind = "start_failed"  // Step could not be carried out; Detail says why
	ReasonLost        ReasonKind = "supervisor_vanished"
	ReasonHost        ReasonKind = "host_restarted"
	ReasonLease       ReasonKind = "lease_expired"    // its worker fell silent, so its supervisor ended it
	ReasonDenied      ReasonKind = "approval_denied"  // By a person, Why
	ReasonExpired     ReasonKind = "approval_expired" // nobody approved in time
	ReasonChanged     ReasonKind = "approval_changed" // what would have been started isn't what was approved; Detail says more
	ReasonBanked      ReasonKind = "banked"           // it was given, whole, by By
)

// A Reason is why a run ended, apart from any text for people.
type Reason struct {
	Kind ReasonKind `json:"kind"`
	// ExitCode of the leader, when it returned one.
	ExitCode *int `json:"exit_code,omitempty"`
	// Signal that ended the leader, as SIGTERM; whoever sent it.
	Signal string `json:"signal,omitempty"`
	// By is the principal id, and Why the words, of who asked for the end.
	By  string `json:"by,omitempty"`
	Why string `json:"why,omitempty"`
	// Stream and Limit say which cap was passed; Limit is bytes, or milliseconds for a timeout and for idle.
	Stream Stream `json:"stream,omitempty"`
	Limit  int64  `json:"limit,omitempty"`
	// Written is what was measured, in bytes, where a limit of that was passed.
	Written int64 `json:"written,omitempty"`
	// Step that failed to start the program.
	Step string `json:"step,omitempty"`
	// Detail is an error's text, for people.
	Detail   string    `json:"detail,omitempty"`
	Evidence *Evidence `json:"evidence,omitempty"`
}

// Evidence is what was seen when a run was found without its supervisor.
type Evidence struct {
	SeenAt time.Time `json:"seen_at"`
	// BootID then and now: unequal means that the machine restarted.
	BootIDThen string `json:"boot_id_then,omitempty"`
	BootIDNow  string `json:"boot_id_now,omitempty"`
	// Supervisor as recorded at the start, and whether a process with that id
	// and start time still exists.
	Supervisor      *Process `json:"supervisor,omitempty"`
	SupervisorAlive bool     `json:"supervisor_alive"`
	// Note says more, in one line.
	Note string `json:"note,omitempty"`
}

// A Process is named so that a reused id can't be taken for it.
type Process struct {
	PID int `json:"pid"`
	// StartTicks is field 22 of /proc/PID/stat.
	StartTicks uint64 `json:"start_ticks,omitempty"`
	BootID     string `json:"boot_id,omitempty"`
}

// A Tree says how surely the whole tree of a run can be ended.
type Tree string

// The guarantees.
const (
	TreeKernel     Tree = "kernel"      // the kernel ends every process, also when the supervisor dies
	TreeBestEffort Tree = "best-effort" // a guardian sweeps descendants
)

// Isolation says by which means the tree is held.
type Isolation string

// The means, strongest first.
const (
	PIDNamespace     Isolation = "pid-namespace"
	UserPIDNamespace Isolation = "user-pid-namespace" // a PID namespace inside a user namespace, for ordinary users
	CgroupKill       Isolation = "cgroup-kill"
	Guardian         Isolation = "guardian"
)

// Tree returns the guarantee that the means gives.
func (i Isolation) Tree() Tree {
	if i == Guardian || i == "" {
		return TreeBestEffort
	}
	return TreeKernel
}

// Enforced is what held a run, as the kernel was told.
type Enforced struct {
	Level Level `json:"level"`
	// Namespaces lists those of the run's own.
	Namespaces []string `json:"namespaces,omitempty"`
	// LandlockABI is zero when no Landlock rules were set.
	LandlockABI int `json:"landlock_abi,omitempty"`
	// Filter is the digest of the seccomp filter; empty means that there was none.
	Filter Digest `json:"filter,omitempty"`
	// Mounts is private when the run had a file system view of its own.
	Mounts string `json:"mounts,omitempty"`
	// Protected lists the paths in the workspace that stayed as they were.
	Protected []string `json:"protected,omitempty"`
	// Deeper is quarantine, report or ignore: what was to become of protected places
	// that the run could make or change in the root. Empty means that it could make
	// none, in records of before it was written down that nobody looked.
	Deeper string `json:"deeper,omitempty"`
	// Exec is listed when the tree could execute only what the policy lists.
	Exec string `json:"exec,omitempty"`
	// Workspace is overlay or copy when what the run wrote to its root was kept
	// apart, in a layer or in a copy; WorkspaceWhy says why it was a copy.
	Workspace    string `json:"workspace,omitempty"`
	WorkspaceWhy string `json:"workspace_why,omitempty"`
	// NoNewPrivileges means that no execution could gain any.
	NoNewPrivileges bool `json:"no_new_privileges,omitempty"`
	// Limits says what enforces each limit.
	Limits map[string]string `json:"limits,omitempty"`
	// Network is none, allowlist or host.
	Network string `json:"network,omitempty"`
	// Identity is the account that the run's processes have for the kernel; nil
	// in records of before it was written down.
	Identity *Account `json:"identity,omitempty"`
	// Evidence says whether the run could have changed its own record.
	Evidence Safekeeping `json:"evidence,omitempty"`
}

// A Safekeeping says what stands between a run and its record.
type Safekeeping string

// The ways of keeping a record from the run it is about.
const (
	// EvidenceProtected means that the state directory was invisible to the run,
	// or belonged to another account.
	EvidenceProtected Safekeeping = "protected"
	// EvidenceSameUID means that the run's account owns its own record.
	EvidenceSameUID Safekeeping = "same-uid"
)

// A StreamSummary is what is known of one kept stream.
type StreamSummary struct {
	Bytes int64 `json:"bytes"`
	// Digest of exactly these bytes; empty until the run is settled.
	Digest Digest `json:"digest,omitempty"`
	// Dropped is how many bytes arrived after the cap and were counted, not kept;
	// Loss says where and when. Digest is of what was kept.
	Dropped int64 `json:"dropped,omitempty"`
	Loss    *Loss `json:"loss,omitempty"`
	// Masked is how many of the bytes belong to secrets and are hidden: in what is
	// shown or, where the grant's Redact says stored, in what was kept.
	Masked int64 `json:"masked,omitempty"`
	// Unkept is set where nothing was to be kept: what was printed says a secret.
	Unkept bool `json:"unkept,omitempty"`
}

// A Loss says what of a stream arrived and wasn't kept: all that came after Offset.
type Loss struct {
	Stream Stream `json:"stream"`
	Offset int64  `json:"offset"`
	Bytes  int64  `json:"bytes"`
	// First and Last are when the first and the last of it arrived.
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
	// Cause is output_limit, disk_reserve, output_quota or sink_error.
	Cause ReasonKind `json:"cause,omitempty"`
}

// String says it in a line.
func (l Loss) String() string {
	why := map[ReasonKind]string{
		ReasonOutputLimit: "the limit of the stream was reached",
		ReasonDiskReserve: "the disk came down to its reserve", ReasonQuota: "a quota was used up", ReasonSink: "it could not be written",
	}[l.Cause]
	if why != "" {
		why = ": " + why
	}
	const clock = "2006-01-02T15:04:05.000Z"
	return fmt.Sprintf("%d bytes of %s after byte %d were dropped, from %s to %s%s", l.Bytes, l.Stream, l.Offset, l.First.UTC().Format(clock), l.Last.UTC().Format(clock), why)
}

// Losses returns those of both streams, of one that is settled or goes on.
func (r Run) Losses() (all []Loss) {
	for _, s := range []StreamSummary{r.Stdout, r.Stderr} {
		if s.Loss != nil {
			all = append(all, *s.Loss)
		}
	}
	return all
}

// A Denial is something that the kernel or the way out refused a run.
type Denial struct {
	// Call is the system call's name, or network for what found no route or
	// isn't on the network list.
	Call string `json:"call"`
	// Arguments are those by which it was refused, in the kernel's words; of the
	// network, host:port.
	Arguments string `json:"arguments,omitempty"`
	Count     int64  `json:"count"`
	// Text says what was tried and what to do, for people and models.
	Text string `json:"text"`
}

// An Outcome is how a run ended. It is written once and never changed.
type Outcome struct {
	State  State  `json:"state"`
	Reason Reason `json:"reason"`
	// Leftovers is how many processes the leader left behind and we ended;
	// Survivors is how many are still there: zero unless the kernel refused.
	Leftovers int           `json:"leftovers"`
	Survivors int           `json:"survivors"`
	Stdout    StreamSummary `json:"stdout"`
	Stderr    StreamSummary `json:"stderr"`
	// CPU is how much time of processors the tree took; zero if nothing counted it.
	CPU Duration `json:"cpu_ms,omitempty"`
	// Denied lists what the run was refused, most often first.
	Denied []Denial `json:"denied,omitempty"`
	// Deeper is what was found of protected places in the root; nil where nobody
	// looked.
	Deeper *Deeper `json:"deeper,omitempty"`
	// EndedAt is when the tree was empty, SettledAt when the digests were there.
	EndedAt   time.Time `json:"ended_at"`
	SettledAt time.Time `json:"settled_at"`
}

// An Addendum is what became known of a run's end after its outcome was written.
// The outcome, and with it the state, stays what it was.
type Addendum struct {
	At time.Time `json:"at"`
	// Source says where it is from.
	Source AddendumSource `json:"source"`
	// Note says more, in one line.
	Note string `json:"note,omitempty"`
	// Outcome is how the run ended by this evidence.
	Outcome Outcome `json:"outcome"`
}

// An AddendumSource says where an addendum is from.
type AddendumSource string

// The sources.
const (
	FromSupervisor AddendumSource = "supervisor" // it came back, and found the run settled as lost
	FromLeftover   AddendumSource = "leftover"   // it had written the outcome, and not put it in place
)

// A Run is the record of one execution, as every door shows it.
type Run struct {
	ID        RunID    `json:"id"`
	State     State    `json:"state"`
	Label     string   `json:"label"`
	Argv      []string `json:"argv"`
	Dir       string   `json:"dir"`
	Workspace string   `json:"workspace,omitempty"` // that it was confined to, where the root is one
	// WorkspaceMark names it where only a queue's row is known of the run; nobody is told.
	WorkspaceMark string    `json:"-"`
	Principal     Principal `json:"principal"`
	Door          Door      `json:"door"`
	Tied          bool      `json:"tied,omitempty"`
	CreatedAt     time.Time `json:"created_at"`
	// StartedAt is when the program became the program.
	StartedAt *time.Time `json:"started_at,omitempty"`
	// Duration from StartedAt to the end, or to now while running.
	Duration Duration `json:"duration_ms"`
	// Silent is how long a running program has printed nothing; Asks says that the
	// last line of one that has been silent for some seconds looks like a question.
	Silent     Duration `json:"silent_ms,omitempty"`
	Asks       bool     `json:"asks,omitempty"`
	Executable string   `json:"executable"`
	Limits     Limits   `json:"limits"`
	// Containment, Isolation and Tree say what was enforced.
	Containment Level     `json:"containment"`
	Isolation   Isolation `json:"isolation,omitempty"`
	Tree        Tree      `json:"tree,omitempty"`
	// Enforced is what the kernel was told; nil before the start.
	Enforced *Enforced `json:"enforced,omitempty"`
	// Cgroup says whether the supervisor left its caller's cgroup.
	Cgroup        string        `json:"cgroup,omitempty"`
	Namespace     string        `json:"pid_namespace,omitempty"` // of its processes, as the kernel calls it
	Supervisor    *Process      `json:"supervisor,omitempty"`
	PolicyDigest  Digest        `json:"policy_digest"`
	RequestDigest Digest        `json:"request_digest"`
	Stdout        StreamSummary `json:"stdout"`
	Stderr        StreamSummary `json:"stderr"`
	// Approval is what persons are asked to approve, or approved; empty where no
	// rule asked.
	Approval ApprovalID `json:"approval,omitempty"`
	// Outcome is nil until the run is settled.
	Outcome *Outcome `json:"outcome,omitempty"`
	// Addenda are what became known of the end later, oldest first.
	Addenda []Addendum `json:"addenda,omitempty"`
	// Deeds are what was done with what the run changed, oldest first.
	Deeds []Deed `json:"deeds,omitempty"`
	// Kept is set while somebody wants the output to stay, Pruned once it is gone.
	Kept   *Keeping `json:"kept,omitempty"`
	Pruned *Pruning `json:"pruned,omitempty"`
}
