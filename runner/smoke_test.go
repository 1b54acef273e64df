package runner

import "testing"

func TestSmoke(t *testing.T) {
	w := newWorld(t, permissive)
	run := w.done("printf out; printf err >&2; exit 7")
	t.Logf("%+v %+v", run, run.Outcome)
	if w.text(run, Stdout) != "out" || w.text(run, Stderr) != "err" || *run.Outcome.Reason.ExitCode != 7 {
		t.Error("no")
	}
}
