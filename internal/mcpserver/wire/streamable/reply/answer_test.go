package reply

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

// timed is a connection that notes until when it is written to, and how often things leave.
type timed struct {
	*httptest.ResponseRecorder
	until   time.Time
	flushed int
	full    error // of a client that takes nothing
}

func (t *timed) SetWriteDeadline(at time.Time) error { t.until = at; return nil }

func (t *timed) FlushError() error {
	t.flushed++
	return t.full
}

// left is for how long more it is written to.
func (t *timed) left() time.Duration { return time.Until(t.until).Round(time.Second) }

// A beating answer is one whose heartbeats a test gives.
type beating struct {
	*Answer
	to    *timed
	beat  func()
	over  func()          // no beat is said after it
	ended context.Context //nolint:containedctx // whether it was ended
}

func begin(t *testing.T, still func() error) *beating {
	t.Helper()
	b := &beating{to: &timed{ResponseRecorder: httptest.NewRecorder()}}
	b.Answer = NewAnswer(b.to)
	ctx, cancel := context.WithCancel(t.Context())
	b.ended = ctx
	beats := make(chan time.Time)
	done := make(chan struct{}, 1)
	stop := b.Beat(ctx, cancel, func(d time.Duration) (<-chan time.Time, func()) {
		if d > 25*time.Second {
			t.Errorf("a beat every %v", d)
		}
		return beats, func() { done <- struct{}{} }
	}, still)
	b.beat = func() {
		for range 2 { // when the second one is taken, the first one was said
			select {
			case beats <- time.Time{}:
			case <-ctx.Done():
			}
		}
	}
	b.over = sync.OnceFunc(func() {
		stop()
		<-done
	})
	t.Cleanup(b.over)
	return b
}

func events(b *beating) {
	b.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(b, "event: message\ndata: {}\n\n")
	_ = b.FlushError() // it can't
}

// A stream has a time for each piece and none for all of it: it goes on for as long as
// there are beats, each of which gives it time until some more.
func TestStreamsGoOn(t *testing.T) {
	t.Parallel()
	b := begin(t, nil)
	events(b)
	for range 40 { // ten minutes and more
		b.mu.Lock()
		b.to.until = time.Time{}
		b.mu.Unlock()
		b.beat()
		b.mu.Lock()
		if left := b.to.left(); left < 2*beatEvery || left > 5*beatEvery {
			t.Errorf("after a beat %v are left", left)
		}
		b.mu.Unlock()
	}
	events(b)
	b.over()
	if got := strings.ReplaceAll(b.to.Body.String(), ": \n\n", ""); strings.Count(got, "data: {}") != 2 || got != strings.Repeat("event: message\ndata: {}\n\n", 2) {
		t.Errorf("%q", got)
	}
}

// What the library is slow to answer begins by itself, and whatever is said then is said
// as an event.
func TestQuietAnswers(t *testing.T) {
	t.Parallel()
	id, err := jsonrpc.MakeID("seven")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		say  func(b *beating)
		want string
	}{
		"events": {events, "event: message\ndata: {}\n\n"},
		"an error of JSON-RPC": {func(b *beating) {
			b.Header().Set("Content-Type", "application/json")
			b.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(b, `{"jsonrpc":"2.0","id":"seven","error":{"code":-32601,"message":"x"}}`)
		}, `event: message` + "\n" + `data: {"jsonrpc":"2.0","id":"seven","error":{"code":-32601,"message":"x"}}` + "\n\n"},
		"words":   {func(b *beating) { http.Error(b, "a\nb unsupported", http.StatusBadRequest) }, `data: {"error":{"code":-32601,"message":"a\nb unsupported"},"id":"seven","jsonrpc":"2.0"}` + "\n\n"},
		"a fault": {func(b *beating) { b.Fail(UnknownSession()) }, `"code":-32001`},
		"an array": {func(b *beating) {
			b.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(b, "[1,\n2]\n")
		}, "data: [1,\ndata: 2]\n\n"},
		"nothing": {func(b *beating) { b.WriteHeader(http.StatusAccepted) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := begin(t, nil)
			b.ID = id
			b.beat()
			b.mu.Lock()
			if b.status != 0 || b.to.Body.Len() > 0 {
				t.Errorf("it began before it was known what comes: %q", b.to.Body)
			}
			b.mu.Unlock()
			b.Streams()
			b.beat()
			b.beat()
			c.say(b)
			b.over()
			h := b.to.Result().Header
			if b.to.Code != http.StatusOK || h.Get("Content-Type") != "text/event-stream" || h.Get("Content-Length") != "" || !strings.HasPrefix(h.Get("Cache-Control"), "no-store") {
				t.Errorf("%d %v", b.to.Code, h)
			}
			if got := b.to.Body.String(); !strings.HasPrefix(got, ": \n\n") || strings.Trim(got, ": \n") != "" && !strings.Contains(got, c.want) || (c.want == "") != (strings.Trim(got, ": \n") == "") {
				t.Errorf("%q, want %q", got, c.want)
			}
			if left := b.to.left(); c.want != "" && left < 2*beatEvery {
				t.Errorf("%v are left", left)
			}
		})
	}
}

// Who takes nothing is closed, and so is who may not have this any more.
func TestWhoIsEnded(t *testing.T) {
	t.Parallel()
	slow := begin(t, nil)
	events(slow)
	if left := slow.to.left(); left < beatEvery {
		t.Errorf("after an event %v are left", left)
	}
	slow.mu.Lock()
	slow.to.full = errors.New("i/o timeout")
	slow.mu.Unlock()
	slow.beat()
	<-slow.ended.Done()
	gone := begin(t, func() error { return errors.New("the token was revoked") })
	events(gone)
	gone.beat()
	<-gone.ended.Done()
}
