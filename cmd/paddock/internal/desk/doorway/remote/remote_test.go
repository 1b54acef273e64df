package remote

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"paddock"
	"paddock/internal/app"
	"paddock/internal/auth"
	"paddock/internal/policy/compiled/document/shape/table"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

// trees are the tools that there are beside those which a policy can give to delegates.
var trees = []string{"worktree_create", "worktree_list", "worktree_remove"}

// Every tool wants a verb that a token can have, and no lesser role than who may do the
// same elsewhere gets one that starts or changes something.
func TestWants(t *testing.T) {
	t.Parallel()
	want, got := slices.Sorted(slices.Values(append(slices.Clone(table.Tools), trees...))), slices.Sorted(maps.Keys(wants()))
	if !slices.Equal(want, got) {
		t.Errorf("there are %q, and verbs for %q", want, got)
	}
	for name, verb := range wants() {
		if !slices.Contains(auth.Verbs(), verb) || !verb.Delegable() {
			t.Errorf("%s wants %s, which no token can have", name, verb)
		}
	}
	of := func(r auth.Role) []string {
		return tools(func(v auth.Verb) bool { return auth.Reaches(r, v) != auth.Nothing })
	}
	if got, want := of(auth.Viewer), []string{"collect_results", "command_list", "command_output", "command_status", "retrieve_context", "tasks_list", "worktree_list"}; !slices.Equal(got, want) {
		t.Errorf("a viewer has %q", got)
	}
	if got := of(auth.Operator); !slices.Equal(got, want) {
		t.Errorf("an operator has %q", got)
	}
	if got := of("nobody"); got == nil || len(got) != 0 {
		t.Errorf("nobody has %#v; nil would be all", got)
	}
}

// pretended verbs say that they were asked.
type pretended struct {
	Verbs
	asked []string
}

func (p *pretended) Vote(context.Context, paddock.Principal, paddock.ApprovalID, []byte) (paddock.Approval, error) {
	p.asked = append(p.asked, "vote")
	return paddock.Approval{}, nil
}

func (p *pretended) Kill(context.Context, paddock.Principal, paddock.RunID, app.KillRequest) (paddock.Run, error) {
	p.asked = append(p.asked, "kill")
	return paddock.Run{}, nil
}

// What a person at the client may do on the way is no more than the token may.
func TestNarrowed(t *testing.T) {
	t.Parallel()
	for _, some := range [][]auth.Verb{nil, {auth.RunsStart}, {auth.ApprovalsVote}, {auth.RunsKill}, {auth.RunsKill, auth.ApprovalsVote}} {
		p := &pretended{}
		n := narrowed{p, func(v auth.Verb) bool { return slices.Contains(some, v) }}
		_, vote := n.Vote(t.Context(), paddock.Principal{}, "", nil)
		_, kill := n.Kill(t.Context(), paddock.Principal{}, "", app.KillRequest{})
		for v, err := range map[auth.Verb]error{auth.ApprovalsVote: vote, auth.RunsKill: kill} {
			r, refused := errors.AsType[*paddock.Refusal](err)
			if may := slices.Contains(some, v); may == refused || refused && (r.Code != paddock.Forbidden || r.Hint == "") {
				t.Errorf("%s with %q: %v", v, some, err)
			}
		}
		if len(p.asked) != len(slices.DeleteFunc(slices.Clone(some), func(v auth.Verb) bool { return v == auth.RunsStart })) {
			t.Errorf("with %q: %q", some, p.asked)
		}
	}
}
