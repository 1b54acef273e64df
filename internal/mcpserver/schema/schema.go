// Package schema makes the schemas of tools from the types of what they take and
// answer.
//
// # Limits
//
// What Go types don't say, as bounds, is added by whoever has the type.
package schema

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// Of makes a schema without null: no field of ours is ever null.
func Of[T any]() *jsonschema.Schema {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		panic(fmt.Sprintf("paddock: bug: %v", err)) // of the types alone, so every test sees it
	}
	dropNull(s)
	return s
}

// once are the schemas that were made, by what they are of: a server may be made for
// each request. Nobody changes them.
var once sync.Map

// Once is what make returns, made at most a few times for each T and use of it.
func Once[T any](use string, make func() *jsonschema.Schema) *jsonschema.Schema {
	key := struct {
		use string
		of  reflect.Type
	}{use, reflect.TypeFor[T]()}
	if s, ok := once.Load(key); ok {
		return s.(*jsonschema.Schema) //nolint:errcheck // nothing else is stored
	}
	s, _ := once.LoadOrStore(key, make())
	return s.(*jsonschema.Schema) //nolint:errcheck // the same
}

// Without is a schema that has no property of that name.
func Without(s *jsonschema.Schema, name string) *jsonschema.Schema {
	less := *s
	less.Properties = maps.Clone(s.Properties)
	delete(less.Properties, name)
	less.PropertyOrder = slices.DeleteFunc(slices.Clone(s.PropertyOrder), func(one string) bool { return one == name })
	return &less
}

// Either is the schema of what a tool answers: its result, or a refusal. Some
// clients hold tool errors to the schema too, and some only look at the properties
// of the outermost object, so both shapes share one list of properties and differ
// in what is required.
func Either(result, refusal *jsonschema.Schema) *jsonschema.Schema {
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

// Input makes the schema of a tool's input from its type and bounds.
func Input[In interface {
	Bounds(properties map[string]*jsonschema.Schema)
}]() *jsonschema.Schema {
	return Once[In]("input", func() *jsonschema.Schema {
		s := Of[In]()
		var in In
		in.Bounds(s.Properties)
		return s
	})
}

// Output makes the schema of what a tool answers, which is a refusal otherwise.
func Output[Out, Refusal any]() *jsonschema.Schema {
	return Once[Out]("output", func() *jsonschema.Schema { return Either(Of[Out](), Of[Refusal]()) })
}
