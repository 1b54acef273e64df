package evidence

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"paddock"
	"paddock/internal/journal/sign"
)

// The types of what is attested. docs/journal.md describes the predicate.
const (
	StatementType = "https://in-toto.io/Statement/v1"
	PredicateType = "urn:paddock:attestation:run:v1"
)

// A Statement is an in-toto statement: of this output, this is so.
type Statement struct {
	Type          string    `json:"_type"`
	Subject       []Subject `json:"subject"`
	PredicateType string    `json:"predicateType"`
	Predicate     Predicate `json:"predicate"`
}

// A Subject is what a statement is of.
type Subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

// A Predicate says that this command, with this policy, printed exactly this.
type Predicate struct {
	Run              paddock.RunID      `json:"run"`
	Principal        paddock.Principal  `json:"principal"`
	Argv             []string           `json:"argv"`
	Dir              string             `json:"dir"`
	Executable       paddock.Executable `json:"executable"`
	EnvironmentNames []string           `json:"environment_names"`
	RequestDigest    paddock.Digest     `json:"request_digest"`
	PolicyDigest     paddock.Digest     `json:"policy_digest"`
	CreatedAt        time.Time          `json:"created_at"`
	Outcome          paddock.Outcome    `json:"outcome"`
	// Containment was asked for; Enforced is what the kernel was told.
	Containment paddock.Level     `json:"containment"`
	Enforced    *paddock.Enforced `json:"enforced,omitempty"`
	StageDigest paddock.Digest    `json:"stage_digest,omitempty"`
	// Evidence is protected, or same-uid where the program ran as the account
	// that keeps the records and nothing kept it from them.
	Evidence string `json:"evidence"`
	// Journal says where all of it was told.
	Journal struct {
		ID    string         `json:"id"`
		Start paddock.Digest `json:"start"`
		End   paddock.Digest `json:"end"`
	} `json:"journal"`
}

// ErrDisagrees is of a run whose record, output and entries don't fit together.
var ErrDisagrees = errors.New("it doesn't agree with what was told of it, so nothing is attested")

// Has reports whether the record of a run is here.
func (e *Evidence) Has(id paddock.RunID) (bool, error) {
	_, err := e.state.Run(id)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Attest verifies a settled run and signs a statement about it.
func (e *Evidence) Attest(ctx context.Context, id paddock.RunID, key *sign.Key) (sign.Envelope, error) {
	r, err := e.VerifyRun(ctx, id, Against{})
	if err != nil {
		return sign.Envelope{}, err
	}
	if !r.Settled {
		return sign.Envelope{}, paddock.Refused(paddock.Conflict, "Run %s goes on: there is nothing to attest before its end.", id)
	}
	if !r.Whole() {
		return sign.Envelope{}, fmt.Errorf("run %s: %w: paddock verify %s says more", id, ErrDisagrees, id)
	}
	text, err := json.Marshal(r.statement())
	if err != nil {
		return sign.Envelope{}, err
	}
	return key.Envelope(text), nil
}

func (r *RunReport) statement() Statement {
	grant := r.sealed.Decision.Grant()
	p := Predicate{
		Run: r.Run, Principal: r.sealed.Request.Principal, Argv: r.sealed.Request.Command.Argv, Dir: grant.Dir,
		Executable: grant.Executable, EnvironmentNames: grant.EnvironmentNames,
		RequestDigest: r.sealed.RequestDigest, PolicyDigest: r.sealed.Decision.PolicyDigest, CreatedAt: r.sealed.CreatedAt,
		Outcome: *r.outcome, Containment: grant.Contain.Level, Evidence: "same-uid",
	}
	if r.started != nil {
		p.Enforced, p.StageDigest = &r.started.Enforced, r.started.StageDigest
		if r.started.Enforced.Level == paddock.Full {
			p.Evidence = "protected"
		}
	}
	p.Journal.ID, p.Journal.Start, p.Journal.End = r.journal.Journal, r.start.Digest, r.end.Digest
	return Statement{
		Type: StatementType, PredicateType: PredicateType, Predicate: p,
		Subject: []Subject{subject("stdout", r.outcome.Stdout), subject("stderr", r.outcome.Stderr)},
	}
}

func subject(name string, s paddock.StreamSummary) Subject {
	return Subject{name, map[string]string{"sha256": s.Digest.Hex()}}
}

// Stated is the statement about a settled run for somebody who may see it, made from a
// state directory that is opened for it.
func Stated(ctx context.Context, open func() (*Evidence, error), id paddock.RunID) (_ sign.Envelope, err error) {
	e, err := open()
	if err != nil {
		return sign.Envelope{}, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	key, _, err := e.Key("")
	if err != nil {
		return sign.Envelope{}, err
	}
	envelope, err := e.Attest(ctx, id, key)
	if errors.Is(err, ErrDisagrees) { // that is an answer, and a bad one
		r := paddock.Refused(paddock.Conflict, "Run %s doesn't agree with what was told of it, so nothing is attested.", id)
		r.Hint = "Whoever keeps the machine that carried it out learns more by paddock verify " + string(id) + " there."
		return sign.Envelope{}, r
	}
	return envelope, err
}
