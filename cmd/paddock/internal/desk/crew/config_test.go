package crew

import (
	"strings"
	"testing"

	"paddock/internal/policy/compiled/document/shape"
)

// Limits of a worker are taken from its file, and what makes no sense is said.
func TestLimitsOfAWorker(t *testing.T) {
	t.Parallel()
	read := func(line string) (settings, string) {
		var said []string
		value, faults := shape.Read([]byte("version: 1\nid: w-1\npostgres: /etc/x\norders: []\n"+line+"\n"), document())
		for _, f := range faults {
			said = append(said, f.Message)
		}
		var s settings
		if len(said) == 0 {
			s.take("worker.yaml", value) // of keys that aren't there it says more than is asked here
		}
		return s, strings.Join(said, "\n")
	}
	if s, faults := read("runs_of_account: 3\nruns_of_workspace: 1"); faults != "" || s.account != 3 || s.workspace != 1 {
		t.Errorf("%+v, %s", s, faults)
	}
	if s, faults := read(""); faults != "" || s.account != 0 || s.workspace != 0 {
		t.Errorf("%+v, %s", s, faults)
	}
	for _, bad := range []string{"0", "-1", "1.5", "many", "100001", "[1]", "1\nruns_of_workspace: 2"} {
		if _, faults := read("runs_of_workspace: " + bad); faults == "" {
			t.Errorf("%s: %q", bad, faults)
		}
	}
}
