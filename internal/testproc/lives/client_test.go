package lives

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A client whose connection is cut while it waits for the rest of an answer asks again,
// after the end of a run, too.
func TestAnswerThatNeverComes(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch asked.Add(1) {
		case 1:
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprint(w, "id: 1\nevent: state\ndata: {\"run\":\"r\",\"seq\":1,\"until\":1,\"state\":\"accepted\"}\n\nid: 2\nevent: state\ndata: {\"run\":\"r\",\"seq\":2,\"until\":2,\"state\":\"started\"}\n\nid: 3\nevent: end\ndata: {\"run\":\"r\",\"seq\":3,\"until\":3,\"state\":\"exited\",\"outcome\":{}}\n\n")
		case 2: // cut off: nobody says so
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		default:
			w.WriteHeader(http.StatusNoContent)
		}
	}))
	defer server.Close()
	c := &Client{At: func() string { return server.URL }, Token: "t", Quiet: 100 * time.Millisecond}
	story, err := c.Follow(t.Context(), "r", func() bool { return false })
	if err != nil || story.State != "exited" || asked.Load() < 3 {
		t.Errorf("%+v, %v after %d questions", story, err, asked.Load())
	}
}

// A late road answers the first two requests when who asked has gone, as package http does
// where a server's last word meets the client's good-bye.
type late struct{ asked atomic.Int64 }

func (l *late) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := &http.Response{StatusCode: 499, Status: "499 status code 499", Body: http.NoBody, Request: r}
	switch l.asked.Add(1) {
	case 1, 3: // the first of the events, and of what comes after the end
		<-r.Context().Done()
	case 2:
		answer.StatusCode, answer.Body = http.StatusOK, io.NopCloser(strings.NewReader("id: 3\nevent: end\ndata: {\"run\":\"r\",\"seq\":1,\"until\":3,\"state\":\"exited\",\"outcome\":{}}\n\n"))
	default:
		answer.StatusCode = http.StatusNoContent
	}
	return answer, nil
}

// An answer that comes to a client that has gone is none.
func TestAnswerToNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		road := &late{}
		c := &Client{At: func() string { return "http://server.test" }, Token: "t", Quiet: 100 * time.Millisecond, HTTP: http.Client{Transport: road}}
		story, err := c.Follow(t.Context(), "r", func() bool { return false })
		if err != nil || story.State != "exited" || story.Connections != 2 || road.asked.Load() != 4 {
			t.Errorf("%+v, %v after %d questions", story, err, road.asked.Load())
		}
	})
}
