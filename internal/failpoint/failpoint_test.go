package failpoint

import (
	"os"
	"testing"
)

// A build without the tag has no points, whatever lies beside it.
func TestNothingFailsInWhatIsReleased(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	plan := self + Suffix
	if err := os.WriteFile(plan, []byte("* 1 kill\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(plan)
	Here("any")
	if err := At("any"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(self + HitSuffix); !os.IsNotExist(err) {
		t.Errorf("somebody was told: %v", err)
	}
}
