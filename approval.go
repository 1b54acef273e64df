package paddock

import "time"

// Approvals is what a policy says of requests that a rule asks about. The zero
// value lists no key, so nobody can approve anything.
type Approvals struct {
	// Keys are those whose signatures count.
	Keys []ApprovalKey
	// Verifiers are servers that are believed that a second factor was shown to them.
	Verifiers []ApprovalVerifier
	// Approvers is how many different ones must approve; at least one.
	Approvers int
	// Expires is how long a request waits, and Lasts how long what was approved may
	// be used after that.
	Expires, Lasts time.Duration
	// Uses is the most runs that one approval may start.
	Uses int
}

// An ApprovalKey is a person's key, as a policy lists it.
type ApprovalKey struct {
	Name string `json:"name"`
	// Key is ed25519: and the 32 bytes of the public key in base 64.
	Key string `json:"key"`
	// Principal is the id of who holds the key, whose own requests it can't approve.
	Principal string `json:"principal,omitempty"`
	// Account is the holder's at the verifiers. Without one the key can't approve what
	// wants a second factor.
	Account string `json:"account,omitempty"`
}

// Person names who holds the key: two keys of one person are one person's.
func (k ApprovalKey) Person() string {
	switch {
	case k.Principal != "":
		return "principal " + k.Principal
	case k.Account != "":
		return "account " + k.Account
	}
	return "key " + k.Name
}

// An ApprovalVerifier is a server that second factors are shown to, as a policy lists it.
type ApprovalVerifier struct {
	Name string `json:"name"`
	// Key is what it signs with that one was shown, in the form of [ApprovalKey].
	Key string `json:"key"`
}

// An ApprovalID names what was asked.
type ApprovalID string

// A Matter is all that an approval is bound to. When any of it is different, it is
// another matter, and is asked about again.
type Matter struct {
	Version       int       `json:"version"`
	Principal     Principal `json:"principal"`
	RequestDigest Digest    `json:"request_digest"`
	PolicyDigest  Digest    `json:"policy_digest"`
	// Rules are the names of those that asked.
	Rules []string `json:"rules"`
	// SecondFactor is set when one of them wants a second factor of who approves.
	SecondFactor bool     `json:"second_factor,omitempty"`
	Argv         []string `json:"argv"`
	// Programs are the files that are executed or read to execute others, with what
	// they held when they were looked at.
	Programs []ProgramFile `json:"programs"`
	Root     string        `json:"root"`
	Dir      string        `json:"dir"`
	// EnvironmentNames are those of the variables that the program gets, and
	// EnvironmentDigest is of their values.
	EnvironmentNames  []string `json:"environment_names"`
	EnvironmentDigest Digest   `json:"environment_digest"`
	// Stdin is of what the program reads; empty when it reads nothing.
	Stdin Digest `json:"stdin,omitempty"`
	// Terminal is set when it reads what is typed while it runs, which nobody judges.
	Terminal    bool      `json:"terminal,omitempty"`
	Limits      Limits    `json:"limits"`
	Containment ContainAs `json:"containment"`
}

// A ProgramFile is a file with its content.
type ProgramFile struct {
	Path   string `json:"path"`
	Digest Digest `json:"digest"`
}

// An ApprovalState says what became of what was asked.
type ApprovalState string

// The states of an approval.
const (
	ApprovalWaiting  ApprovalState = "waiting"
	ApprovalApproved ApprovalState = "approved" // may be used
	ApprovalDeclined ApprovalState = "denied"
	ApprovalLapsed   ApprovalState = "expired"
	ApprovalUsed     ApprovalState = "used" // as often as it could be
)

// An Approval is a matter that persons were asked about, and what they said.
type Approval struct {
	ID        ApprovalID    `json:"id"`
	State     ApprovalState `json:"state"`
	AskedAt   time.Time     `json:"asked_at"`
	ExpiresAt time.Time     `json:"expires_at"`
	// Digest is of what is signed: the matter, when it was asked, and a number that
	// no other has.
	Digest Digest `json:"digest"`
	Matter Matter `json:"matter"`
	// Says is what the rules that asked say of it, in the order of the matter's. It is no
	// part of what is signed, but the policy is by its digest, and it is read there.
	Says []RuleSays `json:"says,omitempty"`
	// Approvers is how many must approve.
	Approvers int `json:"approvers"`
	// Uses is how many runs may be started by it, and Used the runs that were.
	Uses  int     `json:"uses,omitempty"`
	Used  []RunID `json:"used,omitempty"`
	Votes []Vote  `json:"votes,omitempty"`
	// Waits are the runs that wait for it now, Ended those that did and wait no more:
	// that were ended, and not started by it.
	Waits []RunID `json:"waits,omitempty"`
	Ended []RunID `json:"ended,omitempty"`
	// Void lists votes that don't count, and why.
	Void []string `json:"void,omitempty"`
	// Worker is the machine that asks, where that isn't the one that is asked for this.
	Worker string `json:"worker,omitempty"`
}

// RuleSays is what a rule that asked says to persons.
type RuleSays struct {
	Rule string `json:"rule"`
	// Message is the rule's; empty when it has none.
	Message string `json:"message,omitempty"`
	// Unknown is set when the text of its policy isn't kept any more, or not as it was.
	Unknown bool `json:"unknown,omitempty"`
}

// Left reports whether it still could be answered, and nobody waits for that any more:
// all who did have ended.
func (a Approval) Left() bool {
	return a.State == ApprovalWaiting && len(a.Waits) == 0 && len(a.Ended) > 0
}

// A Vote is what one person said.
type Vote struct {
	// Name is the key's in the policy, By who used it, by its own account.
	Name    string    `json:"name"`
	By      string    `json:"by"`
	Approve bool      `json:"approve"`
	Reason  string    `json:"reason,omitempty"`
	Uses    int       `json:"uses,omitempty"`
	At      time.Time `json:"at"`
	Until   time.Time `json:"until,omitzero"`
	// Factor says by whose word a second factor was shown; nil when nobody says so.
	Factor *FactorShown `json:"second_factor,omitempty"`
}

// A FactorShown is a second factor that who votes showed to a server.
type FactorShown struct {
	// Verifier is the server's name in the policy.
	Verifier string `json:"verifier"`
	// Account is whose factor it is, there.
	Account string    `json:"account"`
	ShownAt time.Time `json:"shown_at"`
}
