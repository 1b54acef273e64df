package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"paddock"
	"paddock/internal/httpapi/gate"
	"paddock/internal/httpapi/shield"
	"paddock/internal/httpapi/shield/problem"
	"paddock/internal/httpapi/table"
	"paddock/internal/httpapi/table/ask"
)

const (
	readTime  = 30 * time.Second                 // for a body to arrive
	writeTime = paddock.MaxWait + 30*time.Second // for an answer that isn't a stream to leave
)

// A row is a route with its verb.
type row struct {
	table.Route
	Verb gate.Verb
}

// A call is a request whose sender may ask.
type call struct {
	http.ResponseWriter
	*http.Request
	caller gate.Caller
	verb   gate.Verb
}

// as is the principal that the call acts as.
func (c *call) as() paddock.Principal { return c.caller.For(c.verb) }

// route adds a route whose answer f writes itself.
func (d *Door) route(r row, f func(c *call) error) {
	r.Public = gate.Permits(gate.Anybody, r.Verb)
	d.table = append(d.table, r)
	d.mux.HandleFunc(r.Pattern(), func(w http.ResponseWriter, req *http.Request) {
		shield.NoteOf(req.Context()).Route = r.Pattern()
		control, now := http.NewResponseController(w), time.Now()
		if err := errors.Join(control.SetReadDeadline(now.Add(readTime)), control.SetWriteDeadline(now.Add(writeTime))); err != nil && !errors.Is(err, http.ErrNotSupported) {
			d.refuse(w, req, err)
			return
		}
		req.Body = http.MaxBytesReader(w, req.Body, ask.MaxBody)
		caller, err := d.admit(req, r)
		if err == nil {
			err = f(&call{w, req, caller, r.Verb})
		}
		if err != nil {
			d.refuse(w, req, asProblem(err))
		}
	})
}

// asProblem gives errors of reading requests their statuses.
func asProblem(err error) error {
	switch {
	case errors.Is(err, ask.TooLarge):
		return problem.With(http.StatusRequestEntityTooLarge, "The body has more than "+strconv.Itoa(ask.MaxBody)+" bytes.")
	case errors.Is(err, ask.WrongType):
		return problem.With(http.StatusUnsupportedMediaType, "The body must be JSON, and say so: Content-Type: application/json, and no Content-Encoding.")
	}
	return err
}

// admit says who asks, if he may.
func (d *Door) admit(req *http.Request, r row) (gate.Caller, error) {
	note := shield.NoteOf(req.Context())
	caller, err := d.cfg.Gate.Identify(req)
	if err != nil {
		if ok, after := d.addresses.Allow(note.Addr); !ok {
			return gate.Caller{}, tooMany(after)
		}
		if r.Verb == gate.Login { // whatever is left over of an earlier session
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
		return gate.Caller{}, tooMany(after)
	}
	switch {
	case caller.May(r.Verb):
		return caller, nil
	case caller.Nobody():
		return gate.Caller{}, paddock.Refused(paddock.Unauthenticated, "Nobody is logged in.")
	}
	refusal := paddock.Refused(paddock.Forbidden, "The role %s may not use %s.", caller.Role, r.Verb)
	if gate.Permits(caller.Role, r.Verb) {
		refusal = paddock.Refused(paddock.Forbidden, "This token isn't good for %s.", r.Verb)
	}
	refusal.Hint = "Ask an admin."
	return gate.Caller{}, refusal
}

// add adds a route that reads In and answers with Out.
func add[In, Out any](d *Door, r row, f func(ctx context.Context, c *call, in *In) (Out, error)) {
	r.In, r.Out = table.Type[In](), table.Type[Out]()
	if r.Out == table.Type[nothing]() {
		r.Out = nil
	}
	d.route(r, func(c *call) error {
		var in In
		if err := ask.Read(c.Request, &in); err != nil {
			return err
		}
		out, err := f(c.Context(), c, &in)
		if err != nil {
			return err
		}
		status := max(r.Status, http.StatusOK)
		if r.Out == nil {
			c.WriteHeader(status)
			return nil
		}
		return c.answer(status, out)
	})
}

// nothing is what is taken or answered where there is nothing to say.
type nothing struct{}

// answer writes v as JSON, as the command line does.
func (c *call) answer(status int, v any) error {
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
func (c *call) Write(p []byte) (int, error) { return c.ResponseWriter.Write(p) }

// Header is the answer's.
func (c *call) Header() http.Header { return c.ResponseWriter.Header() }
