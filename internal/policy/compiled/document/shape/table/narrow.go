package table

import (
	"slices"

	"paddock/internal/policy/compiled/document/shape"
)

var (
	fileName = shape.Text{Say: "a file such as /etc/paddock/team.yaml or ../team.yaml", Pattern: shape.Expression(`^[^\x00-\x1f\x7f]+$`)}
	// narrowKeys are what any narrower part of a policy can say.
	narrowKeys = []shape.Key{
		{Name: "executables", Doc: "The programs that are left, each with the arguments that are.", Shape: shape.List{Of: executable}},
		{Name: "rules", Doc: "Further rules.", Shape: shape.List{Of: rule}},
		{Name: "environment", Doc: "What is left of the environment.", Shape: shape.Object{Keys: []shape.Key{
			{Name: "pass", Doc: "The variables that are still passed on.", Shape: envNames},
			{Name: "accept", Doc: "The variables that a caller may still set, each with a token that its value must match, too.", Shape: envTokens},
		}}},
		{Name: "limits", Doc: "Limits that hold, too; the lower one counts.", Shape: shape.Object{Keys: allLimits}},
		quotasKey,
		{Name: "containment", Doc: "Containment that is required, too; the stronger one counts.", Shape: containment},
	}
	plainRoots = shape.List{Min: 1, Of: shape.Object{Keys: []shape.Key{
		{Name: "path", Doc: "an absolute path.", Shape: absolutePath, Required: true},
	}}}
	rootKey         = shape.Key{Name: "roots", Doc: "Where commands may still run.", Shape: plainRoots}
	narrowRoot      = shape.Object{Keys: narrowKeys, Conditions: []any{networkless, fixedless}}
	narrowPrincipal = shape.Object{Keys: append([]shape.Key{rootKey}, narrowKeys...), Conditions: []any{networkless, fixedless}}
)

var principal = shape.Object{
	Doc: "Some of those who ask, and what holds for them beside everything else.",
	Keys: []shape.Key{
		{Name: "kind", Doc: "Who is meant by kind; any kind if absent.", Shape: shape.Choice{"operator", "agent", "host", "user"}},
		{Name: "id", Doc: "A token that the id of who is meant matches, such as `<re:.*:session review>`; any id if absent.", Shape: word},
		{Name: "narrow", Doc: "what holds for them, too.", Shape: narrowPrincipal, Required: true},
	},
}

// Floor is a file that every policy of the machine is held to.
var Floor = shape.Object{
	Doc: "A floor for the Paddock policies of a machine: what it refuses, no policy can allow.",
	Keys: slices.Concat([]shape.Key{
		{Name: "version", Doc: "the version of this format, `version: 1`.", Shape: shape.Integer{Min: 1, Max: 1}, Required: true},
		rootKey,
	}, narrowKeys, []shape.Key{
		{Name: "principals", Doc: "What holds beside everything else for some of those who ask.", Shape: shape.List{Of: principal}},
	}),
	Conditions: []any{networkless, fixedless},
}

// networkless is the schema of what may have no list of places: a part whose
// network isn't an allowlist.
var networkless = map[string]any{
	"if": map[string]any{"not": map[string]any{
		"required":   []any{"containment"},
		"properties": map[string]any{"containment": allowlisted},
	}},
	"then": map[string]any{"properties": map[string]any{"executables": map[string]any{
		"items": map[string]any{"not": map[string]any{"required": []any{"network"}}},
	}}},
}

// extending is the schema of a policy that narrows another: what can't be
// narrower isn't there. Package document says so in words.
var extending = map[string]any{
	"if": map[string]any{"required": []any{"extends"}},
	"then": map[string]any{"properties": map[string]any{
		"secrets": false, "redact": false, "retention": false, "git": false, "approvals": false, "launch": false, "delegates": false,
		"limits":      map[string]any{"properties": map[string]any{"reserve": false}},
		"environment": map[string]any{"properties": map[string]any{"set": false}},
	}, "allOf": []any{fixedless}},
}

// fixedless is the schema of what gives no variable a fixed value.
var fixedless = map[string]any{"properties": map[string]any{
	"executables": map[string]any{"items": map[string]any{"properties": map[string]any{
		"environment": map[string]any{"properties": map[string]any{"set": false}},
	}}},
}}
