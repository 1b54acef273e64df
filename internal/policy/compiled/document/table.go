package document

import (
	"regexp"
	"slices"

	"paddock"
	"paddock/internal/policy/compiled/document/reach"
	"paddock/internal/policy/compiled/document/shape"
)

// The texts of a policy file. Patterns are RE2 and mean the same in JSON Schema.
var (
	absolutePath = shape.Text{Say: "an absolute path such as /srv/checkout", Pattern: regexp.MustCompile(`^/[^\x00-\x1f\x7f]*$`)}
	envName      = shape.Text{Say: "a variable's name (letters, digits and _, not a digit first)", Pattern: regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)}
	place        = shape.Text{Say: "host:port or \"*.suffix:port\" in lower case, such as modules.example.org:443", Pattern: reach.Pattern}
	word         = shape.Text{Say: "a word", Loose: true}
	sentence     = shape.Text{Say: "a text for people, not empty", Pattern: regexp.MustCompile(`[^\s]`)}
	duration     = shape.Text{Say: "a duration such as 90s, 10m, 1h30m or 30d", Pattern: regexp.MustCompile(`^([0-9]+d|([0-9]+d)?([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$`)}
	size         = shape.Number{Say: "a size such as 4096, 64KiB or 10MiB, above zero", Pattern: regexp.MustCompile(`^[1-9][0-9]*(B|KiB|MiB|GiB|TiB)?$`)}
	words        = shape.List{Of: word}
	envNames     = shape.List{Of: envName}
	envTokens    = shape.Map{Name: envName, Of: word}
	envValues    = shape.Map{Name: envName, Of: shape.Text{Say: "a value without NUL", Loose: true, Pattern: regexp.MustCompile(`^[^\x00]*$`)}}
)

var argumentRule = shape.Object{
	Doc:   "One form that the arguments may have, or must not have. The first rule that matches decides.",
	OneOf: []string{"allow", "deny"},
	Needs: map[string]string{"message": "deny"},
	Keys: []shape.Key{
		{Name: "allow", Doc: "The words that are allowed, one token per word. A list without `...` or `rest` means exactly these words.", Shape: words},
		{Name: "deny", Doc: "The words that are refused, one token per word.", Shape: words},
		{Name: "flags", Doc: "Flags that may stand after the first word, in any order: `none` for one without value, or the token of its value. Others refuse.",
			Shape: shape.Map{Name: shape.Text{Say: "a flag such as -v or --count", Loose: true, Pattern: regexp.MustCompile(`^-[^=\s\x00-\x1f\x7f]*[^-=\s\x00-\x1f\x7f][^=\s\x00-\x1f\x7f]*$`)}, Of: word}},
		{Name: "rest", Doc: "A token with `...` for any number of further words, such as `<package>...`.", Shape: word},
		{Name: "message", Doc: "What a caller whom this rule refuses is told, word for word.", Shape: sentence},
	},
}

var executableLimits = shape.Object{
	Keys: []shape.Key{
		{Name: "timeout", Doc: "The longest that a run may take.", Shape: duration},
		{Name: "idle", Doc: "The longest that a run may print nothing.", Shape: duration},
		{Name: "output", Doc: "The most bytes kept of each stream.", Shape: size},
		{Name: "memory", Doc: "The most memory of all processes of a run together.", Shape: size},
		{Name: "processes", Doc: "The most processes and threads of a run at once.", Shape: shape.Integer{Min: 1, Max: 1 << 22}},
		{Name: "cpus", Doc: "How many processors' time a run gets, such as 2 or 0.5.", Shape: shape.Decimal{Min: 0.01, Max: 1 << 16}},
	},
	Later: laterLimits,
}

var laterLimits = map[string]string{
	"disk": "the most bytes written",
}

var executable = shape.Object{
	Doc: "A program that may be run.",
	Keys: []shape.Key{
		{Name: "name", Doc: "The exact word accepted in argv[0]. Without it only the path is accepted.",
			Shape: shape.Text{Say: "one word of letters, digits and . _ + - that begins with a letter, a digit or _", Pattern: regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._+-]*$`)}},
		{Name: "path", Doc: "The absolute path of the file that is executed. PATH is never searched.", Shape: absolutePath, Required: true},
		{Name: "sha256", Doc: "Pins the file's content.",
			Shape: shape.Text{Say: "64 hexadecimal digits, as sha256sum prints them", Pattern: regexp.MustCompile(`^(sha256:)?[0-9a-fA-F]{64}$`)}},
		{Name: "args", Doc: "either `any`, or a list of rules like `- allow: [test, ./...]`; the first that matches decides and no match refuses.", Required: true,
			Shape: shape.Either{Scalar: shape.Choice{"any"}, Other: shape.List{Of: argumentRule, Min: 1}}},
		{Name: "environment", Doc: "Variables for this program, beside those for all.", Shape: shape.Object{
			Keys: []shape.Key{
				{Name: "set", Doc: "Variables with their values.", Shape: envValues},
				{Name: "pass", Doc: "Variables passed on from Paddock's own environment.", Shape: envNames},
			}}},
		{Name: "limits", Doc: "Limits of this program's runs, instead of those for all.", Shape: executableLimits},
		{Name: "network", Doc: "The hosts that this program and what it starts may reach, where the network is `allowlist`; none if absent.", Shape: shape.List{Of: place}},
		{Name: "line_breaks", Doc: "Whether arguments may contain line breaks.", Shape: shape.Boolean{}},
		{Name: "max_arg_bytes", Doc: "The longest argument in bytes, instead of 4096.", Shape: size},
		{Name: "max_args", Doc: "The most words of a command, instead of 256.", Shape: shape.Integer{Min: 1, Max: 65536}},
	},
}

var rule = shape.Object{
	Doc:   "A rule in CEL over argv, executable, path, cwd, principal, principal_kind, env and stdin.",
	OneOf: []string{"deny", "ask"},
	Keys: []shape.Key{
		{Name: "name", Doc: "Names the rule in refusals.", Required: true,
			Shape: shape.Text{Say: "a name of letters, digits and . _ -", Pattern: regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)}},
		{Name: "deny", Doc: "A CEL expression; the request is refused when it is true.", Shape: sentence},
		{Name: "ask", Doc: "A CEL expression; the request needs a person's approval when it is true.", Shape: sentence},
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

func codes() shape.Choice {
	var c shape.Choice
	for _, info := range paddock.Codes() {
		c = append(c, string(info.Code))
	}
	return c
}

// Table is the whole policy file.
var Table = shape.Object{
	Doc: "A Paddock policy: what may be run, where and with which arguments. Whatever isn't named here is refused.",
	Keys: []shape.Key{
		{Name: "version", Doc: "the version of this format, `version: 1`.", Shape: shape.Integer{Min: 1, Max: 1}, Required: true},
		{Name: "roots", Doc: "the directories where commands may run, a list like `- path: /srv/checkout`.", Required: true,
			Shape: shape.List{Min: 1, Of: shape.Object{Keys: []shape.Key{
				{Name: "path", Doc: "an absolute path.", Shape: absolutePath, Required: true},
			}}}},
		{Name: "executables", Doc: "the programs that may be run; an empty list permits none.", Required: true, Shape: shape.List{Of: executable}},
		{Name: "rules", Doc: "Rules over whole requests, in CEL. Deny beats ask beats allow.", Shape: shape.List{Of: rule}},
		{Name: "environment", Doc: "The environment of every program; it is built from nothing.", Shape: shape.Object{
			Keys: []shape.Key{
				{Name: "set", Doc: "Variables with their values.", Shape: envValues},
				{Name: "pass", Doc: "Variables passed on from Paddock's own environment.", Shape: envNames},
				{Name: "accept", Doc: "Variables that a caller may set, each with the token that its value must match.", Shape: envTokens},
			}}},
		{Name: "limits", Doc: "Limits of every run. A caller may ask for less, never for more.", Shape: shape.Object{
			Keys: append(slices.Clone(executableLimits.Keys), []shape.Key{
				{Name: "open_files", Doc: "The most open files of one process.", Shape: shape.Integer{Min: 3, Max: 1 << 20}},
				{Name: "concurrent", Doc: "The most runs of one principal at once.", Shape: shape.Integer{Min: 1, Max: 10_000}},
			}...),
			Later: laterLimits,
		}},
		{Name: "containment", Doc: "How programs are contained.", Shape: containment},
		{Name: "git", Doc: "The git tools, which read repositories and change nothing. They permit nothing else: `executables` doesn't get git by this.", Shape: shape.Object{
			Keys: []shape.Key{
				{Name: "executable", Doc: "The absolute path of git.", Shape: absolutePath, Required: true},
				{Name: "sha256", Doc: "Pins the file's content.",
					Shape: shape.Text{Say: "64 hexadecimal digits, as sha256sum prints them", Pattern: regexp.MustCompile(`^(sha256:)?[0-9a-fA-F]{64}$`)}},
				{Name: "roots", Doc: "The repositories that are read: absolute, or relative to the first root, each inside of a root; every root if absent.",
					Shape: shape.List{Min: 1, Of: shape.Text{Say: "a path such as . or /srv/checkout", Pattern: regexp.MustCompile(`^[^\x00-\x1f\x7f]+$`)}}},
			}}},
		{Name: "tests", Doc: "Commands and what this policy must say of them.", Shape: shape.List{Of: test}},
	},
	Later: map[string]string{
		"secrets": "secrets handed to programs", "launch": "starting agents and engines",
		"agents": "coding agents", "quotas": "quotas", "retention": "how long output is kept", "pty": "terminals",
		"redact": "masking of secrets",
	},
	// A list that nothing enforces would promise what isn't kept.
	Conditions: []any{map[string]any{
		"if": map[string]any{"not": map[string]any{
			"required":   []any{"containment"},
			"properties": map[string]any{"containment": allowlisted},
		}},
		"then": map[string]any{"properties": map[string]any{"executables": map[string]any{
			"items": map[string]any{"not": map[string]any{"required": []any{"network"}}},
		}}},
	}},
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
				Pattern: regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_.-]{0,31}|[1-9][0-9]{0,9}(:[1-9][0-9]{0,9})?)$`)}},
		{Name: "read", Doc: "Paths that programs may read beside the system's own and the root.", Shape: shape.List{Of: absolutePath}},
		{Name: "write", Doc: "Paths that programs may write beside the root and a private /tmp.", Shape: shape.List{Of: absolutePath}},
	},
	Later: map[string]string{
		"exec": "what the whole tree may execute", "workspace": "copy-on-write",
	},
	Conditions: []any{
		// What contains nothing can't hold anything back.
		map[string]any{
			"if": map[string]any{"required": []any{"require"}, "properties": map[string]any{"require": map[string]any{"const": "off"}}},
			"then": map[string]any{
				"properties": map[string]any{"network": map[string]any{"const": "host"}},
				"not":        map[string]any{"anyOf": []any{map[string]any{"required": []any{"read"}}, map[string]any{"required": []any{"write"}}}},
			},
		},
		// Only full gives a run a network of its own, with one way out.
		map[string]any{
			"if":   allowlisted,
			"then": map[string]any{"properties": map[string]any{"require": map[string]any{"const": "full"}}},
		},
	},
}
