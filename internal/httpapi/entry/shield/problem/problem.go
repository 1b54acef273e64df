// Package problem writes what went wrong as RFC 9457 says: application/problem+json,
// with the fields of a refusal beside those of the standard.
//
// # Limits
//
// It tells nothing of faults of ours: those are for the log. It doesn't log.
package problem

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"paddock"
	"paddock/internal/store"
)

// ContentType is that of problems.
const ContentType = "application/problem+json"

// TypeBase is what a refusal's code is appended to, to name the kind of the problem.
const TypeBase = "urn:paddock:refusal:"

// A Problem is what a client is told instead of an answer.
type Problem struct {
	// Type names the kind of problem: urn:paddock:refusal: and the code, or
	// about:blank where only the status says what it is.
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	// Refusal is there when a decision stands behind the problem; see
	// docs/refusals.md for the codes.
	Refusal *paddock.Refusal `json:"refusal,omitempty"`
	// RetryAfter is how many seconds to wait before asking again.
	RetryAfter int `json:"retry_after,omitempty"`
	// Allow lists the methods that there are, for 405.
	Allow string `json:"-"`
	// Challenge says more of what credential is wanted, for 401 and 403: parameters as
	// in WWW-Authenticate.
	Challenge string `json:"-"`
}

// status says how codes are told over HTTP. A code that isn't here is a decision
// against the request: 403.
func status(code paddock.Code) int {
	switch code {
	case paddock.InvalidRequest, paddock.ArgvEmpty, paddock.ArgvInvalid, paddock.ArgvNUL, paddock.ArgvLineBreak,
		paddock.ArgvTooLong, paddock.ArgvTooMany, paddock.ShellSyntax, paddock.StdinNotAllowed, paddock.LimitExceeded,
		paddock.CwdMissing, paddock.RevisionInvalid:
		return http.StatusUnprocessableEntity
	case paddock.Unauthenticated:
		return http.StatusUnauthorized
	case paddock.NotFound:
		return http.StatusNotFound
	case paddock.Conflict, paddock.WorkspaceChanged, paddock.NoWorker:
		return http.StatusConflict
	case paddock.Pruned:
		return http.StatusGone
	case paddock.Busy, paddock.QuotaExceeded, paddock.RateLimited:
		return http.StatusTooManyRequests
	case paddock.NoPolicy, paddock.PolicyInvalid, paddock.Unrecordable, paddock.ContainmentUnavailable, paddock.SecretUnavailable, paddock.Away:
		return http.StatusServiceUnavailable
	}
	return http.StatusForbidden
}

// Of says what an error is to a client: a refusal whole, and of anything else nothing
// but that it is our fault.
func Of(err error) *Problem {
	var already *Problem
	if errors.As(err, &already) {
		return already
	}
	var r *paddock.Refusal
	if !errors.As(err, &r) {
		if errors.Is(err, store.ErrAway) {
			return With(http.StatusServiceUnavailable, "The database can't be reached at the moment, so it isn't known whether what was asked for was done. Ask again, with the same Idempotency-Key if there was one.")
		}
		return &Problem{
			Type: "about:blank", Title: "Fault", Status: http.StatusInternalServerError,
			Detail: "Something is wrong on our side. The server's log says what.",
		}
	}
	r = worded(r)
	p := &Problem{Type: TypeBase + string(r.Code), Title: title(r.Code), Status: status(r.Code), Detail: r.Message, Refusal: r}
	if p.Status == http.StatusTooManyRequests || r.Code == paddock.Away {
		p.RetryAfter = 1
		if waits, ok := errors.AsType[interface {
			error
			RetryAfter() time.Duration
		}](err); ok {
			p.RetryAfter = max(1, int(waits.RetryAfter()/time.Second))
		}
	}
	if p.Status == http.StatusServiceUnavailable {
		p.RetryAfter = unavailableFor
	}
	return p
}

// worded is r with hints that fit whoever asks over HTTP: the usual ones of some codes name
// tools of agents and commands.
func worded(r *paddock.Refusal) *paddock.Refusal {
	said := *r
	if r.Hint == r.Code.Info().Hint {
		switch r.Code {
		case paddock.NotFound:
			said.Hint = "Look at the list that it would be in: what isn't there and what isn't yours are answered alike."
		case paddock.Busy:
			said.Hint = "Wait for a run to end, or end one, then ask again."
		case paddock.RevisionInvalid:
			said.Hint = "Name a branch, a tag, HEAD or an object id, perhaps with ~N or ^N."
		}
	}
	said.Others = nil
	for _, other := range r.Others {
		said.Others = append(said.Others, *worded(&other))
	}
	return &said
}

// unavailableFor is after how many seconds it is worth asking again whether a server is
// of use: somebody must do something before.
const unavailableFor = 30

// With is the problem of a status that no decision stands behind.
func With(status int, detail string) *Problem {
	p := &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail}
	if status == http.StatusServiceUnavailable || status == http.StatusBadGateway {
		p.RetryAfter = 5
	}
	return p
}

func title(code paddock.Code) string {
	if code == paddock.NotFound {
		return "Not found"
	}
	return "Refused: " + string(code)
}

// Error makes a Problem an error that says itself.
func (p *Problem) Error() string { return p.Detail }

// Write answers with p.
func (p *Problem) Write(w http.ResponseWriter) {
	body, err := json.Marshal(p)
	if err != nil { // strings that came in valid, and numbers
		body = []byte(`{"type":"about:blank","title":"Fault","status":500,"detail":"A problem couldn't be written."}`)
	}
	h := w.Header()
	h.Set("Content-Type", ContentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Cache-Control", "no-store")
	h.Del("ETag")
	switch {
	case p.Status == http.StatusUnauthorized || p.Challenge != "":
		h.Set("WWW-Authenticate", `Bearer realm="paddock"`+p.Challenge)
	case p.Allow != "":
		h.Set("Allow", p.Allow)
	}
	if p.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(p.RetryAfter))
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(body) // the client is gone then, and knows
}
