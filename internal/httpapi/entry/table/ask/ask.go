// Package ask reads what a request asks for into the fields of a struct, and takes
// nothing that it doesn't understand: an unknown or doubled parameter or key, bytes
// that aren't UTF-8, a NUL, a value of the wrong type, or anything after the end.
//
// A field says where it is from: path:"id", query:"limit", header:"Idempotency-Key" or
// body:"". Its Go type says what it must be: text, a whole number, true or false, a
// time or milliseconds.
//
// # Limits
//
// What a value means, and whether it is in range, is for the verbs to say. Headers and
// sizes of whole requests are bounded before.
package ask

import (
	"bytes"
	"encoding"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"paddock"
)

// MaxBody is the most bytes of a body.
const MaxBody = 4 << 20

const maxParameter = 8192

// A Param is one thing that a request may carry.
type Param struct {
	In    string // path, query, header or body
	Name  string
	Doc   string
	Type  reflect.Type
	index []int
}

// Params lists what a struct takes, in the order of its fields.
func Params(t reflect.Type) []Param {
	var all []Param
	for _, f := range reflect.VisibleFields(t) {
		for _, in := range []string{"path", "query", "header", "body"} {
			if name, ok := f.Tag.Lookup(in); ok {
				all = append(all, Param{in, name, f.Tag.Get("doc"), f.Type, f.Index})
			}
		}
	}
	return all
}

// ErrTooLarge is the error of a body with more than [MaxBody] bytes.
var ErrTooLarge = errors.New("the body is too large")

// ErrWrongType is the error of a body that doesn't say that it is JSON.
var ErrWrongType = errors.New("the body must be application/json")

func refuse(format string, args ...any) error {
	return paddock.Refused(paddock.InvalidRequest, format, args...)
}

// Read fills in, a pointer to a struct, from r.
func Read(r *http.Request, in any) error {
	v := reflect.ValueOf(in).Elem()
	params := Params(v.Type())
	query, err := queryOf(r.URL, params)
	if err != nil {
		return err
	}
	body := false
	for _, p := range params {
		field := v.FieldByIndex(p.index)
		var values []string
		switch p.In {
		case "path":
			values = []string{r.PathValue(p.Name)}
		case "query":
			values = query[p.Name]
		case "header":
			values = r.Header.Values(p.Name)
		case "body":
			body = true
			if err := readBody(r, field.Addr().Interface()); err != nil {
				return err
			}
			continue
		}
		if err := setAll(field, p, values); err != nil {
			return err
		}
	}
	if !body {
		return noBody(r)
	}
	return nil
}

// queryOf parses the query, which has only parameters that there are.
func queryOf(u *url.URL, params []Param) (url.Values, error) {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, refuse("The query of the URL can't be read: a %% must be followed by two hexadecimal digits, and ; doesn't separate.")
	}
	for name := range query {
		if !slices.ContainsFunc(params, func(p Param) bool { return p.In == "query" && p.Name == name }) {
			return nil, refuse("There is no parameter %.40q here; there is %s.", name, names(params))
		}
	}
	return query, nil
}

func names(params []Param) string {
	var all []string
	for _, p := range params {
		if p.In == "query" {
			all = append(all, p.Name)
		}
	}
	if all == nil {
		return "none"
	}
	return strings.Join(all, ", ")
}

func setAll(field reflect.Value, p Param, values []string) error {
	if len(values) == 0 {
		return nil
	}
	if field.Kind() == reflect.Slice {
		for _, one := range values {
			item := reflect.New(field.Type().Elem()).Elem()
			if err := set(item, p, one); err != nil {
				return err
			}
			field.Set(reflect.Append(field, item))
		}
		return nil
	}
	if len(values) > 1 {
		return refuse("%s is there %d times; once is enough.", p.Name, len(values))
	}
	return set(field, p, values[0])
}

var durationType = reflect.TypeFor[paddock.Duration]()

func set(field reflect.Value, p Param, s string) error {
	switch {
	case len(s) > maxParameter:
		return refuse("%s has %d bytes; at most %d are allowed.", p.Name, len(s), maxParameter)
	case !utf8.ValidString(s) || strings.ContainsRune(s, 0):
		return refuse("%s isn't valid UTF-8 without NUL.", p.Name)
	}
	if field.Kind() == reflect.Pointer {
		field.Set(reflect.New(field.Type().Elem()))
		field = field.Elem()
	}
	switch {
	case field.Type() == reflect.TypeFor[time.Time]():
		if err := field.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(s)); err != nil { //nolint:errcheck // a time is one
			return refuse("%s is %.60q; a time is written as 2006-01-02T15:04:05Z.", p.Name, s)
		}
	case field.Type() == durationType:
		n, err := strconv.ParseInt(s, 10, 64)
		if most := int64(1<<63-1) / int64(time.Millisecond); err != nil || n > most || n < -most {
			return refuse("%s is %.60q; whole milliseconds are wanted.", p.Name, s)
		}
		field.SetInt(n * int64(time.Millisecond))
	case field.CanInt():
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || field.OverflowInt(n) {
			return refuse("%s is %.60q; a whole number is wanted.", p.Name, s)
		}
		field.SetInt(n)
	case field.Kind() == reflect.Bool:
		if s != "true" && s != "false" {
			return refuse("%s is %.60q; true or false is wanted.", p.Name, s)
		}
		field.SetBool(s == "true")
	case field.Kind() == reflect.String:
		field.SetString(s)
	default:
		return fmt.Errorf("paddock: bug: a parameter %s of type %s", p.Name, field.Type())
	}
	return nil
}

func readBody(r *http.Request, into any) error {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" || r.Header.Get("Content-Encoding") != "" {
		return ErrWrongType
	}
	data, err := io.ReadAll(io.LimitReader(r.Body, MaxBody+1))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge), len(data) > MaxBody:
		return ErrTooLarge
	case err != nil:
		return refuse("The body broke off.")
	}
	return JSON(data, into)
}

// JSON reads one JSON value, strictly.
func JSON(data []byte, into any) error {
	err := json.Unmarshal(data, into, json.RejectUnknownMembers(true))
	if err == nil {
		return noNull(data, reflect.TypeOf(into).Elem())
	}
	where, what := "", "it isn't JSON"
	var syntax *jsontext.SyntacticError
	var semantic *json.SemanticError
	switch {
	case errors.As(err, &syntax):
		where, what = string(syntax.JSONPointer), plain(syntax.Err)
	case errors.As(err, &semantic):
		where = string(semantic.JSONPointer)
		what = "it is of the wrong type"
		switch {
		case errors.Is(semantic.Err, json.ErrUnknownName):
			what = "there is no such key"
		case semantic.Err != nil:
			what = plain(semantic.Err)
		case semantic.GoType != nil:
			what = fmt.Sprintf("%s is wanted", kindOf(semantic.GoType))
		}
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		what = "it breaks off"
	}
	if where == "" {
		return refuse("The body can't be used: %s.", what)
	}
	return refuse("The body can't be used: at %.200q %s.", where, what)
}

// noNull refuses null in data, which was decoded as a t, anywhere: it would look like text
// that is empty, such as a word of a command, or like a key that isn't there.
func noNull(data []byte, t reflect.Type) error {
	dec := jsontext.NewDecoder(bytes.NewReader(data))
	for {
		token, err := dec.ReadToken()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil: // which who decoded it let pass: there may be a null behind
			return refuse("The body can't be used: %s.", plain(err))
		case token.Kind() != 'n' || free(t, dec.StackPointer()):
		case dec.StackDepth() == 0:
			return refuse("The body can't be used: an object is wanted.")
		default:
			return refuse("The body can't be used: at %.200q is null; leave a key out that has no value.", dec.StackPointer())
		}
	}
}

// free reports whether p is inside of something that others made and that is handed on as
// it is, as a browser's answer about a passkey.
func free(t reflect.Type, p jsontext.Pointer) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	name, _, inside := strings.Cut(strings.TrimPrefix(string(p), "/"), "/")
	for _, f := range reflect.VisibleFields(t) {
		if key, _, _ := strings.Cut(f.Tag.Get("json"), ","); inside && key == name {
			return f.Type == reflect.TypeFor[map[string]any]()
		}
	}
	return false
}

func plain(err error) string {
	s := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "jsontext: "), "json: ")
	return string(bytes.ToValidUTF8([]byte(s[:min(len(s), 300)]), nil))
}

func kindOf(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	}
	return "a whole number"
}

// noBody refuses a body where none is wanted, so that nobody believes that it counted.
func noBody(r *http.Request) error {
	if r.Body == nil || r.ContentLength == 0 {
		return nil
	}
	if n, _ := io.ReadFull(r.Body, make([]byte, 1)); n > 0 {
		return refuse("There is no body to send here.")
	}
	return nil
}
