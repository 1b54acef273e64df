package streamable

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"paddock/internal/mcpserver/wire"
	"paddock/internal/mcpserver/wire/streamable/reply"
)

const (
	sessionHeader = "Mcp-Session-Id"
	versionHeader = "Mcp-Protocol-Version"
	lastHeader    = "Last-Event-ID"
	nameHeader    = "Mcp-Name"
	// single is the first revision without sessions; later ones compare greater.
	single = "2026-07-28"
	// longest is the most bytes of a header of ours.
	longest = 256
)

// routed says what is wrong with the header by which proxies know the task that a request
// is about; those of the methods that it knows are looked at by the library.
func routed(r *http.Request, m message) *reply.Fault {
	if m.single && strings.HasPrefix(m.env.Method(), "tasks/") && r.Header.Get(nameHeader) != m.task {
		f := reply.Invalid(http.StatusBadRequest, "The header %s isn't the taskId of the message.", nameHeader)
		f.Code = mcp.CodeHeaderMismatch
		return f
	}
	return nil
}

// headers says what is wrong with those that decide where a request goes: each may be
// there once, and is short and printable.
func headers(r *http.Request) *reply.Fault {
	for _, name := range []string{sessionHeader, versionHeader, lastHeader, "Content-Type", "Content-Encoding"} {
		values := r.Header.Values(name)
		if len(values) > 1 {
			return reply.Invalid(http.StatusBadRequest, "The header %s is there more than once.", name)
		}
		if len(values) == 1 && (len(values[0]) > longest || strings.ContainsFunc(values[0], func(c rune) bool { return c < ' ' || c > '~' })) {
			return reply.Invalid(http.StatusBadRequest, "The header %s isn't %d printable characters at most.", name, longest)
		}
	}
	return nil
}

// wantsPost says what is wrong with how a message is sent.
func wantsPost(r *http.Request) *reply.Fault {
	media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset, said := params["charset"]
	if err != nil || media != "application/json" || said && !strings.EqualFold(charset, "utf-8") || r.Header.Get("Content-Encoding") != "" {
		return reply.Invalid(http.StatusUnsupportedMediaType, "A message is JSON, and says so: Content-Type: application/json, and no Content-Encoding.")
	}
	if !accepts(r, "application/json") || !accepts(r, "text/event-stream") {
		return reply.NotAcceptable("application/json, text/event-stream")
	}
	return nil
}

// accepts reports whether the client takes a type.
func accepts(r *http.Request, media string) bool {
	kind, _, _ := strings.Cut(media, "/")
	for _, list := range r.Header.Values("Accept") {
		for one := range strings.SplitSeq(list, ",") {
			one, _, _ = strings.Cut(one, ";")
			switch strings.ToLower(strings.TrimSpace(one)) {
			case media, kind + "/*", "*/*":
				return true
			}
		}
	}
	return false
}

// A message is the body of a POST.
type message struct {
	env    wire.Envelope
	batch  bool
	single bool // stands for itself, by what it says of its revision
	tool   string
	task   string
}

// read reads the body, looks at it strictly, and gives it back to r. What can be said of
// a body that is wrong is in the message too.
func read(r *http.Request, most int64) (m message, f *reply.Fault) {
	m.single = r.Header.Get(versionHeader) >= single
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, most))
	body = bytes.TrimSpace(body)
	m.env.Write(body)
	if err != nil {
		if _, long := errors.AsType[*http.MaxBytesError](err); long {
			return m, reply.Invalid(http.StatusRequestEntityTooLarge, "The message is longer than %d bytes; put large text in a file and name the file.", most)
		}
		return m, reply.Invalid(http.StatusBadRequest, "The message didn't arrive whole.")
	}
	if len(body) == 0 {
		return m, reply.Invalid(http.StatusBadRequest, "The body is empty; it is one message of JSON-RPC.")
	}
	if why, code := wire.Check(body); why != "" {
		if code == jsonrpc.CodeParseError {
			m.env = wire.Envelope{} // what isn't JSON has no id either
		}
		return m, &reply.Fault{Status: http.StatusBadRequest, Code: code, Message: why}
	}
	if m.batch = body[0] == '['; m.batch {
		err = inBatch(body)
	} else {
		_, err = wire.Decode(body, &m.env)
		m.look(body)
	}
	if err != nil {
		return m, reply.Invalid(http.StatusBadRequest, "%s", err)
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return m, nil
}

// inBatch says what is wrong with an array of messages. Which revisions know arrays is
// the library's to say.
func inBatch(body []byte) error {
	var parts []jsontext.Value
	if err := json.Unmarshal(body, &parts); err != nil || len(parts) == 0 || len(parts) > wire.MostInBatch {
		return fmt.Errorf("a batch holds 1 to %d messages", wire.MostInBatch)
	}
	known := map[jsonrpc.ID]bool{}
	for _, part := range parts {
		var env wire.Envelope
		env.Write(part)
		if _, err := wire.Decode(part, &env); err != nil {
			return fmt.Errorf("in a batch: %w", err)
		}
		if id := env.ID(); id.IsValid() {
			if known[id] {
				return errors.New("in a batch: an id is used twice")
			}
			known[id] = true
		}
	}
	return nil
}

// look takes from a message what it says of its revision by itself, and the tool that it
// calls.
func (m *message) look(body []byte) {
	var in struct {
		Params struct {
			Name string `json:"name"`
			Task string `json:"taskId"`
			Meta struct {
				Revision string `json:"io.modelcontextprotocol/protocolVersion"`
			} `json:"_meta"`
		} `json:"params"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return // of another form, which is for the library to look at
	}
	m.single = m.single || in.Params.Meta.Revision != ""
	if m.env.Method() == wire.ToolCall {
		m.tool = in.Params.Name
	}
	m.task = in.Params.Task
}
