// Package head reads the head of an HTTP/1 request more strictly than HTTP
// allows, so that every reader after it must read the same: one line end, no
// folded fields, no second Host, one way in which the length of a body is told.
//
// # Limits
//
// It doesn't read bodies and keeps no fields: once a head has passed, net/http
// parses it again for its content. HTTP/2 is not spoken.
package head

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// A Head is what a request says of itself before it is judged.
type Head struct {
	Method string
	// Target is the request target: an authority for CONNECT, a URL for a
	// plain proxy request, a path for a request within a tunnel.
	Target string
	// Host is the value of the Host field; empty if there is none.
	Host string
	// Body is set if the request has one.
	Body bool
	// Old is set for HTTP/1.0.
	Old bool
}

// ErrTooLong is a head that doesn't end within the limit.
var ErrTooLong = errors.New("the request's head is longer than is accepted")

// Peek returns the bytes of the head that r begins with, without taking them.
// The size of r's buffer is the limit.
func Peek(r *bufio.Reader) ([]byte, error) {
	for seen := 0; ; {
		_, err := r.Peek(seen + 1)
		if errors.Is(err, bufio.ErrBufferFull) {
			return nil, ErrTooLong
		}
		if err != nil {
			return nil, err
		}
		b, err := r.Peek(r.Buffered())
		if err != nil {
			return nil, err
		}
		if i := end(b, max(0, seen-3)); i > 0 {
			return b[:i], nil
		}
		seen = len(b)
	}
}

// end returns where the head in b ends, looking from start on; 0 if it doesn't
// yet. Line feeds alone end a head for some readers, so reading stops there
// too; Parse refuses it.
func end(b []byte, start int) int {
	for i := start; i < len(b); i++ {
		switch rest := b[i:]; {
		case bytes.HasPrefix(rest, []byte("\n\n")):
			return i + 2
		case bytes.HasPrefix(rest, []byte("\n\r\n")):
			return i + 3
		}
	}
	return 0
}

// Parse reads a head that ends with its empty line.
func Parse(raw []byte) (Head, error) {
	text, ok := strings.CutSuffix(string(raw), "\r\n\r\n")
	if !ok {
		return Head{}, errors.New("the request's head doesn't end with an empty line")
	}
	lines := strings.Split(text, "\r\n")
	for _, line := range lines {
		if i := strings.IndexFunc(line, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }); i >= 0 {
			return Head{}, fmt.Errorf("the request's head has the control character %+q", line[i:i+1])
		}
	}
	h, err := parseRequestLine(lines[0])
	if err != nil {
		return Head{}, err
	}
	f, err := parseFields(lines[1:])
	if err != nil {
		return Head{}, err
	}
	return h, f.apply(&h)
}

func parseRequestLine(line string) (Head, error) {
	parts := strings.Split(line, " ")
	if len(parts) != 3 || !token(parts[0]) || !visible(parts[1]) {
		return Head{}, errors.New("the request line is malformed")
	}
	if parts[2] != "HTTP/1.1" && parts[2] != "HTTP/1.0" {
		return Head{}, errors.New("only HTTP/1.1 and HTTP/1.0 are spoken here")
	}
	return Head{Method: parts[0], Target: parts[1], Old: parts[2] == "HTTP/1.0"}, nil
}

// fields are the values of those fields that decide where a request goes and
// where it ends.
type fields struct{ hosts, lengths, encodings []string }

func parseFields(lines []string) (fields, error) {
	var f fields
	for i, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		if !ok || !token(name) { // this also refuses folded lines and "Name :"
			return fields{}, fmt.Errorf("line %d of the request's header is malformed", i+1)
		}
		value = strings.Trim(value, " \t")
		switch strings.ToLower(name) {
		case "host":
			f.hosts = append(f.hosts, value)
		case "content-length":
			f.lengths = append(f.lengths, value)
		case "transfer-encoding":
			f.encodings = append(f.encodings, value)
		}
	}
	return f, nil
}

// apply writes what the fields say into h, or tells why they can't be believed.
func (f fields) apply(h *Head) error {
	switch {
	case len(f.hosts) > 1:
		return errors.New("the request has more than one Host field")
	case len(f.hosts) == 0 && !h.Old && h.Method != "CONNECT":
		return errors.New("the request has no Host field")
	case len(f.lengths)+len(f.encodings) > 1:
		return errors.New("the request tells the length of its body more than once")
	case len(f.lengths) == 1 && (f.lengths[0] == "" || strings.Trim(f.lengths[0], "0123456789") != ""):
		return errors.New("the request's Content-Length is not a number")
	case len(f.encodings) == 1 && (h.Old || !strings.EqualFold(f.encodings[0], "chunked")):
		return errors.New("the only Transfer-Encoding accepted is chunked, in HTTP/1.1")
	}
	if len(f.hosts) == 1 {
		h.Host = f.hosts[0]
	}
	h.Body = len(f.encodings) == 1 || len(f.lengths) == 1 && strings.Trim(f.lengths[0], "0") != ""
	if h.Body && h.Method == "CONNECT" {
		return errors.New("a CONNECT request has no body")
	}
	return nil
}

// Authority returns the host and perhaps port of a plain proxy request, as they
// are written in its target.
func (h Head) Authority() (string, error) {
	if _, ok := cutScheme(h.Target, "https://"); ok {
		return "", errors.New("https is reached with CONNECT")
	}
	authority, ok := cutScheme(h.Target, "http://")
	if !ok {
		return "", errors.New("this is a proxy: it is asked for http://host/path, or with CONNECT host:port")
	}
	if i := strings.IndexAny(authority, "/?"); i >= 0 {
		authority = authority[:i]
	}
	return authority, nil
}

func cutScheme(target, scheme string) (string, bool) {
	if len(target) < len(scheme) || !strings.EqualFold(target[:len(scheme)], scheme) {
		return "", false
	}
	return target[len(scheme):], true
}

// token tells whether s is a name in HTTP's sense (RFC 9110, 5.6.2).
func token(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool {
		alnum := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !alnum && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	}) < 0
}

// visible tells whether s is a request target that has one reading: printable
// ASCII without a fragment or a backslash, which some readers take for a slash.
func visible(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '#' || r == '\\' }) < 0
}
