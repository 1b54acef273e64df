package approval

import (
	"encoding/json/v2"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"paddock"
	"paddock/internal/approval/vouched"
	"paddock/internal/journal/sign"
	"paddock/internal/rundir/record/durable"
)

// Find returns how the matter that was asked about last with exactly these facts
// stands, by who is listed in by. found is false when it never was.
func (b Book) Find(m paddock.Matter, by paddock.Approvals, now time.Time) (a paddock.Approval, found bool, err error) {
	facts, err := Facts(m)
	if err != nil {
		return paddock.Approval{}, false, err
	}
	id, err := b.last(facts)
	if err != nil || id == "" {
		return paddock.Approval{}, false, err
	}
	a, err = b.As(id, m, by, now)
	return a, err == nil, err
}

// As returns how id stands by who is listed in by, if it is of exactly m.
func (b Book) As(id paddock.ApprovalID, m paddock.Matter, by paddock.Approvals, now time.Time) (paddock.Approval, error) {
	asked, text, err := b.read(id)
	if err != nil {
		return paddock.Approval{}, err
	}
	was, err := Facts(asked.Matter)
	if err != nil {
		return paddock.Approval{}, err
	}
	is, err := Facts(m)
	if err == nil && was != is {
		err = fmt.Errorf("approval %s is of another matter", id)
	}
	if err != nil {
		return paddock.Approval{}, err
	}
	return b.stand(id, asked, text, by, now)
}

// last returns the newest id of a matter; empty when there is none.
func (b Book) last(facts paddock.Digest) (paddock.ApprovalID, error) {
	entries, err := os.ReadDir(b.dir)
	if err != nil {
		return "", durable.IgnoreMissing(err)
	}
	var last paddock.ApprovalID
	most := 0
	for _, e := range entries {
		var n int
		rest, ok := strings.CutPrefix(e.Name(), prefix(facts))
		if !ok || !idForm().MatchString(e.Name()) {
			continue
		}
		if _, err := fmt.Sscanf(rest, "%d", &n); err == nil && n > most {
			most, last = n, paddock.ApprovalID(e.Name())
		}
	}
	return last, nil
}

// ErrFull is the error of asking about too much at once.
var ErrFull = fmt.Errorf("%d requests of yours wait for approval already", mostOpen)

// Ask writes down that persons are asked about m, and forgets what is over since
// long. Only one who holds the state directory's claim may.
func (b Book) Ask(m paddock.Matter, by paddock.Approvals, now time.Time) (paddock.Approval, error) {
	if err := durable.MakeDir(b.dir); err != nil {
		return paddock.Approval{}, err
	}
	facts, err := Facts(m)
	if err != nil {
		return paddock.Approval{}, err
	}
	if err := b.room(m.Principal, now); err != nil {
		return paddock.Approval{}, err
	}
	last, err := b.last(facts)
	if err != nil {
		return paddock.Approval{}, err
	}
	n := 0
	if last != "" {
		_, _ = fmt.Sscanf(strings.TrimPrefix(string(last), prefix(facts)), "%d", &n) // last has found it
	}
	id := paddock.ApprovalID(fmt.Sprintf("%s%d", prefix(facts), n+1))
	text, err := durable.EncodeJSON(ask{
		Version: durable.Version, Nonce: durable.RandomHex(16), AskedAt: now.UTC().Truncate(time.Millisecond), ExpiresAt: now.Add(by.Expires).UTC().Truncate(time.Millisecond),
		Matter: m, Keys: by.Keys, Verifiers: by.Verifiers, Approvers: by.Approvers, Uses: by.Uses, LastsMS: by.Lasts.Milliseconds(),
	}, true)
	if err != nil {
		return paddock.Approval{}, err
	}
	if err := durable.MakeDir(b.path(id)); err != nil {
		return paddock.Approval{}, err
	}
	if _, err := durable.Publish(b.path(id, askName), text); err != nil {
		return paddock.Approval{}, err
	}
	return b.As(id, m, by, now)
}

// room makes room: a directory without ask.json is what a crash left, and what has
// been over for long is in the journal.
func (b Book) room(p paddock.Principal, now time.Time) error {
	entries, err := os.ReadDir(b.dir)
	if err != nil {
		return err
	}
	open := 0
	for _, e := range entries {
		id := paddock.ApprovalID(e.Name())
		if !idForm().MatchString(e.Name()) {
			continue
		}
		a, err := b.Get(id, now)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			err = os.RemoveAll(b.path(id))
		case err != nil:
			continue // whoever lists them is told
		case a.State == paddock.ApprovalWaiting && a.Matter.Principal.Root() == p.Root():
			open++
		case a.State != paddock.ApprovalWaiting && a.State != paddock.ApprovalApproved && now.Sub(a.ExpiresAt) > keptFor:
			err = os.RemoveAll(b.path(id))
		}
		if err != nil {
			return err
		}
	}
	if open >= mostOpen {
		return ErrFull
	}
	return nil
}

// Use notes that run is started by id, if it still may be: whoever gets no error may
// start it. Who was ended between the two is told the same again, unless it was denied
// meanwhile or is over. Only one who holds the state directory's claim may ask.
func (b Book) Use(id paddock.ApprovalID, m paddock.Matter, by paddock.Approvals, run paddock.RunID, now time.Time) (paddock.Approval, error) {
	a, err := b.As(id, m, by, now)
	if err != nil {
		return a, err
	}
	if slices.Contains(a.Used, run) && (a.State == paddock.ApprovalApproved || a.State == paddock.ApprovalUsed) {
		return a, nil
	}
	if a.State != paddock.ApprovalApproved {
		return a, fmt.Errorf("approval %s is %s", id, a.State)
	}
	text, err := durable.EncodeJSON(use{Version: durable.Version, Run: run, At: now.UTC()}, true)
	if err != nil {
		return a, err
	}
	first, err := durable.Publish(b.path(id, useName(len(a.Used))), text)
	if err == nil && !first {
		err = fmt.Errorf("approval %s was used meanwhile", id)
	}
	if err == nil {
		a.Used = append(a.Used, run)
	}
	return a, err
}

// Over notes that id expired, so that no clock that is set back makes it wait again;
// first says whether nobody noted it before.
func (b Book) Over(id paddock.ApprovalID, now time.Time) (first bool, err error) {
	text, err := durable.EncodeJSON(over{durable.Version, now.UTC()}, true)
	if err != nil {
		return false, err
	}
	return durable.Publish(b.path(id, overName), text)
}

// Sign makes a vote on a with key.
func Sign(key *sign.Key, a paddock.Approval, s Statement) ([]byte, error) {
	s.Version, s.Ask, s.Policy = 1, a.Digest, a.Matter.PolicyDigest
	payload, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	return key.Seal(PayloadType, payload).Text()
}

// Vote puts a signed vote on id down, and returns how the matter stands by it. A vote
// that doesn't count is a [*Void] and isn't put down; one that is there already
// stays. Before it is put down tell is called.
func (b Book) Vote(id paddock.ApprovalID, envelope []byte, now time.Time, tell func(paddock.Approval, paddock.Vote) error) (paddock.Approval, error) {
	asked, _, err := b.read(id)
	if err != nil {
		return paddock.Approval{}, err
	}
	a, err := b.Get(id, now)
	if err != nil {
		return a, err
	}
	if len(envelope) > vouched.MostBytes {
		return a, &Void{fmt.Errorf("it is longer than %d bytes", vouched.MostBytes)}
	}
	signed, _, err := unwrap(envelope, asked.Verifiers)
	if err != nil {
		return a, &Void{err}
	}
	why := errors.New("no key that the policy lists signed it")
	for _, listed := range asked.Keys {
		key, err := keyOf(listed.Key)
		if err != nil {
			continue
		}
		if _, err := key.Unseal(PayloadType, signed); err != nil {
			continue
		}
		v, err := check(envelope, a, listed, key, asked.settings())
		if err != nil {
			return a, &Void{err}
		}
		if a.State != paddock.ApprovalWaiting && (v.Approve || a.State != paddock.ApprovalApproved) {
			return a, &Void{fmt.Errorf("what it is about is %s already", a.State)}
		}
		if err := tell(a, *v); err != nil {
			return a, err
		}
		if _, err := durable.Publish(b.path(id, voteName(key, v.Approve)), envelope); err != nil {
			return a, err
		}
		return b.Get(id, now)
	}
	return a, &Void{why}
}
