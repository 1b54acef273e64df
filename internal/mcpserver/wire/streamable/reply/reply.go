// Package reply is how requests are answered: by what the library writes, by an error of
// JSON-RPC where something is wrong with them, and by comments while there is nothing to
// say.
//
// # Limits
//
// It decides nothing, and knows no sessions.
package reply

import (
	"encoding/json/v2"
	"fmt"
	"net/http"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Codes of errors that JSON-RPC leaves to servers, as other servers use them.
const (
	codeServer  = -32000
	codeSession = -32001
)

// A Fault is what is wrong with a request, or the result that says so.
type Fault struct {
	Status  int
	Code    int64
	Message string
	Allow   string
	Result  any // in place of an error
	// Complete marks the result as revisions without sessions want it.
	Complete bool
}

// Invalid is the fault of a request that isn't as it must be.
func Invalid(status int, format string, args ...any) *Fault {
	return &Fault{Status: status, Code: jsonrpc.CodeInvalidRequest, Message: fmt.Sprintf(format, args...)}
}

// NotAcceptable is told of a client that doesn't take the types that there are.
func NotAcceptable(types string) *Fault {
	return Invalid(http.StatusNotAcceptable, "Answers come as these types; say that you take them: Accept: %s", types)
}

// NoMethod is told of a method of HTTP that isn't one of allow.
func NoMethod(message, allow string) *Fault {
	return &Fault{Status: http.StatusMethodNotAllowed, Code: codeServer, Message: message, Allow: allow}
}

// Later is told of a request that may be sent again.
func Later(status int, message string) *Fault {
	return &Fault{Status: status, Code: codeServer, Message: message}
}

// UnknownSession is told of a session that isn't there, and of another's.
func UnknownSession() *Fault {
	return &Fault{Status: http.StatusNotFound, Code: codeSession, Message: "There is no such session. Begin one by initialize."}
}

// Fail answers with what is wrong. Nothing was written before.
func (a *Answer) Fail(f *Fault) {
	a.mu.Lock()
	defer a.mu.Unlock()
	h := a.Header()
	if f.Allow != "" {
		h.Set("Allow", f.Allow)
	}
	if f.Status == http.StatusTooManyRequests || f.Status == http.StatusServiceUnavailable {
		h.Set("Retry-After", "1")
	}
	if a.said = f.Status; !a.ours {
		a.status = f.Status
	}
	if f.Result == nil {
		_ = a.error(f.Status, f.Code, f.Message) // who asked is gone then
		return
	}
	result, err := f.fields()
	if err != nil {
		_ = a.error(http.StatusInternalServerError, jsonrpc.CodeInternalError, err.Error()) // the same
		return
	}
	_ = a.send(f.Status, map[string]any{"result": result}) // the same
}

func (f *Fault) fields() (map[string]any, error) {
	text, err := json.Marshal(f.Result)
	if err != nil {
		return nil, err
	}
	var all map[string]any
	err = json.Unmarshal(text, &all)
	if err == nil && f.Complete {
		all["resultType"] = "complete"
	}
	return all, err
}

func (a *Answer) error(status int, code int64, why string) error {
	return a.send(status, map[string]any{"error": map[string]any{"code": code, "message": why}})
}

// send writes a whole answer of JSON-RPC: as an event, where the stream has begun.
func (a *Answer) send(status int, body map[string]any) error {
	body["jsonrpc"], body["id"] = "2.0", a.ID.Raw()
	text, err := json.Marshal(body, json.Deterministic(true))
	if err != nil {
		return err
	}
	if a.ours {
		return a.event(text)
	}
	h := a.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(text)))
	h.Set("Cache-Control", "no-store")
	a.extend()
	a.commit(status)
	_, err = a.ResponseWriter.Write(text)
	return err
}
