package lives

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// A client whose connection is cut while it waits for the rest of an answer asks again,
// after the end of a run, too.
func TestAnswerThatNeverComes(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch n := asked.Add(1); {
		case n == 1:
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprint(w, "id: 1\nevent: state\ndata: {\"run\":\"r\",\"seq\":1,\"until\":1,\"state\":\"accepted\"}\n\nid: 2\nevent: state\ndata: {\"run\":\"r\",\"seq\":2,\"until\":2,\"state\":\"started\"}\n\nid: 3\nevent: end\ndata: {\"run\":\"r\",\"seq\":3,\"until\":3,\"state\":\"exited\",\"outcome\":{}}\n\n")
		case n == 2: // cut off: nobody says so
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
