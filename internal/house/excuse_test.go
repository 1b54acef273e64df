package house

import (
	"fmt"
	"strings"
	"testing"

	"paddock/internal/house/source"
)

func TestExcuse(t *testing.T) {
	t.Parallel()
	found := []Finding{
		source.Found("size", "a.go:Long", "61 lines"), source.Found("purity", "b.go:12", "imports os"), source.Found("members", "c.go:3", "os.Create"),
	}
	excused := []exception{
		{"size", "a.go:Long", "a table"}, {"purity", "b.go", "a default"}, {"members", "d.go", "gone"}, {"size", "c.go", "another rule"},
	}
	left := excuse(found, excused)
	want := []string{"c.go:3: os.Create", "d.go: an exception", "c.go: an exception"}
	if len(left) != len(want) {
		t.Fatalf("got %q, want %q", left, want)
	}
	for i, w := range want {
		if !strings.HasPrefix(left[i].String(), w) {
			t.Errorf("got %q, want %q", left[i], w)
		}
	}
}

func TestNoExceptionFromTheHardLimit(t *testing.T) {
	t.Parallel()
	for _, e := range exceptions {
		if e.rule == "size-hard" {
			t.Errorf("%s: functions past %d lines are not excused", e.where, maxFuncHard)
		}
	}
}

func TestEveryRuleHasAReason(t *testing.T) {
	t.Parallel()
	all := reasons()
	if len(all) < 20 {
		t.Error("the reasons were not collected")
	}
	for name, why := range all {
		if len(strings.Fields(why)) < 2 {
			t.Errorf("%s has no reason", name)
		}
	}
}

// reasons returns why each rule, exception and starter stands in the plan.
func reasons() map[string]string {
	why := map[string]string{}
	for _, r := range reservations {
		why["reserved "+r.what] = r.why
	}
	for _, b := range bans {
		why["banned "+b.room] = b.why
	}
	for _, r := range memberRules {
		why[fmt.Sprint(r.pkg, r.members)] = r.why
	}
	for _, s := range starters {
		why["starter "+s.path] = s.why
	}
	for _, e := range exceptions {
		why["exception "+e.where] = e.why
	}
	return why
}
