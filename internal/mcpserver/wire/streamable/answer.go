package streamable

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

// A fault is what is wrong with a request, or the result that says so.
type fault struct {
	status  int
	code    int64
	message string
	allow   string
	result  any // in place of an error
	// complete marks the result as revisions without sessions want it.
	complete bool
}

func invalid(status int, format string, args ...any) *fault {
	return &fault{status: status, code: jsonrpc.CodeInvalidRequest, message: fmt.Sprintf(format, args...)}
}

func notAcceptable(types string) *fault {
	return invalid(http.StatusNotAcceptable, "Answers come as these types; say that you take them: Accept: %s", types)
}

func tooMany(message string) *fault {
	return &fault{status: http.StatusTooManyRequests, code: codeServer, message: message}
}

// unknownSession is told of a session that isn't there, and of another's.
func unknownSession() *fault {
	return &fault{status: http.StatusNotFound, code: codeSession, message: "There is no such session. Begin one by initialize."}
}

// An answer is what goes out. The library writes events to it whole, and beats come
// between them.
type answer struct {
	http.ResponseWriter
	control *http.ResponseController
	now     func() time.Time
	id      jsonrpc.ID        // of the request
	first   func(http.Header) // is called before anything is sent

	mu     sync.Mutex
	status int
	plain  bool // the library says in words what is wrong; it is told as an error
}

// WriteHeader implements [http.ResponseWriter].
func (a *answer) WriteHeader(status int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begin(status)
}

func (a *answer) begin(status int) {
	if a.status != 0 {
		return
	}
	a.status = status
	h := a.Header()
	if a.plain = status >= 400 && strings.HasPrefix(h.Get("Content-Type"), "text/plain"); a.plain {
		return
	}
	if a.first != nil {
		a.first(h)
	}
	h.Set("Cache-Control", "no-store, no-transform")
	if a.streams() {
		h.Set("X-Accel-Buffering", "no") // proxies that read this pass events on at once
	}
	a.extend()
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) streams() bool { return a.Header().Get("Content-Type") == "text/event-stream" }

// extend gives what is written next its time to leave. Where there are no deadlines,
// as in tests, there are none.
func (a *answer) extend() { _ = a.control.SetWriteDeadline(a.now().Add(writeTime)) }

// Write implements [io.Writer].
func (a *answer) Write(p []byte) (int, error) {
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
func (a *answer) FlushError() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.plain {
		return nil
	}
	a.begin(http.StatusOK)
	return a.control.Flush()
}

// fail answers with what is wrong. Nothing was written before.
func (a *answer) fail(f *fault) {
	h := a.Header()
	if f.allow != "" {
		h.Set("Allow", f.allow)
	}
	if f.status == http.StatusTooManyRequests || f.status == http.StatusServiceUnavailable {
		h.Set("Retry-After", "1")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.status = f.status
	if f.result == nil {
		_ = a.error(f.status, f.code, f.message) // who asked is gone then
		return
	}
	result, err := f.fields()
	if err != nil {
		_ = a.error(http.StatusInternalServerError, jsonrpc.CodeInternalError, err.Error()) // the same
		return
	}
	_ = a.send(f.status, map[string]any{"result": result}) // the same
}

func (f *fault) fields() (map[string]any, error) {
	text, err := json.Marshal(f.result)
	if err != nil {
		return nil, err
	}
	var all map[string]any
	err = json.Unmarshal(text, &all)
	if err == nil && f.complete {
		all["resultType"] = "complete"
	}
	return all, err
}

func (a *answer) error(status int, code int64, why string) error {
	return a.send(status, map[string]any{"error": map[string]any{"code": code, "message": why}})
}

// send writes a whole answer of JSON-RPC.
func (a *answer) send(status int, body map[string]any) error {
	body["jsonrpc"], body["id"] = "2.0", a.id.Raw()
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

// beat keeps a quiet stream alive by comments, and ends it when its credential isn't
// good any more or its client is gone. The function that it returns ends the beating.
func (a *answer) beat(ctx context.Context, end context.CancelFunc, tick func(time.Duration) (<-chan time.Time, func()), still func() error) (stop func()) {
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
func (a *answer) comment() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.status != http.StatusOK || !a.streams() {
		return nil
	}
	a.extend()
	_, err := io.WriteString(a.ResponseWriter, ": \n\n")
	if flushed := a.control.Flush(); !errors.Is(flushed, http.ErrNotSupported) {
		err = errors.Join(err, flushed)
	}
	return err
}
