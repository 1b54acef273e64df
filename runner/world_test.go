//go:build linux

package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/rundir/record"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) {
	testproc.Main(m, map[string]func() int{"host": hostProgram})
}

// A world is a workspace with a policy and a Runner.
type world struct {
	t           testing.TB
	root, state string
	policy      string // a file outside of root
	r           *Runner
	warnings    *warnings
}

type warnings struct {
	mu   sync.Mutex
	list []error
}

func (w *warnings) add(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, err)
}

const permissive = `version: 1
roots: [{path: ROOT}]
executables:
  - {name: sh, path: /bin/sh, args: any, line_breaks: true}
  - {name: gone, path: ROOT/no-such-program, args: any}
limits: {timeout: 2m, output: 10MiB, concurrent: 1000}
containment: {require: off}
`

// newWorld makes a world whose policy is text, with ROOT replaced.
func newWorld(t testing.TB, text string, change ...func(*Options)) *world {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	w := &world{t: t, root: base + "/root", state: base + "/state", policy: base + "/policy.yaml", warnings: &warnings{}}
	must(t, os.Mkdir(w.root, 0o755))
	if os.Geteuid() == 0 && strings.Contains(text, "{require: standard") {
		// At this level runs of root need an account, and that needs a way there.
		text = strings.Replace(text, "{require: standard", "{run_as: "+strconv.Itoa(testproc.Nobody)+", require: standard", 1)
		must(t, errors.Join(os.Chmod(filepath.Dir(base), 0o711), os.Chown(w.root, testproc.Nobody, testproc.Nobody)))
	}
	w.write(text)
	w.r = w.open(change...)
	return w
}

func (w *world) explain(c Command) Decision {
	w.t.Helper()
	d, err := w.r.Explain(w.t.Context(), c)
	must(w.t, err)
	return d
}

func (w *world) write(text string) {
	w.t.Helper()
	must(w.t, os.WriteFile(w.policy, []byte(strings.ReplaceAll(text, "ROOT", w.root)), 0o600))
}

// open opens another Runner of the same state directory.
func (w *world) open(change ...func(*Options)) *Runner {
	w.t.Helper()
	// Who ends a run has its outcome, however busy the machine is.
	opt := Options{StateDir: w.state, Stage: os.Getenv(deeperStage), Warn: w.warnings.add, grace: time.Minute}
	if opt.Stage == "" { // in a process of another user it is there already
		opt.Stage = testproc.Build(w.t, "paddock/cmd/paddock-stage")
	}
	for _, f := range change {
		f(&opt)
	}
	r, err := Open(w.t.Context(), w.policy, opt)
	must(w.t, err)
	w.t.Cleanup(func() {
		// Whatever a failed test left behind ends here.
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		_, err := r.KillAll(ctx, KILL, "the test is over")
		if err := errors.Join(err, r.Close()); err != nil && !strings.Contains(err.Error(), "closed") {
			w.t.Error(err)
		}
		left(w.t, w.state)
	})
	return r
}

// left waits until no supervisor of a settled run is there any more: it is done
// with the directory some time after the outcome, which the test has waited for.
func left(t testing.TB, state string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(state, "runs", "*", "*"))
	if err != nil {
		t.Error(err)
	}
	late := time.After(time.Minute)
	for _, path := range paths {
		d, err := record.Open(path)
		if err != nil {
			continue // what a test has put there
		}
		for {
			settled, err := record.Settled(path)
			free, known := record.Unattended(d)
			if err != nil || !settled || free || !known {
				break
			}
			select {
			case <-time.After(5 * time.Millisecond):
			case <-late:
				t.Errorf("the supervisor of run %s is still there", d.ID())
				return
			}
		}
	}
}

// sh starts a line of shell; the shell is just the program that the test uses.
func (w *world) sh(line string, change ...func(*Command)) Run {
	w.t.Helper()
	run, err := w.try(line, change...)
	must(w.t, err)
	return run
}

func (w *world) try(line string, change ...func(*Command)) (Run, error) {
	w.t.Helper()
	c := Command{Argv: []string{"sh", "-c", line}}
	for _, f := range change {
		f(&c)
	}
	return w.r.Start(w.t.Context(), c)
}

// settle waits for the end.
func (w *world) settle(run Run) Run {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 3*time.Minute) // longer than the policy lets runs last
	defer cancel()
	run, err := w.r.Wait(ctx, run.ID)
	must(w.t, err)
	return run
}

// prints waits until something of a stream has come that holds these words, and returns a
// page of that. There may be nothing of them in a run that is over.
func (w *world) prints(run Run, s Stream, words string) (page Page) {
	w.t.Helper()
	for page.Content == "" && !page.EOF {
		var err error
		page, err = w.r.Output(w.t.Context(), run.ID, PageRequest{Stream: s, Offset: page.NextOffset, Grep: words, GrepFixed: words != "", Wait: paddock.Duration(30 * time.Second)})
		must(w.t, err)
	}
	return page
}

// done runs a line of shell to its end.
func (w *world) done(line string, change ...func(*Command)) Run {
	w.t.Helper()
	return w.settle(w.sh(line, change...))
}

// text returns all of a stream.
func (w *world) text(run Run, s Stream) string {
	w.t.Helper()
	var b strings.Builder
	must(w.t, w.r.Follow(w.t.Context(), run.ID, s, 0, &b))
	return b.String()
}

// gate is a pipe in the workspace: a program that reads it waits until open is
// called, and then goes on.
func (w *world) gate(name string) (open func()) {
	w.t.Helper()
	path := w.root + "/" + name
	must(w.t, unix.Mkfifo(path, 0o600))
	return func() {
		w.t.Helper()
		f, err := os.OpenFile(path, os.O_WRONLY, 0) // waits for the reader
		must(w.t, err)
		must(w.t, f.Close())
	}
}

// until waits for a condition that nothing tells of.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(2 * time.Minute)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline:
			t.Fatalf("waited in vain: %s", what)
		case <-tick.C:
		}
	}
}

func refused(t testing.TB, err error, code paddock.Code) *Refusal {
	t.Helper()
	var refusal *Refusal
	if !errors.As(err, &refusal) {
		t.Fatalf("error %v, want a refusal", err)
	}
	if refusal.Code != code {
		t.Fatalf("refused with %v, want %s", refusal, code)
	}
	if refusal.Hint == "" {
		t.Errorf("%s has no hint", code)
	}
	return refusal
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// alive reports whether any process has this word in its command line.
func alive(t testing.TB, word string) bool {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	must(t, err)
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err == nil && strings.Contains(string(b), word) {
			return true
		}
	}
	return false
}

// unique is a number of seconds that no other test sleeps, to know a process by.
func unique(t testing.TB) string {
	t.Helper()
	uniques.Lock()
	defer uniques.Unlock()
	uniques.n++
	return fmt.Sprintf("%d%05d", 9000+os.Getpid()%1000, uniques.n)
}

var uniques struct {
	sync.Mutex
	n int
}
