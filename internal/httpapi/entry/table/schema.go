package table

import (
	"encoding"
	"path"
	"reflect"
	"strings"
	"time"
	"unicode"

	"paddock"
	"paddock/internal/httpapi/entry/table/ask"
)

// input adds what a request carries.
func (s *schemas) input(op object, r Route) {
	if r.In == nil {
		return
	}
	var params []object
	for _, p := range ask.Params(r.In) {
		if p.In == "body" {
			op["requestBody"] = object{"required": true, "content": object{"application/json": object{"schema": s.of(p.Type)}}}
			continue
		}
		schema := s.bare(p.Type)
		param := object{"name": p.Name, "in": p.In, "required": p.In == "path", "schema": schema}
		if p.Doc != "" {
			param["description"] = p.Doc
		}
		params = append(params, param)
	}
	if params != nil {
		op["parameters"] = params
	}
}

// bare is of without null: a parameter is there or it isn't.
func (s *schemas) bare(t reflect.Type) any {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() == reflect.Slice {
		return object{"type": "array", "items": s.bare(t.Elem())}
	}
	return s.of(t)
}

// of is the schema of what encoding/json makes of a type.
func (s *schemas) of(t reflect.Type) any {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case t == reflect.TypeFor[paddock.Duration]():
		return object{"type": "integer", "description": "milliseconds"}
	case t == reflect.TypeFor[paddock.Answers]():
		return s.of(reflect.TypeFor[[]paddock.GateResult]())
	case t == reflect.TypeFor[paddock.Granted]():
		return s.of(reflect.TypeFor[*paddock.Grant]())
	case t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return object{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return either(s.of(t.Elem()))
	case reflect.Struct:
		return s.named(t)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return object{"type": []string{"string", "null"}, "contentEncoding": "base64"}
		}
		return object{"type": []string{"array", "null"}, "items": s.of(t.Elem())}
	case reflect.Map:
		return object{"type": []string{"object", "null"}, "additionalProperties": s.of(t.Elem())}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Float32, reflect.Float64:
		return object{"type": "number"}
	case reflect.Interface:
		return object{}
	}
	if reflect.Zero(t).CanInt() || reflect.Zero(t).CanUint() {
		return object{"type": "integer"}
	}
	s.fail("paddock: bug: no schema for %s", t)
	return object{}
}

func either(schema any) any { return object{"anyOf": []any{schema, object{"type": "null"}}} }

// named puts a struct among the components and refers to it. Types may contain
// themselves.
func (s *schemas) named(t reflect.Type) any {
	name := nameOf(t)
	ref := object{"$ref": "#/components/schemas/" + name}
	if known, ok := s.names[name]; ok {
		if known != t {
			s.fail("paddock: bug: %s and %s are both called %s", known, t, name)
		}
		return ref
	}
	s.names[name] = t
	properties, required := object{}, []string{}
	for _, f := range fields(t) {
		schema := s.of(f.t)
		if f.optional {
			schema = s.present(f.t)
		} else {
			required = append(required, f.name)
		}
		if m, ok := schema.(object); ok && f.doc != "" {
			m["description"] = f.doc
		}
		properties[f.name] = schema
	}
	s.all[name] = object{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
	return ref
}

// present is the schema of a field that is left out when it is empty, so never null.
func (s *schemas) present(t reflect.Type) any {
	if t.Kind() == reflect.Pointer {
		return s.of(t.Elem())
	}
	schema := s.of(t)
	if m, ok := schema.(object); ok {
		if types, ok := m["type"].([]string); ok {
			m["type"] = types[0]
		}
	}
	return schema
}

// nameOf is the type's own name, after that of its package where that isn't the
// vocabulary's or the door's.
func nameOf(t reflect.Type) string {
	name := []rune(t.Name())
	name[0] = unicode.ToUpper(name[0])
	switch pkg := path.Base(t.PkgPath()); pkg {
	case "paddock", "httpapi", "app", "problem", "feed":
		return string(name)
	default:
		return strings.ToUpper(pkg[:1]) + pkg[1:] + string(name)
	}
}
