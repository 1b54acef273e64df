package task

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// known is what checklists and delegation were seen to get wrong elsewhere, and the
// tests, by their package, that fail if ours do.
var known = []struct{ fault, tests string }{
	{"a checklist is gone when its process is", "internal/task.TestChecklistLife internal/task.TestProcessesAtOnce"},
	{"a checklist is half written after a crash", "internal/task.TestWhatIsOnTheDisk"},
	{"checklists of all sessions of a process are one", "internal/app.TestWhoseChecklist internal/mcpserver.TestTasksTools"},
	{"a checklist, its items and their texts have no bounds", "internal/task.TestChecklistRefuses"},
	{"an item is given up without a reason", "internal/task.TestChecklistRefuses"},
	{"an id that is unknown leads nowhere", "internal/task.TestChecklistRefuses"},
	{"a call that is repeated adds everything twice", "internal/task.TestCreateIsRepeatable"},
	{"a checklist counts what others run", "internal/app.TestChecklistCounts"},
	{"a host can't ask whether an agent is finished", "runner.TestTasks"},
	{"a result is lost when the call that claims it is cut off and repeated", "internal/task/delegate.TestResultIsClaimedOnceByAcknowledgement"},
	{"a result is handed to two", "internal/task/delegate.TestTwoClaim"},
	{"a wait is longer than clients wait", "internal/mcpserver.TestDelegateTools internal/task/delegate.TestDelegateRefuses"},
	{"a result that was claimed elsewhere looks like one that isn't there yet", "internal/task/delegate.TestResultIsClaimedOnceByAcknowledgement"},
	{"an agent can't end what it delegated", "internal/task/delegate.TestCancel internal/mcpserver.TestDelegateTools"},
	{"ids can be guessed, or used by another session", "internal/task/delegate.TestResultIsClaimedOnceByAcknowledgement internal/task/delegate.TestCancel"},
	{"to cancel is to cancel those of every session", "internal/task/delegate.TestCancel"},
	{"the queue has no bound", "internal/task/delegate.TestAgainAndAgain"},
	{"results that nobody collects are kept without a bound", "internal/task/delegate.TestAgainAndAgain"},
	{"the number at once can only rise", "internal/policy.TestDelegatesSection"},
	{"those that wait for delegates of their own keep these from running", "internal/task/delegate.TestDepth"},
	{"one whose turn doesn't come, that is canceled or that crashes has no result", "internal/task/delegate.TestStarved internal/task/delegate.TestCancel internal/task/delegate.TestEveryEndHasAResult"},
	{"what a delegate started outlives it", "internal/task/delegate.TestCancel internal/task/delegate.TestDepth"},
	{"what was delegated is gone, or runs twice, after a restart", "internal/task/delegate.TestOutlivesItsProcess"},
	{"results come in the order of asking", "internal/task/delegate.TestOrderAndQueue"},
	{"a caller chooses the program or its words", "internal/task/delegate.TestDelegateRefuses internal/mcpserver.TestDelegateToolsRefuse internal/policy.TestDelegatesSection"},
	{"a delegate may what its caller may not", "internal/policy.TestDelegatesAreNarrowed internal/policy.TestRefusal_launch_disabled"},
	{"a delegate has no tools, or all of its caller's", "internal/task/delegate.TestToolsByADoor internal/task/delegate.TestToolsOfADelegatesDelegate internal/policy.TestDelegatesOwnScope"},
	{"by its delegates somebody may more, or more of it", "internal/policy.TestDelegatesAreNeverWider internal/rundir.TestActiveOfDelegates"},
	{"how deep a delegate is, is what it says", "internal/task/delegate.TestToolsOfADelegatesDelegate"},
	{"checklists, and results that nobody collects, stay for ever", "internal/task.TestPruneForgetsWhatIsComplete internal/task/delegate.TestPruneOfResults"},
	{"a report is cut", "runner.TestDelegates internal/task/delegate.TestEveryEndHasAResult"},
}

func TestKnownFaultsHaveTests(t *testing.T) {
	t.Parallel()
	for _, k := range known {
		for name := range strings.FieldsSeq(k.tests) {
			at := strings.LastIndexByte(name, '.')
			files, err := filepath.Glob("../../" + name[:at] + "/*_test.go")
			must(t, files, err)
			found := false
			for _, file := range files {
				text, err := os.ReadFile(file)
				must(t, text, err)
				found = found || regexp.MustCompile(`(?m)^func `+name[at+1:]+`\(`).Match(text)
			}
			if !found {
				t.Errorf("that %s is tested by %s, which isn't there", k.fault, name)
			}
		}
	}
}
