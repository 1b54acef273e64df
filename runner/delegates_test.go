//go:build linux

package runner

import (
	"strings"
	"testing"

	"paddock"
)

// A host gives a task, acknowledges its result, and reads the whole report.
func TestDelegates(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive+"launch: {agents: true}\ndelegates: {providers: {worker: {path: /bin/sh}}}\n")
	d, err := w.r.Delegate(t.Context(), DelegateTask{Task: "echo report"})
	must(t, err)
	var got Collected
	for range 4 {
		got, err = w.r.CollectDelegates(t.Context(), Collect{All: true, Wait: paddock.MaxWait})
		if must(t, err); !got.TimedOut {
			break
		}
	}
	if len(got.Completed) != 1 || got.Completed[0].ID != d.ID || got.Completed[0].Result.Summary != "report\n" {
		t.Fatalf("%+v", got)
	}
	page, err := w.r.ReadArtifact(t.Context(), got.Completed[0].Result.Artifact, PageRequest{})
	if must(t, err); page.Content != "report\n" {
		t.Errorf("%+v", page)
	}
	plan, err := w.r.Tasks(t.Context())
	if must(t, err); plan.DelegatesPending != 0 || plan.DelegatesReady != 1 || plan.CommandsRunning != 0 || plan.CommandsFinished != 0 {
		t.Errorf("%+v", plan)
	}
	got, err = w.r.CollectDelegates(t.Context(), Collect{Acknowledge: []string{d.ID}})
	if must(t, err); len(got.Acknowledged) != 1 || got.Ready != 0 {
		t.Errorf("%+v", got)
	}
	if all, err := w.r.Delegates(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v", all, err)
	}
	_, err = w.r.CancelDelegate(t.Context(), "d"+strings.Repeat("0", 26), "")
	refused(t, err, paddock.NotFound)
}

// An agent gets a secret that a program says, and its report doesn't show it.
func TestDelegatesGetSecrets(t *testing.T) {
	t.Parallel()
	const value = "tok-Ahr3phie7Ohgho"
	w := newWorld(t, permissive+"launch: {agents: true}\ndelegates: {providers: {worker: {path: /bin/sh}}}\n"+
		"secrets: {API_KEY: {exec: [/usr/bin/printf, 'tok-%s', Ahr3phie7Ohgho], env_for: [worker]}}\n")
	_, err := w.r.Delegate(t.Context(), DelegateTask{Task: "echo it is $API_KEY"})
	must(t, err)
	var got Collected
	for range 4 {
		got, err = w.r.CollectDelegates(t.Context(), Collect{All: true, Wait: paddock.MaxWait})
		if must(t, err); !got.TimedOut {
			break
		}
	}
	if want := "it is " + strings.Repeat("*", len(value)) + "\n"; len(got.Completed) != 1 || got.Completed[0].Result.Summary != want {
		t.Errorf("%+v", got)
	}
}

// Where a host program serves no tools, a provider with some is refused.
func TestDelegatesWithToolsAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive+"launch: {agents: true}\ndelegates: {providers: {worker: {path: /bin/sh, tools: [command_list]}}}\n")
	_, err := w.r.Delegate(t.Context(), DelegateTask{Task: "echo report"})
	refused(t, err, paddock.LaunchDisabled)
}
