package entry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"paddock"
	"paddock/internal/auth"
	"paddock/internal/httpapi/entry/gate"
	"paddock/internal/httpapi/entry/shield"
	"paddock/internal/httpapi/entry/shield/problem"
	"paddock/internal/httpapi/entry/table"
	"paddock/internal/httpapi/entry/table/ask"
)

const (
	readTime  = 30 * time.Second                 // for a body to arrive
	workTime  = paddock.MaxWait + 15*time.Second // for an answer to be made, and then some to say that there is none
	writeTime = paddock.MaxWait + 30*time.Second // for an answer that isn't a stream to leave
)

// A Row is a route with its verb.
type Row struct {
	table.Route
	Verb gate.Verb
	// Challenge, when not nil, says more of the credential that is wanted to who has none
	// that is good for this: parameters as in WWW-Authenticate, after a comma.
	Challenge func(r *http.Request, status int) string
}

// NewRow returns the row of a route below /api/v1/. What a DELETE answers is nothing.
func NewRow(method, path, id, summary, tag string, verb gate.Verb) Row {
	r := Row{Route: table.Route{Method: method, Path: "/api/v1/" + path, ID: id, Summary: summary, Tag: tag}, Verb: verb}
	if method == http.MethodDelete {
		r.Status = http.StatusNoContent
	}
	return r
}

// A Call is a request whose sender may ask.
type Call struct {
	http.ResponseWriter
	*http.Request
	Caller gate.Caller
	Verb   gate.Verb
	// Later says that what was asked for is still to be done.
	Later bool

	gate  gate.Gate
	began time.Time
}

// patient is how long an answer takes that waited for something to happen.
const patient = time.Second

// Still reports whether the credential is good for as much as it was.
func (c *Call) Still() error {
	now, err := c.gate.Identify(c.Request)
	if err == nil && (now.Name != c.Caller.Name || now.Role != c.Caller.Role || !now.May(c.Verb)) {
		err = paddock.Refused(paddock.Unauthenticated, "The session isn't what it was.")
	}
	return err
}

// Addr is where the call is from.
func (c *Call) Addr() string { return shield.NoteOf(c.Context()).Addr }

// Note is what is known of the call for the log.
func (c *Call) Note() *shield.Note { return shield.NoteOf(c.Context()) }

// Fault notes for the log what is wrong with us, or with whom we asked, although there is
// an answer.
func (c *Call) Fault(err error) { shield.NoteOf(c.Context()).Fault = err }

// Elsewhere is what is told where somebody else's server isn't of use; err is for the log.
func (c *Call) Elsewhere(err error, detail string) error {
	c.Fault(err)
	return problem.With(http.StatusBadGateway, detail)
}

// As is the principal that the call acts as.
func (c *Call) As() paddock.Principal { return c.Caller.For(c.Verb) }

// Route adds a route whose answer f writes itself.
func (d *Entrance) Route(r Row, f func(c *Call) error) {
	r.Public = gate.Permits(gate.Anybody, r.Verb)
	d.Table = append(d.Table, r)
	d.mux.HandleFunc(r.Pattern(), func(w http.ResponseWriter, req *http.Request) {
		shield.NoteOf(req.Context()).Route = r.Pattern()
		began := time.Now()
		t := timer{http.NewResponseController(w)}
		if err := errors.Join(t.read(readTime), t.write(writeTime)); err != nil {
			d.Refuse(w, req, err)
			return
		}
		if req.Body == nil || req.Body == http.NoBody {
			_ = t.read(workTime) // as was set before
		} else {
			req.Body = &body{http.MaxBytesReader(w, req.Body, d.body), t}
		}
		caller, err := d.admit(req, r)
		if err == nil {
			err = f(&Call{ResponseWriter: w, Request: req, Caller: caller, Verb: r.Verb, gate: d.gate, began: began})
		}
		if err = late(err, began, req.Context().Err() != nil); err != nil {
			d.Refuse(w, req, r.challenge(req, d.asProblem(err)))
		}
	})
}

// late says an error as it is to be said where the request ended since its time was over.
func late(err error, began time.Time, ended bool) error {
	if err == nil || !ended || time.Since(began) < workTime {
		return err
	}
	return problem.With(http.StatusServiceUnavailable, "There was no answer in time, and it isn't known whether what was asked for was done. Ask again, with the same Idempotency-Key if there was one.")
}

// A timer sets how long a connection is read from and written to, where it can.
type timer struct{ control *http.ResponseController }

func (t timer) read(d time.Duration) error {
	return supported(t.control.SetReadDeadline(time.Now().Add(d)))
}

func (t timer) write(d time.Duration) error {
	return supported(t.control.SetWriteDeadline(time.Now().Add(d)))
}

func supported(err error) error {
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}

// A body has been read when its end has: from then on the connection is only watched for
// whether who asked is still there, and when the time for that is over package http has the
// request end as if nobody were. So it gets as long as an answer may take to be made.
type body struct {
	io.ReadCloser
	timer timer
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		_, _ = b.timer.read(workTime), b.timer.write(writeTime) // as was set before
	}
	return n, err
}

// challenge says what credential is wanted, where the route says more of that.
func (r Row) challenge(req *http.Request, err error) error {
	if r.Challenge == nil {
		return err
	}
	p := problem.Of(err)
	if p.Status == http.StatusUnauthorized || p.Status == http.StatusForbidden {
		p.Challenge = r.Challenge(req, p.Status)
	}
	if p.Status == http.StatusInternalServerError {
		return err // what it was is for the log
	}
	return p
}

// asProblem gives errors of reading requests their statuses.
func (d *Entrance) asProblem(err error) error {
	switch {
	case errors.Is(err, ask.ErrTooLarge):
		return problem.With(http.StatusRequestEntityTooLarge, "The body has more than "+strconv.FormatInt(d.body, 10)+" bytes.")
	case errors.Is(err, ask.ErrWrongType):
		return problem.With(http.StatusUnsupportedMediaType, "The body must be JSON, and say so: Content-Type: application/json, and no Content-Encoding.")
	}
	return err
}

// admit says who asks, if he may.
func (d *Entrance) admit(req *http.Request, r Row) (gate.Caller, error) {
	note := shield.NoteOf(req.Context())
	caller, err := d.gate.Identify(req)
	if err != nil {
		if ok, after := d.addresses.Allow(note.Addr); !ok {
			return gate.Caller{}, TooMany(after)
		}
		if r.Verb == gate.Login || r.Verb == gate.Connect { // whatever is left over of an earlier session; no account's
			return gate.Caller{}, nil
		}
		return gate.Caller{}, err
	}
	note.Name = caller.Name
	limiter, name := d.accounts, caller.Name
	if caller.Nobody() {
		limiter, name = d.addresses, note.Addr
	}
	if ok, after := limiter.Allow(name); !ok {
		return gate.Caller{}, TooMany(after)
	}
	switch {
	case caller.May(r.Verb):
		return caller, nil
	case caller.Nobody():
		return gate.Caller{}, paddock.Refused(paddock.Unauthenticated, "Nobody is logged in.")
	}
	if gate.Permits(caller.Role, r.Verb) && caller.Who.Session != "" { // it lacks a second factor
		if err := caller.Who.May(r.Verb, auth.Foreign); err != nil {
			return gate.Caller{}, err
		}
	}
	refusal := paddock.Refused(paddock.Forbidden, "The role %s may not use %s.", caller.Role, r.Verb)
	if gate.Permits(caller.Role, r.Verb) {
		refusal = paddock.Refused(paddock.Forbidden, "This token isn't good for %s.", r.Verb)
		refusal.Hint = "Make a token that has " + string(r.Verb) + " among its scopes; paddock login takes --scope."
	} else {
		refusal.Hint = "Ask an admin."
	}
	if caller.Who.Narrow() && r.Verb.Delegable() && !r.Verb.Placed() {
		refusal.Hint = "It is for some workspaces alone, to which this isn't held. Take a token for all of them."
	}
	if caller.Who.Token != "" && !r.Verb.Delegable() {
		refusal.Hint = "No API token is. Log in on the page, or use the operator's token, of token_file."
	}
	return gate.Caller{}, refusal
}

// Add adds a route that reads In and answers with Out.
func Add[In, Out any](d *Entrance, r Row, f func(ctx context.Context, c *Call, in *In) (Out, error)) {
	r.In, r.Out = table.Type[In](), table.Type[Out]()
	if r.Out == table.Type[Nothing]() {
		r.Out = nil
	}
	d.Route(r, func(c *Call) error {
		var in In
		if err := ask.Read(c.Request, &in); err != nil {
			return err
		}
		out, err := f(c.Context(), c, &in)
		if err != nil {
			return err
		}
		status := max(r.Status, http.StatusOK)
		if c.Later && r.Later != 0 {
			status = r.Later
		}
		if r.Out == nil {
			c.WriteHeader(status)
			return nil
		}
		return c.Answer(status, out)
	})
}

// Nothing is what is taken or answered where there is nothing to say.
type Nothing struct{}

// Answer writes v as JSON, as the command line does. Who waited to read something is asked
// for the credential again, since it may have been ended meanwhile; what somebody had done is
// told all the same.
func (c *Call) Answer(status int, v any) error {
	if reads := c.Method == http.MethodGet || c.Method == http.MethodHead; reads && !c.Caller.Nobody() && time.Since(c.began) >= patient {
		if err := c.Still(); err != nil {
			for _, told := range []string{"ETag", "Link"} { // of what was found
				c.Header().Del(told)
			}
			return err
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	h := c.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	c.WriteHeader(status)
	_, _ = b.WriteTo(c.ResponseWriter) // who asked is gone then
	return nil
}

// Write writes a part of the answer.
func (c *Call) Write(p []byte) (int, error) { return c.ResponseWriter.Write(p) }

// Header is the answer's.
func (c *Call) Header() http.Header { return c.ResponseWriter.Header() }

// Unwrap is for [http.ResponseController]: who streams sets deadlines, and has pieces leave.
func (c *Call) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// Serve reads what a request asks for and lets f answer it.
func Serve[In any](c *Call, f func(ctx context.Context, in *In) error) error {
	var in In
	if err := ask.Read(c.Request, &in); err != nil {
		return err
	}
	return f(c.Context(), &in)
}
