package reply

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	// beatEvery is how often a comment goes out on a stream that is quiet.
	beatEvery = 15 * time.Second
	// writeTime is for a piece of an answer to leave.
	writeTime = 20 * time.Second
)

const eventStream = "text/event-stream"

// An Answer is what goes out. The library writes events to it whole, and beats come
// between them. Where it has nothing to say for some beats the stream begins without it, so
// that nobody between takes a long call for a dead one; what it then says of another status
// is said as an event.
type Answer struct {
	http.ResponseWriter
	Control *http.ResponseController
	// ID is that of the request, once it is known.
	ID jsonrpc.ID
	// First, when not nil, is called before anything is sent.
	First func(http.Header)

	own http.Header // what the library sets, while others may be sent; its goroutine's

	mu      sync.Mutex
	status  int  // what the client is told
	said    int  // what the library says
	plain   bool // the library says in words what is wrong; it is told as an error
	streams bool // events go out
	waits   int  // how many beats more until a stream begins by itself; 0 is that it doesn't
	ours    bool // it did
	foreign bool // what the library writes now is no event
}

// NewAnswer is the answer to go out by w.
func NewAnswer(w http.ResponseWriter) *Answer {
	return &Answer{ResponseWriter: w, Control: http.NewResponseController(w), own: http.Header{}}
}

// Streams says that the library is about to answer by events, however long it takes to
// have something to say.
func (a *Answer) Streams() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.waits = 2
}

// Header implements [http.ResponseWriter].
func (a *Answer) Header() http.Header { return a.own }

// WriteHeader implements [http.ResponseWriter].
func (a *Answer) WriteHeader(status int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begin(status)
}

func (a *Answer) begin(status int) {
	if a.said != 0 {
		return
	}
	a.said = status
	h := a.Header()
	media := h.Get("Content-Type")
	a.plain = status >= 400 && strings.HasPrefix(media, "text/plain")
	if a.ours {
		a.foreign = !a.plain && media != eventStream
		return
	}
	if a.status = status; a.plain {
		return
	}
	if a.First != nil {
		a.First(h)
	}
	a.streams = media == eventStream
	h.Set("Cache-Control", "no-store, no-transform")
	if a.streams {
		h.Set("X-Accel-Buffering", "no") // proxies that read this pass events on at once
	}
	a.extend()
	a.commit(status)
}

// commit sends the header.
func (a *Answer) commit(status int) {
	maps.Copy(a.ResponseWriter.Header(), a.own)
	a.ResponseWriter.WriteHeader(status)
}

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
	switch {
	case a.plain:
		return len(p), a.error(a.said, codeOf(a.said, p), strings.TrimSpace(string(p)))
	case a.foreign:
		return len(p), a.event(p)
	}
	a.extend()
	return a.ResponseWriter.Write(p)
}

// event writes a message of JSON-RPC as an event.
func (a *Answer) event(text []byte) error {
	a.extend()
	text = bytes.ReplaceAll(bytes.TrimSpace(text), []byte("\n"), []byte("\ndata: "))
	_, err := a.ResponseWriter.Write([]byte("event: message\ndata: " + string(text) + "\n\n"))
	return errors.Join(err, a.flush())
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
	return a.flush()
}

// flush has what was written leave.
func (a *Answer) flush() error {
	if a.streams {
		defer a.rest()
	}
	if err := a.Control.Flush(); !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
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

// comment writes what clients read over, if this is a stream that has begun or begins now.
func (a *Answer) comment() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.status == 0 && a.waits > 0 {
		if a.waits--; a.waits == 0 {
			a.beginAlone()
		}
	}
	if !a.streams {
		return nil
	}
	a.extend()
	_, err := io.WriteString(a.ResponseWriter, ": \n\n")
	return errors.Join(err, a.flush())
}

// beginAlone begins a stream to which the library has said nothing yet. What it has set of
// the header may be half of it, and isn't looked at.
func (a *Answer) beginAlone() {
	a.status, a.streams, a.ours = http.StatusOK, true, true
	h := a.ResponseWriter.Header()
	h.Set("Content-Type", eventStream)
	h.Set("Cache-Control", "no-store, no-transform")
	h.Set("X-Accel-Buffering", "no")
	a.extend()
	a.ResponseWriter.WriteHeader(http.StatusOK)
}
