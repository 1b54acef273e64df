package sse

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
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
