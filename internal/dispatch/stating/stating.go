// Package stating has the machine make a statement about a run that carried it out.
//
// # Limits
//
// What is stated, and that it is so, is that machine's word, by its key. Who may see the
// run was asked before, and is asked again there.
package stating

import (
	"context"
	"errors"

	"paddock"
	"paddock/internal/journal/sign"
	"paddock/internal/store"
)

// An Attester makes statements about runs, as houses of other machines do.
type Attester interface {
	Attest(ctx context.Context, p paddock.Principal, id paddock.RunID) (sign.Envelope, error)
}

// By has house attest the run of a row, which isn't that of the worker here.
func By(ctx context.Context, p paddock.Principal, id paddock.RunID, row *store.Run, here store.WorkerID, house any) (sign.Envelope, error) {
	if row == nil || row.Worker == "" || row.Worker == here {
		return sign.Envelope{}, paddock.Refused(paddock.Conflict, "No machine has a record of run %s: it was never begun, or its record was removed. So nothing can attest it.", id)
	}
	able, ok := house.(Attester)
	if !ok {
		r := paddock.Refused(paddock.Away, "The machine that carried run %s out, worker %.80s, isn't connected at the moment, and nobody else can attest it.", id, row.Worker)
		r.Hint = "Ask again when it is, or there: paddock audit export --run " + string(id) + "."
		return sign.Envelope{}, r
	}
	envelope, err := able.Attest(ctx, p, id)
	var refused *paddock.Refusal
	if errors.As(err, &refused) && refused.Code == paddock.NotFound {
		err = paddock.Refused(paddock.Conflict, "Worker %.80s has no record of run %s any more, so nothing can attest it.", row.Worker, id)
	}
	return envelope, err
}
