package wire

import (
	"bytes"
	"encoding/json/jsontext"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// keep is how much of an id or a method is kept: far more than any client sends.
const keep = 256

// An Envelope finds the id and the method of a message without holding the
// message: the values of "id" and "method" directly inside the outermost
// object. It is fed piece by piece and never fails; what isn't there, or isn't
// unambiguous, stays unknown. Clients differ in whether the id comes first or
// last, so the whole line has to pass.
type Envelope struct {
	depth    int
	inString bool
	escaped  bool
	isValue  bool // between a name's colon and the next comma, at depth one

	name  []byte // the last name at depth one, with its quotes
	value []byte // the value being read, if name is one of ours

	id, method         []byte
	idCount, methCount int
}

// Write takes the next piece.
func (e *Envelope) Write(p []byte) {
	for _, b := range p {
		e.next(b)
	}
}

func (e *Envelope) next(b byte) {
	if e.inString {
		e.collect(b)
		switch {
		case e.escaped:
			e.escaped = false
		case b == '\\':
			e.escaped = true
		case b == '"':
			e.inString = false
		}
		return
	}
	switch b {
	case ' ', '\t', '\r', '\n':
		return
	case '"':
		if e.depth == 1 && !e.isValue {
			e.name = e.name[:0]
		}
		e.inString = true
	case ':':
		if e.depth == 1 {
			e.isValue, e.value = true, e.value[:0]
			return
		}
	case ',':
		if e.depth == 1 {
			e.settle()
			return
		}
	case '{', '[':
		e.depth++
	case '}', ']':
		if e.depth == 1 {
			e.settle()
		}
		e.depth--
	}
	e.collect(b)
}

// collect keeps b if it belongs to a name or to a value at depth one.
func (e *Envelope) collect(b byte) {
	if e.depth != 1 {
		return
	}
	if e.isValue {
		if len(e.value) <= keep {
			e.value = append(e.value, b)
		}
	} else if len(e.name) <= keep && (e.inString || b == '"') {
		e.name = append(e.name, b)
	}
}

// settle ends a member of the outermost object.
func (e *Envelope) settle() {
	if e.isValue {
		switch string(e.name) {
		case `"id"`:
			e.id, e.idCount = bytes.Clone(e.value), e.idCount+1
		case `"method"`:
			e.method, e.methCount = bytes.Clone(e.value), e.methCount+1
		}
	}
	e.isValue = false
}

// IsCall reports whether the message asks for an answer, as far as was seen.
func (e *Envelope) IsCall() bool { return e.idCount > 0 }

// ID returns the id to answer, or no id when it is missing, null, of another
// type than JSON-RPC allows here, or said twice.
func (e *Envelope) ID() jsonrpc.ID {
	var none jsonrpc.ID
	if e.idCount != 1 || len(e.id) > keep || !jsontext.Value(e.id).IsValid() {
		return none
	}
	switch e.id[0] {
	case '"':
		s, err := jsontext.AppendUnquote(nil, e.id)
		if err != nil {
			return none
		}
		id, _ := jsonrpc.MakeID(string(s))
		return id
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		n, ok := exactInt(e.id)
		if !ok {
			return none
		}
		id, _ := jsonrpc.MakeID(float64(n))
		return id
	}
	return none
}

// Method returns the method, or "" when there isn't exactly one.
func (e *Envelope) Method() string {
	if e.methCount != 1 || len(e.method) > keep {
		return ""
	}
	s, err := jsontext.AppendUnquote(nil, e.method)
	if err != nil {
		return ""
	}
	return string(s)
}

// exactInt parses a whole number that a float64 holds exactly, since that is
// what the library makes of ids.
func exactInt(b []byte) (int64, bool) {
	var n int64
	neg := false
	for i, c := range b {
		if i == 0 && c == '-' {
			neg = true
			continue
		}
		if c < '0' || c > '9' || n > (1<<53)/10 {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if n > 1<<53 {
		return 0, false
	}
	if neg {
		n = -n
	}
	return n, true
}
