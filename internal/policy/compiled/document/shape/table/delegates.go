package table

import "paddock/internal/policy/compiled/document/shape"

var launch = shape.Object{
	Doc:   "What may be started on an agent's behalf.",
	Keys:  []shape.Key{{Name: "agents", Doc: "Whether agents may be: those of `delegates`.", Shape: shape.Boolean{}}},
	Later: map[string]string{"engines": "inference engines", "any_engine": "inference engines"},
}

var delegates = shape.Object{
	Doc: "The agents that a caller may give a task to. They permit nothing else: `executables` doesn't get them by this.",
	Keys: []shape.Key{
		{Name: "providers", Doc: "the agents, each under its name.", Required: true, Shape: shape.Map{
			Name: shape.Text{Say: "one word of letters, digits and . _ + - that begins with a letter, a digit or _", Pattern: shape.Expression(`^[A-Za-z0-9_][A-Za-z0-9._+-]*$`)},
			Of:   provider,
		}},
		{Name: "concurrent", Doc: "The most delegates of one depth at once, of all callers; 4 if absent. More wait for their turn.", Shape: shape.Integer{Min: 1, Max: 256}},
		{Name: "depth", Doc: "How deep delegates may have delegates of their own; 1 if absent, which is not at all.", Shape: shape.Integer{Min: 1, Max: 8}},
		{Name: "timeout", Doc: "The longest that a delegate may take whose provider says nothing; 30m if absent.", Shape: duration},
		{Name: "wait", Doc: "The longest that a delegate may wait for its turn; 10m if absent.", Shape: duration},
	},
}

// Tools are those that a delegate can be given.
var Tools = []string{
	"run_command_bg", "command_status", "command_output", "command_kill", "command_list", "retrieve_context",
	"tasks_create", "tasks_update", "tasks_list", "delegate_task", "collect_results", "cancel_delegate",
	"git_log", "git_show", "git_diff", "git_blame", "git_merge_base", "git_ls_files", "git_status", "git_grep", "git_branches", "git_cat",
}

var provider = shape.Object{
	Doc: "An agent: a program that gets its task on standard input and prints its report.",
	Keys: []shape.Key{
		{Name: "path", Doc: "The absolute path of the file that is executed.", Shape: absolutePath, Required: true},
		{Name: "args", Doc: "The words after the first, exactly as they are. A caller can't change them.", Shape: shape.List{Of: shape.Text{Say: "a word without NUL", Loose: true, Pattern: shape.Expression(`^[^\x00]*$`)}}},
		{Name: "sha256", Doc: "Pins the file's content.",
			Shape: shape.Text{Say: "64 hexadecimal digits, as sha256sum prints them", Pattern: shape.Expression(`^(sha256:)?[0-9a-fA-F]{64}$`)}},
		{Name: "environment", Doc: "Variables for this agent, beside those for all.", Shape: shape.Object{
			Keys: []shape.Key{
				{Name: "set", Doc: "Variables with their values.", Shape: envValues},
				{Name: "pass", Doc: "Variables passed on from Paddock's own environment.", Shape: envNames},
			}}},
		{Name: "limits", Doc: "Limits of its runs, instead of those for all.", Shape: executableLimits},
		{Name: "tools", Doc: "The tools of Paddock that it has, in a session of its own: never more than who gives it a task. None if absent.", Shape: shape.List{Of: shape.Choice(Tools)}},
		{Name: "narrow", Doc: "what holds for it and for all that it asks for, beside what holds for who gives it a task.", Shape: narrowPrincipal},
		{Name: "network", Doc: "The hosts that it may reach, where the network is `allowlist`; none if absent.", Shape: shape.List{Of: place}},
	},
}
