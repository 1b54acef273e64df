package mcpserver

import (
	"github.com/google/jsonschema-go/jsonschema"

	"paddock/internal/mcpserver/answer"
	"paddock/internal/mcpserver/ask"
	"paddock/internal/mcpserver/schema"
)

// inputSchema makes the schema of a tool's input from its type and bounds.
func inputSchema[In ask.Input]() *jsonschema.Schema {
	return schema.Once[In]("input", func() *jsonschema.Schema {
		s := schema.Of[In]()
		var in In
		in.Bounds(s.Properties)
		return s
	})
}

// outputSchema makes the schema of what a tool answers.
func outputSchema[Out any]() *jsonschema.Schema {
	return schema.Once[Out]("output", func() *jsonschema.Schema { return schema.Either(schema.Of[Out](), schema.Of[answer.Refusal]()) })
}
