package screen

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"paddock"
)

func TestDescribe(t *testing.T) {
	t.Parallel()
	code := 3
	for _, tt := range []struct {
		reason paddock.Reason
		want   string
	}{
		{paddock.Reason{Kind: paddock.ReasonExit, ExitCode: &code}, "exited with status 3"},
		{paddock.Reason{Kind: paddock.ReasonSignal, Signal: "SIGSEGV"}, "the program was ended by SIGSEGV from elsewhere"},
		{paddock.Reason{Kind: paddock.ReasonKill, Signal: "SIGKILL", Why: "it \x1bhangs"}, `killed on request with SIGKILL: it \x1bhangs`},
		{paddock.Reason{Kind: paddock.ReasonAbort}, "killed because its caller gave up"},
		{paddock.Reason{Kind: paddock.ReasonShutdown}, "killed because its host program shut down"},
		{paddock.Reason{Kind: paddock.ReasonCallerGone}, "killed because its caller was gone"},
		{paddock.Reason{Kind: paddock.ReasonTimeout, Limit: 90_000}, "ended because its time was over (1m30s)"},
		{paddock.Reason{Kind: paddock.ReasonIdle, Limit: 90_000, Detail: "a question"}, "ended because it printed nothing for 1m30s: a question"},
		{paddock.Reason{Kind: paddock.ReasonOutOfMemory, Limit: 2 << 30, Signal: "SIGKILL"}, "ended because it needed more memory than its limit of 2 GiB"},
		{paddock.Reason{Kind: paddock.ReasonOutputLimit, Stream: paddock.Stderr, Limit: 10 << 20}, "ended because stderr passed its limit of 10 MiB"},
		{paddock.Reason{Kind: paddock.ReasonSink, Detail: "no space left"}, "killed because its output could not be kept: no space left"},
		{paddock.Reason{Kind: paddock.ReasonStart, Step: "execve", Detail: "exec format error"}, "the program could not be started (execve): exec format error"},
		{paddock.Reason{Kind: paddock.ReasonLost, Evidence: &paddock.Evidence{Note: "gone"}}, "lost: its supervisor vanished without writing how it ended (gone)"},
		{paddock.Reason{Kind: paddock.ReasonHost}, "lost: the machine restarted while it ran"},
		{paddock.Reason{Kind: "of a later version", Detail: "something"}, "killed: something"},
	} {
		r := paddock.Run{State: paddock.Killed, Outcome: &paddock.Outcome{State: paddock.Killed, Reason: tt.reason}}
		if got := Describe(r); got != tt.want {
			t.Errorf("%s is described as %q, want %q", tt.reason.Kind, got, tt.want)
		}
	}
	if got := Describe(paddock.Run{State: paddock.Running}); got != "running" {
		t.Errorf("a running run is described as %q", got)
	}
}

// What has a width is painted only where a terminal looks at it.
func TestRunIsPaintedForTerminals(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := &Screen{Out: &out, Err: &out, Getenv: func(string) string { return "" }, Now: func() time.Time { return time.Unix(100, 0) }}
	r := paddock.Run{ID: "r1", State: paddock.Lost, Argv: []string{"a\x1b[2J"}, Dir: "/\u202e", CreatedAt: time.Unix(40, 0)}
	if err := c.Run(r); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(out.String(), "\x1b\u202e") {
		t.Errorf("what isn't a terminal gets %q", &out)
	}
	if !strings.Contains(out.String(), "(1m ago)") {
		t.Errorf("its age isn't in %q", &out)
	}
	out.Reset()
	c.Terminal = true
	if err := c.Run(r); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(out.String(), "\x1b"); got != 2 {
		t.Errorf("a terminal gets %d escapes, want those around the state:\n%q", got, &out)
	}
}

// A full disk under standard output is an error, not an empty answer.
func TestWriteErrorsAreReturned(t *testing.T) {
	t.Parallel()
	c := &Screen{Out: full{}, Err: full{}, Getenv: func(string) string { return "" }, Now: time.Now}
	c.Say("error", "nobody reads this")
	for name, err := range map[string]error{
		"Run":      c.Run(paddock.Run{}),
		"Object":   c.Object(1),
		"Decision": c.Decision(paddock.Decision{Gates: paddock.AnswersOf(paddock.GateResult{})}),
		"Fields":   c.Fields([][2]string{{"a", "b"}}),
	} {
		if err == nil {
			t.Errorf("%s returns no error", name)
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull{} }

type errFull struct{}

func (errFull) Error() string { return "full" }

// At a run's end its caller is told what the kernel refused it, in few lines.
func TestEndTellsWhatWasDenied(t *testing.T) {
	t.Parallel()
	var out, errs strings.Builder
	c := &Screen{Out: &out, Err: &errs}
	r := paddock.Run{ID: "r1", State: paddock.Exited, Outcome: &paddock.Outcome{}}
	for _, text := range []string{"one", "two\x1b[2J", "three", "four", "five"} {
		r.Outcome.Denied = append(r.Outcome.Denied, paddock.Denial{Count: 1, Text: text})
	}
	c.End(r)
	got := errs.String()
	if !strings.Contains(got, "note: one\n") || strings.Contains(got, "\x1b") || strings.Contains(got, "four") || !strings.Contains(got, "and 2 other things") {
		t.Errorf("%q", got)
	}
}
