package sse

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"paddock"
	"paddock/internal/httpapi/feed"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

const id = paddock.RunID("r00000000000000000000000000")

// Endless is a run that has printed very much.
type endless struct{}

func (endless) Look(context.Context, paddock.Principal, paddock.RunID) (paddock.Run, error) {
	at := time.Unix(1e9, 0)
	return paddock.Run{ID: id, State: paddock.Running, StartedAt: &at}, nil
}

func (e endless) Status(ctx context.Context, p paddock.Principal, id paddock.RunID) (paddock.Run, error) {
	return e.Look(ctx, p, id)
}

func (endless) Output(ctx context.Context, _ paddock.Principal, _ paddock.RunID, req paddock.PageRequest) (paddock.Page, error) {
	const total = 1 << 40
	if req.Offset == total {
		<-ctx.Done()
		return paddock.Page{}, ctx.Err()
	}
	text := strings.Repeat("x", req.Limit)
	return paddock.Page{
		Content: text, Encoding: "utf-8", Offset: req.Offset, NextOffset: req.Offset + int64(len(text)), Total: total,
		Entries: []paddock.Entry{{Stream: paddock.Stdout, Offset: req.Offset, Length: int64(len(text))}},
	}, nil
}

// A client that takes nothing is closed, and knows how far it got.
func TestSlow(t *testing.T) {
	t.Parallel()
	hub := feed.New(t.Context(), endless{})
	defer hub.Close()
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(over)
		f, err := hub.Follow(r.Context(), paddock.Principal{}, id, 0)
		if err != nil {
			t.Error(err)
			return
		}
		defer f.Close()
		Serve(r.Context(), w, []*feed.Follower{f}, []Cursor{{Run: id}}, Options{
			Tick: func(time.Duration) (<-chan time.Time, func()) { return nil, func() {} }, Slow: 50 * time.Millisecond, Done: hub.Done(),
		})
	}))
	defer server.Close()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(server.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	<-over // nothing was read
}

// counted counts the pages that are read.
type counted struct {
	endless
	pages atomic.Int64
}

func (c *counted) Look(ctx context.Context, p paddock.Principal, id paddock.RunID) (paddock.Run, error) {
	run, err := c.endless.Look(ctx, p, id)
	run.ID = id
	return run, err
}

func (c *counted) Output(ctx context.Context, p paddock.Principal, id paddock.RunID, req paddock.PageRequest) (paddock.Page, error) {
	if req.Limit > 1 && req.Offset < 1<<40 { // not that of whoever reads for everybody
		c.pages.Add(1)
	}
	return c.endless.Output(ctx, p, id, req)
}

// stuck is a client that takes the first pieces and then nothing any more.
type stuck struct {
	http.ResponseWriter
	wrote chan int
	ctx   context.Context
}

func (s stuck) Write(p []byte) (int, error) {
	select {
	case s.wrote <- len(p):
		return len(p), nil
	case <-s.ctx.Done():
		return 0, s.ctx.Err()
	}
}

func (stuck) Flush()                           {}
func (stuck) SetWriteDeadline(time.Time) error { return nil }

// However many runs a client follows, little is read for it before it takes what there is:
// it could have the server keep a page of each of them, over each connection.
func TestLittleIsKeptForAClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		house := &counted{}
		hub := feed.New(t.Context(), house)
		defer hub.Close()
		ctx, cancel := context.WithCancel(t.Context())
		var followers []*feed.Follower
		var at []Cursor
		for i := range MostRuns {
			run := paddock.RunID("r0000000000000000000000000" + string("0123456789abcdefghjkmnpqrstvwxyz"[i]))
			f, err := hub.Follow(ctx, paddock.Principal{}, run, 2) // its first byte is next
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			followers, at = append(followers, f), append(at, Cursor{Run: run, After: 2})
		}
		client := stuck{httptest.NewRecorder(), make(chan int), ctx}
		over := make(chan struct{})
		go func() {
			defer close(over)
			Serve(ctx, client, followers, at, Options{
				Tick: func(time.Duration) (<-chan time.Time, func()) { return nil, func() {} }, Several: true, Done: hub.Done(),
			})
		}()
		for took := int64(0); took < 100; took++ {
			synctest.Wait()
			if n := house.pages.Load(); n > took+2 {
				t.Fatalf("%d pages were read for a client that took %d pieces", n, took)
			}
			<-client.wrote
		}
		cancel()
		<-over
	})
}

func TestCursors(t *testing.T) {
	other := "r00000000000000000000000001"
	at, err := ParseCursors(string(id) + ":7," + other)
	if err != nil || len(at) != 2 || at[0].After != 7 || at[1].After != 0 {
		t.Errorf("%v, %v", at, err)
	}
	var many []string
	for i := range MostRuns + 1 {
		many = append(many, "r0000000000000000000000000"+string("0123456789abcdefghjkmnpqrstvwxyz"[i%32]))
	}
	for _, bad := range []string{"", ",", "x", string(id) + ":", string(id) + ":-1", string(id) + ":01", string(id) + ":1:2", string(id) + "," + string(id), strings.Join(many, ",")} {
		if _, err := ParseCursors(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
