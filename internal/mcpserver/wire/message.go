package wire

import (
	"bytes"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	// MostInBatch bounds the messages of one JSON array, which clients of revisions
	// before 2025-06-18 may send.
	MostInBatch = 64
	// ToolCall is the one method whose errors are for the model to read.
	ToolCall = "tools/call"
)

// Check returns what is wrong with b as one strict JSON value.
func Check(b []byte) (string, int64) {
	dec := jsontext.NewDecoder(bytes.NewReader(b))
	_, err := dec.ReadValue()
	if err == nil {
		if _, err = dec.ReadToken(); errors.Is(err, io.EOF) {
			return "", 0
		}
		return "more than one JSON value", jsonrpc.CodeParseError
	}
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) && errors.Is(err, jsontext.ErrDuplicateName) {
		return fmt.Sprintf("duplicate name %q: say each field once", string(syntax.JSONPointer)), jsonrpc.CodeInvalidRequest
	}
	// A lenient look tells text that is only badly encoded from what isn't JSON.
	if jsontext.Value(b).IsValid(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)) {
		return "a string isn't valid UTF-8", jsonrpc.CodeInvalidRequest
	}
	return "not JSON", jsonrpc.CodeParseError
}

// Decode returns the message that a strict JSON value is.
func Decode(b []byte, env *Envelope) (jsonrpc.Message, error) {
	msg, err := jsonrpc.DecodeMessage(b)
	if err != nil {
		return nil, errors.New(`not a JSON-RPC 2.0 message: want an object with "jsonrpc":"2.0", an id and a method`)
	}
	if env.IsCall() && !env.ID().IsValid() {
		return nil, errors.New("the id must be a string or a whole number")
	}
	return msg, nil
}
