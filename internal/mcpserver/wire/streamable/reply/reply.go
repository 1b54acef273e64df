// Package reply is how requests are answered: by what the library writes, by an error of
// JSON-RPC where something is wrong with them, and by comments while there is nothing to
// say.
//
// # Limits
//
// It decides nothing, and knows no sessions.
package reply

import (
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Codes of errors that JSON-RPC leaves to servers, as other servers use them.
const (
	codeServer  = -32000
	codeSession = -32001
)

const beatEvery = 15 * time.Second // a comment goes out on a stream that is quiet

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

// writeTime is for a piece of an answer to leave.
const writeTime = 20 * time.Second

// An Answer is what goes out. The library writes events to it whole, and beats come
// between them.
type Answer struct {
	http.ResponseWriter
	Control *http.ResponseController
	// ID is that of the request, once it is known.
	ID jsonrpc.ID
	// First, when not nil, is called before anything is sent.
	First func(http.Header)

	mu     sync.Mutex
	status int
	plain  bool // the library says in words what is wrong; it is told as an error
}

// WriteHeader implements [http.ResponseWriter].
func (a *Answer) WriteHeader(status int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begin(status)
}

func (a *Answer) begin(status int) {
	if a.status != 0 {
		return
	}
	a.status = status
	h := a.Header()
	if a.plain = status >= 400 && strings.HasPrefix(h.Get("Content-Type"), "text/plain"); a.plain {
		return
	}
	if a.First != nil {
		a.First(h)
	}
	h.Set("Cache-Control", "no-store, no-transform")
	if a.streams() {
		h.Set("X-Accel-Buffering", "no") // proxies that read this pass events on at once
	}
	a.extend()
	a.ResponseWriter.WriteHeader(status)
}

func (a *Answer) streams() bool { return a.Header().Get("Content-Type") == "text/event-stream" }

// extend gives what is written next its time to leave. Where there are no deadlines,
// as in tests, there are none.
func (a *Answer) extend() { _ = a.Control.SetWriteDeadline(time.Now().Add(writeTime)) }

// rest lets a stream be quiet until some beats later: HTTP/2 ends one whose time is over
// though nothing is written.
func (a *Answer) rest() { _ = a.Control.SetWriteDeadline(time.Now().Add(4 * beatEvery)) }

// Write implements [io.Writer].
func (a *Answer) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begin(http.StatusOK)
	if a.plain {
		return len(p), a.error(a.status, codeOf(a.status, p), strings.TrimSpace(string(p)))
	}
	a.extend()
	return a.ResponseWriter.Write(p)
}

// codeOf is the code of what the library says in words.
func codeOf(status int, text []byte) int64 {
	switch {
	case status == http.StatusNotFound:
		return codeSession
	case strings.Contains(string(text), "malformed payload"):
		return jsonrpc.CodeParseError
	case strings.HasSuffix(strings.TrimSpace(string(text)), " unsupported"):
		return jsonrpc.CodeMethodNotFound
	}
	return jsonrpc.CodeInvalidRequest
}

// FlushError is for [http.ResponseController].
func (a *Answer) FlushError() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.plain {
		return nil
	}
	a.begin(http.StatusOK)
	a.extend()
	if a.streams() {
		defer a.rest()
	}
	return a.Control.Flush()
}

// Fail answers with what is wrong. Nothing was written before.
func (a *Answer) Fail(f *Fault) {
	h := a.Header()
	if f.Allow != "" {
		h.Set("Allow", f.Allow)
	}
	if f.Status == http.StatusTooManyRequests || f.Status == http.StatusServiceUnavailable {
		h.Set("Retry-After", "1")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.status = f.Status
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

// send writes a whole answer of JSON-RPC.
func (a *Answer) send(status int, body map[string]any) error {
	body["jsonrpc"], body["id"] = "2.0", a.ID.Raw()
	text, err := json.Marshal(body, json.Deterministic(true))
	if err != nil {
		return err
	}
	h := a.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(text)))
	h.Set("Cache-Control", "no-store")
	a.extend()
	a.ResponseWriter.WriteHeader(status)
	_, err = a.ResponseWriter.Write(text)
	return err
}

// Beat keeps a quiet stream alive by comments, and ends it when its credential isn't
// good any more or its client is gone. The function that it returns ends the beating.
func (a *Answer) Beat(ctx context.Context, end context.CancelFunc, tick func(time.Duration) (<-chan time.Time, func()), still func() error) (stop func()) {
	done := make(chan struct{})
	var beating sync.WaitGroup
	beating.Go(func() {
		beats, stop := tick(beatEvery)
		defer stop()
		for {
			select {
			case <-done:
				return
			case <-ctx.Done():
				return
			case <-beats:
			}
			if still != nil && still() != nil || a.comment() != nil {
				end()
				return
			}
		}
	})
	return func() {
		close(done)
		beating.Wait()
	}
}

// comment writes what clients read over, if this is a stream that has begun.
func (a *Answer) comment() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.status != http.StatusOK || !a.streams() {
		return nil
	}
	a.extend()
	defer a.rest()
	_, err := io.WriteString(a.ResponseWriter, ": \n\n")
	if flushed := a.Control.Flush(); !errors.Is(flushed, http.ErrNotSupported) {
		err = errors.Join(err, flushed)
	}
	return err
}
