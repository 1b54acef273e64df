package paddock

import (
	"fmt"
	"slices"
	"strings"
)

// An Effect is the sense of a decision. The zero Effect is not a decision.
type Effect string

// The effects. Deny beats ask beats allow.
const (
	Allow Effect = "allow"
	Ask   Effect = "ask"
	Deny  Effect = "deny"
)

// A Gate is one question that every request is asked, in this order.
type Gate string

// The gates in their order. All are asked wherever the answer of an earlier
// one doesn't make the question meaningless.
const (
	GatePolicy      Gate = "policy"
	GateArgv        Gate = "argv"
	GateExecutable  Gate = "executable"
	GatePin         Gate = "pin"
	GateArguments   Gate = "arguments"
	GateDirectory   Gate = "directory"
	GateEnvironment Gate = "environment"
	GateStdin       Gate = "stdin"
	GateLimits      Gate = "limits"
	GateContainment Gate = "containment"
	GateRules       Gate = "rules"
	GateQuota       Gate = "quota"
	GateHook        Gate = "hook"
)

// Gates lists every gate in order.
func Gates() []Gate {
	return []Gate{
		GatePolicy, GateArgv, GateExecutable, GatePin, GateArguments, GateDirectory, GateEnvironment,
		GateStdin, GateLimits, GateContainment, GateRules, GateQuota, GateHook,
	}
}

// A Verdict is one gate's answer.
type Verdict string

// The verdicts of gates.
const (
	Pass    Verdict = "pass"
	Refuse  Verdict = "refuse"
	Skipped Verdict = "skipped" // an earlier refusal left nothing to ask
)

// A GateResult is a gate's answer with its ground, for explain.
type GateResult struct {
	Gate    Gate    `json:"gate"`
	Verdict Verdict `json:"verdict"`
	// Detail says what was looked at and found, in one line without secrets.
	Detail string `json:"detail,omitempty"`
	// Position is the place in the policy that decided, where there is one.
	Position *Position `json:"position,omitempty"`
}

// A Position is a place in a policy file. Lines and columns count from one.
type Position struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

// A Decision is the judgement of one request. It is a value: deciding can't
// fail, and deciding again gives the same.
type Decision struct {
	Effect        Effect `json:"effect"`
	RequestDigest Digest `json:"request_digest"`
	// PolicyDigest is of the policy file's bytes; empty when there is no policy.
	PolicyDigest Digest  `json:"policy_digest,omitempty"`
	Gates        Answers `json:"gates"`
	// Refusals holds every reason against the request, in the order of the
	// gates; the first is the one to show when only one fits.
	Refusals []Refusal `json:"refusals,omitempty"`
	// Approval is what persons approved, where a rule asked.
	Approval ApprovalID `json:"approval,omitempty"`
	// Granted is what an allowed command gets, as [Decision.Grant] says it; nothing
	// unless Effect is Allow.
	Granted Granted `json:"grant,omitzero"`
}

// Refusal returns the reason to show first, with the others counted in its
// hint's place by nobody: callers that want all read Refusals.
func (d Decision) Refusal() *Refusal {
	if len(d.Refusals) == 0 {
		return nil
	}
	r := d.Refusals[0]
	if len(d.Refusals) > 1 {
		r.Others = slices.Clone(d.Refusals[1:])
	}
	return &r
}

// A Grant is what an allowed command may touch: everything that the executor
// needs to start it, and nothing that it would have to judge again.
type Grant struct {
	Executable Executable `json:"executable"`
	// Argv is what the program sees; Argv[0] is the word the caller used.
	Argv []string `json:"argv"`
	// Root is the policy's root that holds Dir; Dir is its real path.
	Root string `json:"root"`
	Dir  string `json:"dir"`
	// EnvironmentNames lists the variables that the program gets, sorted, with those
	// of Secrets.
	EnvironmentNames []string `json:"environment_names"`
	// Environment is the whole environment as NAME=value, sorted. It is handed
	// to the supervisor and never written down.
	Environment []string `json:"-"`
	// Secrets names those that the program gets as variables of the same names. Their
	// values go to the supervisor by another way, and nowhere else.
	Secrets []string `json:"secrets,omitempty"`
	// Redact is stored where secrets are hidden before output is kept; empty where they
	// are hidden when it is read.
	Redact  Redaction `json:"redact,omitempty"`
	Limits  Limits    `json:"limits"`
	Contain ContainAs `json:"containment"`
	// Rule is where the policy allowed the arguments.
	Rule *Position `json:"rule,omitempty"`
}

// An Executable is the file that is executed.
type Executable struct {
	// Name is the policy's word for it; empty if only the path is accepted.
	Name string `json:"name,omitempty"`
	// Path is absolute, as the policy says it.
	Path string `json:"path"`
	// Digest of the content, where the policy pins it or it was computed.
	Digest Digest `json:"digest,omitempty"`
	// Interpreters is the chain that a script's first line names, resolved;
	// empty for a binary.
	Interpreters []Interpreter `json:"interpreters,omitempty"`
}

// An Interpreter is one link of a script's chain of interpreters.
type Interpreter struct {
	Path string `json:"path"`
	// Argument is the rest of the script's first line, as the kernel passes it.
	Argument string `json:"argument,omitempty"`
	// Digest of the content, where the policy pins it.
	Digest Digest `json:"digest,omitempty"`
}

// Limits bound one run. In a Grant the timeout and the output are positive.
type Limits struct {
	Timeout Duration `json:"timeout_ms"`
	// Output is bytes per stream.
	Output int64 `json:"output"`
	// Idle is the longest silence: a run that prints nothing for so long is
	// ended. Zero means that silence ends nothing.
	Idle Duration `json:"idle_ms,omitempty"`
	// OpenFiles is the most descriptors per process; zero means unlimited by us.
	OpenFiles int `json:"open_files,omitempty"`
	// Memory in bytes, Processes and CPUs are of the whole tree; zero means
	// unlimited by us.
	Memory    int64   `json:"memory,omitempty"`
	Processes int     `json:"processes,omitempty"`
	CPUs      float64 `json:"cpus,omitempty"`
	// Disk is how many bytes the whole tree may write to disks, FileSize how many
	// a process may make a file long; zero means unlimited by us.
	Disk     int64 `json:"disk,omitempty"`
	FileSize int64 `json:"file_size,omitempty"`
	// AtLimit is AtLimitDrop where output beyond a limit is dropped and counted;
	// else it ends the run.
	AtLimit string `json:"at_limit,omitempty"`
	// MemoryByDefault and the like say that the policy is silent: such
	// a limit holds where it can be enforced and never stands against a run.
	MemoryByDefault    bool `json:"memory_by_default,omitempty"`
	ProcessesByDefault bool `json:"processes_by_default,omitempty"`
	DiskByDefault      bool `json:"disk_by_default,omitempty"`
}

// What a policy says of output that comes to a limit.
const (
	AtLimitEnd  = "end"
	AtLimitDrop = "drop"
)

// A Level of containment.
type Level string

// The levels, strongest first.
const (
	Full     Level = "full"
	Standard Level = "standard"
	Off      Level = "off"
)

// ContainAs says how a run is to be contained.
type ContainAs struct {
	Level Level `json:"level"`
	// Network is none, allowlist or host.
	Network string `json:"network,omitempty"`
	// Reach lists what an allowlist lets through: host:port or *.suffix:port.
	Reach []string `json:"reach,omitempty"`
	// Inject lists the secrets that the way out adds to requests.
	Inject []Injection `json:"inject,omitempty"`
	// Read and Write are paths beside the system's own and the root.
	Read  []string `json:"read,omitempty"`
	Write []string `json:"write,omitempty"`
	// Real is set where no link may lead to what Read lists, whatever was put there
	// since it was judged.
	Real bool `json:"real,omitzero"`
	// ReadOnly is set when the root, too, is only to be read.
	ReadOnly bool `json:"read_only,omitempty"`
	// RunAs is the policy's word for whose account a run gets; empty leaves it
	// to Paddock. Account is what it stands for on this machine.
	RunAs   string   `json:"run_as,omitempty"`
	Account *Account `json:"account,omitempty"`
	// Exec is listed where the whole tree may execute only what Executes lists,
	// files and directories, and what those need; empty where it may anything.
	Exec     string   `json:"exec,omitempty"`
	Executes []string `json:"executes,omitempty"`
	// Workspace is overlay where what the run writes to its root is kept apart;
	// empty where it goes there directly.
	Workspace string `json:"workspace,omitempty"`
	// Deeper is what becomes of protected places that the run made in its root
	// where nothing keeps it from that: quarantine, also where it is empty, report
	// or ignore.
	Deeper string `json:"deeper,omitempty"`
}

// An Account is a user and a group of the machine, by the kernel's numbers.
type Account struct {
	UID uint32 `json:"uid"`
	GID uint32 `json:"gid"`
	// Name is the user's, where it has one.
	Name string `json:"name,omitempty"`
}

// String says the name and the numbers.
func (a Account) String() string {
	s := fmt.Sprintf("uid %d, gid %d", a.UID, a.GID)
	if a.Name != "" {
		s = a.Name + ", " + s
	}
	return s
}

// OverlayWorkspace is the workspace of runs whose writes are kept apart.
const OverlayWorkspace = "overlay"

// ListedExec is the exec of runs whose whole tree executes only what is listed.
const ListedExec = "listed"

// String says the level, and of one that holds anything the network.
func (c ContainAs) String() string {
	if c.Level == Off {
		return string(c.Level)
	}
	s := string(c.Level) + ", network " + c.Network
	if c.ReadOnly {
		s += ", root read-only"
	}
	if c.RunAs != "" {
		s += ", as " + c.RunAs
	}
	if len(c.Reach) > 0 {
		s += " of " + strings.Join(c.Reach, ", ")
	}
	if c.Workspace != "" {
		s += ", workspace " + c.Workspace
	}
	if c.Deeper != "" && c.Deeper != QuarantineDeeper {
		s += ", deeper " + c.Deeper
	}
	if c.Exec != "" {
		s += ", exec " + c.Exec
	}
	for _, i := range c.Inject {
		s += "; requests to " + i.Place + " carry " + i.Secret
	}
	return s
}

// An Injection is a secret that a run uses without holding it: its way out puts
// it into the requests to one host. It holds the secret's name, never its value.
type Injection struct {
	Secret string `json:"secret"`
	// Place is host:port, Header the field of each request that is set.
	Place  string `json:"place"`
	Header string `json:"header"`
	// Prefix stands before the secret in the field. File holds the secret, CA the
	// certificates that the host is verified by; empty means the system's.
	Prefix string `json:"-"`
	File   string `json:"-"`
	CA     string `json:"-"`
	// Provider says it where no file does.
	Provider *Provider `json:"-"`
}

// A Given is a secret that programs get as a variable of the same name. It holds
// the secret's name, never its value.
type Given struct {
	Secret string
	// File holds the secret; To has the words of the programs that get it.
	File string
	To   []string
	// Provider says it where no file does.
	Provider *Provider
}

// SecretRoom, with a secret's name behind it, is the room of its provider's runs.
const SecretRoom = "secret:"

// A Provider is a program of the operator's that says a secret on its standard output.
type Provider struct {
	Argv []string
	// Cache is how long what it said is used again, in memory; zero is not at all.
	Cache Duration
}

// A Redaction says when secrets are hidden in output.
type Redaction string

// Secrets are hidden when output is read, or before it is kept.
const (
	RedactShown  Redaction = "shown"
	RedactStored Redaction = "stored"
	// Unkept is of what a secret's provider prints: nothing of it is kept.
	Unkept Redaction = "unkept"
)

// CertificatesPath is where a run with injections finds what it has to trust.
const CertificatesPath = "/etc/paddock/certificates.pem"

// ProxyAddress is where a run whose network is an allowlist finds the way out.
const ProxyAddress = "127.0.0.1:3128"

func sortedKeys(m map[string]string) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.SortFunc(names, strings.Compare)
	return names
}
