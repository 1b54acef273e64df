package mcpserver

import (
	"fmt"
	"maps"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"paddock/internal/mcpserver/answer"
	"paddock/internal/mcpserver/ask"
)

// inputSchema makes the schema of a tool's input from its type and bounds.
func inputSchema[In ask.Input]() *jsonschema.Schema {
	s := schemaOf[In]()
	var in In
	in.Bounds(s.Properties)
	return s
}

// outputSchema makes the schema of what a tool answers: its result, or a
// refusal. Some clients hold tool errors to the schema too, and some only look
// at the properties of the outermost object, so both shapes share one list of
// properties and differ in what is required.
func outputSchema[Out any]() *jsonschema.Schema {
	result, refusal := schemaOf[Out](), schemaOf[answer.Refusal]()
	for name, property := range refusal.Properties {
		if result.Properties[name] != nil {
			panic(fmt.Sprintf("paddock: bug: a result and a refusal both have %q", name))
		}
		result.Properties[name] = property
	}
	result.PropertyOrder = append(slices.Clone(result.PropertyOrder), refusal.PropertyOrder...)
	result.AnyOf = []*jsonschema.Schema{{Required: result.Required}, {Required: refusal.Required}}
	result.Required = nil
	return result
}

// schemaOf makes a schema without null: no field of ours is ever null.
func schemaOf[T any]() *jsonschema.Schema {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		panic(fmt.Sprintf("paddock: bug: %v", err)) // of the types alone, so every test sees it
	}
	dropNull(s)
	return s
}

func dropNull(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	s.Types = slices.DeleteFunc(s.Types, func(t string) bool { return t == "null" })
	if len(s.Types) == 1 {
		s.Type, s.Types = s.Types[0], nil
	}
	dropNull(s.Items)
	for p := range maps.Values(s.Properties) {
		dropNull(p)
	}
}
