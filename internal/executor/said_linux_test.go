package executor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"paddock"
	"paddock/internal/rundir/record/durable/places"
)

// What a rule says is shown to who is asked, from the text of the policy that is signed,
// and isn't signed itself: also where no run waits. What isn't there any more, or as it
// was, is said to be unknown.
func TestApprovalShowsWhatTheRuleSays(t *testing.T) {
	t.Parallel()
	a := openAsking(t)
	const message = "Somebody reads the diff first."
	text := strings.Replace(*a.policy.text.Load(), "{name: ask-me,", `{name: ask-me, message: "`+message+`",`, 1)
	a.policy.text.Store(&text)
	_, err := a.e.Start(t.Context(), push(false))
	code(t, err, paddock.ApprovalRequired)
	list, err := a.e.Consent().List()
	if err != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	id := list[0].ID
	says := func(when string, want paddock.RuleSays) {
		t.Helper()
		one, err := a.e.Consent().Get(id)
		all, listErr := a.e.Consent().List()
		if err != nil || listErr != nil || len(all) != 1 {
			t.Fatalf("%s: %v, %v", when, err, listErr)
		}
		for _, got := range []paddock.Approval{one, all[0]} {
			if len(got.Says) != 1 || got.Says[0] != want {
				t.Errorf("%s: %+v", when, got.Says)
			}
		}
	}
	known := paddock.RuleSays{Rule: "ask-me", Message: message}
	says("as it was asked", known)
	if signed, err := a.e.Consent().Text(id); err != nil || strings.Contains(string(signed), message) {
		t.Errorf("what is signed is %s, %v", signed, err)
	}
	other := *a.policy.text.Load() + "# later\n"
	a.policy.text.Store(&other)
	says("by another policy", known)

	// One that was asked before texts were kept beside it has that of the runs.
	state := a.e.state.Path()
	beside := filepath.Join(state, "approvals", string(id), "policy")
	kept := filepath.Join(state, places.Policies, list[0].Matter.PolicyDigest.Hex())
	if err := os.Remove(beside); err != nil {
		t.Fatal(err)
	}
	says("of an earlier version", known)
	if err := os.Remove(kept); err != nil {
		t.Fatal(err)
	}
	says("without the text", paddock.RuleSays{Rule: "ask-me", Unknown: true})
	if err := os.WriteFile(beside, []byte(strings.Replace(text, message, "It is harmless.", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	says("with another text", paddock.RuleSays{Rule: "ask-me", Unknown: true})
}
