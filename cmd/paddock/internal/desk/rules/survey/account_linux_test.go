package survey

import (
	"os"
	"testing"

	"paddock"
	"paddock/internal/executor/judge/account"
	"paddock/internal/policy"
	"paddock/internal/policy/propose"
	"paddock/internal/testproc"
)

// What is proposed to root where only `standard` can be had names an account that
// runs can have: without one each of them would be refused.
func TestRootIsProposedAnAccount(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		testproc.Skip(t, "only root needs one")
	}
	for name, tt := range map[string]struct {
		uid, gid int
		owns     bool
	}{
		"root's":                      {0, 0, false},
		"nobody's":                    {testproc.Nobody, testproc.Nobody, true},
		"of a user without a name":    {54321, 12345, true},
		"of such a user, in root's":   {54321, 0, true},
		"of root, in another's group": {0, 12345, false},
	} {
		dir := t.TempDir()
		if err := os.Chown(dir, tt.uid, tt.gid); err != nil {
			t.Fatal(err)
		}
		as, owns := RunAs(dir)
		p, err := policy.Load("p", propose.Propose(propose.Project{Root: dir, Levels: []paddock.Level{paddock.Standard}, RunAs: as, Owns: owns}))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		found, refusal, err := account.Find(p.Contain())
		if refusal != nil || err != nil || found == nil || owns != tt.owns || owns && int(found.UID) != tt.uid {
			t.Errorf("%s: `run_as: %s` (owns: %t) is %v, %v, %v", name, as, owns, found, refusal, err)
		}
	}
	if _, refusal, _ := account.Find(paddock.ContainAs{Level: paddock.Standard}); refusal == nil {
		t.Error("root needs no account after all")
	}
}
