package entry

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"paddock"
	"paddock/internal/httpapi/entry/gate"
	"paddock/internal/httpapi/entry/shield/problem"
	"paddock/internal/httpapi/entry/table"
)

// timed is a connection that notes until when it is read from, and written to.
type timed struct {
	*httptest.ResponseRecorder
	until, written time.Time
}

func (t *timed) SetReadDeadline(at time.Time) error  { t.until = at; return nil }
func (t *timed) SetWriteDeadline(at time.Time) error { t.written = at; return nil }

type anybody struct{ gate.Gate }

func (anybody) Identify(*http.Request) (gate.Caller, error) { return gate.Caller{}, nil }

// A request that has arrived has as long as an answer may take, so that nobody who waits as
// long as he may is taken for gone; one that is still to arrive has not.
func TestHowLongARequestHas(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body io.Reader
		read bool
		long bool
	}{
		"no body":              {nil, false, true},
		"a body":               {strings.NewReader("{}"), true, true},
		"a body to be read":    {strings.NewReader("{}"), false, false},
		"a body that is empty": {io.MultiReader(), true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := New(Config{Gate: anybody{}, Limits: DefaultLimits(), Now: time.Now})
			w := &timed{ResponseRecorder: httptest.NewRecorder()}
			var left time.Duration
			d.Route(Row{Route: table.Route{Method: http.MethodPost, Path: "/x", ID: "x"}, Verb: gate.Health}, func(call *Call) error {
				if c.read {
					if _, err := io.ReadAll(call.Body); err != nil {
						t.Error(err)
					}
				}
				left = time.Until(w.until)
				return nil
			})
			d.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/x", c.body))
			if w.Code != http.StatusOK || left <= 0 || (left > readTime) != c.long || c.long && (left < paddock.MaxWait || w.written.Sub(w.until) < 10*time.Second) { // or nobody could be told
				t.Errorf("%d: %s are left", w.Code, left)
			}
		})
	}
}

// ended is a gate whose only credential is good until it is ended.
type ended struct {
	gate.Gate
	over bool
}

func (e *ended) Identify(*http.Request) (gate.Caller, error) {
	if e.over {
		return gate.Caller{}, paddock.Refused(paddock.Unauthenticated, "It was ended.")
	}
	return gate.Caller{Name: "ann", Role: gate.Operator}, nil
}

// Who waits for something isn't told it once the credential was ended; who had something
// done is told of it.
func TestWhoWaitedIsAskedAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		method string
		waits  time.Duration
		want   int
	}{
		"at once":    {http.MethodGet, 0, http.StatusOK},
		"it waited":  {http.MethodGet, paddock.MaxWait, http.StatusUnauthorized},
		"it changed": {http.MethodPost, paddock.MaxWait, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				door := &ended{}
				d := New(Config{Gate: door, Limits: DefaultLimits(), Now: time.Now})
				d.Route(Row{Route: table.Route{Method: c.method, Path: "/x", ID: "x"}, Verb: gate.RunsRead}, func(call *Call) error {
					if c.waits > 0 {
						<-time.After(c.waits)
					}
					door.over = true
					call.Header().Set("ETag", `"of what happened"`)
					return call.Answer(http.StatusOK, "what happened")
				})
				w := httptest.NewRecorder()
				d.ServeHTTP(w, httptest.NewRequest(c.method, "/x", nil))
				if w.Code != c.want || strings.Contains(w.Body.String(), "happened") != (c.want == http.StatusOK) || (w.Header().Get("ETag") != "") != (c.want == http.StatusOK) {
					t.Errorf("%d: %s", w.Code, w.Body)
				}
			})
		})
	}
}

// What a database or another machine kept for too long is no client's going away.
func TestTooLateIsNotGone(t *testing.T) {
	t.Parallel()
	for began, want := range map[time.Duration]int{0: clientGone, workTime: http.StatusServiceUnavailable} {
		err := late(errors.New("context canceled"), time.Now().Add(-began), true)
		if got := status(err); got != want {
			t.Errorf("after %s: %d, want %d", began, got, want)
		}
	}
	if err := late(problem.With(http.StatusNotFound, ""), time.Now().Add(-workTime), false); status(err) != http.StatusNotFound {
		t.Error(err)
	}
}

func status(err error) int {
	if p := problem.Of(err); p.Status != http.StatusInternalServerError {
		return p.Status
	}
	return clientGone // as Refuse has it
}
