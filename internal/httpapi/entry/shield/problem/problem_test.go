package problem

import (
	"regexp"
	"testing"

	"paddock"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

// What is said over HTTP names no tool of agents, also of the further reasons, and leaves
// the refusal as it was.
func TestHintsFitWhoAsks(t *testing.T) {
	t.Parallel()
	tools := regexp.MustCompile(`run_command|command_[a-z]+|retrieve_context|git_[a-z]+|tasks_[a-z]+|delegate_task|collect_results|cancel_delegate|waitMs|taskId`)
	for _, info := range paddock.Codes() {
		r := paddock.Refused(paddock.RuleDenied, "first")
		r.Others = []paddock.Refusal{*paddock.Refused(info.Code, "then")}
		for _, hint := range []string{Of(paddock.Refused(info.Code, "it")).Refusal.Hint, Of(r).Refusal.Others[0].Hint} {
			if hint == "" || tools.MatchString(hint) {
				t.Errorf("%s: %s", info.Code, hint)
			}
		}
		if r.Others[0].Hint != info.Hint {
			t.Errorf("%s was changed", info.Code)
		}
	}
	own := paddock.Refused(paddock.NotFound, "it")
	own.Hint = "Do this."
	if got := Of(own).Refusal.Hint; got != "Do this." {
		t.Errorf("a hint of its own becomes %q", got)
	}
}
