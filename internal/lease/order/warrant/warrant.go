// Package warrant is the word of who signed an order that one worker, and no other, is to
// follow it. A worker's notes say that it doesn't follow an order twice; that two workers
// don't follow the same one is known by its signer alone, who keeps what it gave outside
// of every database. docs/design/0114-an-order-for-one.md has the reasons.
//
// # Limits
//
// How a worker asks is package relay's. That it is the worker that it says is known there,
// too; a warrant for another one is of no use to it.
package warrant

import (
	"crypto/rand"
	"encoding/json/v2"
	"errors"
	"fmt"
	"time"

	"paddock"
	"paddock/internal/journal/sign"
	"paddock/internal/lease/order"
)

// PayloadType is that of warrants in envelopes.
const PayloadType = "application/vnd.paddock.warrant+json"

const (
	version = 1
	// mostWord is the longest name of a worker, or word of its process.
	mostWord = 64
)

// A Warrant lets a worker follow an order.
type Warrant struct {
	Version int           `json:"version"`
	Run     paddock.RunID `json:"run"`
	Nonce   string        `json:"nonce"`
	// Worker is who may, and Asker the word of its process: two machines that call
	// themselves the same aren't.
	Worker string    `json:"worker"`
	Asker  string    `json:"asker"`
	Made   time.Time `json:"made"`
}

// NewAsker is the word of a process.
func NewAsker() string { return rand.Text() }

// ErrNone says that a text isn't the warrant that is needed.
var ErrNone = errors.New("what the order's signer answered is no warrant for this worker")

// Check says whether text is the warrant of the order's signer for who asks.
func Check(text []byte, o order.Order, by *sign.Public, worker, asker string) error {
	payload, err := by.Unseal(PayloadType, text)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNone, err)
	}
	var w Warrant
	if err := json.Unmarshal(payload, &w, json.RejectUnknownMembers(true)); err != nil {
		return fmt.Errorf("%w: %w", ErrNone, err)
	}
	if w.Version != version || w.Run != o.Run || w.Nonce != o.Nonce || w.Worker != worker || w.Asker != asker || asker == "" {
		return fmt.Errorf("%w: it is for run %.40q of worker %.80q", ErrNone, w.Run, w.Worker)
	}
	return nil
}

// ShownType is the type of what shows a worker who asks it.
const ShownType = "application/vnd.paddock.signer+json"

// shown is for whom it was shown: so it is of no use to whoever else sees it.
type shown struct {
	Version int    `json:"version"`
	Worker  string `json:"worker"`
	Asker   string `json:"asker"`
}

// Shows says whether text was made by who has the key, for this process of this worker.
func Shows(text []byte, by *sign.Public, worker, asker string) bool {
	payload, err := by.Unseal(ShownType, text)
	if err != nil {
		return false
	}
	var s shown
	err = json.Unmarshal(payload, &s, json.RejectUnknownMembers(true))
	return err == nil && s == shown{version, worker, asker} && asker != ""
}

// Show is what shows a worker's process that we have our key.
func (g *Giver) Show(worker, asker string) ([]byte, error) {
	if err := named(worker, asker); err != nil {
		return nil, err
	}
	payload, err := json.Marshal(shown{version, worker, asker}, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	return g.Key.Seal(ShownType, payload).Text()
}

// named refuses who doesn't say who asks.
func named(worker, asker string) error {
	if worker == "" || asker == "" || len(worker) > mostWord || len(asker) > mostWord {
		return paddock.Refused(paddock.InvalidRequest, "Who asks for a warrant says which worker and which process it is.")
	}
	return nil
}

// A Giver gives the warrants for what its key signed. Nonces are those by which the worker
// of the same state directory follows such orders without asking.
type Giver struct {
	Key    *sign.Key
	Nonces *order.Nonces
	Now    func() time.Time
}

// Give is the warrant for the order in an envelope, if it is the giver's, is good now, and
// nobody else has it: the same asker may be told again. An error of another kind than
// *paddock.Refusal is for the log, and to ask again is of use.
func (g *Giver) Give(envelope []byte, run paddock.RunID, worker, asker string) ([]byte, error) {
	if err := named(worker, asker); err != nil {
		return nil, err
	}
	now := g.Now()
	o, err := order.Open(envelope, run, []*sign.Public{&g.Key.Public}, now)
	if err != nil {
		return nil, paddock.Refused(paddock.Forbidden, "There is no warrant for this: %.300s.", err.Error())
	}
	switch err := g.Nonces.Give(o, worker, asker); {
	case errors.Is(err, order.ErrUsed):
		return nil, paddock.Refused(paddock.Conflict, "The order of run %s was followed before, or is by another worker.", run)
	case errors.Is(err, order.ErrForgotten):
		return nil, paddock.Refused(paddock.Conflict, "Of run %s: %v.", run, err)
	case err != nil:
		return nil, err
	}
	payload, err := json.Marshal(Warrant{version, o.Run, o.Nonce, worker, asker, now.UTC().Truncate(time.Millisecond)}, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	return g.Key.Seal(PayloadType, payload).Text()
}
