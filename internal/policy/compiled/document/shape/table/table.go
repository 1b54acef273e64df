// Package table says what a policy file may look like: every key with its words for
// people. Package shape makes the strict reader and the JSON Schema of it.
//
// # Limits
//
// A table knows keys and forms. What needs arithmetic or a look at a neighbour is
// judged by package document.
package table

import (
	"slices"

	"paddock"
	"paddock/internal/policy/compiled/document/shape"
	"paddock/internal/policy/compiled/document/shape/table/reach"
	"paddock/internal/policy/compiled/document/shape/table/unit"
)

// The texts of a policy file. Patterns are RE2 and mean the same in JSON Schema.
var (
	absolutePath = shape.Text{Say: "an absolute path such as /srv/checkout", Pattern: shape.Expression(`^/[^\x00-\x1f\x7f]*$`)}
	envName      = shape.Text{Say: "a variable's name (letters, digits and _, not a digit first)", Pattern: shape.Expression(`^[A-Za-z_][A-Za-z0-9_]*$`)}
	place        = shape.Text{Say: "host:port or \"*.suffix:port\" in lower case, such as modules.example.org:443", Pattern: shape.Expression(reach.Form)}
	word         = shape.Text{Say: "a word", Loose: true}
	sentence     = shape.Text{Say: "a text for people, not empty", Pattern: shape.Expression(`[^\s]`)}
	duration     = shape.Text{Say: unit.DurationSay, Pattern: shape.Expression(unit.DurationForm)}
	size         = shape.Number{Say: unit.SizeSay, Pattern: shape.Expression(unit.SizeForm)}
	words        = shape.List{Of: word}
	envNames     = shape.List{Of: envName}
	envTokens    = shape.Map{Name: envName, Of: word}
	envValues    = shape.Map{Name: envName, Of: shape.Text{Say: "a value without NUL", Loose: true, Pattern: shape.Expression(`^[^\x00]*$`)}}
)

var argumentRule = shape.Object{
	Doc:   "One form that the arguments may have, or must not have. The first rule that matches decides.",
	OneOf: []string{"allow", "deny"},
	Needs: map[string]string{"message": "deny"},
	Keys: []shape.Key{
		{Name: "allow", Doc: "The words that are allowed, one token per word. A list without `...` or `rest` means exactly these words.", Shape: words},
		{Name: "deny", Doc: "The words that are refused, one token per word.", Shape: words},
		{Name: "flags", Doc: "Flags that may stand after the first word, in any order: `none` for one without value, or the token of its value. Others refuse.",
			Shape: shape.Map{Name: shape.Text{Say: "a flag such as -v or --count", Loose: true, Pattern: shape.Expression(`^-[^=\s\x00-\x1f\x7f]*[^-=\s\x00-\x1f\x7f][^=\s\x00-\x1f\x7f]*$`)}, Of: word}},
		{Name: "rest", Doc: "A token with `...` for any number of further words, such as `<package>...`.", Shape: word},
		{Name: "message", Doc: "What a caller whom this rule refuses is told, word for word.", Shape: sentence},
	},
}

var executableLimits = shape.Object{
	Keys: []shape.Key{
		{Name: "timeout", Doc: "The longest that a run may take.", Shape: duration},
		{Name: "idle", Doc: "The longest that a run may print nothing.", Shape: duration},
		{Name: "output", Doc: "The most bytes kept of each stream.", Shape: size},
		{Name: "at_limit", Doc: "What becomes of a run whose output comes to a limit: `end` (the default), or `drop`: it goes on, and what is beyond is dropped and counted.",
			Shape: shape.Choice{paddock.AtLimitEnd, paddock.AtLimitDrop}},
		{Name: "memory", Doc: "The most memory of all processes of a run together.", Shape: size},
		{Name: "processes", Doc: "The most processes and threads of a run at once.", Shape: shape.Integer{Min: 1, Max: 1 << 22}},
		{Name: "cpus", Doc: "How many processors' time a run gets, such as 2 or 0.5.", Shape: shape.Decimal{Min: 0.01, Max: 1 << 16}},
		{Name: "disk", Doc: "The most bytes that all processes of a run together write to disks.", Shape: size},
		{Name: "file_size", Doc: "The longest that a process of a run can make a file.", Shape: size},
	},
}

// allLimits are those of every run; some are of all runs together.
var allLimits = append(slices.Clone(executableLimits.Keys), []shape.Key{
	{Name: "open_files", Doc: "The most open files of one process.", Shape: shape.Integer{Min: 3, Max: 1 << 20}},
	{Name: "concurrent", Doc: "The most runs of one principal at once.", Shape: shape.Integer{Min: 1, Max: 10_000}},
}...)

var executable = shape.Object{
	Doc: "A program that may be run.",
	Keys: []shape.Key{
		{Name: "name", Doc: "The exact word accepted in argv[0]. Without it only the path is accepted.",
			Shape: shape.Text{Say: "one word of letters, digits and . _ + - that begins with a letter, a digit or _", Pattern: shape.Expression(`^[A-Za-z0-9_][A-Za-z0-9._+-]*$`)}},
		{Name: "path", Doc: "The absolute path of the file that is executed. PATH is never searched.", Shape: absolutePath, Required: true},
		{Name: "sha256", Doc: "Pins the file's content.",
			Shape: shape.Text{Say: "64 hexadecimal digits, as sha256sum prints them", Pattern: shape.Expression(`^(sha256:)?[0-9a-fA-F]{64}$`)}},
		{Name: "args", Doc: "either `any`, or a list of rules like `- allow: [test, ./...]`; the first that matches decides and no match refuses.", Required: true,
			Shape: shape.Either{Scalar: shape.Choice{"any"}, Other: shape.List{Of: argumentRule, Min: 1}}},
		{Name: "environment", Doc: "Variables for this program, beside those for all.", Shape: shape.Object{
			Keys: []shape.Key{
				{Name: "set", Doc: "Variables with their values.", Shape: envValues},
				{Name: "pass", Doc: "Variables passed on from Paddock's own environment.", Shape: envNames},
			}}},
		{Name: "limits", Doc: "Limits of this program's runs, instead of those for all.", Shape: executableLimits},
		{Name: "network", Doc: "The hosts that this program and what it starts may reach, where the network is `allowlist`; none if absent.", Shape: shape.List{Of: place}},
		{Name: "pty", Doc: "Whether a caller may ask for a terminal in the place of pipes.", Shape: shape.Boolean{}},
		{Name: "line_breaks", Doc: "Whether arguments may contain line breaks.", Shape: shape.Boolean{}},
		{Name: "max_arg_bytes", Doc: "The longest argument in bytes, instead of 4096.", Shape: size},
		{Name: "max_args", Doc: "The most words of a command, instead of 256.", Shape: shape.Integer{Min: 1, Max: 65536}},
	},
}

var rule = shape.Object{
	Doc:   "A rule in CEL over argv, executable, path, cwd, principal, principal_kind, env and stdin.",
	OneOf: []string{"deny", "ask"},
	Needs: map[string]string{"second_factor": "ask"},
	Keys: []shape.Key{
		{Name: "name", Doc: "Names the rule in refusals.", Required: true,
			Shape: shape.Text{Say: "a name of letters, digits and . _ -", Pattern: shape.Expression(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)}},
		{Name: "deny", Doc: "A CEL expression; the request is refused when it is true.", Shape: sentence},
		{Name: "ask", Doc: "A CEL expression; the request needs a person's approval when it is true.", Shape: sentence},
		{Name: "second_factor", Doc: "Whether who approves must have shown a second factor to one of the `verifiers` of `approvals`.", Shape: shape.Boolean{}},
		{Name: "message", Doc: "What the refused caller is told, word for word.", Shape: sentence},
	},
}

var test = shape.Object{
	Doc:   "A command and what this policy must say of it.",
	OneOf: []string{"allow", "refuse"},
	Needs: map[string]string{"code": "refuse"},
	Keys: []shape.Key{
		{Name: "allow", Doc: "A command that must be allowed.", Shape: words},
		{Name: "refuse", Doc: "A command that must be refused.", Shape: words},
		{Name: "code", Doc: "The code of the first refusal.", Shape: codes()},
		{Name: "dir", Doc: "The working directory; the first root if absent.", Shape: absolutePath},
	},
}

var acceptance = shape.Object{
	Doc: "A finding of `paddock policy lint` that is as it should be, and why.",
	Keys: []shape.Key{
		{Name: "id", Doc: "the id of the finding, such as L003.", Required: true,
			Shape: shape.Text{Say: "the id of a finding, such as L003", Pattern: shape.Expression(`^L[0-9]{3}$`)}},
		{Name: "at", Doc: "what the finding is about, as lint says it: `executables.git`.", Required: true, Shape: sentence},
		{Name: "reason", Doc: "why it is as it should be.", Required: true, Shape: sentence},
	},
}

func codes() shape.Choice {
	var c shape.Choice
	for _, info := range paddock.Codes() {
		c = append(c, string(info.Code))
	}
	return c
}

// Policy is the whole policy file.
var Policy = shape.Object{
	Doc: "A Paddock policy: what may be run, where and with which arguments. Whatever isn't named here is refused.",
	Keys: []shape.Key{
		{Name: "version", Doc: "the version of this format, `version: 1`.", Shape: shape.Integer{Min: 1, Max: 1}, Required: true},
		{Name: "extends", Doc: "The policy that this one narrows: a file, absolute or relative to this one.", Shape: fileName},
		{Name: "roots", Doc: "the directories where commands may run, a list like `- path: /srv/checkout`.", Required: true, Unless: "extends",
			Shape: shape.List{Min: 1, Of: shape.Object{Keys: []shape.Key{
				{Name: "path", Doc: "an absolute path.", Shape: absolutePath, Required: true},
				{Name: "narrow", Doc: "What holds beside everything else for commands that run there.", Shape: narrowRoot},
			}}}},
		{Name: "executables", Doc: "the programs that may be run; an empty list permits none.", Required: true, Unless: "extends", Shape: shape.List{Of: executable}},
		{Name: "principals", Doc: "What holds beside everything else for some of those who ask.", Shape: shape.List{Of: principal}},
		{Name: "rules", Doc: "Rules over whole requests, in CEL. Deny beats ask beats allow.", Shape: shape.List{Of: rule}},
		{Name: "environment", Doc: "The environment of every program; it is built from nothing.", Shape: shape.Object{
			Keys: []shape.Key{
				{Name: "set", Doc: "Variables with their values.", Shape: envValues},
				{Name: "pass", Doc: "Variables passed on from Paddock's own environment.", Shape: envNames},
				{Name: "accept", Doc: "Variables that a caller may set, each with the token that its value must match.", Shape: envTokens},
			}}},
		{Name: "limits", Doc: "Limits of every run. A caller may ask for less, never for more.", Shape: shape.Object{
			Keys: append(slices.Clone(allLimits),
				shape.Key{Name: "reserve", Doc: "What is left free on the disk of the state directory: with less no run starts, and output isn't kept any more.", Shape: size}),
		}},
		quotasKey,
		{Name: "approvals", Doc: "Who can approve what a rule asks about, and for how long; without it nobody can.", Shape: approvals},
		{Name: "retention", Doc: "What is kept of runs in these roots that are over; without it, everything.", Shape: shape.Object{
			Keys: []shape.Key{
				{Name: "age", Doc: "How long output is kept after the end of its run.", Shape: duration},
				{Name: "runs", Doc: "How many runs keep their output: the newest.", Shape: shape.Integer{Min: 1, Max: 1 << 30}},
				{Name: "size", Doc: "The most bytes of output kept: the newest.", Shape: size},
				{Name: "records", Doc: "How long records are kept after the end of their run.", Shape: duration},
				{Name: "compress", Doc: "How output that stays is kept in less room: `none` (the default) or `zstd`. What is read of it is the same.",
					Shape: shape.Choice{"none", string(paddock.Zstd)}},
			}}},
		{Name: "secrets", Doc: "Credentials that programs get, or that the proxy of a run puts into its requests, so that no program holds them. They are hidden in output.", Shape: shape.Map{Name: envName, Of: secret}},
		{Name: "redact", Doc: "When secrets are hidden in output: when it is `shown` (the default), or before it is `stored`.",
			Shape: shape.Choice{string(paddock.RedactShown), string(paddock.RedactStored)}},
		{Name: "containment", Doc: "How programs are contained.", Shape: containment},
		{Name: "git", Doc: "The git tools, which read repositories and change nothing. They permit nothing else: `executables` doesn't get git by this.", Shape: shape.Object{
			Keys: []shape.Key{
				{Name: "executable", Doc: "The absolute path of git.", Shape: absolutePath, Required: true},
				{Name: "sha256", Doc: "Pins the file's content.",
					Shape: shape.Text{Say: "64 hexadecimal digits, as sha256sum prints them", Pattern: shape.Expression(`^(sha256:)?[0-9a-fA-F]{64}$`)}},
				{Name: "roots", Doc: "The repositories that are read: absolute, or relative to the first root, each inside of a root; every root if absent.",
					Shape: shape.List{Min: 1, Of: shape.Text{Say: "a path such as . or /srv/checkout", Pattern: shape.Expression(`^[^\x00-\x1f\x7f]+$`)}}},
				{Name: "repositories", Doc: "The tops of repositories that roots are directories of: absolute, or relative to the first root. Of each the `.git` is read and nothing else, and what is told of it is limited to the root. Without it no repository is looked for above a root.",
					Shape: shape.List{Min: 1, Of: shape.Text{Say: "a path such as .. or /srv/monorepo", Pattern: shape.Expression(`^[^\x00-\x1f\x7f]+$`)}}},
			}}},
		{Name: "launch", Doc: "What may be started on an agent's behalf; nothing if absent.", Shape: launch},
		{Name: "delegates", Doc: "The agents that a caller may give a task to, where `launch` permits agents.", Shape: delegates},
		{Name: "tests", Doc: "Commands and what this policy must say of them.", Shape: shape.List{Of: test}},
		{Name: "accept", Doc: "Findings of `paddock policy lint` that are as they should be.", Shape: shape.List{Of: acceptance}},
	},
	Later: map[string]string{
		"agents": "coding agents",
	},
	// A list that nothing enforces would promise what isn't kept.
	Conditions: []any{extending, map[string]any{
		"if": map[string]any{"not": map[string]any{
			"required":   []any{"containment"},
			"properties": map[string]any{"containment": allowlisted},
		}},
		"then": map[string]any{"properties": map[string]any{
			"executables": map[string]any{"items": without("network")},
			"secrets":     map[string]any{"additionalProperties": without("inject")},
		}},
	}},
}

// without is the schema of what doesn't have a key.
func without(key string) map[string]any {
	return map[string]any{"not": map[string]any{"required": []any{key}}}
}

var (
	personName = shape.Text{Say: "a name of letters, digits and . _ -", Pattern: shape.Expression(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)}
	publicKey  = shape.Text{Say: "ed25519: and 32 bytes in base 64, as paddock approve key prints it", Pattern: shape.Expression(`^ed25519:[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$`)}
)

var approvals = shape.Object{
	Keys: []shape.Key{
		{Name: "keys", Doc: "whose signatures count, a list like `- {name: anna, key: \"ed25519:…\"}`.", Required: true, Shape: shape.List{Min: 1, Of: shape.Object{
			Keys: []shape.Key{
				{Name: "name", Doc: "who it is.", Required: true, Shape: personName},
				{Name: "key", Doc: "the public key, as `paddock approve key` prints it.", Required: true, Shape: publicKey},
				{Name: "principal", Doc: "The id of who holds the key, such as `operator:uid=1000`; what that principal asks for can't be approved with it.", Shape: sentence},
				{Name: "account", Doc: "The name of the holder's account at the verifiers. Without it the key can't approve what wants a second factor.",
					Shape: shape.Text{Say: "an account's name of lower case letters and digits with single . _ - between", Pattern: shape.Expression(`^[a-z][a-z0-9]*([._-][a-z0-9]+)*$`)}},
			}}}},
		{Name: "verifiers", Doc: "Servers that are believed that a second factor was shown to them, a list like `- {name: desk, key: \"ed25519:…\"}`.", Shape: shape.List{Min: 1, Of: shape.Object{
			Keys: []shape.Key{
				{Name: "name", Doc: "which server it is.", Required: true, Shape: personName},
				{Name: "key", Doc: "its public key, as `paddock approve verifier` prints it there.", Required: true, Shape: publicKey},
			}}}},
		{Name: "approvers", Doc: "How many of them must approve; 1 if absent.", Shape: shape.Integer{Min: 1, Max: 16}},
		{Name: "expires", Doc: "How long a request waits for them; an hour if absent.", Shape: duration},
		{Name: "lasts", Doc: "How long what was approved may be used; 15 minutes if absent.", Shape: duration},
		{Name: "uses", Doc: "The most runs that one approval may start; 1 if absent.", Shape: shape.Integer{Min: 1, Max: 1000}},
	},
}

// Tests is a file of nothing but tests, for whatever policy it is given to.
var Tests = shape.Object{
	Doc: "Commands and what a Paddock policy must say of them.",
	Keys: []shape.Key{
		{Name: "version", Doc: "the version of this format, `version: 1`.", Shape: shape.Integer{Min: 1, Max: 1}, Required: true},
		{Name: "tests", Doc: "Commands and what the policy must say of them.", Shape: shape.List{Of: test, Min: 1}, Required: true},
	},
}

// allowlisted is the schema of a containment whose network is an allowlist.
var allowlisted = map[string]any{
	"required":   []any{"network"},
	"properties": map[string]any{"network": map[string]any{"const": "allowlist"}},
}

var containment = shape.Object{
	Keys: []shape.Key{
		{Name: "require", Doc: "The least containment that a run must have; with less than that it is refused.",
			Shape: shape.Choice{string(paddock.Full), string(paddock.Standard), string(paddock.Off)}},
		{Name: "network", Doc: "`none` (the default): no way out at all; `allowlist`: a proxy that lets through what the executable's `network` lists, at level full; or `host`: the machine's network, which is all that `require: off` has.",
			Shape: shape.Choice{"none", "allowlist", "host"}},
		{Name: "run_as", Doc: "Whose account programs get where Paddock is root: a user, or uid or uid:gid in numbers. At full an id of nobody's is the default.",
			Shape: shape.Number{Say: "a user's name, or uid or uid:gid in numbers, and not root's",
				Pattern: shape.Expression(`^([A-Za-z_][A-Za-z0-9_.-]{0,31}|[1-9][0-9]{0,9}(:[1-9][0-9]{0,9})?)$`)}},
		{Name: "read", Doc: "Paths that programs may read beside the system's own and the root.", Shape: shape.List{Of: absolutePath}},
		{Name: "write", Doc: "Paths that programs may write beside the root and a private /tmp.", Shape: shape.List{Of: absolutePath}},
		{Name: "workspace", Doc: "`direct` (the default): what programs write to the root is there at once; or `overlay`, at level full: it is kept apart until an operator looks at it with `paddock diff` and brings it there with `paddock apply`.",
			Shape: shape.Choice{"direct", paddock.OverlayWorkspace}},
		{Name: "deeper", Doc: "What becomes of protected places that a program made in a root where nothing keeps it from that: `quarantine` (the default): they are moved out of the root when the run is over; `report`: they are only told; `ignore`: nobody looks.",
			Shape: shape.Choice{paddock.QuarantineDeeper, paddock.ReportDeeper, paddock.IgnoreDeeper}},
		{Name: "exec", Doc: "`any` (the default), or `listed`: programs and whatever they start may execute only the policy's executables, what reads those that are scripts, and what `exec_also` names.",
			Shape: shape.Choice{"any", paddock.ListedExec}},
		{Name: "exec_also", Doc: "Files, and directories with all below them, that may be executed beside the executables where `exec` is `listed`.", Shape: shape.List{Of: absolutePath, Min: 1}},
	},
	Conditions: []any{
		listedExec, alsoListed,
		// What contains nothing can't hold anything back.
		map[string]any{
			"if": map[string]any{"required": []any{"require"}, "properties": map[string]any{"require": map[string]any{"const": "off"}}},
			"then": map[string]any{
				"properties": map[string]any{"network": map[string]any{"const": "host"}},
				"not":        map[string]any{"anyOf": []any{map[string]any{"required": []any{"read"}}, map[string]any{"required": []any{"write"}}}},
			},
		},
		// Only full gives a run a view of its own.
		map[string]any{
			"if": map[string]any{"required": []any{"workspace"}, "properties": map[string]any{"workspace": map[string]any{"const": paddock.OverlayWorkspace}}},
			"then": map[string]any{
				"properties": map[string]any{"require": map[string]any{"const": "full"}},
				"not":        map[string]any{"required": []any{"deeper"}},
			},
		},
		// Only full gives a run a network of its own, with one way out.
		map[string]any{
			"if":   allowlisted,
			"then": map[string]any{"properties": map[string]any{"require": map[string]any{"const": "full"}}},
		},
	},
}
