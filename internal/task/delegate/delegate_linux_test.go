//go:build linux

package delegate_test

import (
	"encoding/json/v2"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/executor"
	"paddock/internal/journal"
	"paddock/internal/task/delegate"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

var (
	alice = paddock.Principal{Kind: paddock.Agent, ID: "alice"}
	bob   = paddock.Principal{Kind: paddock.Agent, ID: "bob"}
)

// worker is an agent that does what its task says, in shell.
const policyText = `version: 1
roots: [{path: DIR/root}]
executables: []
limits: {concurrent: 100}
containment: {require: off}
launch: {agents: true}
delegates:
  providers:
    worker: {path: /bin/sh, limits: {output: 1MiB}}
    other: {path: /bin/cat, args: ['-']}
  concurrent: 2
  depth: 2
  wait: 1h
`

type world struct {
	*testing.T
	dir  string
	exec *executor.Executor
	room *delegate.Room
	now  func() time.Time
	// serve is who serves tools; nil is nobody.
	serve delegate.Serve
}

func newWorld(t *testing.T, text string) *world {
	t.Helper()
	return newWorldServing(t, text, nil)
}

func newWorldServing(t *testing.T, text string, serve delegate.Serve) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	w := &world{T: t, dir: dir, now: time.Now, serve: serve}
	w.must(err)
	w.must(os.Mkdir(filepath.Join(dir, "root"), 0o755))
	w.policy(text)
	w.open()
	t.Cleanup(func() {
		w.close()
		if serve != nil { // what has tools ends with us, and its supervisor tidies up
			w.must(testproc.Unlocked(filepath.Join(dir, "state/runs/*/*/lock")))
		}
	})
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) policy(text string) {
	w.must(os.WriteFile(filepath.Join(w.dir, "policy.yaml"), []byte(strings.ReplaceAll(text, "DIR", w.dir)), 0o600))
}

func (w *world) open() {
	w.Helper()
	e, err := executor.Open(w.Context(), executor.Config{
		State: filepath.Join(w.dir, "state"), Policy: executor.PolicyFile(filepath.Join(w.dir, "policy.yaml")), Stage: testproc.Build(w, "paddock/cmd/paddock-stage"),
		Now: func() time.Time { return w.now() },
	})
	w.must(err)
	w.exec, w.room = e, delegate.New(w.Context(), e, w.serve)
}

func (w *world) close() {
	w.room.Close()
	if err := w.exec.Close(); err != nil {
		w.Error(err)
	}
}

func (w *world) give(line string, change ...func(*delegate.Ask)) delegate.Delegate {
	w.Helper()
	ask := delegate.Ask{Principal: alice, Door: paddock.DoorMCP, Provider: "worker", Task: line}
	for _, c := range change {
		c(&ask)
	}
	d, err := w.room.Delegate(w.Context(), ask)
	w.must(err)
	return d
}

// collect collects as often as it takes.
func (w *world) collect(c delegate.Collect) delegate.Collected {
	w.Helper()
	if c.Principal.ID == "" {
		c.Principal = alice
	}
	c.Wait = paddock.MaxWait
	for range 4 {
		got, err := w.room.Collect(w.Context(), c)
		w.must(err)
		if !got.TimedOut {
			return got
		}
	}
	w.Fatal("nothing came in three minutes")
	return delegate.Collected{}
}

func (w *world) peek(c delegate.Collect) delegate.Collected {
	w.Helper()
	if c.Principal.ID == "" {
		c.Principal = alice
	}
	got, err := w.room.Collect(w.Context(), c)
	w.must(err)
	return got
}

// gate is a pipe: a worker that reads it waits until it is opened.
func (w *world) gate(name string) (open func()) {
	path := filepath.Join(w.dir, "root", name)
	w.must(unix.Mkfifo(path, 0o600))
	return func() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0) // waits for the reader
		w.must(err)
		w.must(f.Close())
	}
}

func (w *world) refused(err error, code paddock.Code, want string) {
	w.Helper()
	r, ok := errors.AsType[*paddock.Refusal](err)
	if !ok || r.Code != code || !strings.Contains(r.Message+" "+r.Hint, want) {
		w.Errorf("got %v, want %s with %q", err, code, want)
	}
}

func ids(all []delegate.Delegate) (out []string) {
	for _, d := range all {
		out = append(out, d.ID)
	}
	return out
}

// A task is given at once, its result comes again until it is acknowledged, is claimed
// once, and its report is kept whole.
func TestResultIsClaimedOnceByAcknowledgement(t *testing.T) {
	t.Parallel()
	w := newWorld(t, policyText)
	open := w.gate("go")
	d := w.give("read x < go; echo report of $PADDOCK_DELEGATE")
	if !delegate.ParseID(d.ID) || d.State != delegate.Running || d.Run == "" || d.Result != nil {
		t.Errorf("%+v", d)
	}
	if got := w.peek(delegate.Collect{}); got.Pending != 1 || got.Ready != 0 || len(got.Completed) != 0 || !got.TimedOut {
		t.Errorf("%+v", got)
	}
	_, err := w.room.Collect(t.Context(), delegate.Collect{Principal: alice, Acknowledge: []string{d.ID}})
	w.refused(err, paddock.Conflict, "no result yet")
	open()
	got := w.collect(delegate.Collect{})
	for range 2 { // a client that lost the answer asks again
		if len(got.Completed) != 1 || got.Completed[0].ID != d.ID || got.Ready != 1 || got.Pending != 0 {
			t.Fatalf("%+v", got)
		}
		got = w.peek(delegate.Collect{})
	}
	result := got.Completed[0].Result
	if want := "report of " + d.ID + "\n"; result.Status != delegate.Completed || !result.OK || result.Summary != want || result.Artifact != d.Run {
		t.Errorf("%+v", result)
	}
	page, err := w.exec.Output(t.Context(), result.Artifact, paddock.PageRequest{})
	if w.must(err); page.Content != result.Summary || !page.EOF {
		t.Errorf("%+v", page)
	}
	_, err = w.room.Collect(t.Context(), delegate.Collect{Principal: bob, Acknowledge: []string{d.ID}})
	w.refused(err, paddock.NotFound, "no delegate")
	if got = w.peek(delegate.Collect{Principal: bob}); got.Ready+got.Pending+len(got.Completed) != 0 {
		t.Errorf("another sees %+v", got)
	}
	if got = w.peek(delegate.Collect{Acknowledge: []string{d.ID, d.ID}}); !slices.Equal(got.Acknowledged, []string{d.ID}) || got.Ready != 0 || len(got.Completed) != 0 {
		t.Errorf("%+v", got)
	}
	if got = w.peek(delegate.Collect{Acknowledge: []string{d.ID}}); len(got.Acknowledged) != 0 {
		t.Errorf("claimed twice: %+v", got)
	}
	if got = w.peek(delegate.Collect{ID: d.ID}); got.TimedOut || len(got.Completed) != 1 || got.Completed[0].State != delegate.Acknowledged {
		t.Errorf("by its name it isn't there any more: %+v", got)
	}
}

// Two processes that acknowledge the same at once: one of them claims it.
func TestTwoClaim(t *testing.T) {
	t.Parallel()
	w := newWorld(t, policyText)
	d := w.give("exit 0")
	w.collect(delegate.Collect{})
	other := delegate.New(t.Context(), w.exec, w.serve)
	defer other.Close()
	claimed := make(chan int, 8)
	for i := range 8 {
		room := []*delegate.Room{w.room, other}[i%2]
		go func() {
			got, err := room.Collect(t.Context(), delegate.Collect{Principal: alice, Acknowledge: []string{d.ID}})
			if err != nil {
				t.Error(err)
			}
			claimed <- len(got.Acknowledged)
		}()
	}
	n := 0
	for range 8 {
		n += <-claimed
	}
	if n != 1 {
		t.Errorf("claimed %d times", n)
	}
}

// Results come in the order of completion; any returns with the first, all with the
// last, a name with that one. More than may run wait, and none is refused for it.
func TestOrderAndQueue(t *testing.T) {
	t.Parallel()
	w := newWorld(t, policyText)
	var all []delegate.Delegate
	var gates []func()
	for _, name := range []string{"a", "b", "c", "d"} {
		gates = append(gates, w.gate(name))
		all = append(all, w.give("read x < "+name+"; echo "+name))
	}
	if all[1].State != delegate.Running || all[2].State != delegate.Queued || all[3].State != delegate.Queued || all[3].Run != "" {
		t.Errorf("%+v", all)
	}
	gates[1]()
	if got := w.collect(delegate.Collect{}); !slices.Equal(ids(got.Completed), []string{all[1].ID}) || got.Pending != 3 {
		t.Errorf("%+v", got)
	}
	gates[2]()
	if got := w.collect(delegate.Collect{ID: all[2].ID}); !slices.Equal(ids(got.Completed), []string{all[2].ID}) {
		t.Errorf("%+v", got)
	}
	gates[3]()
	w.collect(delegate.Collect{ID: all[3].ID})
	gates[0]()
	got := w.collect(delegate.Collect{All: true})
	if want := []string{all[1].ID, all[2].ID, all[3].ID, all[0].ID}; !slices.Equal(ids(got.Completed), want) || got.Pending != 0 || got.Ready != 4 {
		t.Errorf("%+v, want %v", ids(got.Completed), want)
	}
	if got = w.collect(delegate.Collect{Acknowledge: ids(got.Completed)}); got.TimedOut || len(got.Completed) != 0 || len(got.Acknowledged) != 4 {
		t.Errorf("nothing is pending: %+v", got)
	}
}

// However a delegate ends, there is a result with a reason and a report to read.
func TestEveryEndHasAResult(t *testing.T) {
	t.Parallel()
	w := newWorld(t, strings.Replace(policyText, "concurrent: 2", "concurrent: 16", 1))
	for line, want := range map[string]struct {
		status delegate.Status
		err    string
		said   string
	}{
		"echo fine":                      {delegate.Completed, "", "fine\n"},
		"echo why >&2; exit 3":           {delegate.Failed, "status 3", "why"},
		"echo half; exec kill -9 $$":     {delegate.Failed, "SIGKILL", "half"},
		"echo half; exec sleep 97531":    {delegate.Partial, "its time was over", "half"},
		"exec sleep 97531":               {delegate.Failed, "its time was over", ""},
		"exec head -c 3000000 /dev/zero": {delegate.Partial, "1048576 bytes", "left out"},
	} {
		d := w.give(line, func(a *delegate.Ask) {
			switch { // to begin takes a moment, and much longer on a busy machine
			case strings.Contains(line, "half; exec sleep"):
				a.Timeout = paddock.Duration(10 * time.Second)
			case strings.Contains(line, "sleep"):
				a.Timeout = paddock.Duration(time.Second)
			}
		})
		got := w.collect(delegate.Collect{ID: d.ID})
		r := got.Completed[0].Result
		if r.Status != want.status || !strings.Contains(r.Error, want.err) || (r.Error == "") != (want.err == "") || !strings.Contains(r.Summary, want.said) || r.Artifact == "" ||
			r.OK != (r.Status == delegate.Completed || r.Status == delegate.Partial) || utf8.RuneCountInString(r.Summary) > delegate.MostSummary {
			t.Errorf("%s: %+.300v", line, r)
		}
	}
}

// One that waits can be canceled as one that runs; both have a report, and what ran is
// gone with all that it started.
func TestCancel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, strings.Replace(policyText, "concurrent: 2", "concurrent: 1", 1))
	runs, waits := w.give("echo begun; sleep 97531 & wait"), w.give("exit 0")
	for _, d := range []delegate.Delegate{waits, runs} {
		_, err := w.room.Cancel(t.Context(), bob, d.ID, "")
		w.refused(err, paddock.NotFound, "no delegate")
		_, err = w.room.Cancel(t.Context(), alice, d.ID, "a\nb")
		w.refused(err, paddock.InvalidRequest, "one line")
		got, err := w.room.Cancel(t.Context(), alice, d.ID, "changed my mind")
		if w.must(err); got.State != delegate.Ready || got.Result.Status != delegate.Canceled || got.Result.OK || !strings.Contains(got.Result.Error, "changed my mind") || got.Result.Artifact == "" {
			t.Errorf("%+v %+v", got, got.Result)
		}
		again, err := w.room.Cancel(t.Context(), alice, d.ID, "twice")
		if w.must(err); again.Result.Error != got.Result.Error {
			t.Errorf("%+v", again.Result)
		}
		if page, err := w.exec.Output(t.Context(), got.Result.Artifact, paddock.PageRequest{}); err != nil || page.Content == "" && d.ID == waits.ID {
			t.Errorf("%+v, %v", page, err)
		}
	}
	run, err := w.exec.Run(t.Context(), runs.Run)
	if w.must(err); run.State != paddock.Killed || run.Outcome.Reason.Why != "changed my mind" || run.Outcome.Survivors != 0 {
		t.Errorf("%+v", run.Outcome)
	}
}

// One whose turn doesn't come in time settles and says so.
func TestStarved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, strings.Replace(policyText, "concurrent: 2", "concurrent: 1", 1))
	first, second := w.give("exec sleep 97531"), w.give("exit 0")
	real := w.now
	w.close()
	w.now = func() time.Time { return real().Add(2 * time.Hour) }
	w.open()
	got := w.collect(delegate.Collect{ID: second.ID})
	if r := got.Completed[0].Result; r.Status != delegate.Starved || !strings.Contains(r.Error, "1h0m0s") || r.Artifact == "" {
		t.Errorf("%+v", r)
	}
	_, err := w.room.Cancel(t.Context(), alice, first.ID, "")
	w.must(err)
}

// The process that was asked ends; another finds what runs and what waits, and each
// runs once.
func TestOutlivesItsProcess(t *testing.T) {
	t.Parallel()
	w := newWorld(t, strings.Replace(policyText, "concurrent: 2", "concurrent: 1", 1))
	open := w.gate("go")
	first := w.give("read x < go; echo one >> ran")
	second := w.give("echo two >> ran; cat ran")
	name := filepath.Join(w.dir, "state", "delegates", second.ID+".json")
	waiting, err := os.ReadFile(name)
	w.must(err)
	w.close()
	w.open()
	open()
	got := w.collect(delegate.Collect{All: true})
	if !slices.Equal(ids(got.Completed), []string{first.ID, second.ID}) || got.Completed[1].Result.Summary != "one\ntwo\n" {
		t.Fatalf("%+v", got)
	}
	// As after a crash between its start and the note of that.
	w.must(os.WriteFile(name, waiting, 0o600))
	got = w.collect(delegate.Collect{ID: second.ID})
	if r := got.Completed[0].Result; r.Artifact == "" || r.Summary != "one\ntwo\n" {
		t.Errorf("%+v", r)
	}
	if ran, err := os.ReadFile(filepath.Join(w.dir, "root", "ran")); err != nil || string(ran) != "one\ntwo\n" {
		t.Errorf("it ran again: %q, %v", ran, err)
	}
}

// Delegates of delegates: as deep as the policy says, in a queue of their own, and
// over with the one that asked for them.
func TestDepth(t *testing.T) {
	t.Parallel()
	w := newWorld(t, strings.Replace(policyText, "concurrent: 2", "concurrent: 1", 1))
	open := w.gate("go")
	parent := w.give("read x < go")
	under := func(id string) func(*delegate.Ask) { return func(a *delegate.Ask) { a.Parent = id } }
	child := w.give("exec sleep 97531", under(parent.ID))
	late := w.give("exit 0", under(parent.ID))
	if parent.Depth != 1 || child.Depth != 2 || child.State != delegate.Running || late.State != delegate.Queued {
		t.Errorf("the parent's place keeps its child from running: %+v, %+v", child, late)
	}
	deeper := delegate.Ask{Principal: alice, Door: paddock.DoorMCP, Provider: "worker", Task: "x", Parent: child.ID}
	_, err := w.room.Delegate(t.Context(), deeper)
	w.refused(err, paddock.DepthExceeded, "depth of 2")
	open()
	for _, d := range []delegate.Delegate{child, late} {
		if r := w.collect(delegate.Collect{ID: d.ID}).Completed[0].Result; r.Status != delegate.Canceled || !strings.Contains(r.Error, "asked for it is over") {
			t.Errorf("%+v", r)
		}
	}
	for _, bad := range []string{parent.ID, "x", "../x"} {
		deeper.Parent = bad
		_, err = w.room.Delegate(t.Context(), deeper)
		w.refused(err, paddock.Forbidden, "doesn't run")
	}
}

func TestDelegateRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, policyText)
	give := func(change func(*delegate.Ask)) error {
		ask := delegate.Ask{Principal: alice, Door: paddock.DoorMCP, Provider: "worker", Task: "exit 0"}
		change(&ask)
		_, err := w.room.Delegate(t.Context(), ask)
		return err
	}
	for _, test := range []struct {
		change func(*delegate.Ask)
		code   paddock.Code
		want   string
	}{
		{func(a *delegate.Ask) { a.Task = " \n" }, paddock.InvalidRequest, "empty"},
		{func(a *delegate.Ask) { a.Task = "a\x00" }, paddock.InvalidRequest, "NUL"},
		{func(a *delegate.Ask) { a.Task = "\xff" }, paddock.InvalidRequest, "UTF-8"},
		{func(a *delegate.Ask) { a.Task = strings.Repeat("x", 10*delegate.MostTask) }, paddock.InvalidRequest, "262144 bytes"},
		{func(a *delegate.Ask) { a.Provider = "" }, paddock.InvalidRequest, "worker, other"},
		{func(a *delegate.Ask) { a.Provider = "/bin/sh" }, paddock.InvalidRequest, "worker, other"},
		{func(a *delegate.Ask) { a.Provider = "a\x00" }, paddock.InvalidRequest, "provider"},
		{func(a *delegate.Ask) { a.Key = "a\nb" }, paddock.InvalidRequest, "idempotency key"},
		{func(a *delegate.Ask) { a.Label = "a\nb" }, paddock.InvalidRequest, "label"},
		{func(a *delegate.Ask) { a.Dir = "/" }, paddock.CwdOutsideRoot, "root"},
		{func(a *delegate.Ask) { a.Timeout = paddock.Duration(24 * time.Hour) }, paddock.LimitExceeded, "30m"},
	} {
		w.refused(give(test.change), test.code, test.want)
	}
	_, err := w.room.Collect(t.Context(), delegate.Collect{Principal: alice, Wait: paddock.MaxWait + 1})
	w.refused(err, paddock.InvalidRequest, "45000")
	for _, bad := range []string{"", "d", "../x", "d\x00", strings.Repeat("d", 10_000)} {
		_, err = w.room.Collect(t.Context(), delegate.Collect{Principal: alice, Acknowledge: []string{bad}})
		w.refused(err, paddock.NotFound, "no delegate")
		_, err = w.room.Cancel(t.Context(), alice, bad, "")
		w.refused(err, paddock.NotFound, "no delegate")
	}
	w.policy(strings.Replace(policyText, "agents: true", "agents: false", 1))
	w.refused(give(func(*delegate.Ask) {}), paddock.LaunchDisabled, "operator")
	_, err = w.exec.Start(t.Context(), paddock.Request{Principal: alice, Room: delegate.Name, Command: paddock.Command{Argv: []string{"worker"}}})
	w.refused(err, paddock.LaunchDisabled, "doesn't let")
	w.policy("version: 1\nroots: [{path: DIR/root}]\nexecutables: []\ncontainment: {require: off}\n")
	w.refused(give(func(*delegate.Ask) {}), paddock.LaunchDisabled, "operator")
}

// A key makes asking again harmless; there is a bound on what one principal leaves
// unacknowledged.
func TestAgainAndAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, policyText)
	// One each: who opens a pipe to write lets all in who wait to read.
	open, openOther := w.gate("go"), w.gate("other")
	w.give("read x < go")
	w.give("read x < other")
	first := w.give("exit 0", func(a *delegate.Ask) { a.Key = "k" })
	if again := w.give("exit 0", func(a *delegate.Ask) { a.Key = "k" }); again.ID != first.ID {
		t.Errorf("%s and %s", first.ID, again.ID)
	}
	if other := w.give("exit 1", func(a *delegate.Ask) { a.Key = "k" }); other.ID == first.ID {
		t.Error("another task is the same delegate")
	}
	for range delegate.MostOpen - 4 {
		w.give("exit 0")
	}
	_, err := w.room.Delegate(t.Context(), delegate.Ask{Principal: alice, Door: paddock.DoorMCP, Provider: "worker", Task: "x"})
	w.refused(err, paddock.Busy, "acknowledge")
	w.give("exit 0", func(a *delegate.Ask) { a.Principal = bob })
	all, err := w.room.List(t.Context(), alice)
	if w.must(err); len(all) != delegate.MostOpen {
		t.Errorf("%d", len(all))
	}
	for _, d := range all {
		if d.State == delegate.Queued {
			w.must(os.Remove(filepath.Join(w.dir, "state", "delegates", d.ID+".json"))) // else they'd all run
		}
	}
	open()
	openOther()
	w.collect(delegate.Collect{All: true})
	w.collect(delegate.Collect{All: true, Principal: bob})
}

// What is refused when a task is given is written down as other refusals are: who asked
// for what, the code, and where it was judged the policy.
func TestRefusalsAreWrittenDown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, policyText)
	for name, c := range map[string]struct {
		change func(*delegate.Ask)
		code   paddock.Code
		argv   string // as far as it was known
		judged bool
	}{
		"empty":    {func(a *delegate.Ask) { a.Task = "" }, paddock.InvalidRequest, "", false},
		"unknown":  {func(a *delegate.Ask) { a.Provider = "nobody" }, paddock.InvalidRequest, "", false},
		"outside":  {func(a *delegate.Ask) { a.Dir = "/" }, paddock.CwdOutsideRoot, "worker", true},
		"too long": {func(a *delegate.Ask) { a.Timeout = paddock.Duration(24 * time.Hour) }, paddock.LimitExceeded, "worker", true},
	} {
		ask := delegate.Ask{Principal: paddock.Principal{Kind: paddock.Agent, ID: name}, Door: paddock.DoorMCP, Provider: "worker", Task: "true"}
		c.change(&ask)
		_, err := w.room.Delegate(t.Context(), ask)
		w.refused(err, c.code, "")
		var found []journal.Entry
		for _, e := range w.journal() {
			if e.Kind == journal.Refusal && e.Principal != nil && e.Principal.ID == name {
				found = append(found, e)
			}
		}
		if len(found) != 1 {
			t.Errorf("%s: %d entries", name, len(found))
			continue
		}
		r := found[0].Refusal
		if r.Code != c.code || r.Door != paddock.DoorMCP || (r.PolicyDigest != "") != c.judged || (c.argv == "") != (len(r.Argv) == 0) || len(r.Argv) > 0 && r.Argv[0] != c.argv {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if all, err := w.room.List(t.Context(), paddock.Principal{Kind: paddock.Agent, ID: "outside"}); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
}

func (w *world) journal() (all []journal.Entry) {
	w.Helper()
	text, err := os.ReadFile(filepath.Join(w.dir, "state", "journal", "000001.jsonl"))
	w.must(err)
	for line := range strings.Lines(string(text)) {
		var e journal.Entry
		w.must(json.Unmarshal([]byte(line), &e))
		all = append(all, e)
	}
	return all
}
