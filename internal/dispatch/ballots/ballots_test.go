package ballots

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"paddock"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

// A house asks some things, and counts votes that are its own word.
type house struct {
	name  string
	asks  map[paddock.ApprovalID]paddock.Approval
	votes []string
	fault error
}

func none() error { return paddock.Refused(paddock.NotFound, "There is none.") }

func (h *house) Approvals(context.Context, paddock.Principal) (all []paddock.Approval, err error) {
	for _, a := range h.asks {
		all = append(all, a)
	}
	return all, h.fault
}

func (h *house) Approval(_ context.Context, _ paddock.Principal, id paddock.ApprovalID) (paddock.Approval, error) {
	a, ok := h.asks[id]
	switch {
	case h.fault != nil:
		return paddock.Approval{}, h.fault
	case !ok:
		return paddock.Approval{}, none()
	}
	return a, nil
}

func (h *house) Question(context.Context, paddock.Principal, paddock.ApprovalID) ([]byte, error) {
	return []byte(h.name), nil
}

func (h *house) Vote(_ context.Context, _ paddock.Principal, id paddock.ApprovalID, envelope []byte) (paddock.Approval, error) {
	h.votes = append(h.votes, string(envelope))
	if string(envelope) != h.name {
		return paddock.Approval{}, paddock.Refused(paddock.Forbidden, "It is about another request.")
	}
	return h.asks[id], nil
}

// Two machines that were asked the same by the same person have one id for it. Both are
// listed, one after the other is what the id means, and a vote reaches the one it is about.
func TestOneIDOfTwoMachines(t *testing.T) {
	t.Parallel()
	const id = paddock.ApprovalID("a00000000000000000000-1")
	noon := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	asks := func(name string, state paddock.ApprovalState, minute int) *house {
		return &house{name: name, asks: map[paddock.ApprovalID]paddock.Approval{id: {
			ID: id, State: state, AskedAt: noon.Add(time.Duration(minute) * time.Minute), Digest: paddock.Digest("sha256:" + name), Worker: name,
		}}}
	}
	here := &house{name: "here"}
	a, b := asks("a", paddock.ApprovalWaiting, 2), asks("b", paddock.ApprovalWaiting, 1)
	there := []House{&house{name: "away", fault: errors.New("away")}, a, b}
	means := func(want string) {
		t.Helper()
		h, one, err := Of(t.Context(), paddock.Principal{}, id, here, there)
		if err != nil || one.Worker != want || h.(*house).name != want {
			t.Fatalf("%+v, %v; want %s", one, err, want)
		}
	}
	set := func(h *house, s paddock.ApprovalState) {
		one := h.asks[id]
		one.State = s
		h.asks[id] = one
	}
	all, err := All(t.Context(), paddock.Principal{}, here, there)
	if err != nil || len(all) != 2 || all[0].Worker != "a" {
		t.Errorf("%+v, %v", all, err)
	}
	means("b")
	one, err := Vote(t.Context(), paddock.Principal{}, id, []byte("a"), here, there)
	if err != nil || one.Worker != "a" || !slices.Equal(b.votes, a.votes) {
		t.Errorf("%+v, %v", one, err)
	}
	_, err = Vote(t.Context(), paddock.Principal{}, id, []byte("nobody"), here, there)
	var r *paddock.Refusal
	if !errors.As(err, &r) || r.Code != paddock.Forbidden {
		t.Error(err)
	}
	set(b, paddock.ApprovalUsed)
	means("a")
	here.asks = asks("here", paddock.ApprovalUsed, 0).asks
	means("a") // what is over here hides nothing
	set(a, paddock.ApprovalDeclined)
	means("here")
	set(here, paddock.ApprovalWaiting)
	means("here")
	here.fault = errors.New("broken")
	if _, _, err := Of(t.Context(), paddock.Principal{}, id, here, there); err == nil {
		t.Error("nothing is said of a fault here")
	}
	here.fault, here.asks = nil, nil
	if _, _, err := Of(t.Context(), paddock.Principal{}, "other", here, there); !errors.As(err, &r) || r.Code != paddock.NotFound {
		t.Error(err)
	}
}
