package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"paddock"
	"paddock/internal/app"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

const id = paddock.RunID("r00000000000000000000000000")

func serve(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(h)
	c, err := New(server.URL, "token")
	if err != nil {
		t.Fatal(err)
	}
	c.wait = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		server.Close()
	})
	return c
}

func TestAddresses(t *testing.T) {
	for address, ok := range map[string]bool{
		"http://127.0.0.1:7077": true, "http://localhost": true, "http://[::1]:1/": true, "https://a.example": true,
		"http://a.example": false, "http://192.0.2.1": false, "a.example": false, "ftp://a.example": false, "https://": false, "": false,
		"https://user:word@a.example": false, "https://a.example/x": false, "https://a.example?token=x": false,
	} {
		if _, err := New(address, ""); (err == nil) != ok {
			t.Errorf("%q: %v", address, err)
		}
	}
	if _, err := New("https://a.example", "a\nb"); err == nil {
		t.Error("a token of two lines")
	}
}

// A stream that is cut anywhere is taken up where it was, and what it says is held to
// the rule.
func TestEventsOverBrokenConnections(t *testing.T) {
	t.Parallel()
	whole := []string{
		`id: 1|event: state|data: {"seq":1,"until":1,"state":"accepted"}`, `id: 2|event: state|data: {"seq":2,"until":2,"state":"started"}`,
		`id: 4|event: output|data: {"seq":3,"until":4,"stream":"stdout","offset":0,"encoding":"utf-8","content":"ab"}`,
		`id: 5|event: output|data: {"seq":5,"until":5,"stream":"stderr","offset":0,"encoding":"base64","content":"/w=="}`,
		`id: 6|event: end|data: {"seq":6,"until":6,"state":"exited","outcome":{"state":"exited"}}`,
	}
	begins := []int64{0, 1, 2, 4, 5}
	tries := 0
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer token" {
			t.Errorf("%v", r.Header)
		}
		var after int64
		if _, err := fmt.Sscan(r.URL.Query().Get("after"), &after); err != nil {
			t.Error(err)
		}
		for i, text := range whole {
			if begins[i] < after {
				continue
			}
			text = strings.ReplaceAll(text, "|", "\n") + "\n\n"
			if tries++; tries%2 == 1 { // half an event, and no more
				_, _ = io.WriteString(w, text[:len(text)/2])
				return
			}
			_, _ = io.WriteString(w, "retry: 1000\n\n:\n\n"+text)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	var got strings.Builder
	if err := c.Follow(t.Context(), paddock.Principal{}, id, paddock.Combined, 0, &got); err != nil || got.String() != "ab\xff" {
		t.Errorf("%q, %v", got.String(), err)
	}
	kinds := ""
	if err := c.Events(t.Context(), id, 0, func(e Event) error { kinds += e.Kind + " "; return nil }); err != nil || kinds != "state state output output end " {
		t.Errorf("%s, %v", kinds, err)
	}
	mine := errors.New("enough")
	if err := c.Events(t.Context(), id, 0, func(Event) error { return mine }); !errors.Is(err, mine) {
		t.Errorf("%v", err)
	}
}

func TestStreamsThatLie(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a gap":        "event: output\ndata: {\"seq\":4,\"until\":4}\n\n",
		"a double":     "event: state\ndata: {\"seq\":1,\"until\":1}\n\nevent: state\ndata: {\"seq\":1,\"until\":1}\n\n",
		"backwards":    "event: state\ndata: {\"seq\":1,\"until\":0}\n\n",
		"not JSON":     "event: state\ndata: x\n\n",
		"only cut off": "",
		"too long":     "event: output\ndata: " + strings.Repeat("x", 2*mostLine),
		"an error":     "event: error\ndata: {\"status\":401,\"detail\":\"over\",\"refusal\":{\"code\":\"unauthenticated\",\"message\":\"over\",\"retryable\":false}}\n\n",
	} {
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) })
		if err := c.Events(t.Context(), id, 0, func(Event) error { return nil }); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

// Refusals arrive as they were made; what isn't a server of ours is said to be none, and
// no token goes elsewhere.
func TestAnswers(t *testing.T) {
	t.Parallel()
	status, body := http.StatusForbidden, `{"status":403,"detail":"no","refusal":{"code":"rule_denied","message":"no","hint":"yes","retryable":false}}`
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "http://192.0.2.1/")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
	ask := func() error { _, err := c.List(t.Context(), paddock.Principal{}, app.Filter{}); return err }
	var r *paddock.Refusal
	if err := ask(); !errors.As(err, &r) || r.Code != paddock.RuleDenied || r.Hint != "yes" {
		t.Errorf("%v", err)
	}
	for _, s := range []int{http.StatusFound, http.StatusBadGateway, http.StatusInternalServerError} {
		if status, body = s, "<html>"; !strings.Contains(fmt.Sprint(ask()), "isn't Paddock") {
			t.Errorf("%d: %v", s, ask())
		}
	}
	if status, body = http.StatusOK, "[]"; ask() == nil {
		t.Error("an answer of another form")
	}
	if _, err := c.Start(t.Context(), paddock.Request{Tied: true}); !errors.As(err, &r) {
		t.Errorf("a tied run: %v", err)
	}
	if _, err := c.Output(t.Context(), paddock.Principal{}, id, paddock.PageRequest{Unmasked: true}); !errors.As(err, &r) || r.Code != paddock.Forbidden {
		t.Errorf("unmasked: %v", err)
	}
}
