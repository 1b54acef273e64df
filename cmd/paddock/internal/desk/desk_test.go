package desk

import (
	"errors"
	"testing"

	"paddock"
)

// Every way a run can end has its status, and every state is in the table.
func TestRunStatus(t *testing.T) {
	t.Parallel()
	code := func(n int) *int { return &n }
	for _, tt := range []struct {
		name   string
		state  paddock.State
		reason paddock.Reason
		want   int
	}{
		{"success", paddock.Exited, paddock.Reason{Kind: paddock.ReasonExit, ExitCode: code(0)}, 0},
		{"its own status", paddock.Exited, paddock.Reason{Kind: paddock.ReasonExit, ExitCode: code(126)}, 126},
		{"exited without a status", paddock.Exited, paddock.Reason{Kind: paddock.ReasonExit}, 125},
		{"timeout", paddock.TimedOut, paddock.Reason{Kind: paddock.ReasonTimeout, Signal: "SIGKILL"}, 124},
		{"out of memory", paddock.Killed, paddock.Reason{Kind: paddock.ReasonOutOfMemory, Signal: "SIGKILL"}, 137},
		{"output limit", paddock.OutputLimit, paddock.Reason{Kind: paddock.ReasonOutputLimit, Signal: "SIGTERM"}, 137},
		{"killed on request", paddock.Killed, paddock.Reason{Kind: paddock.ReasonKill, Signal: "SIGTERM"}, 137},
		{"caller gone", paddock.Killed, paddock.Reason{Kind: paddock.ReasonCallerGone}, 137},
		{"a signal from elsewhere", paddock.Killed, paddock.Reason{Kind: paddock.ReasonSignal, Signal: "SIGSEGV"}, 139},
		{"a signal without a known name", paddock.Killed, paddock.Reason{Kind: paddock.ReasonSignal, Signal: "SIGRTMIN+3"}, 137},
		{"failed to start", paddock.FailedToStart, paddock.Reason{Kind: paddock.ReasonStart}, 125},
		{"lost", paddock.Lost, paddock.Reason{Kind: paddock.ReasonLost}, 125},
		{"not over", paddock.Running, paddock.Reason{}, 75},
		{"hardly begun", paddock.Starting, paddock.Reason{}, 75},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := paddock.Run{State: tt.state, Outcome: &paddock.Outcome{State: tt.state, Reason: tt.reason}}
			if got := RunStatus(r); got != tt.want {
				t.Errorf("status %d, want %d", got, tt.want)
			}
		})
	}
}

func TestStatusOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		err  error
		want int
	}{
		{"nothing", nil, 0},
		{"a refusal", paddock.Refused(paddock.Busy, "x"), 126},
		{"a missing executable", paddock.Refused(paddock.ExecutableMissing, "x"), 127},
		{"wrapped", errors.Join(paddock.Refused(paddock.NotFound, "x"), errors.New("y")), 126},
		{"a status", ExitStatus(3), 3},
		{"a wrong flag", Usage("x", "y"), 125},
		{"a fault", errors.New("x"), 125},
	} {
		if got := StatusOf(tt.err); got != tt.want {
			t.Errorf("%s: status %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestParseSize(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]int64{
		"1": 1, "1B": 1, "2KiB": 2048, "3MiB": 3 << 20, "1GiB": 1 << 30, "2TiB": 2 << 40,
		"": 0, "0": 0, "-1": 0, "1KB": 0, "1.5MiB": 0, "MiB": 0, "99999999999999999999": 0, "9999999TiB": 0, "1KiBKiB": 0, "٣": 0,
	} {
		got, err := parseSize(word)
		if got != want || (err == nil) != (want > 0) {
			t.Errorf("parseSize(%q) = %d, %v; want %d", word, got, err, want)
		}
	}
}
