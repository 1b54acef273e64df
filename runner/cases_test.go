//go:build linux

package runner

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"paddock"
)

// The cases that a runner of background commands has to pass, each under its
// number. Where Paddock differs on purpose the test says so. Cases about one
// door (18 and above in part) are shown there, too.

func TestCase01StartReturnsBeforeTheEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive)
	open := w.gate("gate")
	run := w.sh("read x < gate")
	if run.State != Running || run.Outcome != nil || run.StartedAt == nil {
		t.Errorf("state %s, outcome %v", run.State, run.Outcome)
	}
	if run.Stdout.Digest != "" || run.Stderr.Digest != "" {
		t.Error("digests before the end")
	}
	open()
	if run = w.settle(run); run.State != Exited {
		t.Errorf("state %s", run.State)
	}
}

func TestCase02BothStreamsAreKeptExactly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive)
	run := w.done(`printf 'out\n\0bytes\377'; printf 'err' >&2; exit 7`)
	if run.State != Exited || *run.Outcome.Reason.ExitCode != 7 || run.Outcome.Reason.Kind != paddock.ReasonExit {
		t.Errorf("%s %+v", run.State, run.Outcome.Reason)
	}
	for s, want := range map[Stream]string{Stdout: "out\n\x00bytes\xff", Stderr: "err"} {
		if got := w.text(run, s); got != want {
			t.Errorf("%s is %q, want %q", s, got, want)
		}
	}
	want := paddock.StreamSummary{Bytes: 11, Digest: paddock.DigestOf(sha256.Sum256([]byte("out\n\x00bytes\xff")))}
	if diff := cmp.Diff(want, run.Outcome.Stdout); diff != "" {
		t.Error(diff)
	}
}

// Case 3 asks for the output through the reader of artifacts; here that is Output.
func TestCase03OutputReadsBackAfterTheEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive)
	run := w.done("printf hello")
	other := w.open() // also in another process's place
	page, err := other.Output(t.Context(), run.ID, PageRequest{})
	must(t, err)
	want := Page{Stream: Stdout, Content: "hello", Encoding: "utf-8", NextOffset: 5, Total: 5, EOF: true}
	if diff := cmp.Diff(want, page); diff != "" {
		t.Error(diff)
	}
}

func TestCase04FailingIsAResult(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive)
	run := w.done("exit 3")
	if run.State != Exited || *run.Outcome.Reason.ExitCode != 3 || run.Outcome.Reason.Detail != "" {
		t.Errorf("%+v", run.Outcome)
	}
}

func TestCase05PolledToCompletionWithOutputMeanwhile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive)
	open := w.gate("gate")
	run := w.sh("echo first; read x < gate; echo second")
	page := w.prints(run, Stdout, "")
	if page.Content != "first\n" || page.EOF {
		t.Errorf("page %+v", page)
	}
	open()
	var got strings.Builder
	got.WriteString(page.Content)
	for !page.EOF {
		var err error
		page, err = w.r.Output(t.Context(), run.ID, PageRequest{Offset: page.NextOffset, Wait: paddock.Duration(30 * time.Second)})
		must(t, err)
		got.WriteString(page.Content)
	}
	if got.String() != "first\nsecond\n" {
		t.Errorf("read %q", got.String())
	}
	status, err := w.r.Status(t.Context(), run.ID)
	must(t, err)
	if status.State != Exited {
		t.Errorf("all was read and the state is %s", status.State)
	}
}

func TestCase06LargeOutputIsKeptWhole(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive)
	run := w.done("i=0; while [ $i -lt 3000 ]; do printf '%01023d\n' $i; i=$((i+1)); done")
	var want bytes.Buffer
	for i := range 3000 {
		want.WriteString(strings.Repeat("0", 1023-len(itoa(i))) + itoa(i) + "\n")
	}
	if got := w.text(run, Stdout); got != want.String() {
		t.Errorf("%d bytes differ from %d", len(got), want.Len())
	}
	if got := paged(t, w, run, Stdout, 7777); got != want.String() {
		t.Errorf("%d paged bytes differ from %d", len(got), want.Len())
	}
	tail, err := w.r.Output(t.Context(), run.ID, PageRequest{Tail: 1})
	must(t, err)
	if tail.Content != strings.Repeat("0", 1019)+"2999\n" {
		t.Errorf("the tail is %q", tail.Content)
	}
}

// paged reads a stream in pages of limit characters.
func paged(t testing.TB, w *world, run Run, s Stream, limit int) string {
	t.Helper()
	var b strings.Builder
	for page := (Page{}); !page.EOF; {
		var err error
		page, err = w.r.Output(t.Context(), run.ID, PageRequest{Stream: s, Offset: page.NextOffset, Limit: limit, Raw: true})
		must(t, err)
		if page.Encoding == "base64" {
			raw, err := base64.StdEncoding.DecodeString(page.Content)
			must(t, err)
			b.Write(raw)
			continue
		}
		b.WriteString(page.Content)
	}
	return b.String()
}

func itoa(i int) string {
	if i < 10 {
		return string(rune('0' + i))
	}
	return itoa(i/10) + itoa(i%10)
}

func TestCase07CapInsideAChunk(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive)
	run := w.done("while :; do printf 0123456789; done", func(c *Command) { c.OutputLimit = 12345 })
	if run.State != OutputLimit {
		t.Fatalf("state %s: %+v", run.State, run.Outcome.Reason)
	}
	if want := strings.Repeat("0123456789", 1235)[:12345]; w.text(run, Stdout) != want {
		t.Error("the bytes up to the cap weren't kept exactly")
	}
	r := run.Outcome.Reason
	if r.Kind != paddock.ReasonOutputLimit || r.Stream != Stdout || r.Limit != 12345 {
		t.Errorf("reason %+v", r)
	}
}

func TestCase07ExactlyFullIsNotOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive)
	run := w.done("printf 0123456789; printf 0123456789 >&2", func(c *Command) { c.OutputLimit = 10 })
	if run.State != Exited || run.Outcome.Stdout.Bytes != 10 || run.Outcome.Stderr.Bytes != 10 || run.Outcome.Stdout.Dropped != 0 {
		t.Errorf("%s %+v", run.State, run.Outcome)
	}
}

func TestCase08EveryWayOfReadingGivesTheSame(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive)
	run := w.done(`i=0; while [ $i -lt 400 ]; do printf 'häß€𝄞\377%d' $i; i=$((i+1)); done`)
	whole := w.text(run, Stdout)
	for _, limit := range []int{1, 7, 1000, 0} {
		if limit == 1 && testing.Short() {
			continue
		}
		if got := paged(t, w, run, Stdout, limit); got != whole {
			t.Errorf("pages of %d: %d bytes, want %d", limit, len(got), len(whole))
		}
	}
}

func TestCase09KilledKeepsWhatWasPrinted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive)
	run := w.sh("echo before; exec sleep " + unique(t))
	w.prints(run, Stdout, "before")
	run, err := w.r.Kill(t.Context(), run.ID, TERM, "no longer needed")
	must(t, err)
	if run.State != Killed || w.text(run, Stdout) != "before\n" {
		t.Errorf("%s %q", run.State, w.text(run, Stdout))
	}
	r := run.Outcome.Reason
	if r.Kind != paddock.ReasonKill || r.Why != "no longer needed" || r.By != run.Principal.ID || r.Signal != "SIGTERM" {
		t.Errorf("reason %+v", r)
	}
}

func TestCase10KillingASettledRunChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive)
	run := w.done("exit 5")
	again, err := w.r.Kill(t.Context(), run.ID, KILL, "too late")
	must(t, err)
	if diff := cmp.Diff(run, again); diff != "" {
		t.Error(diff)
	}
}

func TestCase11OverTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive)
	run := w.done("echo started; exec sleep "+unique(t), func(c *Command) { c.Timeout = 300 * time.Millisecond })
	if run.State != TimedOut || run.Outcome.Reason.Kind != paddock.ReasonTimeout || run.Outcome.Reason.Limit != 300 {
		t.Errorf("%s %+v", run.State, run.Outcome.Reason)
	}
}

func TestCase12IgnoringTERMEndsWithKILL(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive, func(o *Options) { o.grace = 200 * time.Millisecond })
	run := w.sh("trap '' TERM; echo ready; while :; do sleep 1; done")
	w.ready(run)
	run, err := w.r.Kill(t.Context(), run.ID, TERM, "")
	must(t, err)
	run = w.settle(run)
	if run.State != Killed || run.Outcome.Reason.Signal != "SIGKILL" || run.Outcome.Survivors != 0 {
		t.Errorf("%s %+v", run.State, run.Outcome)
	}
}

func TestCase13NoPolicyNamesTheFix(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive)
	must(t, os.Remove(w.policy))
	_, err := w.try("true")
	if r := refused(t, err, paddock.NoPolicy); !strings.Contains(r.Hint, "paddock policy init") {
		t.Errorf("hint %q", r.Hint)
	}
}

func TestCase14ShellLineIsRefusedAndSaysWhy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive)
	_, err := w.r.Start(t.Context(), Command{Argv: []string{"go vet ./... && echo done"}})
	r := refused(t, err, paddock.ShellSyntax)
	want := [][]string{{"go", "vet", "./..."}, {"echo", "done"}}
	if r.Suggestion == nil || !cmp.Equal(r.Suggestion.Argvs, want) {
		t.Errorf("suggestion %+v", r.Suggestion)
	}
}

func TestCase15UnlistedExecutableIsRefusedByName(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive)
	_, err := w.r.Start(t.Context(), Command{Argv: []string{"curl", "example.org"}})
	if r := refused(t, err, paddock.ExecutableNotAllowed); !strings.Contains(r.Message, "curl") || !strings.Contains(r.Message, "sh") {
		t.Errorf("message %q", r.Message)
	}
}

func TestCase16BaseNameDoesNotMatchAPath(t *testing.T) {
	t.Parallel()
	w := newWorld(t, strings.Replace(permissive, "name: sh, path: /bin/sh", "path: /bin/sh", 1))
	_, err := w.try("true")
	refused(t, err, paddock.ExecutableNotAllowed)
	run, err := w.r.Start(t.Context(), Command{Argv: []string{"/bin/sh", "-c", "true"}})
	must(t, err)
	w.settle(run)
}

func TestCase17DirectoryOutside(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive)
	_, err := w.try("true", func(c *Command) { c.Dir = "/etc" })
	refused(t, err, paddock.CwdOutsideRoot)
}

func TestCase18LinkOutOfTheRootNamesItsTarget(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive)
	must(t, os.Symlink("/etc", w.root+"/link"))
	_, err := w.try("true", func(c *Command) { c.Dir = "link" })
	if r := refused(t, err, paddock.CwdOutsideRoot); !strings.Contains(r.Message, "/etc") {
		t.Errorf("message %q", r.Message)
	}
}

func TestCase19SiblingWithTheSamePrefix(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive)
	must(t, os.Mkdir(w.root+"-sibling", 0o755))
	for _, dir := range []string{w.root + "-sibling", "../root-sibling"} {
		_, err := w.try("true", func(c *Command) { c.Dir = dir })
		refused(t, err, paddock.CwdOutsideRoot)
	}
}

func TestCase20VetoReachesTheCallerVerbatim(t *testing.T) {
	t.Parallel()
	const words = "Not on a Friday. %s 100%"
	w := newWorld(t, permissive, func(o *Options) {
		o.Hook = func(_ context.Context, r HookRequest) error {
			if r.Grant.Argv[2] == "exit 1" {
				return errors.New(words)
			}
			return nil
		}
	})
	_, err := w.try("exit 1")
	if r := refused(t, err, paddock.RuleDenied); r.Message != words {
		t.Errorf("message %q", r.Message)
	}
	if run := w.done("exit 2"); run.State != Exited {
		t.Errorf("another command: %s", run.State)
	}
}

// Case 21 lets a missing executable settle with an error; here it is refused,
// so that "never started" can't be taken for an end.
func TestCase21MissingExecutableIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive)
	_, err := w.r.Start(t.Context(), Command{Argv: []string{"gone"}})
	refused(t, err, paddock.ExecutableMissing)
	if list, err := w.r.List(t.Context(), Filter{}); err != nil || len(list.Runs) != 0 {
		t.Errorf("%d runs, %v", len(list.Runs), err)
	}
}

// The first half of case 22 is inverted: nothing is inherited.
func TestCase22NothingIsInheritedAndGivenReplaces(t *testing.T) {
	w := newWorld(t, permissive+"environment: {pass: [PADDOCK_PASSED], set: {SAID: so}}\n", func(o *Options) {
		o.HostEnv = func(name string) (string, bool) {
			if name == "PADDOCK_PASSED" {
				return "passed", true
			}
			return "leak", true
		}
	})
	t.Setenv("PADDOCK_LEAK", "leak")
	// What the shell itself adds is told apart by asking env.
	names := func(run Run) map[string]string {
		got := map[string]string{}
		for line := range strings.Lines(w.text(run, Stdout)) {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
			got[name] = value
		}
		return got
	}
	got := names(w.done("exec env"))
	if got["PADDOCK_PASSED"] != "passed" || got["SAID"] != "so" || got["HOME"] == "" || got["PATH"] == "" || got["PWD"] != w.root {
		t.Errorf("the policy's environment is %v", got)
	}
	if len(got) > 5+2 { // and what the shell sets: _ and SHLVL, or OLDPWD
		t.Errorf("more than the policy's environment: %v", got)
	}
	run := w.done("exec env", func(c *Command) { c.Env = map[string]string{"PATH": "/usr/bin:/bin", "ONLY": "this"} })
	got = names(run)
	if got["ONLY"] != "this" || got["SAID"] != "" || got["HOME"] != "" || got["PADDOCK_PASSED"] != "" {
		t.Errorf("the replaced environment is %v", got)
	}
	if run := w.done("exec /usr/bin/env", func(c *Command) { c.Env = map[string]string{} }); strings.Contains(w.text(run, Stdout), "SAID") {
		t.Error("an empty environment was merged")
	}
}

// Case 23 is about registering tools; here a second Runner of the same state
// directory adds nothing and disturbs nothing.
func TestCase23OpeningAgainIsIdempotent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive)
	open := w.gate("gate")
	run := w.sh("read x < gate")
	other := w.open()
	must(t, other.Close())
	must(t, other.Close())
	open()
	if run = w.settle(run); run.State != Exited {
		t.Errorf("%s %+v", run.State, run.Outcome.Reason)
	}
	if _, err := other.Start(t.Context(), Command{Argv: []string{"sh", "-c", "true"}}); err == nil {
		t.Error("a closed Runner started something")
	}
}

// Case 24: refusals and results come the same way; only reading the end counts.
// Package app tests the counters.
func TestCase24RefusalsAreErrorsAndFailuresAreNot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive)
	_, err := w.r.Start(t.Context(), Command{})
	refused(t, err, paddock.ArgvEmpty)
	if run := w.done("exit 1"); run.State != Exited {
		t.Errorf("state %s", run.State)
	}
}

func TestCase25StatusIsNeverStale(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive)
	open := w.gate("gate")
	run := w.sh("read x < gate")
	first, err := w.r.Status(t.Context(), run.ID)
	must(t, err)
	open()
	w.settle(run)
	second, err := w.r.Status(t.Context(), run.ID)
	must(t, err)
	if first.State != Running || second.State != Exited {
		t.Errorf("%s, then %s", first.State, second.State)
	}
}
