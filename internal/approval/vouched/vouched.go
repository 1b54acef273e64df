// Package vouched is what a server says of a vote that was brought to it: that the
// holder of an account had shown a second factor there.
//
// The server signs the whole envelope of the vote, so that its word can't be put
// beside another vote, and whoever decides needs no connection to the server.
//
// # Limits
//
// Whether a factor was shown is for the server to know. Whose word counts, and that
// the account is that of who signed the vote, is for the policy that decides.
package vouched

import (
	"encoding/json/v2"
	"errors"
	"fmt"
	"time"

	"paddock"
	"paddock/internal/journal/sign"
)

const (
	// PayloadType is that of statements in envelopes.
	PayloadType = "application/vnd.paddock.second-factor+json"
	// Fresh is how old a factor may be when a vote is brought.
	Fresh = 10 * time.Minute
	// MostBytes is the longest envelope of a server.
	MostBytes = 32 << 10

	skew = 5 * time.Minute
)

// A Statement is what a server signs.
type Statement struct {
	Version int `json:"version"`
	// Vote is the envelope of the vote, as it was brought.
	Vote string `json:"vote"`
	// Account is who brought it, ShownAt when he showed a factor, At when he brought it.
	Account string    `json:"account"`
	ShownAt time.Time `json:"shown_at"`
	At      time.Time `json:"at"`
}

// Sign makes the envelope of s.
func Sign(key *sign.Key, s Statement) ([]byte, error) {
	s.Version, s.ShownAt, s.At = 1, s.ShownAt.UTC().Truncate(time.Millisecond), s.At.UTC().Truncate(time.Millisecond)
	payload, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	return key.Seal(PayloadType, payload).Text()
}

// Is reports whether an envelope says of itself that it is a server's. It proves nothing.
func Is(envelope []byte) bool {
	var e sign.Envelope
	return json.Unmarshal(envelope, &e) == nil && e.PayloadType == PayloadType
}

// Open returns what the server whose key it is signed.
func Open(key *sign.Public, envelope []byte) (Statement, error) {
	payload, err := key.Unseal(PayloadType, envelope)
	if err != nil {
		return Statement{}, err
	}
	var s Statement
	if err := json.Unmarshal(payload, &s, json.RejectUnknownMembers(true)); err != nil {
		return s, err
	}
	if s.Version != 1 {
		return s, fmt.Errorf("it has version %d and this paddock knows only 1", s.Version)
	}
	return s, nil
}

// Check says why s is no second factor of who holds account, on what waited from one
// time until another.
func (s Statement) Check(account string, from, until time.Time) error {
	switch age := s.At.Sub(s.ShownAt); {
	case account == "":
		return errors.New("the policy names no `account` beside the key")
	case s.Account != account:
		return errors.New("the second factor is another account's than that of the key")
	case s.ShownAt.IsZero() || age < 0 || age > Fresh:
		return fmt.Errorf("the second factor wasn't shown in the %v before the vote was brought", Fresh)
	case s.At.Before(from.Add(-skew)), s.At.After(until.Add(skew)):
		return errors.New("the second factor wasn't shown while the request waited")
	}
	return nil
}

// Shown is what s says, by the word of the server called verifier.
func (s Statement) Shown(verifier string) *paddock.FactorShown {
	return &paddock.FactorShown{Verifier: verifier, Account: s.Account, ShownAt: s.ShownAt}
}
