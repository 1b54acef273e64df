// Package scan goes through what git prints, byte for byte.
//
// # Limits
//
// It knows ends, lines and ids, and nothing of what git means by them; that is for
// package parse.
package scan

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// ErrForm marks text that isn't of git's form.
var ErrForm = errors.New("not in the form that git writes")

// A Reader goes through All from At on.
type Reader struct {
	All []byte
	At  int
}

// Rest is what wasn't read yet.
func (r *Reader) Rest() []byte { return r.All[r.At:] }

// Done says that nothing is left.
func (r *Reader) Done() bool { return r.At >= len(r.All) }

// Bad is the error of text here that isn't what.
func (r *Reader) Bad(what string) error {
	return fmt.Errorf("byte %d: %s: %w", r.At, what, ErrForm)
}

// Until returns what comes before the next end, which is left behind.
func (r *Reader) Until(end byte) ([]byte, error) {
	i := bytes.IndexByte(r.Rest(), end)
	if i < 0 {
		return nil, r.Bad("the end is missing")
	}
	part := r.All[r.At : r.At+i]
	r.At += i + 1
	return part, nil
}

// Line returns the next line without its end, which must be there.
func (r *Reader) Line() ([]byte, error) {
	if bytes.IndexByte(r.Rest(), '\n') < 0 {
		return nil, r.Bad("a line without end")
	}
	return r.Until('\n')
}

// Skip leaves prefix behind, if it is what comes next.
func (r *Reader) Skip(prefix string) bool {
	if bytes.HasPrefix(r.Rest(), []byte(prefix)) {
		r.At += len(prefix)
		return true
	}
	return false
}

// Text returns b as text and, where it isn't UTF-8, its bytes in base64.
func Text(b []byte) (shown, raw string) {
	if utf8.Valid(b) {
		return string(b), ""
	}
	return strings.ToValidUTF8(string(b), "\uFFFD"), base64.StdEncoding.EncodeToString(b)
}

// Shown is Text without the bytes.
func Shown(b []byte) string { s, _ := Text(b); return s }

// Hexadecimal reports whether s can be an object's id.
func Hexadecimal(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}
