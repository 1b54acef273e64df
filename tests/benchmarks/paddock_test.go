//go:build linux

package measure_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"paddock"
	"paddock/internal/testproc"
	"paddock/runner"
)

// What is measured; the same words are in docs/benchmarks.md.
const (
	bare       = "os/exec of true"
	warmRun    = "run of true, warm, at rest"
	busyRun    = "run of true, warm, one after the other"
	coldRun    = "run of true, cold"
	started    = "start only, warm, at rest"
	cli        = "process: paddock run -- true"
	cliAlone   = "process: paddock help"
	process    = "process: true"
	bankAll    = "output kept, to the settled record"
	bankEnd    = "output kept, to the end of the program"
	toFile     = "the writer writes a file itself"
	toDisk     = "the writer writes a file itself and syncs it"
	toWriter   = "os/exec with an io.Writer into a file"
	idleRSS    = "idle stage, VmRSS"
	idlePSS    = "idle stage, PSS"
	runRSS     = "running run (stage and init), VmRSS"
	runPSS     = "running run (stage and init), PSS"
	decideOK   = "decision, allowed, 500 rules"
	decideNo   = "decision, refused, 500 rules"
	decideRule = "decision, 500 rules and CEL"
)

var rows = []row{
	{bare, "tmpfs", "", ""},
	{warmRun, "tmpfs", bare, "≤ 1.5×"},
	{started, "tmpfs", bare, ""},
	{busyRun, "tmpfs", bare, ""},
	{coldRun, "tmpfs", bare, ""},
	{process, "tmpfs", "", ""},
	{cliAlone, "tmpfs", process, ""},
	{cli, "tmpfs", process, ""},
	{bare, "disk", "", ""},
	{warmRun, "disk", bare, ""},
	{busyRun, "disk", bare, ""},
	{coldRun, "disk", bare, ""},
	{cli, "disk", process, ""},
	{toFile, "tmpfs", "", ""},
	{toWriter, "tmpfs", toFile, ""},
	{bankEnd, "tmpfs", toFile, ""},
	{bankAll, "tmpfs", toFile, ""},
	{bankAll, "tmpfs", toWriter, ""},
	{toFile, "disk", "", ""},
	{toDisk, "disk", "", ""},
	{toWriter, "disk", toFile, ""},
	{bankEnd, "disk", toFile, "≥ 0.75×"},
	{bankEnd, "disk", toWriter, "≥ 1.5×"},
	{bankAll, "disk", toFile, ""},
	{bankAll, "disk", toDisk, "≥ 0.6×"},
	{decideOK, "", "", "p99 ≤ 20 µs"},
	{decideNo, "", "", "p99 ≤ 20 µs"},
	{decideRule, "", "", "p99 ≤ 20 µs"},
	{idleRSS, "tmpfs", "", ""},
	{idlePSS, "tmpfs", "", ""},
	{runRSS, "tmpfs", "", ""},
	{runPSS, "tmpfs", "", "≤ 8 MiB"},
}

// A place is where a state directory is made.
type place struct{ name, dir string }

// Furniture is a policy, a workspace and Runners of one state directory.
type furniture struct {
	t          *testing.T
	place      string
	work       string
	policy     string
	warm, cold *runner.Runner
}

const policyText = `version: 1
roots: [{path: ROOT}]
executables:
  - {name: "true", path: /bin/true, args: any}
  - {name: cat, path: /bin/cat, args: any}
  - {name: writer, path: WRITER, args: any}
limits: {timeout: 10m, output: 8GiB, concurrent: 1000}
containment: {require: off}
`

func furnish(t *testing.T, p place) *furniture {
	t.Helper()
	work, err := os.MkdirTemp(p.dir, "paddock-measure-")
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(work)) })
	f := &furniture{t: t, place: p.name, work: work, policy: filepath.Join(work, "policy.yaml")}
	must(t, os.Mkdir(filepath.Join(work, "root"), 0o755))
	text := strings.NewReplacer("ROOT", filepath.Join(work, "root"), "WRITER", testproc.Program(t, "writer")).Replace(policyText)
	must(t, os.WriteFile(f.policy, []byte(text), 0o600))
	f.warm, f.cold = f.open(4), f.open(0)
	return f
}

func (f *furniture) open(warm int) *runner.Runner {
	f.t.Helper()
	r, err := runner.Open(f.t.Context(), f.policy, runner.Options{
		StateDir: filepath.Join(f.work, "state"), Stage: testproc.Build(f.t, "paddock/cmd/paddock-stage"), Warm: warm,
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
	return f.settle(r, f.start(r, argv...))
}

func (f *furniture) settle(r *runner.Runner, run runner.Run) runner.Run {
	f.t.Helper()
	run, err := r.Wait(f.t.Context(), run.ID)
	must(f.t, err)
	if run.State != paddock.Exited || *run.Outcome.Reason.ExitCode != 0 {
		f.t.Fatalf("%s: %+v", run.State, run.Outcome)
	}
	return run
}

// rest lets the pool of supervisors fill up again.
func rest() { <-time.After(30 * time.Millisecond) }

// starts measures the start of a program that does nothing. The kinds take
// turns, so that what else the machine does hits all alike.
func (f *furniture) starts(s *sheet) {
	for range 5 { // not counted
		f.whole(f.warm, "true")
		f.whole(f.cold, "true")
	}
	for range *rounds {
		s.time(bare, f.place, func() { must(f.t, testproc.Command(f.t, "/bin/true").Run()) })
		rest()
		var run runner.Run
		before := time.Now()
		s.time(started, f.place, func() { run = f.start(f.warm, "true") })
		f.settle(f.warm, run)
		s.add(warmRun, f.place, float64(time.Since(before).Microseconds()), "µs")
		s.time(coldRun, f.place, func() { f.whole(f.cold, "true") })
	}
	for range *rounds {
		s.time(busyRun, f.place, func() { f.whole(f.warm, "true") })
	}
}

// commandLine measures whole processes.
func (f *furniture) commandLine(s *sheet) {
	paddock := testproc.Build(f.t, "paddock/cmd/paddock")
	testproc.Build(f.t, "paddock/cmd/paddock-stage") // beside it
	state := filepath.Join(f.work, "state")
	do := func(name string, args ...string) func() {
		return func() {
			cmd := testproc.Command(f.t, name, args...)
			cmd.Dir = filepath.Join(f.work, "root")
			if out, err := cmd.CombinedOutput(); err != nil {
				f.t.Fatalf("%v\n%s", err, out)
			}
		}
	}
	for range *rounds {
		s.time(process, f.place, do("/bin/true"))
		s.time(cliAlone, f.place, do(paddock, "help"))
		s.time(cli, f.place, do(paddock, "run", "--policy", f.policy, "--state", state, "--", "true"))
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

// outputs measures how fast output is kept, in MB a second.
func (f *furniture) outputs(s *sheet) {
	program, size := testproc.Program(f.t, "writer"), strconv.FormatInt(*bytes, 10)
	speed := func(what string, took time.Duration) {
		s.add(what, f.place, float64(*bytes)/1e6/took.Seconds(), "MB/s")
	}
	file := filepath.Join(f.work, "file")
	for range max(1, *rounds/20) {
		for what, words := range map[string][]string{toFile: {size, file}, toDisk: {size, file, "sync"}} {
			start := time.Now()
			must(f.t, testproc.Command(f.t, program, words...).Run())
			speed(what, time.Since(start))
			must(f.t, os.Remove(file))
		}
		start := time.Now()
		out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		must(f.t, err)
		cmd := testproc.Command(f.t, program, size)
		cmd.Stdout = struct{ io.Writer }{out} // or the program would get the file itself
		must(f.t, cmd.Run())
		must(f.t, out.Close())
		speed(toWriter, time.Since(start))
		must(f.t, os.Remove(file))

		start = time.Now()
		run := f.whole(f.warm, "writer", size)
		speed(bankAll, time.Since(start))
		speed(bankEnd, run.Outcome.EndedAt.Sub(start))
		if run.Stdout.Bytes != *bytes || run.Stdout.Digest == "" {
			f.t.Fatalf("kept %+v", run.Stdout)
		}
		kept, err := filepath.Glob(filepath.Join(f.work, "state/runs/*", string(run.ID), "stdout"))
		must(f.t, err)
		for _, name := range kept { // the disk is not ours alone
			must(f.t, os.Remove(name))
		}
	}
}

// memory measures an idle stage, and the processes of ours that a running run
// has: its supervisor and the init in between.
func (f *furniture) memory(s *sheet) {
	rest()
	for _, pid := range children(f.t, os.Getpid()) {
		if nameOf(pid) == "paddock-stage" {
			rss, pss := memoryOf(f.t, pid)
			s.add(idleRSS, f.place, rss, "KiB")
			s.add(idlePSS, f.place, pss, "KiB")
		}
	}
	for range 5 {
		// A pipe's reader that gets nothing: cat of a FIFO nobody writes to.
		run := f.start(f.warm, "cat", f.fifo())
		var rss, pss float64
		for _, pid := range append(children(f.t, run.Supervisor.PID), run.Supervisor.PID) {
			r, p := memoryOf(f.t, pid)
			rss, pss = rss+r, pss+p
		}
		s.add(runRSS, f.place, rss, "KiB")
		s.add(runPSS, f.place, pss, "KiB")
		_, err := f.warm.Kill(f.t.Context(), run.ID, runner.KILL, "measured")
		must(f.t, err)
	}
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
