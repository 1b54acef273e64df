package paddock

// A Code names a kind of refusal. Codes are part of the wire format: new ones
// are added, none is renamed or reused.
type Code string

// The codes of this version. docs/refusals.md is generated from the same table.
const (
	InvalidRequest         Code = "invalid_request"
	NoPolicy               Code = "no_policy"
	PolicyInvalid          Code = "policy_invalid"
	ArgvEmpty              Code = "argv_empty"
	ArgvInvalid            Code = "argv_invalid"
	ArgvNUL                Code = "argv_nul"
	ArgvLineBreak          Code = "argv_line_break"
	ArgvTooLong            Code = "argv_too_long"
	ArgvTooMany            Code = "argv_too_many"
	ShellSyntax            Code = "shell_syntax"
	ExecutableNotAllowed   Code = "executable_not_allowed"
	ExecutableMissing      Code = "executable_missing"
	ExecutableChanged      Code = "executable_changed"
	ExecutableUnsafe       Code = "executable_unsafe"
	ArgumentsNotAllowed    Code = "arguments_not_allowed"
	CwdMissing             Code = "cwd_missing"
	CwdOutsideRoot         Code = "cwd_outside_root"
	PathOutsideRoot        Code = "path_outside_root"
	EnvironmentNotAllowed  Code = "environment_not_allowed"
	SecretInEnvironment    Code = "secret_in_environment"
	StdinNotAllowed        Code = "stdin_not_allowed"
	LimitExceeded          Code = "limit_exceeded"
	RuleDenied             Code = "rule_denied"
	ApprovalRequired       Code = "approval_required"
	ApprovalDenied         Code = "approval_denied"
	ApprovalExpired        Code = "approval_expired"
	ContainmentUnavailable Code = "containment_unavailable"
	SecretUnavailable      Code = "secret_unavailable"
	Busy                   Code = "busy"
	QuotaExceeded          Code = "quota_exceeded"
	Unauthenticated        Code = "unauthenticated"
	Forbidden              Code = "forbidden"
	NotFound               Code = "not_found"
	Conflict               Code = "conflict"
	Unrecordable           Code = "unrecordable"
	ChangeRefused          Code = "change_refused"
	WorkspaceChanged       Code = "workspace_changed"
	Pruned                 Code = "pruned"
	GitNotAllowed          Code = "git_not_allowed"
	RevisionInvalid        Code = "revision_invalid"
	RepositoryRefused      Code = "repository_refused"
	LaunchDisabled         Code = "launch_disabled"
	DepthExceeded          Code = "depth_exceeded"
	SecondFactorRequired   Code = "second_factor_required"
	RateLimited            Code = "rate_limited"
	Away                   Code = "away"
	NoWorker               Code = "no_worker"
)

// A CodeInfo is what a code means to whoever meets it.
type CodeInfo struct {
	Code Code
	// Gate that refuses with this code; empty if no gate does.
	Gate Gate
	// Meaning is one sentence for the catalogue.
	Meaning string
	// Hint is what to do next when nothing more exact is known.
	Hint string
	// Retryable means that the same request may pass later.
	Retryable bool
}

var codes = []CodeInfo{
	{InvalidRequest, "", "The request isn't one that Paddock understands: a field is missing, unknown, of the wrong type or out of range.",
		"Correct the field that the message names and ask again.", false},
	{NoPolicy, GatePolicy, "No policy applies here, so nothing may run.",
		"An operator makes one with `paddock policy init`, or accepts the workspace's own file with `paddock policy trust FILE`.", false},
	{PolicyInvalid, GatePolicy, "The policy file has errors or can't be trusted, so nothing may run.",
		"An operator runs `paddock policy check FILE`, which lists every error with its place.", false},
	{ArgvEmpty, GateArgv, "The command has no words.",
		"Send an array of strings, the program first: [\"go\", \"test\", \"./...\"].", false},
	{ArgvInvalid, GateArgv, "A word of the command is empty where it must not be, or isn't valid UTF-8.",
		"Send each word as valid UTF-8 text; argv[0] must not be empty.", false},
	{ArgvNUL, GateArgv, "A word of the command contains a NUL byte.",
		"Remove the NUL byte; no program can receive one in an argument.", false},
	{ArgvLineBreak, GateArgv, "A word of the command contains a line break, which this executable doesn't accept.",
		"Put the text in a file or on standard input, or ask the operator for `line_breaks: true` on this executable.", false},
	{ArgvTooLong, GateArgv, "A word of the command is longer than the policy allows.",
		"Shorten the word, or pass the text on standard input or in a file.", false},
	{ArgvTooMany, GateArgv, "The command has more words than the policy allows.",
		"Pass fewer arguments, for example by naming a directory instead of its files.", false},
	{ShellSyntax, GateArgv, "argv[0] is a shell line or has shell syntax. There is no shell: one array entry is one word.",
		"Put each argument in an entry of its own and run the parts of a pipeline as separate commands.", false},
	{ExecutableNotAllowed, GateExecutable, "argv[0] is not one of the words that the policy permits. Names are compared exactly; PATH is never searched.",
		"Use one of the permitted words that the message lists, or ask the operator to add this one under `executables`.", false},
	{ExecutableMissing, GatePin, "The policy permits this executable, but there is no such file on this machine.",
		"The operator installs it, or corrects `path` in the policy.", false},
	{ExecutableChanged, GatePin, "The executable isn't the file that the policy pinned.",
		"If the change is expected, the operator pins it anew with `paddock policy pin NAME`.", false},
	{ExecutableUnsafe, GatePin, "The executable, a directory above it or its interpreter could be changed by someone else than its owner, or isn't executable.",
		"The operator makes the file and the directories above it writable by their owner only (root or the user that runs Paddock).", false},
	{ArgumentsNotAllowed, GateArguments, "No argument rule of this executable allows these arguments.",
		"Use one of the forms that the message lists.", false},
	{CwdMissing, GateDirectory, "The working directory doesn't exist or isn't a directory.",
		"Name an existing directory inside a root of the policy.", false},
	{CwdOutsideRoot, GateDirectory, "The working directory isn't inside a root of the policy.",
		"Name a directory inside one of the roots; symbolic links are followed before the check.", false},
	{PathOutsideRoot, GateArguments, "An argument that must be a path inside a root leads outside.",
		"Name a path inside one of the roots; symbolic links are followed before the check.", false},
	{EnvironmentNotAllowed, GateEnvironment, "The caller asked for an environment variable that the policy doesn't accept from callers.",
		"Leave the variable out, or ask the operator to add it to `environment.accept`.", false},
	{SecretInEnvironment, GateEnvironment, "The program's environment would contain a variable that looks like a secret.",
		"The operator takes the variable out of `environment`; programs get secrets another way or not at all.", false},
	{StdinNotAllowed, GateStdin, "The standard input asked for can't be given, or the policy gives the program no terminal.",
		"Give text of at most 1 MiB, a regular file inside a root, or the output of a settled run of your own; a terminal needs `pty: true` on the executable.", false},
	{LimitExceeded, GateLimits, "The caller asked for more than the policy's maximum.",
		"Ask for at most the maximum that the message names, or leave the limit out.", false},
	{RuleDenied, GateRules, "A rule of the policy or the host program's hook denies the request.",
		"The message is the rule's own; do what it says.", false},
	{ApprovalRequired, GateRules, "A rule of the policy wants a person's approval for this request.",
		"Ask a person to run the command, or change it so that the rule doesn't apply.", false},
	{ApprovalDenied, "", "A person was asked for approval of this request and denied it.",
		"Don't ask again: do what the reason says, or another thing.", false},
	{ApprovalExpired, "", "Nobody approved the request in time, or what was approved wasn't used in time.",
		"Ask again when a person is there to approve it.", true},
	{ContainmentUnavailable, GateContainment, "The policy requires more containment than can be given here, and less is never given in silence.",
		"The message says what is missing. The operator mends that, or writes a lower level into the policy: `containment: {require: standard}`, or `{require: off}`, which contains nothing; docs/threat-model.md compares them.", false},
	{SecretUnavailable, GateContainment, "A secret that the program gets, or that goes into its requests, can't be read or given, or others could read it.",
		"The operator mends the file that the message names; docs/policy.md says under `secrets` what it must be like.", false},
	{Busy, GateQuota, "As many runs as the policy allows are already running.",
		"Wait for one to end (`command_status` with waitMs, or `paddock wait`) or kill one, then ask again.", true},
	{QuotaExceeded, GateQuota, "A quota of the policy is used up: of runs, output or processors' time in some time, or of output that is kept.",
		"The message says when some is free again; ask again then.", true},
	{Unauthenticated, "", "Nobody is logged in, or what was shown to prove it isn't valid or isn't any more.",
		"Log in again, or send `Authorization: Bearer` with a valid token; no credential is taken from a URL.", false},
	{Forbidden, "", "This principal may not do that.",
		"Ask an operator.", false},
	{NotFound, "", "There is no such run, or it isn't yours to see.",
		"List your runs with `command_list` or `paddock ps`.", false},
	{Conflict, "", "The thing is in another state than the request needs, or the idempotency key was used for a different request.",
		"Use a new idempotency key for a new request.", false},
	{Unrecordable, "", "The run can't be written down, so it isn't started.",
		"The operator frees disk space or repairs the state directory; the message names the cause.", true},
	{ChangeRefused, "", "A change of the run must not be brought into the workspace: it is protected, leads out of it, or isn't a file, a directory or a symbolic link.",
		"Name the other paths to `paddock apply`, or copy what you have read by hand: no flag overrides this.", false},
	{WorkspaceChanged, "", "The workspace changed since the run began, at paths that the run changed too.",
		"Compare them with `paddock diff RUN`; paths that are named to `paddock apply` are replaced all the same.", false},
	{Pruned, "", "The output of the run was removed to make room. Its record stays, and says when, why and how much.",
		"Run the command again to have its output again; `paddock keep RUN` keeps the output of a run from being removed.", false},
	{GitNotAllowed, GatePolicy, "The policy has no `git` section, so there are no git tools.",
		"Ask the operator to add `git: {executable: /usr/bin/git}` to the policy.", false},
	{RevisionInvalid, "", "The revision isn't of the form that the git tools take, or names nothing in the repository.",
		"Name a branch, a tag, HEAD or an object id, perhaps with ~N or ^N; git_branches lists branches and tags, git_log commits.", false},
	{RepositoryRefused, "", "The repository leads outside of its root or is of a kind that the git tools don't read.",
		"The message says what leads outside. The operator makes the whole repository lie inside the root.", false},
	{LaunchDisabled, GatePolicy, "The policy doesn't let agents be started, so no task can be given to one.",
		"Do the task yourself, or ask the operator for `delegates` and `launch: {agents: true}` in the policy.", false},
	{DepthExceeded, "", "A delegate asked for a delegate of its own, deeper than the policy allows.",
		"Do the task yourself.", false},
	{SecondFactorRequired, "", "This wants a passkey or a one-time password that was shown in the last minutes.",
		"Show one and ask again. Who has none adds one to the account first.", true},
	{RateLimited, "", "This was tried too often in too little time.",
		"Wait as long as the message says, then try again.", true},
	{Away, "", "The machine that has the run isn't connected, so nothing can be read from it now. What it printed isn't lost.",
		"Ask again in a moment, or follow the run's events, which go on by themselves when it is back.", true},
	{NoWorker, "", "This server only queues runs for workers, and starts nothing itself.",
		"Ask for a run of the command: a worker carries it out. Git tools and delegates need a server that has a worker of its own.", false},
}

// Codes returns the table of every code, in the order of the catalogue.
func Codes() []CodeInfo { return append([]CodeInfo(nil), codes...) }

// Info returns the code's line of the table; an unknown code has only itself.
func (c Code) Info() CodeInfo {
	for _, info := range codes {
		if info.Code == c {
			return info
		}
	}
	return CodeInfo{Code: c}
}
