// Package table has the routes of an HTTP API as values: what each takes and answers,
// so that requests are read and the API is described by the same words.
//
// # Limits
//
// It routes nothing and knows no verbs.
package table

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// A Route is one thing that can be asked.
type Route struct {
	Method, Path string
	// ID names it for generated clients.
	ID      string
	Summary string
	// Status is of an answer that is one; zero means 200.
	Status int
	// Later is of the same answer where what was asked for is still to be done; zero means
	// that this can't be.
	Later int
	// Public needs no credential.
	Public bool
	// In is the struct that a request is read into, Out what is answered as JSON; nil
	// means nothing.
	In, Out reflect.Type
	// Media is the type of an answer that isn't JSON.
	Media string
	// Tag groups routes.
	Tag string
}

// Pattern is that of net/http.
func (r Route) Pattern() string { return r.Method + " " + r.Path }

// Type is the reflect.Type of T, for the fields of a Route.
func Type[T any]() reflect.Type { return reflect.TypeFor[T]() }

// An object is part of a document; maps are written in the order of their keys, so a
// document is the same every time.
type object = map[string]any

// An Info says what the document is of.
type Info struct {
	Title, Version, Description string
	// Problem is the type of what is answered when something is wrong.
	Problem reflect.Type
}

// OpenAPI is the description of the routes, as OpenAPI 3.1 in JSON.
func OpenAPI(info Info, routes []Route) ([]byte, error) {
	s := &schemas{all: object{}, names: map[string]reflect.Type{}}
	paths := map[string]object{}
	for _, r := range routes {
		if paths[r.Path] == nil {
			paths[r.Path] = object{}
		}
		paths[r.Path][strings.ToLower(r.Method)] = s.operation(r, info)
	}
	doc := object{
		"openapi": "3.1.0",
		"info":    object{"title": info.Title, "version": info.Version, "description": info.Description},
		"paths":   paths,
		"components": object{
			"schemas": s.all,
			"securitySchemes": object{
				"token":   object{"type": "http", "scheme": "bearer"},
				"session": object{"type": "apiKey", "in": "cookie", "name": "__Host-paddock_session"},
			},
		},
	}
	if s.err != nil {
		return nil, s.err
	}
	text, err := json.MarshalIndent(doc, "", "  ")
	return append(text, '\n'), err
}

func (s *schemas) operation(r Route, info Info) object {
	status := r.Status
	if status == 0 {
		status = http.StatusOK
	}
	answer := object{"description": http.StatusText(status)}
	switch {
	case r.Media != "":
		answer["content"] = object{r.Media: object{"schema": object{"type": "string"}}}
	case r.Out != nil:
		answer["content"] = object{"application/json": object{"schema": s.of(r.Out)}}
	}
	problem := object{"description": "What is wrong", "content": object{"application/problem+json": object{"schema": s.of(info.Problem)}}}
	op := object{
		"operationId": r.ID, "summary": r.Summary, "tags": []string{r.Tag},
		"responses": object{strconv.Itoa(status): answer, "default": problem},
		"security":  []object{{"token": []string{}}, {"session": []string{}}},
	}
	if r.Later != 0 {
		later := maps.Clone(answer)
		later["description"] = http.StatusText(r.Later)
		op["responses"].(object)[strconv.Itoa(r.Later)] = later
	}
	if r.Public {
		op["security"] = []object{}
	}
	s.input(op, r)
	return op
}

// schemas collects the types that are named.
type schemas struct {
	all   object
	names map[string]reflect.Type
	err   error
}

func (s *schemas) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf(format, args...)
	}
}

// fields lists what JSON has of a struct, as encoding/json does.
func fields(t reflect.Type) (all []field) {
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		embedded := f.Anonymous && name == ""
		if !f.IsExported() || name == "-" || embedded || len(f.Index) > 1 && !promoted(t, f.Index) {
			continue
		}
		if name == "" {
			name = f.Name
		}
		opt := strings.Split(options, ",")
		all = append(all, field{name, f.Type, slices.Contains(opt, "omitempty") || slices.Contains(opt, "omitzero"), f.Tag.Get("doc")})
	}
	return all
}

// promoted says whether a field of embedded structs is one of the outermost in JSON.
func promoted(t reflect.Type, index []int) bool {
	for _, i := range index[:len(index)-1] {
		f := t.Field(i)
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); !f.Anonymous || name != "" {
			return false
		}
		if t = f.Type; t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
	}
	return true
}

type field struct {
	name     string
	t        reflect.Type
	optional bool
	doc      string
}
