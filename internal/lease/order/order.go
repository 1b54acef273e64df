// Package order is what a front door signs and a worker believes: that somebody who
// may asked for this run, under this policy, until then. It is kept and carried by
// those who could change it, so nothing else of a queue's entry is believed.
//
// # Limits
//
// An order says that somebody was let in and asked, not that the request is allowed:
// the worker decides by its own policy. Who has the front door's key can order what
// the worker's policy allows, and no more.
package order

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"time"

	"paddock"
	"paddock/internal/journal/sign"
)

// PayloadType is that of orders in envelopes.
const PayloadType = "application/vnd.paddock.order+json"

const (
	version = 1
	// Most is the longest an order may be good for, Usual how long one is.
	Most  = 7 * 24 * time.Hour
	Usual = 24 * time.Hour
	// Skew is how far the clocks of who signs and who believes may be apart.
	Skew = 2 * time.Minute
	// nonceBytes is how many random ones a nonce has.
	nonceBytes = 16
)

// Why an order isn't followed.
var (
	ErrForged  = errors.New("the order isn't signed by a key that this worker believes")
	ErrMeant   = errors.New("the order is for another run")
	ErrExpired = errors.New("the order isn't good at this time")
	ErrUsed    = errors.New("the order was followed before")
)

// An Order is to carry out one request as one run, once.
type Order struct {
	Version int           `json:"version"`
	Run     paddock.RunID `json:"run"`
	// Request is what to run and for whom, Digest its digest.
	Request paddock.Request `json:"request"`
	Digest  paddock.Digest  `json:"digest"`
	// Policy is the digest of the policy that the front door let it in by; empty
	// where the front door has none. The worker's own may be another.
	Policy paddock.Digest `json:"policy,omitempty"`
	// Approval is what persons approved, where they did.
	Approval paddock.ApprovalID `json:"approval,omitempty"`
	Made     time.Time          `json:"made"`
	Expires  time.Time          `json:"expires"`
	Nonce    string             `json:"nonce"`
	// Trace is the traceparent of who asked, for those who tell how long things took; it
	// decides nothing. Workers that don't know it follow no order that has one.
	Trace string `json:"trace,omitempty"`
}

// New is the order to carry out req as the run id, good for some time from now.
func New(id paddock.RunID, req paddock.Request, now time.Time, lasts time.Duration, random io.Reader) (Order, error) {
	if lasts <= 0 || lasts > Most {
		return Order{}, fmt.Errorf("an order can't be good for %s", lasts)
	}
	if random == nil {
		random = rand.Reader
	}
	var nonce [nonceBytes]byte
	if _, err := io.ReadFull(random, nonce[:]); err != nil {
		return Order{}, fmt.Errorf("random source: %w", err)
	}
	now = now.UTC().Truncate(time.Millisecond)
	return Order{Version: version, Run: id, Request: req, Digest: req.Digest(), Made: now, Expires: now.Add(lasts), Nonce: hex.EncodeToString(nonce[:])}, nil
}

// Seal signs the order.
func (o Order) Seal(key *sign.Key) ([]byte, error) {
	payload, err := json.Marshal(o, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("an order that can't be encoded: %w", err)
	}
	return key.Seal(PayloadType, payload).Text()
}

// Open returns the order in an envelope, if one of the keys signed it, it is for the
// run id, and it is good now. It may have been followed before: see [Nonces].
func Open(envelope []byte, id paddock.RunID, keys []*sign.Public, now time.Time) (Order, error) {
	o, _, err := OpenBy(envelope, id, keys, now)
	return o, err
}

// OpenBy is Open, and says which of the keys it was.
func OpenBy(envelope []byte, id paddock.RunID, keys []*sign.Public, now time.Time) (Order, *sign.Public, error) {
	payload, by, err := unseal(envelope, keys)
	if err != nil {
		return Order{}, nil, err
	}
	o, err := parse(payload, id, now)
	return o, by, err
}

func parse(payload []byte, id paddock.RunID, now time.Time) (Order, error) {
	var o Order
	if err := json.Unmarshal(payload, &o, json.RejectUnknownMembers(true), jsontext.AllowDuplicateNames(false)); err != nil {
		return Order{}, fmt.Errorf("an order that can't be read: %w", err)
	}
	nonce, err := hex.DecodeString(o.Nonce)
	switch {
	case o.Version != version:
		return Order{}, fmt.Errorf("an order of version %d; this Paddock knows %d", o.Version, version)
	case o.Run != id:
		return Order{}, ErrMeant
	case o.Digest != o.Request.Digest():
		return Order{}, fmt.Errorf("%w: its digest is of another request", ErrForged)
	case err != nil || len(nonce) != nonceBytes || o.Nonce != hex.EncodeToString(nonce):
		return Order{}, errors.New("an order without a nonce")
	case now.Before(o.Made.Add(-Skew)) || !now.Before(o.Expires) || o.Expires.Sub(o.Made) > Most:
		return Order{}, fmt.Errorf("%w: it is good from %s to %s", ErrExpired, o.Made.Format(time.RFC3339), o.Expires.Format(time.RFC3339))
	}
	return o, nil
}

func unseal(envelope []byte, keys []*sign.Public) ([]byte, *sign.Public, error) {
	for _, k := range keys {
		if payload, err := k.Unseal(PayloadType, envelope); err == nil {
			return bytes.Clone(payload), k, nil
		}
	}
	return nil, nil, ErrForged
}

// SignedBy begins the label of a worker that follows orders of a key. What a key signed
// needs it, so that no worker takes what it couldn't follow.
const SignedBy = "signed-by-"

// Signer is that label.
func Signer(key *sign.Public) string {
	sum := sha256.Sum256(key.Raw())
	return SignedBy + hex.EncodeToString(sum[:8])
}
