package table

import "paddock"

// says is the schema of a containment in which key is there, as value.
func says(key string, value any) map[string]any {
	return map[string]any{"required": []any{key}, "properties": map[string]any{key: value}}
}

// What contains nothing can't keep anything from being executed, and a list that
// nothing asks would promise what isn't kept. Package compiled says so in words.
var (
	execListed = says("exec", map[string]any{"const": paddock.ListedExec})
	listedExec = map[string]any{"if": execListed, "then": map[string]any{"properties": map[string]any{"require": map[string]any{"enum": []any{"full", "standard"}}}}}
	alsoListed = map[string]any{"if": says("exec_also", true), "then": execListed}
)
