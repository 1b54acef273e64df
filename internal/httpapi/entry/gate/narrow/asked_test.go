package narrow

import (
	"context"
	"errors"
	"strings"
	"testing"

	"paddock"
	"paddock/internal/httpapi/entry/gate"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

type asker map[paddock.ApprovalID]paddock.Approval

func (h asker) Approvals(context.Context, paddock.Principal) (all []paddock.Approval, err error) {
	for _, a := range h {
		all = append(all, a)
	}
	return all, nil
}

func (h asker) Approval(_ context.Context, _ paddock.Principal, id paddock.ApprovalID) (paddock.Approval, error) {
	return h[id], nil
}

func (h asker) Question(context.Context, paddock.Principal, paddock.ApprovalID) ([]byte, error) {
	return []byte("text"), nil
}

func (h asker) Vote(_ context.Context, _ paddock.Principal, id paddock.ApprovalID, _ []byte) (paddock.Approval, error) {
	return h[id], nil
}

// spaces are those below a directory; everything where it is empty.
type spaces struct {
	Workspaces
	below string
	fault error
}

func (s spaces) Sees(context.Context, gate.Caller) (func(paddock.Run) bool, error) {
	if s.below == "" {
		return nil, s.fault
	}
	return func(r paddock.Run) bool { return strings.HasPrefix(r.Workspace, s.below) }, s.fault
}

// Of what persons are asked, a credential for some workspaces shows what would run there.
func TestAsked(t *testing.T) {
	t.Parallel()
	ctx, p := t.Context(), paddock.Principal{}
	h := asker{}
	for id, root := range map[paddock.ApprovalID]string{"site": "/w/ann/site", "tree": "/w/ann/site/fix", "other": "/w/ann/other", "none": ""} {
		h[id] = paddock.Approval{ID: id, Matter: paddock.Matter{Root: root}}
	}
	for _, w := range []Workspaces{nil, spaces{}} {
		all, err := Asked(ctx, h, w, gate.Caller{})
		if err != nil {
			t.Fatal(err)
		}
		if list, err := all.Approvals(ctx, p); err != nil || len(list) != 4 {
			t.Errorf("%v, %v", list, err)
		}
	}
	fault := errors.New("broken")
	if _, err := Asked(ctx, h, spaces{fault: fault}, gate.Caller{}); !errors.Is(err, fault) {
		t.Error(err)
	}
	some, err := Asked(ctx, h, spaces{below: "/w/ann/site"}, gate.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	if list, err := some.Approvals(ctx, p); err != nil || len(list) != 2 {
		t.Errorf("%v, %v", list, err)
	}
	for id, sees := range map[paddock.ApprovalID]bool{"site": true, "tree": true, "other": false, "none": false} {
		_, one := some.Approval(ctx, p, id)
		_, text := some.Question(ctx, p, id)
		_, vote := some.Vote(ctx, p, id, nil)
		for _, err := range []error{one, text, vote} {
			var r *paddock.Refusal
			if sees && err != nil || !sees && (!errors.As(err, &r) || r.Code != paddock.NotFound) {
				t.Errorf("%s: %v", id, err)
			}
		}
	}
}
