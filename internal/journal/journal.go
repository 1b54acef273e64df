// Package journal is the account of what was decided and done: lines of JSON,
// each bound to the one before by its digest. Here are its words, the form of a
// line, and how a directory of segments is read.
//
//	JOURNAL/000001.jsonl …   segments, the last of which grows
//	JOURNAL/lock             held while lines are added
//	JOURNAL/rate/HASH        refusals of a principal that are only counted for now
//	JOURNAL/policy/DIGEST    a mark that the policy was noted
//	JOURNAL/key, key.pub     the signing key, unless it is kept elsewhere
//	JOURNAL/checkpoint       the newest signed checkpoint; schedule.json: how often
//
// A line is an object whose last member, entry, is the digest of every byte
// before that member. The next line's prev repeats it. So a changed byte is found
// in its own line, and a line can't be changed with its digest unless every line
// after it is changed too. Package writer adds lines, package audit checks them,
// package sign signs.
//
// # Limits
//
// A chain proves nothing against who can write all of it again. That takes a
// head or a checkpoint that is kept where they can't: docs/journal.md.
package journal

import (
	"time"

	"paddock"
	"paddock/internal/journal/short/account"
	"paddock/internal/journal/short/anchored"
	"paddock/internal/journal/short/asked"
	"paddock/internal/journal/short/glance"
	"paddock/internal/journal/short/removed"
)

// A Kind says what an entry tells. Readers pass over kinds they don't know.
type Kind string

// The kinds of this version.
const (
	Begin      Kind = "begin"      // the journal's first entry
	Rotate     Kind = "rotate"     // the first entry of every further segment
	Recovered  Kind = "recovered"  // bytes before it were torn by a crash
	Checkpoint Kind = "checkpoint" // a signed statement of everything before it
	PolicySeen Kind = "policy"     // a policy decided for the first time
	Start      Kind = "start"      // a request was allowed and is about to be run
	Abandoned  Kind = "abandoned"  // what was about to be run wasn't
	End        Kind = "end"        // a run is settled
	Addendum   Kind = "addendum"   // something became known of the end of a run that was lost
	Kill       Kind = "kill"       // somebody asked for a run's end
	Refusal    Kind = "refusal"    // a request was refused
	Refusals   Kind = "refusals"   // requests that were refused and not told of one by one
	Approval   Kind = "approval"   // what a rule asks about was asked, approved, denied or used
	Prune      Kind = "prune"      // what is kept of a run is about to be removed
	Forgotten  Kind = "forgotten"  // checklists, or results of delegates, are about to go
	Account    Kind = "account"    // something is about to be done with an account, or what lets people in
	Anchored   Kind = "anchored"   // how far a worker's journal has come, or what is wrong with it
	Unmasked   Kind = "unmasked"   // somebody is about to be shown what is hidden of secrets
)

// An Entry is one line. The first four and Digest are set when it is sealed;
// beside them it has what its kind tells, in the member of that name.
type Entry struct {
	Seq  int64          `json:"seq"`
	Time time.Time      `json:"time"`
	Prev paddock.Digest `json:"prev,omitempty"` // empty in the first entry only
	Kind Kind           `json:"kind"`

	Principal *paddock.Principal `json:"principal,omitempty"`
	Run       paddock.RunID      `json:"run,omitempty"`

	Begin      *BeginDetail     `json:"begin,omitempty"`
	Rotate     *RotateDetail    `json:"rotate,omitempty"`
	Recovered  *RecoveredDetail `json:"recovered,omitempty"`
	Checkpoint string           `json:"checkpoint,omitempty"` // the signed note
	Policy     *PolicyDetail    `json:"policy,omitempty"`
	Start      *StartDetail     `json:"start,omitempty"`
	Abandoned  string           `json:"abandoned,omitempty"` // why
	End        *EndDetail       `json:"end,omitempty"`
	Addendum   *EndDetail       `json:"addendum,omitempty"`
	Kill       *KillDetail      `json:"kill,omitempty"`
	Refusal    *RefusalDetail   `json:"refusal,omitempty"`
	Refusals   *RefusalsDetail  `json:"refusals,omitempty"`
	Prune      *removed.Output  `json:"prune,omitempty"`
	Forgotten  *removed.Plans   `json:"forgotten,omitempty"`
	Approval   *asked.Detail    `json:"approval,omitempty"`
	Unmasked   *glance.Detail   `json:"unmasked,omitempty"`
	Account    *account.Detail  `json:"account,omitempty"`
	Anchored   *anchored.Detail `json:"anchored,omitempty"`

	Digest paddock.Digest `json:"entry"`
}

// BeginDetail names a journal.
type BeginDetail struct {
	Version int    `json:"version"`
	ID      string `json:"id"` // random: no two journals have a common head
}

// RotateDetail lets a segment be checked without those before it.
type RotateDetail struct {
	ID      string `json:"id"`
	Segment int    `json:"segment"`
	// Tree is the frontier of the tree of all entries before this one.
	Tree []string `json:"tree"`
}

// RecoveredDetail describes the bytes between the last whole entry and this one.
type RecoveredDetail struct {
	Bytes  int64          `json:"bytes"`
	Digest paddock.Digest `json:"digest"`
}

// PolicyDetail is a policy that was met for the first time.
type PolicyDetail struct {
	Digest paddock.Digest `json:"digest"`
	// Problem says why it can't be used; then InForce is the one that still is.
	Problem string         `json:"problem,omitempty"`
	InForce paddock.Digest `json:"in_force,omitempty"`
}

// Words are a command's, in part where they are many.
type Words struct {
	// Argv is cut at its end when Count is there; a word that is cut ends in "…".
	Argv []string `json:"argv"`
	// Digest is of all words, each followed by a NUL.
	Digest paddock.Digest `json:"argv_digest"`
	Count  int            `json:"argv_count,omitempty"`
}

// StartDetail is what was asked, and granted.
type StartDetail struct {
	Words
	Door          paddock.Door   `json:"door"`
	RequestDigest paddock.Digest `json:"request_digest"`
	PolicyDigest  paddock.Digest `json:"policy_digest"`
	// Approval is what persons approved, where a rule asked.
	Approval   paddock.ApprovalID `json:"approval,omitempty"`
	Rule       *paddock.Position  `json:"rule,omitempty"`
	Dir        string             `json:"dir"`
	Executable string             `json:"executable"`
	// ExecutableDigest is of its content; empty where the policy pins none.
	ExecutableDigest paddock.Digest `json:"executable_digest,omitempty"`
	// EnvironmentNames are those that the program gets, sorted, in part where
	// EnvironmentCount is there.
	EnvironmentNames []string      `json:"environment_names"`
	EnvironmentCount int           `json:"environment_count,omitempty"`
	Containment      paddock.Level `json:"containment"`
	Network          string        `json:"network,omitempty"`
}

// EndDetail is how a run ended.
type EndDetail struct {
	State     paddock.State         `json:"state"`
	Reason    paddock.ReasonKind    `json:"reason"`
	ExitCode  *int                  `json:"exit_code,omitempty"`
	Signal    string                `json:"signal,omitempty"`
	By        string                `json:"by,omitempty"`
	Stdout    paddock.StreamSummary `json:"stdout"`
	Stderr    paddock.StreamSummary `json:"stderr"`
	Survivors int                   `json:"survivors,omitempty"`
	// Found are protected places that weren't as they were before, in part where
	// FoundCount is there.
	Found      []string  `json:"found,omitempty"`
	FoundCount int       `json:"found_count,omitempty"`
	SettledAt  time.Time `json:"settled_at"`
	// Enforced is the level that the kernel was told; empty when nothing started.
	Enforced  paddock.Level     `json:"enforced,omitempty"`
	Isolation paddock.Isolation `json:"isolation,omitempty"`
	Stage     paddock.Digest    `json:"stage_digest,omitempty"`
}

// KillDetail is a request to end a run.
type KillDetail struct {
	Kind   paddock.ReasonKind `json:"kind"`
	Signal string             `json:"signal"`
	By     string             `json:"by"`
	Why    string             `json:"why,omitempty"`
}

// RefusalDetail is one refused request.
type RefusalDetail struct {
	Words
	Door         paddock.Door   `json:"door"`
	Code         paddock.Code   `json:"code"`
	Others       []paddock.Code `json:"others,omitempty"`
	Message      string         `json:"message"`
	Rule         string         `json:"rule,omitempty"`
	PolicyDigest paddock.Digest `json:"policy_digest,omitempty"`
}

// RefusalsDetail counts refused requests of one principal.
type RefusalsDetail struct {
	From  time.Time              `json:"from"`
	To    time.Time              `json:"to"`
	Codes map[paddock.Code]int64 `json:"codes"`
}
