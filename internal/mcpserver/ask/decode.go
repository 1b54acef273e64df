package ask

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"paddock"
)

// An Input is what one tool takes.
type Input interface {
	// Bounds adds to the schema's properties what Go types don't say.
	Bounds(properties map[string]*jsonschema.Schema)
	// Check refuses values out of bounds.
	Check() error
}

// Decode reads a tool's arguments: exactly the fields of In, each at most once
// and of its type, nothing null. The zero of an optional field means that it
// isn't there; where zero is a choice the field is a pointer.
func Decode[In Input](raw []byte) (In, error) {
	var in In
	if len(raw) == 0 || string(raw) == "null" {
		raw = []byte("{}")
	}
	if kind := jsontext.Value(raw).Kind(); kind != '{' {
		return in, invalid("the arguments must be an object, not %s", kindName(kind))
	}
	if err := noNull(raw); err != nil {
		return in, err
	}
	if err := json.Unmarshal(raw, &in, json.RejectUnknownMembers(true)); err != nil {
		return in, badField(err, reflect.TypeFor[In]())
	}
	return in, in.Check()
}

// noNull refuses null anywhere: it would look like a field that isn't there.
// It also finds what the decoder below finds, but before anything is decoded.
func noNull(raw []byte) error {
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	for {
		token, err := dec.ReadToken()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return badSyntax(err)
		}
		if token.Kind() == 'n' {
			return invalid("%s is null; leave a field out when it has no value", fieldName(dec.StackPointer()))
		}
	}
}

func badSyntax(err error) error {
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) && errors.Is(err, jsontext.ErrDuplicateName) {
		return invalid("%s is there twice; say each field once", fieldName(syntax.JSONPointer))
	}
	return invalid("the arguments aren't valid JSON in UTF-8")
}

// badField says which field has the wrong type or is unknown.
func badField(err error, in reflect.Type) error {
	var semantic *json.SemanticError
	if !errors.As(err, &semantic) {
		return badSyntax(err)
	}
	name := fieldName(semantic.JSONPointer)
	if errors.Is(err, json.ErrUnknownName) {
		return invalid("there is no field %s; this tool takes %s", name, strings.Join(fields(in), ", "))
	}
	want := "of another type"
	if semantic.GoType != nil {
		want = goKindName(semantic.GoType)
	}
	if semantic.JSONKind == '0' && want == wholeNumber {
		return invalid("%s must be %s that fits in 64 bits, written without fraction or exponent", name, want)
	}
	return invalid("%s must be %s, not %s", name, want, kindName(semantic.JSONKind))
}

// fields lists the names that an input type accepts, in its order.
func fields(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// fieldName writes a JSON pointer as people do: argv[3], stdin.text.
func fieldName(p jsontext.Pointer) string {
	var b strings.Builder
	for token := range p.Tokens() {
		switch {
		case isIndex(token) && b.Len() > 0:
			b.WriteString("[" + token + "]")
		case b.Len() > 0:
			b.WriteString("." + shortened(token, 64))
		default:
			b.WriteString(shortened(token, 64))
		}
	}
	if b.Len() == 0 {
		return "the arguments"
	}
	return b.String()
}

func isIndex(s string) bool {
	return s != "" && !slices.ContainsFunc([]byte(s), func(c byte) bool { return c < '0' || c > '9' })
}

func kindName(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '{':
		return "an object"
	case '[':
		return "an array"
	}
	return "something else"
}

const wholeNumber = "a whole number"

func goKindName(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "a boolean"
	case reflect.Slice:
		return "an array of strings"
	case reflect.Map, reflect.Struct:
		return "an object"
	}
	return wholeNumber
}

// shortened cuts s to at most n bytes without splitting a character.
func shortened(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// invalid refuses a request that makes no sense.
func invalid(format string, args ...any) *paddock.Refusal {
	return paddock.Refused(paddock.InvalidRequest, format, args...)
}
