package sits

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"paddock"
	"paddock/internal/app/attach"
)

// What a program doesn't read yet is sent again where no person would, and nothing that comes
// after it before.
func TestPipedComesInOrder(t *testing.T) {
	t.Parallel()
	heard := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{protocol}})
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.CloseNow()
		refusals := map[byte]int{'b': 3, 'c': 1}
		for {
			kind, b, err := conn.Read(t.Context())
			if err != nil {
				return
			}
			var number int64
			answer := word{Type: "done"}
			if kind == websocket.MessageText {
				var said word
				if err := json.Unmarshal(b, &said); err != nil {
					t.Error(err)
				}
				number = said.Number
			} else {
				number = int64(b[7])
				if last := b[len(b)-1]; refusals[last] > 0 {
					refusals[last]--
					answer = word{Type: "refused", Refusal: &paddock.Refusal{Code: paddock.Conflict, Retryable: true}}
				} else {
					heard <- string(b[8:])
				}
			}
			answer.Number = number
			text, err := json.Marshal(answer)
			if err != nil {
				t.Error(err)
			}
			if conn.Write(t.Context(), websocket.MessageText, text) != nil {
				return
			}
			if number == 5 {
				if conn.Write(t.Context(), websocket.MessageText, []byte(`{"type":"end"}`)) != nil {
					return
				}
			}
		}
	}))
	defer server.Close()
	s, err := New(server.URL, "token")
	if err != nil {
		t.Fatal(err)
	}
	s.wait = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	typed := make(chan paddock.Typing)
	go func() {
		typed <- paddock.Typing{Hand: "h", Take: true, Number: 1}
		for i, text := range []string{"a", "b", "c", "d"} {
			typed <- paddock.Typing{Hand: "h", Number: int64(i + 2), Input: []byte(text)}
		}
	}()
	var out bytes.Buffer
	err = s.Attach(t.Context(), "r00000000000000000000000000", attach.Attachment{Out: &out, Typed: typed, Piped: true, Refused: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for range 4 {
		got += fmt.Sprint(<-heard)
	}
	if got != "abcd" {
		t.Errorf("it heard %q", got)
	}
}

// A refusal is a refusal however long it is, and who is refused for good doesn't ask again.
func TestLongRefusal(t *testing.T) {
	t.Parallel()
	asked := 0
	want := paddock.Refusal{Code: paddock.Forbidden, Message: strings.Repeat("ä", 1000), Hint: strings.Repeat("h", 1000)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.WriteHeader(http.StatusForbidden)
		if err := json.NewEncoder(w).Encode(map[string]any{"status": http.StatusForbidden, "refusal": want}); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	s, err := New(server.URL, "token")
	if err != nil {
		t.Fatal(err)
	}
	s.wait = func(context.Context, time.Duration) error { return errors.New("it was to be asked again") }
	err = s.Attach(t.Context(), "r00000000000000000000000000", attach.Attachment{Out: io.Discard})
	if got, is := errors.AsType[*paddock.Refusal](err); !is || got.Message != want.Message || got.Hint != want.Hint || asked != 1 {
		t.Errorf("%v after %d questions", err, asked)
	}
}
