package approval

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"paddock"
	"paddock/internal/approval/vouched"
	"paddock/internal/journal/sign"
	"paddock/internal/rundir/record/durable"
	"paddock/internal/trust"
)

// stand says how a matter stands by who is listed in by.
func (b Book) stand(id paddock.ApprovalID, a *ask, text []byte, by paddock.Approvals, now time.Time) (paddock.Approval, error) {
	out := paddock.Approval{
		ID: id, AskedAt: a.AskedAt, ExpiresAt: a.ExpiresAt, Digest: digest("paddock ask v1\n", text), Matter: a.Matter,
		Approvers: max(1, by.Approvers),
	}
	t := tally{people: map[string]bool{}, uses: max(1, by.Uses)}
	for _, listed := range by.Keys {
		key, err := keyOf(listed.Key)
		if err != nil {
			out.Void = append(out.Void, fmt.Sprintf("the key of %s: %v", listed.Name, err))
			continue
		}
		for _, approve := range []bool{true, false} {
			vote, err := b.vote(out, listed, key, approve, by)
			switch {
			case trust.Fault(err): // it may be a denial
				return paddock.Approval{}, err
			case err != nil:
				out.Void = append(out.Void, fmt.Sprintf("what %s is said to have signed: %v", listed.Name, err))
			case vote != nil:
				out.Votes = append(out.Votes, *vote)
				t.count(*vote, listed)
			}
		}
	}
	var err error
	if out.Used, err = b.used(id); err != nil {
		return paddock.Approval{}, err
	}
	ended, err := durable.Exists(b.path(id, overName))
	if err != nil {
		return paddock.Approval{}, err
	}
	out.State = t.state(out, ended, now)
	if len(t.people) >= out.Approvers {
		out.Uses = t.uses
	}
	return out, nil
}

// tally counts votes.
type tally struct {
	people map[string]bool
	denied bool
	uses   int
	until  time.Time
}

func (t *tally) count(v paddock.Vote, listed paddock.ApprovalKey) {
	if !v.Approve {
		t.denied = true
		return
	}
	t.people[listed.Person()] = true
	t.uses = min(t.uses, v.Uses)
	if t.until.IsZero() || v.Until.Before(t.until) {
		t.until = v.Until
	}
}

// state is how the matter stands. A denial is the last word; and a clock that says
// less than when it was asked was set back, and nothing can be told by it.
func (t *tally) state(a paddock.Approval, ended bool, now time.Time) paddock.ApprovalState {
	approved := len(t.people) >= a.Approvers
	limit := a.ExpiresAt
	if approved {
		limit = t.until
	}
	switch {
	case t.denied:
		return paddock.ApprovalDeclined
	case approved && len(a.Used) >= t.uses:
		return paddock.ApprovalUsed
	case ended, !now.Before(limit), now.Before(a.AskedAt.Add(-skew)):
		return paddock.ApprovalLapsed
	case approved:
		return paddock.ApprovalApproved
	}
	return paddock.ApprovalWaiting
}

// vote returns what the holder of key signed; nil when nothing.
func (b Book) vote(a paddock.Approval, listed paddock.ApprovalKey, key *sign.Public, approve bool, by paddock.Approvals) (*paddock.Vote, error) {
	text, err := durable.Read(b.path(a.ID, voteName(key, approve)), vouched.MostBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	v, err := check(text, a, listed, key, by)
	if err == nil && v.Approve != approve {
		err = errors.New("it says the opposite of what its name says")
	}
	return v, err
}

// check returns the vote in an envelope, if it is one on a by key that counts.
func check(text []byte, a paddock.Approval, listed paddock.ApprovalKey, key *sign.Public, by paddock.Approvals) (*paddock.Vote, error) {
	signed, word, err := unwrap(text, by.Verifiers)
	if err != nil {
		return nil, err
	}
	if len(signed) > mostVote {
		return nil, fmt.Errorf("it is longer than %d bytes", mostVote)
	}
	payload, err := key.Unseal(PayloadType, signed)
	if err != nil {
		return nil, err
	}
	s, err := decode(payload)
	if err != nil {
		return nil, err
	}
	factor, unproven := word.factor(a, listed)
	requester := a.Matter.Principal // or somebody for whom he works
	switch {
	case s.Ask != a.Digest:
		return nil, errors.New("it is about another request")
	case s.Policy != a.Matter.PolicyDigest:
		return nil, errors.New("it is about another policy")
	case s.Approve && (requester.Answers(s.By) || requester.Answers(listed.Principal) || listed.Account != "" && requester.Answers("user:"+listed.Account)):
		return nil, errors.New("who asks can't approve it")
	case s.At.Before(a.AskedAt.Add(-skew)), s.At.After(a.ExpiresAt.Add(skew)):
		return nil, errors.New("it wasn't signed while the request waited")
	case len(s.Reason) > MostReason || !utf8.ValidString(s.Reason) || strings.ContainsFunc(s.Reason, unicode.IsControl):
		return nil, fmt.Errorf("its reason isn't one line of at most %d bytes", MostReason)
	case s.Approve && (s.Uses < 1 || s.Until.IsZero()):
		return nil, errors.New("it doesn't say for how many uses and until when")
	case s.Approve && a.Matter.SecondFactor && unproven != nil:
		return nil, unproven
	}
	v := &paddock.Vote{Name: listed.Name, By: s.By, Approve: s.Approve, Reason: s.Reason, At: s.At, Factor: factor}
	if s.Approve { // no more than the policy gives
		v.Uses, v.Until = min(s.Uses, max(1, by.Uses)), s.Until
		if last := s.At.Add(by.Lasts); last.Before(v.Until) {
			v.Until = last
		}
	}
	return v, nil
}

// used returns the runs that were started by a matter, in their order.
func (b Book) used(id paddock.ApprovalID) ([]paddock.RunID, error) {
	var out []paddock.RunID
	for {
		name := b.path(id, useName(len(out)))
		var u use
		err := durable.ReadJSON(name, &u)
		if errors.Is(err, fs.ErrNotExist) {
			return out, nil
		}
		if err != nil {
			return nil, err // one that can't be read is one that was used
		}
		out = append(out, u.Run)
	}
}

func useName(n int) string { return fmt.Sprintf("use-%d.json", n+1) }
