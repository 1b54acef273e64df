//go:build linux

package benchmarks_test

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/testproc"
	"paddock/runner"
)

// A place is where a state directory is made.
type place struct{ name, dir string }

// Furniture is a workspace, and for each level a policy and Runners of one state
// directory.
type furniture struct {
	t          *testing.T
	sheet      *sheet
	place      string
	work, root string
	paddock    string // the command, as make build makes it
	policies   map[paddock.Level]string
	warm       map[paddock.Level]*runner.Runner
	cold       *runner.Runner
}

const policyText = `version: 1
roots: [{path: ROOT}]
executables:
  - {name: "true", path: /bin/true, args: any}
  - {name: cat, path: /bin/cat, args: any}
  - {name: writer, path: WRITER, args: any}
limits: {timeout: 10m, output: 8GiB, concurrent: 1000}
containment: {require: LEVEL}
`

var levels = []struct {
	level      paddock.Level
	gopkg, cli string
}{{paddock.Full, goFull, cliFull}, {paddock.Standard, goStandard, cliStd}, {paddock.Off, goOff, cliOff}}

func furnish(t *testing.T, s *sheet, p place) *furniture {
	t.Helper()
	work, err := os.MkdirTemp(p.dir, "paddock-benchmarks-")
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(work)) })
	f := &furniture{
		t: t, sheet: s, place: p.name, work: work, root: filepath.Join(work, "root"), paddock: quick(t),
		policies: map[paddock.Level]string{}, warm: map[paddock.Level]*runner.Runner{},
	}
	must(t, os.Chmod(work, 0o711)) // runs of another account have their home in there
	must(t, os.Mkdir(f.root, 0o755))
	for _, l := range levels {
		level := string(l.level)
		if l.level == paddock.Standard && os.Geteuid() == 0 {
			level += ", run_as: nobody" // root's runs need it there
		}
		text := strings.NewReplacer("ROOT", f.root, "WRITER", testproc.Program(t, "writer"), "LEVEL", level).Replace(policyText)
		name := filepath.Join(work, string(l.level)+".yaml")
		must(t, os.WriteFile(name, []byte(text), 0o600))
		f.policies[l.level] = name
		f.warm[l.level] = f.open(name, 2)
	}
	f.cold = f.open(f.policies[paddock.Full], 0)
	return f
}

func (f *furniture) open(policy string, warm int) *runner.Runner {
	f.t.Helper()
	r, err := runner.Open(f.t.Context(), policy, runner.Options{
		StateDir: filepath.Join(f.work, "state"), Stage: filepath.Join(filepath.Dir(f.paddock), "paddock-stage"), Warm: warm,
		Warn: func(err error) { f.t.Error(err) },
	})
	must(f.t, err)
	f.t.Cleanup(func() { must(f.t, r.Close()) })
	return r
}

func (f *furniture) start(r *runner.Runner, argv ...string) runner.Run {
	f.t.Helper()
	run, err := r.Start(f.t.Context(), runner.Command{Argv: argv})
	must(f.t, err)
	return run
}

// whole is a run from its start to its settled record.
func (f *furniture) whole(r *runner.Runner, argv ...string) runner.Run {
	f.t.Helper()
	run, err := r.Wait(f.t.Context(), f.start(r, argv...).ID)
	must(f.t, err)
	if run.State != paddock.Exited || *run.Outcome.Reason.ExitCode != 0 {
		f.t.Fatalf("%s: %+v", run.State, run.Outcome)
	}
	return run
}

// starts returns those of ours that start a program which does nothing. A level
// that this machine can't give is missing.
func (f *furniture) starts() []contender {
	var all []contender
	for _, l := range levels {
		d, err := f.warm[l.level].Explain(f.t.Context(), runner.Command{Argv: []string{"true"}})
		if err != nil {
			f.t.Fatal(err)
		}
		if d.Refusal() != nil {
			f.sheet.Missing[l.gopkg], f.sheet.Missing[l.cli] = d.Refusal().Error(), d.Refusal().Error()
			continue
		}
		all = append(all,
			contender{l.gopkg, f.place, func() time.Duration { return took(func() { f.whole(f.warm[l.level], "true") }) }},
			f.process(l.cli, f.place, "run", "--policy", f.policies[l.level], "--state", filepath.Join(f.work, "state"), "--", "true"))
	}
	if why := f.sheet.Missing[goFull]; why != "" {
		for _, what := range []string{goCold, cliBegin, stageBegin, cliWarm, runRSS, runPSS} {
			f.sheet.Missing[what] = why
		}
	} else if f.place == "tmpfs" {
		begin := func() time.Duration { return took(func() { f.ends("paddock", "status", "x") }) }
		all = append(all, contender{goCold, f.place, func() time.Duration { return took(func() { f.whole(f.cold, "true") }) }},
			contender{cliBegin, "", begin},
			contender{stageBegin, "", func() time.Duration { return took(func() { f.ends("paddock-stage") }) }},
			contender{cliWarm, f.place, func() time.Duration {
				return begin() + took(func() { f.whole(f.warm[paddock.Full], "true") })
			}})
	}
	if f.place == "tmpfs" {
		whole := *f
		whole.paddock = installed(f.t, testproc.Build(f.t, "paddock/cmd/paddock"), f.t.TempDir())
		all = append(all, whole.process(cliAlone, "", "help"))
	}
	return all
}

// quick builds the command that has what must be quick, with the stage beside it.
func quick(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	installed(t, testproc.Build(t, "paddock/cmd/paddock-stage"), dir)
	return installed(t, testproc.BuildTo(t, "quick", "paddock/cmd/paddock", "quick"), dir)
}

// installed copies a program to dir, as whatever installs it does, and returns its path. As
// a linker leaves it, in single pages of memory, it starts a sixth slower. Another program
// copies: what we write ourselves may be open in something that is just being forked.
func installed(t *testing.T, built, dir string) string {
	t.Helper()
	must(t, testproc.Command(t, "cp", built, dir).Run())
	return filepath.Join(dir, filepath.Base(built))
}

// process is a whole process of the command.
func (f *furniture) process(what, place string, args ...string) contender {
	return contender{what, place, func() time.Duration {
		return took(func() {
			cmd := testproc.Command(f.t, f.paddock, args...)
			cmd.Dir = f.root
			if out, err := cmd.CombinedOutput(); err != nil {
				f.t.Fatalf("%v\n%s", err, out)
			}
		})
	}}
}

// ends starts a program of ours with words on which it ends at once.
func (f *furniture) ends(name string, words ...string) {
	var exit *testproc.ExitError
	if err := testproc.Command(f.t, filepath.Join(filepath.Dir(f.paddock), name), words...).Run(); !errors.As(err, &exit) || !exit.Exited() {
		f.t.Fatalf("%s %q: %v", name, words, err)
	}
}

// writer writes os.Args[1] bytes to the file os.Args[2], synced if there is
// another word, or to standard output.
func writer() int {
	n, err := strconv.ParseInt(os.Args[1], 10, 64)
	if err != nil {
		return 2
	}
	to := os.Stdout
	if len(os.Args) > 2 {
		if to, err = os.OpenFile(os.Args[2], os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
			return 3
		}
	}
	line := []byte(strings.Repeat("All work and no play makes Jack a dull boy, says the log file.\n", 2048)) // 128 KiB
	for n > 0 {
		m, err := to.Write(line[:min(n, int64(len(line)))])
		if err != nil {
			return 4
		}
		n -= int64(m)
	}
	if len(os.Args) > 3 && to.Sync() != nil || len(os.Args) > 2 && to.Close() != nil {
		return 5
	}
	return 0
}

// outputs measures how fast output is kept, in MB a second. All take turns, and each round
// begins with another.
func (f *furniture) outputs() {
	program, words := testproc.Program(f.t, "writer"), strconv.FormatInt(*size, 10)
	speed := func(what string, took time.Duration) {
		f.sheet.add(what, f.place, float64(*size)/1e6/took.Seconds(), "MB/s")
	}
	file := filepath.Join(f.work, "file")
	var all []func()
	add := func(do func(), measured ...string) {
		if slices.ContainsFunc(measured, func(what string) bool { return f.sheet.wants(what, f.place) }) {
			all = append(all, do)
		}
	}
	alone := func(what string, args ...string) {
		add(func() {
			speed(what, took(func() { must(f.t, testproc.Command(f.t, program, append([]string{words, file}, args...)...).Run()) }))
			must(f.t, os.Remove(file))
		}, what)
	}
	alone(toFile)
	alone(toDisk, "sync")
	add(func() {
		speed(toWriter, took(func() {
			out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
			must(f.t, err)
			cmd := testproc.Command(f.t, program, words)
			cmd.Stdout = struct{ io.Writer }{out} // or the program would get the file itself
			must(f.t, cmd.Run())
			must(f.t, out.Close())
		}))
		must(f.t, os.Remove(file))
	}, toWriter)
	floors := f.barest()
	for _, what := range slices.Sorted(maps.Keys(floors)) {
		add(func() { f.throughPipe(what, floors[what], speed) }, what)
	}
	add(func() { f.kept(words, speed) }, bankAll, bankEnd)
	for i := range max(1, *rounds/20) {
		for j := range all {
			all[(i+j)%len(all)]()
		}
	}
}

// kept measures how fast ours is. Containment makes no difference to it.
func (f *furniture) kept(words string, speed func(string, time.Duration)) {
	start := time.Now()
	run := f.whole(f.warm[paddock.Off], "writer", words)
	speed(bankAll, time.Since(start))
	speed(bankEnd, run.Outcome.EndedAt.Sub(start))
	if run.Stdout.Bytes != *size || run.Stdout.Digest == "" {
		f.t.Fatalf("kept %+v", run.Stdout)
	}
	kept, err := filepath.Glob(filepath.Join(f.work, "state/runs/*", string(run.ID), "stdout"))
	must(f.t, err)
	for _, name := range kept { // the disk is not ours alone
		must(f.t, os.Remove(name))
	}
}

// memory measures an idle stage, and the processes of ours that a running run
// has: its supervisor and the init in between.
func (f *furniture) memory() {
	if !f.sheet.wants(idlePSS, f.place) && !f.sheet.wants(runRSS, f.place) && !f.sheet.wants(runPSS, f.place) {
		return
	}
	rest()
	for _, pid := range children(f.t, os.Getpid()) {
		if nameOf(pid) == "paddock-stage" {
			_, pss := memoryOf(f.t, pid)
			f.sheet.add(idlePSS, f.place, pss, "KiB")
		}
	}
	if f.sheet.Missing[goFull] != "" {
		return
	}
	for range 5 {
		// A pipe's reader that gets nothing: cat of a FIFO nobody writes to.
		run := f.start(f.warm[paddock.Full], "cat", f.fifo())
		var rss, pss float64
		for _, pid := range append(children(f.t, run.Supervisor.PID), run.Supervisor.PID) {
			r, p := memoryOf(f.t, pid)
			rss, pss = rss+r, pss+p
		}
		f.sheet.add(runRSS, f.place, rss, "KiB")
		f.sheet.add(runPSS, f.place, pss, "KiB")
		_, err := f.warm[paddock.Full].Kill(f.t.Context(), run.ID, runner.KILL, "measured")
		must(f.t, err)
	}
}

// fifo makes a FIFO that nobody writes to, in the workspace.
func (f *furniture) fifo() string {
	f.t.Helper()
	path := filepath.Join(f.root, fmt.Sprint("fifo", time.Now().UnixNano()))
	must(f.t, unix.Mkfifo(path, 0o666))
	must(f.t, os.Chmod(path, 0o666)) // as root, a run is an ordinary user's
	return path
}

func children(t testing.TB, pid int) []int {
	t.Helper()
	names, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	must(t, err)
	var pids []int
	for _, name := range names {
		b, err := os.ReadFile(name)
		must(t, err)
		for field := range strings.FieldsSeq(string(b)) {
			child, err := strconv.Atoi(field)
			must(t, err)
			pids = append(pids, child)
		}
	}
	return pids
}

func nameOf(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// memoryOf returns what a process holds, and its share of it, in KiB.
func memoryOf(t testing.TB, pid int) (rss, pss float64) {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	must(t, err)
	for line := range strings.Lines(string(b)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		switch n, _ := strconv.ParseFloat(fields[1], 64); fields[0] {
		case "Rss:":
			rss = n
		case "Pss:":
			pss = n
		}
	}
	return rss, pss
}
