// Package ruled says which policies decided when, as the journal tells, and has their
// texts.
//
// # Limits
//
// A policy is known from the first time that it decides, not from when its file was
// written: who wrote it, nobody here knows. Texts are kept for as long as a run has them.
package ruled

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"paddock"
	"paddock/internal/app/evidence"
	"paddock/internal/journal"
	"paddock/internal/rundir/record/durable/places"
)

// Bounds of a page.
const (
	Usual = 50
	Most  = 1000
)

// A Change is that another policy decides than before, or that one was refused.
type Change struct {
	// Seq is the number of the journal's entry.
	Seq int64     `json:"seq"`
	At  time.Time `json:"at"`
	// Policy is the one that decides from then on, or with a problem the one that doesn't.
	Policy paddock.Digest `json:"policy"`
	// Again says that it had decided before another did.
	Again bool `json:"again,omitempty"`
	// Problem says why it can't be used; InForce is what still decides.
	Problem string         `json:"problem,omitempty"`
	InForce paddock.Digest `json:"in_force,omitempty"`
	// By is who asked first under it, and Run what was started then.
	By  *paddock.Principal `json:"by,omitempty"`
	Run paddock.RunID      `json:"run,omitempty"`
	// Kept says whether its text is kept here.
	Kept bool `json:"kept"`
}

// Changes is a page of them, oldest first.
type Changes struct {
	Changes []Change `json:"changes"`
	// Next is the after of the next page; it is left out at the end.
	Next int64 `json:"next,omitempty"`
}

// errFull ends a listing of which the page is full.
var errFull = errors.New("the page is full")

// List returns the changes after an entry's number, limit of them at most; zero means
// [Usual].
func List(ctx context.Context, e *evidence.Evidence, after int64, limit int) (Changes, error) {
	if limit == 0 {
		limit = Usual
	}
	page := Changes{Changes: []Change{}}
	if after < 0 || limit < 1 || limit > Most {
		return page, paddock.Refused(paddock.InvalidRequest, "after is %d and limit is %d; after is the number of an entry, and limit is from 1 to %d.", after, limit, Most)
	}
	l := list{page: &page, after: after, limit: limit, fresh: after == 0}
	// The entry at after says what decided then.
	_, err := e.List(ctx, evidence.Filter{After: max(0, after-1)}, l.see)
	if errors.Is(err, errFull) {
		err = nil
	}
	for i, c := range page.Changes {
		_, missing := os.Lstat(textPath(e, c.Policy))
		page.Changes[i].Kept = missing == nil
	}
	return page, err
}

// A list is what is being read.
type list struct {
	page    *Changes
	after   int64
	limit   int
	fresh   bool           // the journal is read from its beginning
	present paddock.Digest // decides; empty as long as that isn't known
}

func (l *list) see(e journal.Entry, _ []byte) error {
	l.who(e)
	c, ok := l.change(e)
	if !ok || e.Seq <= l.after {
		return nil
	}
	if n := len(l.page.Changes); n == l.limit {
		l.page.Next = l.page.Changes[n-1].Seq
		return errFull
	}
	l.page.Changes = append(l.page.Changes, c)
	l.who(e)
	return nil
}

// change is what an entry changes.
func (l *list) change(e journal.Entry) (Change, bool) {
	c := Change{Seq: e.Seq, At: e.Time}
	switch {
	case e.Kind == journal.PolicySeen && e.Policy != nil && e.Policy.Problem != "":
		c.Policy, c.Problem, c.InForce = e.Policy.Digest, e.Policy.Problem, e.Policy.InForce
		return c, true
	case e.Kind == journal.PolicySeen && e.Policy != nil:
		c.Policy = e.Policy.Digest
	case e.Start != nil:
		c.Policy, c.Again = e.Start.PolicyDigest, true
	case e.Refusal != nil:
		c.Policy, c.Again = e.Refusal.PolicyDigest, true
	}
	if c.Policy == "" || c.Policy == l.present {
		return c, false
	}
	known := l.present != "" || l.fresh || !c.Again
	l.present = c.Policy
	return c, known
}

// who says of the newest change who asked first: the entry that it belongs to tells, or
// the one after it.
func (l *list) who(e journal.Entry) {
	n := len(l.page.Changes)
	if n == 0 || e.Principal == nil {
		return
	}
	c := &l.page.Changes[n-1]
	if c.By == nil && c.Problem == "" && (e.Seq == c.Seq || e.Seq == c.Seq+1) {
		p := *e.Principal
		c.By, c.Run = &p, e.Run
	}
}

func textPath(e *evidence.Evidence, digest paddock.Digest) string {
	return filepath.Join(e.State().Path(), places.Policies, digest.Hex())
}

// A Text is a policy, with all that belongs to it.
type Text struct {
	Policy paddock.Digest `json:"policy"`
	Text   string         `json:"text"`
}

// Read returns the text of which word is the digest.
func Read(e *evidence.Evidence, word string) (Text, error) {
	digest, err := paddock.ParseDigest(word)
	if err != nil {
		return Text{}, paddock.Refused(paddock.InvalidRequest, "%.80q is %v.", word, err)
	}
	text, err := places.TextOf(e.State().Path(), digest)
	if errors.Is(err, fs.ErrNotExist) {
		r := paddock.Refused(paddock.NotFound, "The text of the policy %s isn't kept here.", digest)
		r.Hint = "Texts are kept of policies by which a run was started, as long as that run's record is here."
		return Text{}, r
	}
	return Text{digest, string(text)}, err
}
