//go:build linux

package runner

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"paddock"
)

func TestIdempotencyAcrossRunners(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive)
	runners := []*Runner{w.r, w.open(), w.open()}
	command := Command{Argv: []string{"sh", "-c", "echo once >> log"}, IdempotencyKey: "the key"}
	ids := make([]RunID, 30)
	var all sync.WaitGroup
	for i := range ids {
		all.Go(func() {
			run, err := runners[i%len(runners)].Start(t.Context(), command)
			if err != nil {
				t.Error(err)
			}
			ids[i] = run.ID
		})
	}
	all.Wait()
	if got := slices.Compact(slices.Sorted(slices.Values(ids))); len(got) != 1 {
		t.Errorf("%d runs for one key: %v", len(got), got)
	}
	w.settle(Run{ID: ids[0]})
	if b, err := os.ReadFile(w.root + "/log"); err != nil || string(b) != "once\n" {
		t.Errorf("the log holds %q, %v", b, err)
	}
	command.Argv = []string{"sh", "-c", "echo twice"}
	_, err := w.r.Start(t.Context(), command)
	refused(t, err, paddock.Conflict)
	stranger := w.open(func(o *Options) { o.Principal = "somebody else" })
	run, err := stranger.Start(t.Context(), command)
	must(t, err)
	if run.ID == ids[0] {
		t.Error("a key means a run of another principal")
	}
}

// A key answers for its run also when the policy would refuse another.
func TestIdempotencyComesBeforeTheQuota(t *testing.T) {
	t.Parallel()
	w := newWorld(t, strings.Replace(permissive, "concurrent: 1000", "concurrent: 1", 1))
	command := Command{Argv: []string{"sh", "-c", "exec sleep " + unique(t)}, IdempotencyKey: "k"}
	first, err := w.r.Start(t.Context(), command)
	must(t, err)
	again, err := w.r.Start(t.Context(), command)
	must(t, err)
	if first.ID != again.ID {
		t.Errorf("%s and %s", first.ID, again.ID)
	}
}

func TestQuotaIsForAllProcessesTogether(t *testing.T) {
	t.Parallel()
	w := newWorld(t, strings.Replace(permissive, "concurrent: 1000", "concurrent: 3", 1))
	runners := []*Runner{w.r, w.open()}
	var mu sync.Mutex
	var started []Run
	var busy []error
	var all sync.WaitGroup
	line := "exec sleep " + unique(t)
	for i := range 12 {
		all.Go(func() {
			run, err := runners[i%2].Start(t.Context(), Command{Argv: []string{"sh", "-c", line}})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				busy = append(busy, err)
				return
			}
			started = append(started, run)
		})
	}
	all.Wait()
	if len(started) != 3 {
		t.Errorf("%d were started, want 3", len(started))
	}
	for _, err := range busy {
		if r := refused(t, err, paddock.Busy); !r.Retryable {
			t.Error("busy isn't retryable")
		}
	}
	if d := w.explain(Command{Argv: []string{"sh", "-c", line}}); d.Refusal() == nil || d.Refusal().Code != paddock.Busy {
		t.Errorf("explain says %+v", d.Refusal())
	}
	_, err := w.r.Kill(t.Context(), started[0].ID, KILL, "")
	must(t, err)
	w.done("true")
}

func TestTwoHundredRunsAtOnceLoseNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive)
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			run, err := w.r.Start(t.Context(), Command{Argv: []string{"sh", "-c", fmt.Sprintf("i=0; while [ $i -lt 200 ]; do echo %d-$i; echo e%d-$i >&2; i=$((i+1)); done; exit %d", i, i, i%100)}})
			if err == nil {
				run, err = w.r.Wait(t.Context(), run.ID)
			}
			if err != nil {
				t.Error(err)
				return
			}
			if run.State != Exited || *run.Outcome.Reason.ExitCode != i%100 {
				t.Errorf("%d: %s %+v", i, run.State, run.Outcome.Reason)
			}
			var out, errs strings.Builder
			for j := range 200 {
				fmt.Fprintf(&out, "%d-%d\n", i, j)
				fmt.Fprintf(&errs, "e%d-%d\n", i, j)
			}
			if w.text(run, Stdout) != out.String() || w.text(run, Stderr) != errs.String() {
				t.Errorf("%d: output was lost", i)
			}
		})
	}
	all.Wait()
	seen := map[RunID]bool{}
	for before := RunID(""); ; {
		list, err := w.r.List(t.Context(), Filter{Before: before, Limit: 30})
		must(t, err)
		for _, run := range list.Runs {
			seen[run.ID] = true
		}
		if before = list.Next; before == "" {
			break
		}
	}
	if len(seen) != 200 {
		t.Errorf("%d of 200 runs are listed", len(seen))
	}
}

// Explaining and starting use one function: over random requests their verdicts
// are equal, in every reason.
func TestExplainAndStartAgree(t *testing.T) {
	text := strings.Replace(permissive, "executables:", `executables:
  - name: echo
    path: /bin/echo
    args:
      - allow: [hello]
      - allow: [-n, <path>]
      - deny: [bye, ...]
        message: Never say bye.
  - {path: /bin/true, args: any}`, 1) + `environment: {accept: {CI: <word>}, set: {FOO: bar}}
rules:
  - {name: no-secret, deny: 'argv.exists(a, a == "secret")', message: "Not that."}
  - {name: ask, ask: 'argv.exists(a, a == "push")'}
`
	w := newWorld(t, text, func(o *Options) {
		o.Hook = func(_ context.Context, r HookRequest) error {
			if slices.Contains(r.Grant.Argv, "vetoed") {
				return errors.New("vetoed")
			}
			return nil
		}
	})
	must(t, os.Mkdir(w.root+"/sub", 0o755))
	must(t, os.Symlink("/etc", w.root+"/out"))
	must(t, os.WriteFile(w.root+"/in", []byte("x"), 0o600))
	word := rapid.SampledFrom([]string{"hello", "-n", "1", "2", "3", "bye", "secret", "push", "vetoed", "sub", "out", "../x", "", "a\x00b", "\xff", "x\ny", "/etc", "--"})
	allowed, started := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		// Each part is as it should be three times of four.
		c := Command{
			Argv:        append(mostly(rt, "word", []string{"/bin/true"}, []string{"echo"}, []string{"gone"}, []string{"rm"}, []string{"echo hi | cat"}, nil), rapid.SliceOfN(word, 0, 2).Draw(rt, "args")...),
			Dir:         mostly(rt, "dir", "sub", "", "out", "none", "/etc", w.root, "in"),
			Label:       mostly(rt, "label", "", "label", "two\nlines"),
			Timeout:     mostly(rt, "timeout", 0, time.Second*30, time.Hour, -1),
			OutputLimit: mostly(rt, "limit", 0, int64(100), 1<<40, -1),
			Env:         mostly(rt, "env", nil, map[string]string{}, map[string]string{"A": "b"}, map[string]string{"API_TOKEN": "x"}, map[string]string{"A": "\xff"}, map[string]string{"=": ""}),
			Stdin:       mostly(rt, "stdin", Stdin{}, Stdin{File: "in"}, Stdin{File: "/etc/passwd"}, Stdin{Run: "r00000000000000000000000000"}, Stdin{File: "in", Run: "x"}),
		}
		decision := w.explain(c)
		run, err := w.r.Start(w.t.Context(), c)
		var refusal *Refusal
		switch {
		case err == nil:
			started++
			w.settle(run)
		case !errors.As(err, &refusal):
			rt.Fatalf("%+v: %v", c, err)
		}
		if diff := cmp.Diff(decision.Refusal(), refusal); diff != "" {
			rt.Fatalf("explain and start differ for %+v: %s", c, diff)
		}
		if decision.Effect == paddock.Allow {
			allowed++
		}
	})
	if allowed != started || allowed == 0 {
		t.Errorf("%d allowed, %d started", allowed, started)
	}
}

func mostly[T any](rt *rapid.T, what string, good T, others ...T) T {
	if rapid.IntRange(0, 3).Draw(rt, what+" is good") > 0 {
		return good
	}
	return rapid.SampledFrom(append(others, good)).Draw(rt, what)
}

func TestHookThatPanicsDenies(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive, func(o *Options) {
		o.Hook = func(_ context.Context, r HookRequest) error {
			r.Grant.Argv[0], r.Request.Command.Argv[1] = "changed", "changed" // of the hook's copy only
			if r.Grant.Environment != nil {
				t.Error("the hook is shown values")
			}
			if strings.Contains(r.Grant.Argv[2], "panic") {
				panic("as asked")
			}
			if strings.Contains(r.Grant.Argv[2], "nil") {
				panic(any(nil)) //nolint:govet // that is the case
			}
			return nil
		}
	})
	for _, line := range []string{"panic", "nil"} {
		_, err := w.try("echo " + line)
		refused(t, err, paddock.RuleDenied)
		if d := w.explain(Command{Argv: []string{"sh", "-c", "echo " + line}}); d.Effect != paddock.Deny || d.Grant() != nil {
			t.Errorf("explain: %+v", d)
		}
	}
	if run := w.done("echo fine"); w.text(run, Stdout) != "fine\n" {
		t.Errorf("%+v", run)
	}
}

// Whose run one may not see, that run isn't there.
func TestForeignRunsLookLikeNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive)
	run := w.sh("exec sleep " + unique(t))
	stranger := w.open(func(o *Options) { o.Principal = "somebody else" })
	ask := func(id RunID) (texts []string) {
		_, status := stranger.Status(t.Context(), id)
		_, wait := stranger.Wait(t.Context(), id)
		_, output := stranger.Output(t.Context(), id, PageRequest{})
		_, kill := stranger.Kill(t.Context(), id, KILL, "")
		follow := stranger.Follow(t.Context(), id, Stdout, 0, &strings.Builder{})
		for _, err := range []error{status, wait, output, kill, follow} {
			refused(t, err, paddock.NotFound)
			texts = append(texts, err.Error())
		}
		return texts
	}
	if diff := cmp.Diff(ask("r00000000000000000000000000"), ask(run.ID)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(ask("../../etc"), ask(run.ID)); diff != "" {
		t.Error(diff)
	}
	killed, err := stranger.KillAll(t.Context(), KILL, "")
	must(t, err)
	list, err := stranger.List(t.Context(), Filter{})
	must(t, err)
	if len(killed)+len(list.Runs) != 0 {
		t.Errorf("killed %v, listed %v", killed, list.Runs)
	}
	if got, err := w.r.Status(t.Context(), run.ID); err != nil || got.State != Running {
		t.Errorf("%s, %v", got.State, err)
	}
}

func TestKillAllAndList(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive)
	done := w.done("true", func(c *Command) { c.Label = "done" })
	for range 5 {
		w.sh("exec sleep "+unique(t), func(c *Command) { c.Label = "sleeping" })
	}
	active, err := w.r.List(t.Context(), Filter{Active: true, Limit: 3})
	must(t, err)
	if len(active.Runs) != 3 || active.Next == "" {
		t.Errorf("%d active, next %q", len(active.Runs), active.Next)
	}
	rest, err := w.r.List(t.Context(), Filter{Active: true, Before: active.Next})
	must(t, err)
	if len(rest.Runs) != 2 || rest.Next != "" {
		t.Errorf("%d more active, next %q", len(rest.Runs), rest.Next)
	}
	killed, err := w.r.KillAll(t.Context(), TERM, "enough")
	must(t, err)
	if len(killed) != 5 {
		t.Errorf("%d were killed", len(killed))
	}
	for _, run := range killed {
		if run.State != Killed || run.Outcome.Reason.Why != "enough" {
			t.Errorf("%s %+v", run.State, run.Outcome)
		}
	}
	list, err := w.r.List(t.Context(), Filter{Label: "done"})
	must(t, err)
	if len(list.Runs) != 1 || list.Runs[0].ID != done.ID {
		t.Errorf("%+v", list)
	}
	for _, f := range []Filter{{Limit: -1}, {Limit: 1001}, {Before: "x"}} {
		_, err := w.r.List(t.Context(), f)
		refused(t, err, paddock.InvalidRequest)
	}
	for _, signal := range []Signal{"STOP", "SIGTERM", "9"} {
		_, err := w.r.Kill(t.Context(), done.ID, signal, "")
		refused(t, err, paddock.InvalidRequest)
	}
	_, err = w.r.Kill(t.Context(), done.ID, TERM, "two\nlines")
	refused(t, err, paddock.InvalidRequest)
}

// Neither an output that is gone nor one that was changed looks like an output.
func TestLostOutputIsAnError(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive)
	run := w.done("echo something")
	file := fmt.Sprintf("%s/runs/%s/%s/stdout", w.state, run.ID.Time().Format("20060102"), run.ID)
	must(t, os.WriteFile(file, []byte("something more"), 0o600))
	if page, err := w.r.Output(t.Context(), run.ID, PageRequest{}); err == nil {
		t.Errorf("changed: %+v", page)
	}
	must(t, os.Remove(file))
	if page, err := w.r.Output(t.Context(), run.ID, PageRequest{}); err == nil {
		t.Errorf("removed: %+v", page)
	}
	if err := w.r.Follow(t.Context(), run.ID, Combined, 0, &strings.Builder{}); err == nil {
		t.Error("removed, and followed without an error")
	}
}

func TestWaitingForALineThatMatches(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive)
	open := w.gate("gate")
	run := w.sh("echo one; echo two; read x < gate; echo three; echo ready now; exec sleep " + unique(t))
	found := make(chan Page, 1)
	go func() {
		page, err := w.r.Output(t.Context(), run.ID, PageRequest{Grep: "ready", GrepFixed: true, Wait: paddock.Duration(40 * time.Second)})
		if err != nil {
			t.Error(err)
		}
		found <- page
	}()
	open()
	if page := <-found; page.Content != "ready now\n" || page.Matches != 1 {
		t.Errorf("page %+v", page)
	}
	page, err := w.r.Output(t.Context(), run.ID, PageRequest{Offset: page0(t, w, run), Wait: paddock.Duration(20 * time.Millisecond)})
	must(t, err)
	if page.Content != "" || page.EOF || page.NextOffset != page.Offset {
		t.Errorf("a wait in vain: %+v", page)
	}
	for _, wait := range []time.Duration{-1, 46 * time.Second} {
		_, err := w.r.Output(t.Context(), run.ID, PageRequest{Wait: paddock.Duration(wait)})
		refused(t, err, paddock.InvalidRequest)
	}
}

func page0(t testing.TB, w *world, run Run) int64 {
	t.Helper()
	page, err := w.r.Output(t.Context(), run.ID, PageRequest{})
	must(t, err)
	return page.NextOffset
}

// Many runs one after the other leave nothing behind in the host's process.
func TestManyRunsDoNotGrow(t *testing.T) {
	many := 300
	if os.Getenv("PADDOCK_LONG") == "1" {
		many = 10_000
	}
	w := newWorld(t, permissive)
	usage := func() (heap uint64, fds, goroutines int) {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		entries, err := os.ReadDir("/proc/self/fd")
		must(t, err)
		return m.HeapAlloc, len(entries), runtime.NumGoroutine()
	}
	batch := func(n int) {
		var all sync.WaitGroup
		turn := make(chan struct{}, 8)
		for range n {
			turn <- struct{}{}
			all.Go(func() {
				defer func() { <-turn }()
				size := 100 + rand.IntN(2000)
				run, err := w.r.Start(t.Context(), Command{Argv: []string{"sh", "-c", fmt.Sprintf("printf %%0%dd 1", size)}})
				if err == nil {
					run, err = w.r.Wait(t.Context(), run.ID)
				}
				if err != nil || run.State != Exited || run.Outcome.Stdout.Bytes != int64(size) {
					t.Errorf("%s %v", run.State, err)
				}
			})
		}
		all.Wait()
	}
	// looking is how long a page of the list, one run and its output take at best.
	looking := func() time.Duration {
		best := time.Hour
		for range 20 {
			start := time.Now()
			page, err := w.r.List(t.Context(), Filter{Limit: 20})
			must(t, err)
			_, err = w.r.Status(t.Context(), page.Runs[19].ID)
			must(t, err)
			_, err = w.r.Output(t.Context(), page.Runs[19].ID, PageRequest{})
			must(t, err)
			best = min(best, time.Since(start))
		}
		return best
	}
	batch(50)
	heap, fds, goroutines := usage()
	first := looking()
	batch(many)
	if last := looking(); last > 10*first+50*time.Millisecond {
		t.Errorf("a list, a status and a page of output took %s, and take %s after %d more runs", first, last, many)
	}
	until(t, "descriptors and goroutines are as before", func() bool {
		_, f, g := usage()
		return f <= fds && g <= goroutines
	})
	after, _, _ := usage()
	if grown := int64(after) - int64(heap); grown > 4<<20 {
		t.Errorf("the heap grew by %d bytes over %d runs", grown, many)
	}
}

// Many may follow one run, from this process and from others, and see the same.
func TestManyFollowers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive)
	open := w.gate("gate")
	run := w.sh("echo first; read x < gate; i=0; while [ $i -lt 500 ]; do echo $i; echo $i >&2; i=$((i+1)); done")
	other := w.open()
	texts := make([]strings.Builder, 200)
	var all sync.WaitGroup
	for i := range texts {
		r, s := w.r, Combined
		if i%2 == 0 {
			r, s = other, Stdout
		}
		all.Go(func() {
			if err := r.Follow(t.Context(), run.ID, s, 0, &texts[i]); err != nil {
				t.Error(err)
			}
		})
	}
	open()
	all.Wait()
	for i := range texts {
		if texts[i].String() != texts[i%2].String() {
			t.Errorf("follower %d saw something else", i)
		}
	}
	if len(texts[0].String())*2-len("first\n") != len(texts[1].String()) {
		t.Errorf("%d bytes of stdout, %d of both", texts[0].Len(), texts[1].Len())
	}
}

// A supervisor that can't be spoken to is looked at, and its run's end is seen.
func TestWithoutAControlSocket(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive)
	open := w.gate("gate")
	run := w.sh("read x < gate; echo done")
	must(t, os.Remove(fmt.Sprintf("%s/runs/%s/%s/control", w.state, run.ID.Time().Format("20060102"), run.ID)))
	other := w.open()
	ended := make(chan Run, 1)
	go func() {
		run, err := other.Wait(t.Context(), run.ID)
		if err != nil {
			t.Error(err)
		}
		ended <- run
	}()
	open()
	if run := <-ended; run.State != Exited {
		t.Errorf("state %s", run.State)
	}
}

// What can't be told in a record is refused, and says by which gate.
func TestVariablesThatAreNotText(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive+"environment: {pass: [LANG]}\n", func(o *Options) {
		o.HostEnv = func(string) (string, bool) { return "\xff", true }
	})
	_, err := w.try("true")
	if r := refused(t, err, paddock.InvalidRequest); r.Gate != paddock.GateEnvironment {
		t.Errorf("gate %q", r.Gate)
	}
	for g := range w.explain(Command{Argv: []string{"sh"}}).Gates.All() {
		if want := map[paddock.Gate]paddock.Verdict{paddock.GateEnvironment: paddock.Refuse, paddock.GateHook: paddock.Skipped}[g.Gate]; want != "" && g.Verdict != want {
			t.Errorf("%s: %s", g.Gate, g.Verdict)
		}
	}
}

// However many runs there are at once, and in how many processes, no more is kept
// than a quota says: each reserves what it may print.
func TestAQuotaOfOutputIsNeverExceeded(t *testing.T) {
	t.Parallel()
	const most = 5000
	w := newWorld(t, strings.Replace(permissive, "output: 10MiB", "output: 1000", 1)+fmt.Sprintf("quotas: {total: {kept: %d}}\n", most))
	runners := []*Runner{w.r, w.open()}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 3 {
				run, err := runners[i%2].Start(t.Context(), Command{Argv: []string{"sh", "-c", "head -c 700 /dev/zero; head -c 700 /dev/zero >&2"}})
				if err == nil {
					_, err = runners[i%2].Wait(t.Context(), run.ID)
				}
				if err != nil {
					if r := refused(t, err, paddock.QuotaExceeded); !r.Retryable || !strings.Contains(r.Message, "`quotas.total.kept`") {
						t.Errorf("%+v", r)
					}
				}
			}
		})
	}
	all.Wait()
	// One after the other, they use the rest.
	for range 5 {
		run, err := w.r.Start(t.Context(), Command{Argv: []string{"sh", "-c", "head -c 700 /dev/zero; head -c 700 /dev/zero >&2"}})
		if err != nil {
			refused(t, err, paddock.QuotaExceeded)
			break
		}
		_, err = w.r.Wait(t.Context(), run.ID)
		must(t, err)
	}
	page, err := w.r.List(t.Context(), Filter{})
	must(t, err)
	var kept int64
	for _, run := range page.Runs {
		kept += run.Stdout.Bytes + run.Stderr.Bytes
	}
	if kept != most {
		t.Errorf("%d bytes are kept, want %d", kept, most)
	}
}
