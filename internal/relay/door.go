package relay

import (
	"context"
	"encoding/json"
	jsonv2 "encoding/json/v2"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"paddock"
	"paddock/internal/app"
	"paddock/internal/journal/sign"
	"paddock/internal/relay/asking"
	"paddock/internal/relay/ballot"
	"paddock/internal/relay/wire"
)

// A door answers what a server asks, about runs that users of servers started.
type door struct {
	house House
	head  func(ctx context.Context, from int64) (any, error)                 // may be nil
	state func(ctx context.Context, id paddock.RunID) (sign.Envelope, error) // may be nil
	desk  *asking.Session                                                    // may be nil
	log   *slog.Logger
}

func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	verb, ours := strings.CutPrefix(r.URL.Path, wire.Prefix)
	switch {
	case ours && verb == "" && r.Method == http.MethodGet: // who is there?
		w.WriteHeader(http.StatusOK)
		return
	case !ours || r.Method != http.MethodPost:
		w.WriteHeader(http.StatusNotFound)
		return
	}
	var q question
	var answer any
	var err error
	switch verb {
	case head:
		answer, err = d.grown(r.Context(), r.Body)
	case wants:
		var asked asking.Question
		if err = parse(r.Body, &asked); err == nil {
			answer, err = d.desk.Answer(r.Context(), asked)
		}
	default:
		if q, err = read(verb, r.Body); err == nil {
			answer, err = d.answer(r.Context(), verb, q)
		}
	}
	var refusal *paddock.Refusal
	code := http.StatusOK
	switch {
	case errors.As(err, &refusal):
		answer, code = refusal, http.StatusUnprocessableEntity
	case err != nil && r.Context().Err() != nil:
		return // nobody waits for it
	case err != nil:
		d.log.Error("a server's question", "verb", verb, "run", string(q.Run), "fault", err.Error())
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	text, err := json.Marshal(answer)
	if err != nil {
		d.log.Error("an answer for a server", "verb", verb, "fault", err.Error())
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(text) // it asks again over the next connection
}

// grown answers how far the journal has come.
func (d *door) grown(ctx context.Context, body io.Reader) (any, error) {
	var q since
	if err := parse(body, &q); err != nil {
		return nil, err
	}
	if q.From < 0 || d.head == nil {
		return nil, paddock.Refused(paddock.InvalidRequest, "The head of this journal isn't told, or not from entry %d on.", q.From)
	}
	return d.head(ctx, q.From)
}

// parse reads a body, all of which must be understood.
func parse(body io.Reader, into any) error {
	text, err := io.ReadAll(io.LimitReader(body, wire.MostQuestion+1))
	switch {
	case err != nil:
		return paddock.Refused(paddock.InvalidRequest, "The question didn't arrive whole.")
	case len(text) > wire.MostQuestion:
		return paddock.Refused(paddock.InvalidRequest, "A question has at most %d bytes.", wire.MostQuestion)
	}
	if err := jsonv2.Unmarshal(text, into, jsonv2.RejectUnknownMembers(true)); err != nil {
		return paddock.Refused(paddock.InvalidRequest, "The question isn't understood: %.200s.", err.Error())
	}
	return nil
}

// read reads a question about a run.
func read(verb string, body io.Reader) (q question, err error) {
	if err := parse(body, &q); err != nil {
		return question{}, err
	}
	if q.Run, err = paddock.ParseRunID(string(q.Run)); err != nil && !ballot.Is(verb) {
		return question{}, nobody()
	}
	p := q.Principal
	if p.Kind != paddock.User && p.Kind != paddock.Operator || p.ID == "" || len(p.ID) > paddock.MaxPrincipal || !p.Named() {
		return question{}, paddock.Refused(paddock.Forbidden, "A server asks for its users, and for nobody else.")
	}
	return q, nil
}

func nobody() error {
	return paddock.Refused(paddock.NotFound, "There is no such run among those that you may see.")
}

// answer asks the house, if the run is one that servers may ask about.
func (d *door) answer(ctx context.Context, verb string, q question) (any, error) {
	if ballot.Is(verb) {
		return ballot.Answer(ctx, d.house, q.Principal, verb, q.Approval)
	}
	run, err := d.house.Look(ctx, q.Principal, q.Run)
	if err != nil {
		return nil, err
	}
	if run.Principal.Root().Kind != paddock.User {
		return nil, nobody()
	}
	switch verb {
	case look:
		return run, nil
	case status:
		return d.house.Status(ctx, q.Principal, q.Run)
	case wait:
		if q.Wait <= 0 || time.Duration(q.Wait) > paddock.MaxWait {
			return nil, paddock.Refused(paddock.InvalidRequest, "wait_ms is from 1 to %d.", paddock.MaxWait.Milliseconds())
		}
		return d.house.Wait(ctx, q.Principal, q.Run, time.Duration(q.Wait))
	case output:
		page := paddock.PageRequest{}
		if q.Page != nil {
			page = *q.Page
		}
		if page.Unmasked {
			return nil, paddock.Refused(paddock.Forbidden, "What is hidden of secrets is shown to no server.")
		}
		return d.house.Output(ctx, q.Principal, q.Run, page)
	case detail:
		return d.house.Detail(ctx, q.Principal, q.Run)
	case attest:
		if d.state == nil {
			return nil, paddock.Refused(paddock.Conflict, "This worker makes no statements.")
		}
		return d.state(ctx, q.Run)
	case kill:
		req := app.KillRequest{}
		if q.Kill != nil {
			req = *q.Kill
		}
		return d.house.Kill(ctx, q.Principal, q.Run, req)
	case types:
		if q.Typing == nil || q.Typing.Number < 1 {
			return nil, paddock.Refused(paddock.InvalidRequest, "What is typed is numbered, since it may be asked for twice.")
		}
		return struct{}{}, d.house.Type(ctx, q.Principal, q.Run, *q.Typing)
	}
	return nil, paddock.Refused(paddock.InvalidRequest, "There is nothing to ask that is called %.40q.", verb)
}
