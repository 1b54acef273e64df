//go:build linux

package httpapi

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"paddock"
	"paddock/internal/app/evidence/ruled"
)

// When another policy began to decide is told a page at a time, also when an earlier one
// came back, with who asked first; and its text is there by its digest.
func TestPolicyChanges(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	file := filepath.Join(s.dir, "policy.yaml")
	first, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	second := string(first) + "# another\n"
	for _, c := range []struct{ as, text string }{{"operator", string(first)}, {"bob", second}, {"bob", second}, {"operator", string(first)}} {
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		run := s.start(c.as, "exit 0")
		s.get("/api/v1/runs/"+string(run.ID)+"?wait_ms=45000", c.as).into(t, http.StatusOK, nil)
	}
	var all ruled.Changes
	s.get("/api/v1/policy/changes", "admin").into(t, http.StatusOK, &all)
	if len(all.Changes) != 3 || all.Next != 0 {
		t.Fatalf("%+v", all)
	}
	for i, want := range []string{"user:operator", "user:bob", "user:operator"} {
		if c := all.Changes[i]; c.By == nil || c.By.ID != want || c.Run == "" || !c.Kept || c.Again != (i == 2) {
			t.Errorf("%d: %+v", i, c)
		}
	}
	if all.Changes[0].Policy != all.Changes[2].Policy || all.Changes[0].Policy == all.Changes[1].Policy {
		t.Errorf("%+v", all)
	}
	// A page at a time they are the same.
	after := int64(0)
	for i, want := range all.Changes {
		var page ruled.Changes
		s.get("/api/v1/policy/changes?limit=1&after="+strconv.FormatInt(after, 10), "admin").into(t, http.StatusOK, &page)
		if len(page.Changes) != 1 || page.Changes[0].Seq != want.Seq || (page.Next == 0) != (i == 2) {
			t.Fatalf("%d: %+v", i, page)
		}
		after = page.Next
	}
	var text ruled.Text
	s.get("/api/v1/policy/texts/"+string(all.Changes[1].Policy), "admin").into(t, http.StatusOK, &text)
	if text.Text != second || text.Policy != all.Changes[1].Policy {
		t.Errorf("%+v", text)
	}
	s.get("/api/v1/policy/texts/"+all.Changes[0].Policy.Hex(), "admin").into(t, http.StatusOK, nil)
	s.get("/api/v1/policy/texts/"+string(paddock.DigestOf([32]byte{})), "admin").problem(t, http.StatusNotFound, paddock.NotFound)
	for _, path := range []string{"texts/policy.yaml", "changes?after=-1", "changes?limit=1001", "changes?limit=-1", "changes?after=x"} {
		s.get("/api/v1/policy/"+path, "admin").problem(t, http.StatusUnprocessableEntity, paddock.InvalidRequest)
	}
	s.get("/api/v1/policy/changes", "approver").problem(t, http.StatusForbidden, paddock.Forbidden)
	s.get("/api/v1/policy/texts/x", "approver").problem(t, http.StatusForbidden, paddock.Forbidden)
}
