package shape

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
)

// Schema returns the JSON Schema (draft 2020-12) of a shape, as a value for
// encoding/json.
func Schema(s Shape) map[string]any {
	m := s.schema()
	m["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	return m
}

func (o Object) schema() map[string]any {
	properties, required, conditions := map[string]any{}, []any{}, []any(nil)
	for _, k := range o.Keys {
		s := k.Shape.schema()
		if k.Doc != "" {
			s["description"] = k.Doc
		}
		properties[k.Name] = s
		switch {
		case k.Required && k.Unless != "":
			conditions = append(conditions, map[string]any{"anyOf": []any{
				map[string]any{"required": []any{k.Name}}, map[string]any{"required": []any{k.Unless}},
			}})
		case k.Required:
			required = append(required, k.Name)
		}
	}
	m := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		m["required"] = required
	}
	if o.Doc != "" {
		m["description"] = o.Doc
	}
	if len(o.OneOf) > 0 {
		var ways []any
		for _, name := range o.OneOf {
			ways = append(ways, map[string]any{"required": []any{name}})
		}
		m["oneOf"] = ways
	}
	if len(o.Needs) > 0 {
		needs := map[string]any{}
		for key, need := range o.Needs {
			needs[key] = []any{need}
		}
		m["dependentRequired"] = needs
	}
	if conditions = append(conditions, o.Conditions...); len(conditions) > 0 {
		m["allOf"] = conditions
	}
	return m
}

func (m Map) schema() map[string]any {
	s := map[string]any{"type": "object", "additionalProperties": m.Of.schema()}
	if m.Name.Pattern != nil {
		s["propertyNames"] = map[string]any{"pattern": m.Name.Pattern.String()}
	}
	return s
}

func (l List) schema() map[string]any {
	s := map[string]any{"type": "array", "items": l.Of.schema()}
	if l.Min > 0 {
		s["minItems"] = l.Min
	}
	return s
}

func (t Text) schema() map[string]any {
	s := map[string]any{"type": "string"}
	if t.Loose {
		s["type"] = []any{"string", "number", "boolean"}
	}
	if t.Pattern != nil {
		s["pattern"] = t.Pattern.String()
	}
	return s
}

func (i Integer) schema() map[string]any {
	if i.Min == i.Max {
		return map[string]any{"const": i.Min}
	}
	s := map[string]any{"type": "integer", "minimum": i.Min}
	if i.Max != math.MaxInt64 {
		s["maximum"] = i.Max
	}
	return s
}

func (b Boolean) schema() map[string]any { return map[string]any{"type": "boolean"} }

func (c Choice) schema() map[string]any {
	words := make([]any, len(c))
	for i, w := range c {
		words[i] = w
	}
	return map[string]any{"enum": words}
}

func (e Either) schema() map[string]any {
	return map[string]any{"anyOf": []any{e.Scalar.schema(), e.Other.schema()}}
}

func (d Decimal) schema() map[string]any {
	return map[string]any{"type": "number", "minimum": d.Min, "maximum": d.Max}
}

func (s Number) schema() map[string]any {
	return map[string]any{"anyOf": []any{
		map[string]any{"type": "integer", "minimum": 1},
		map[string]any{"type": "string", "pattern": s.Pattern.String()},
	}}
}

// SchemaText is the JSON Schema of o under a title, as a file has it.
func SchemaText(o Object, title string) []byte {
	s := Schema(o)
	s["title"] = title
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(s); err != nil {
		panic(fmt.Sprintf("paddock: bug: a schema that can't be encoded: %v", err))
	}
	return b.Bytes()
}
