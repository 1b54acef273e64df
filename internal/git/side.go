package git

import (
	"context"
	"errors"

	"paddock"
	"paddock/internal/git/query/known"
)

// beside asks for the answer and, at the same time, which commits it is of: words are ids
// with steps behind, which are the same commits whenever they are asked for. What is refused of the
// two, which may be for want of room for both, is asked again alone, so that it is answered or
// refused as if it had been asked one after the other. Nothing is told where one of the two
// doesn't end as it does where all goes well; then all is asked so.
func (s session) beside(ctx context.Context, before Answer, words []string, name string) (_ Answer, told bool, err error) {
	two := s
	two.Beside, two.alone = true, true
	type commits struct {
		ids []string
		err error
	}
	resolved := make(chan commits, 1)
	go func() {
		ids, err := two.Commits(ctx, s.place.ResolveAll(words))
		resolved <- commits{ids, err}
	}()
	out, err := two.asked(ctx, before, known.Commits(words), name)
	r := <-resolved
	if refusal(r.err) && err == nil && out.State.Settled() {
		if r.ids, r.err = s.Commits(ctx, s.place.ResolveAll(words)); r.err != nil {
			return out, false, r.err
		}
	}
	resolves := r.err == nil && len(r.ids) == len(words)
	switch {
	case refusal(err) && resolves:
		out, err = s.asked(ctx, s.revised(before, r.ids), r.ids, name)
		return out, err == nil, err
	case errors.Is(err, errNoCommit) || refusal(err):
		return before, false, nil
	case err != nil:
		return out, false, err
	case resolves:
		return s.revised(out, r.ids), true, nil
	}
	return out, !out.State.Settled(), nil // of a run that goes on nothing else is known
}

func refusal(err error) bool {
	_, ok := errors.AsType[*paddock.Refusal](err)
	return ok
}

// revised says which commits an answer is of.
func (s session) revised(out Answer, ids []string) Answer {
	for i, ref := range s.ask.Query.Refs() {
		out.Revisions = append(out.Revisions, Revision{ref, ids[i]})
	}
	return out
}

// errNoCommit is git's where it could do nothing with what it was given for commits.
var errNoCommit = errors.New("git can do nothing with these ids")
