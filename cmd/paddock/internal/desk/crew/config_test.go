package crew

import (
	"strings"
	"testing"
	"time"

	"paddock/internal/policy/compiled/document/shape"
)

// taken is what a file with the line says, what is wrong with its form, and what with what
// it says: of keys that aren't there that is more than is asked.
func taken(line string) (s settings, form, sense string) {
	var said []string
	value, faults := shape.Read([]byte("version: 1\nid: w-1\npostgres: /etc/x\norders: []\n"+line+"\n"), document())
	for _, f := range faults {
		said = append(said, f.Message)
	}
	if len(said) == 0 {
		sense = strings.Join(s.take("worker.yaml", value), "\n")
	}
	return s, strings.Join(said, "\n"), sense
}

// How long a run waits for who signed it is taken from the file, within bounds, and not
// where nobody is asked.
func TestWaitOfAWorker(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"": 0, "signer_wait: 1s": time.Second, "signer_wait: 30m": 30 * time.Minute, "signer_wait: 24h": 24 * time.Hour} {
		if s, form, sense := taken(text); form != "" || strings.Contains(sense, "signer_wait") || s.waits != want {
			t.Errorf("%q: %s, %s, %s", text, s.waits, form, sense)
		}
	}
	for _, bad := range []string{"0s", "999ms", "25h", "-1m", "5", "soon", "[5m]", "5m\nsigner_wait: 6m", "5m\nsole: true", "\"5m\\0\"", strings.Repeat("9", 5000) + "h"} {
		if s, form, sense := taken("signer_wait: " + bad); form == "" && !strings.Contains(sense, "signer_wait") {
			t.Errorf("%.80s: %s", bad, s.waits)
		}
	}
}

// Limits of a worker are taken from its file, and what makes no sense is said.
func TestLimitsOfAWorker(t *testing.T) {
	t.Parallel()
	read := func(line string) (settings, string) {
		s, faults, _ := taken(line)
		return s, faults
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
