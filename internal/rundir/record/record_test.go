//go:build linux

package record

import (
	"crypto/sha256"
	"errors"
	"flag"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/rundir/record/durable"
	"paddock/internal/rundir/record/durable/outcome"
	"paddock/internal/rundir/record/durable/sealed"
	"paddock/internal/rundir/record/label"
	"paddock/internal/rundir/record/process"
)

var update = flag.Bool("update", false, "write the files of testdata/v1 anew")

// goldenID is the run of the golden files.
const goldenID = paddock.RunID("r01kb7w4w40abcdefghjkmnpqr0")

func goldenRequest() paddock.Request {
	text := "line one\nline two\n"
	return paddock.Request{
		Principal: alice, Door: paddock.DoorGo, Tied: true, IdempotencyKey: "once <&>",
		Command: paddock.Command{
			Argv: []string{"go", "test", "-run=Ä|\"é\"", "./..."}, Dir: "sub", Label: "tests",
			ReplaceEnv: map[string]string{"CI": "value-of-ci", "A": "value-of-a"},
			Stdin:      paddock.Stdin{Text: &text}, Timeout: paddock.Duration(90 * time.Second), OutputLimit: 4096,
		},
	}
}

func goldenIntent() Intent {
	rec := granted(goldenRequest())
	g := rec.Decision.Grant()
	g.Executable.Digest = paddock.DigestOf([32]byte{7})
	g.Executable.Interpreters = []paddock.Interpreter{{Path: "/usr/bin/env", Argument: "-S go run"}}
	g.Rule = &paddock.Position{File: "/etc/paddock/policy.yaml", Line: 9, Column: 7}
	g.Limits.OpenFiles = 1024
	rec.Decision.Gates = paddock.AnswersOf(paddock.GateResult{Gate: paddock.GateArgv, Verdict: paddock.Pass, Detail: "4 words"})
	return rec
}

func goldenStarted() Started {
	return Started{
		Supervisor: paddock.Process{PID: 4711, StartTicks: 123456, BootID: "0b5e3c1a-0000-4000-8000-000000000001"},
		At:         epoch.Add(time.Second), LeaderPID: 4712, Isolation: paddock.PIDNamespace, Tree: paddock.TreeKernel,
		Cgroup: "scope", StageDigest: paddock.DigestOf([32]byte{9}), Protocol: 1,
	}
}

func goldenOutcome() paddock.Outcome {
	o := exited()
	o.State = paddock.Killed
	o.Reason = paddock.Reason{Kind: paddock.ReasonKill, Signal: "SIGTERM", By: "alice", Why: "enough", Evidence: &paddock.Evidence{
		SeenAt: epoch, BootIDThen: "then", BootIDNow: "now", Supervisor: &paddock.Process{PID: 4711}, Note: "as found",
	}}
	o.Leftovers, o.Survivors, o.Stdout.Dropped = 2, 1, 77
	return o
}

// golden makes the golden run out of the files in testdata/v1, or these out of it.
func golden(t testing.TB) *Dir {
	t.Helper()
	from := filepath.Join("testdata", "v1")
	if *update {
		files, err := Seal(goldenID, goldenIntent())
		if err != nil {
			t.Fatal(err)
		}
		for name, v := range map[string]any{
			"started.json": startedFile{durable.Version, goldenStarted()}, "outcome.json": outcome.File{Version: durable.Version, Outcome: goldenOutcome()},
		} {
			b, err := durable.EncodeJSON(v, true)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, File{name, b})
		}
		for _, f := range files {
			text := strings.ReplaceAll(string(f.Data), process.BootID(), "boot-of-the-golden-run")
			if f.Name == "token" {
				text = strings.Repeat("0a", tokenBytes) + "\n"
			}
			write(t, filepath.Join(from, f.Name), text)
		}
	}
	to := filepath.Join(t.TempDir(), string(goldenID))
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	d, err := Open(to)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Version 1 must be readable for ever, and what is written must not drift.
func TestGoldenFiles(t *testing.T) {
	t.Parallel()
	d := golden(t)
	sealed, err := d.Sealed()
	if err != nil {
		t.Fatal(err)
	}
	rec := goldenIntent()
	want := Sealed{
		ID: goldenID, Request: rec.Request, RequestDigest: rec.Request.Digest(), Decision: rec.Decision, CreatedAt: epoch,
		EnvironmentNames: []string{"A", "CI"}, ReplacesEnvironment: true, BootID: "boot-of-the-golden-run",
		Stdin: &paddock.StreamSummary{Bytes: 18, Digest: paddock.DigestOf(sha256.Sum256([]byte("line one\nline two\n")))},
	}
	want.Request.Command.ReplaceEnv, want.Request.Command.Stdin.Text, want.Decision.Grant().Environment = nil, nil, nil
	if diff := cmp.Diff(want, sealed); diff != "" {
		t.Errorf("Sealed (-want +got):\n%s", diff)
	}
	started, err := d.Started()
	if diff := cmp.Diff(goldenStarted(), *started); diff != "" || err != nil {
		t.Errorf("Started: %v (-want +got):\n%s", err, diff)
	}
	outcome, err := d.Outcome()
	if diff := cmp.Diff(goldenOutcome(), *outcome); diff != "" || err != nil {
		t.Errorf("Outcome: %v (-want +got):\n%s", err, diff)
	}
	if token, err := d.Token(); err != nil || token != strings.Repeat("0a", tokenBytes) {
		t.Errorf("Token = %q, %v", token, err)
	}
	files, err := Seal(goldenID, goldenIntent())
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 5 {
		t.Errorf("%d files are sealed", len(files))
	}
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join("testdata", "v1", f.Name))
		if err != nil {
			t.Error(err)
		}
		got := strings.ReplaceAll(string(f.Data), process.BootID(), "boot-of-the-golden-run")
		if diff := cmp.Diff(string(b), got); diff != "" && f.Name != "token" {
			t.Errorf("%s has drifted: readers of version 1 would meet something else (-want +got):\n%s", f.Name, diff)
		}
	}
}

func TestRecordAtEachStage(t *testing.T) {
	t.Parallel()
	d := prepare(t, newID(t, 0), granted(goldenRequest()))
	final := filepath.Join(t.TempDir(), string(d.ID()))
	if err := Move(d, final); err != nil {
		t.Fatal(err)
	}
	reader, err := Open(final) // as another process has it
	if err != nil {
		t.Fatal(err)
	}
	g := granted(goldenRequest()).Decision.Grant()
	want := paddock.Run{
		ID: d.ID(), State: paddock.Starting, Label: "tests", Argv: goldenRequest().Command.Argv, Dir: g.Dir,
		Principal: alice, Door: paddock.DoorGo, Tied: true, CreatedAt: epoch, Executable: g.Executable.Path, Limits: g.Limits,
		Containment: paddock.Off, PolicyDigest: paddock.DigestOf([32]byte{1}), RequestDigest: goldenRequest().Digest(),
	}
	check := func(stage string) {
		t.Helper()
		got, err := reader.Record(epoch.Add(11 * time.Second))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", stage, err, diff)
		}
	}
	check("made")
	started := goldenStarted()
	if err := d.WriteStarted(started); err != nil {
		t.Fatal(err)
	}
	want.State, want.StartedAt, want.Duration, want.Supervisor = paddock.Running, &started.At, paddock.Duration(10*time.Second), &started.Supervisor
	want.Isolation, want.Tree, want.Cgroup = paddock.PIDNamespace, paddock.TreeKernel, "scope"
	want.Silent = paddock.Duration(10 * time.Second) // since it was started
	check("started")
	write(t, d.file("stdout"), "hello")
	write(t, d.file("stderr"), "you")
	for name, after := range map[string]time.Duration{"stdout": 4 * time.Second, "stderr": 9 * time.Second} {
		if err := os.Chtimes(d.file(name), epoch, epoch.Add(after)); err != nil {
			t.Fatal(err)
		}
	}
	want.Stdout.Bytes, want.Stderr.Bytes = 5, 3
	want.Silent = paddock.Duration(2 * time.Second) // since it printed last
	check("printing")
	o := exited()
	if first, err := d.PublishOutcome(o); err != nil || !first {
		t.Fatalf("PublishOutcome = %v, %v", first, err)
	}
	want.Silent = 0
	want.State, want.Outcome, want.Stdout, want.Stderr, want.Duration = o.State, &o, o.Stdout, o.Stderr, paddock.Duration(2*time.Second)
	check("settled")
	if f, err := reader.OpenStdin(); err != nil {
		t.Error(err)
	} else if b, err := io.ReadAll(f); string(b) != "line one\nline two\n" || errors.Join(err, f.Close()) != nil {
		t.Errorf("stdin = %q, %v", b, err)
	}
}

// Nothing secret is on the disk but what the program is to read.
func TestNoValuesAreWritten(t *testing.T) {
	t.Parallel()
	req := goldenRequest()
	req.Command.ReplaceEnv, req.Command.Env = nil, map[string]string{"CI": "value-of-ci"}
	for i, rec := range []Intent{granted(goldenRequest()), granted(req)} {
		d := prepare(t, newID(t, i), rec)
		for _, name := range names(t, d.Path()) {
			b, err := os.ReadFile(d.file(name))
			if err != nil {
				t.Fatal(err)
			}
			for _, secret := range []string{"value-of", "grant-value", "line one"} {
				if strings.Contains(string(b), secret) && name != "stdin" {
					t.Errorf("%s holds %q", name, secret)
				}
			}
		}
		if sealed, err := d.Sealed(); err != nil || len(sealed.EnvironmentNames) != 2-i || sealed.ReplacesEnvironment != (i == 0) {
			t.Errorf("Sealed = %v, %v", sealed, err)
		}
		// The caller's request is its own and stays as it was.
		if rec.Request.Command.Stdin.Text == nil || len(rec.Request.Command.EnvironmentNames()) != 2-i {
			t.Error("Prepare changed the request that it was given")
		}
		if err := d.Abandon(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPrepareRefuses(t *testing.T) {
	t.Parallel()
	tmp, id := t.TempDir(), newID(t, 0)
	late, err := paddock.NewRunID(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		id   paddock.RunID
		edit func(*Intent)
		want string
	}{
		{"no id", "", func(*Intent) {}, "not a run id"},
		{"an id with a path", "../../../../../../tmp/xxxxxx", func(*Intent) {}, "not a run id"},
		{"an id past the year 9999", late, func(*Intent) {}, "9999"},
		{"nobody", id, func(r *Intent) { *r = intent(paddock.Principal{}) }, "nobody asks"},
		{"a refused request", id, func(r *Intent) { r.Decision.Effect = paddock.Deny }, `"deny"`},
		{"an undecided request", id, func(r *Intent) { r.Decision = paddock.Decision{} }, "not to allow"},
		{"no grant", id, func(r *Intent) { r.Decision.Granted = paddock.Granted{} }, "not to allow"},
		{"another request's decision", id, func(r *Intent) { r.Request.Command.Dir = "/elsewhere" }, "another request"},
		{"bad UTF-8", id, func(r *Intent) { *r = intent(alice, "go\xff") }, "UTF-8"},
		{"more than a program can be given", id, func(r *Intent) {
			r.Request.Command.Argv = []string{"go", strings.Repeat("x", maxArgv)}
		}, "bytes of arguments"},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec := intent(alice)
			c.edit(&rec)
			d, err := Prepare(tmp, c.id, rec, unwatched)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Prepare = %v, %v, want %q", d, err, c.want)
			}
		})
	}
	if left := names(t, tmp); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

func TestOutcomeFirstWins(t *testing.T) {
	t.Parallel()
	d := prepare(t, newID(t, 0), intent(alice))
	if o, err := d.Outcome(); o != nil || err != nil {
		t.Errorf("Outcome before the end = %v, %v", o, err)
	}
	if _, err := d.PublishOutcome(paddock.Outcome{State: paddock.Running}); err == nil {
		t.Error("a run settled as running")
	}
	const n = 16
	var wg sync.WaitGroup
	winners := make(chan int, n)
	for i := range n {
		wg.Go(func() {
			o := exited()
			o.Leftovers = i
			if first, err := d.PublishOutcome(o); err != nil {
				t.Error(err)
			} else if first {
				winners <- i
			}
			if o, err := d.Outcome(); err != nil || o == nil { // also after losing it is there
				t.Errorf("Outcome = %v, %v", o, err)
			}
		})
	}
	wg.Wait()
	close(winners)
	if len(winners) != 1 {
		t.Fatalf("%d outcomes were first", len(winners))
	}
	if o, err := d.Outcome(); err != nil || o.Leftovers != <-winners {
		t.Errorf("the outcome isn't the winner's: %v, %v", o, err)
	}
	for _, name := range names(t, d.Path()) {
		if strings.HasPrefix(name, durable.TempPrefix) {
			t.Errorf("left behind: %s", name)
		}
	}
}

// An error's text with a stray byte doesn't keep the outcome from being written.
func TestOutcomeWithBadText(t *testing.T) {
	t.Parallel()
	d := prepare(t, newID(t, 0), intent(alice))
	o := exited()
	o.Reason.Detail = "open a\xffb: no such file"
	if first, err := d.PublishOutcome(o); !first || err != nil {
		t.Fatalf("PublishOutcome = %v, %v", first, err)
	}
	if got, err := d.Outcome(); err != nil || got.Reason.Detail != "open a\uFFFDb: no such file" {
		t.Errorf("Outcome = %v, %v", got, err)
	}
}

// A file that isn't what we wrote is an error that names it: never a wait, a
// crash or an empty answer.
func TestHostileFiles(t *testing.T) {
	t.Parallel()
	put := func(text string) func(*testing.T, string) {
		return func(t *testing.T, name string) { write(t, name, text) }
	}
	damages := map[string]func(*testing.T, string){
		"empty":          put(""),
		"torn":           func(t *testing.T, name string) { truncate(t, name) },
		"not JSON":       put("\x00\x01"),
		"null":           put("null"),
		"an array":       put("[]"),
		"no version":     put("{}"),
		"version 0":      put(`{"version":0}`),
		"newer":          put(`{"version":2,"novelty":true}`),
		"unknown name":   put(`{"version":1,"novelty":true}`),
		"a doubled name": put(`{"version":1,"version":1}`),
		"another case":   put(`{"Version":1}`),
		"wrong type":     put(`{"version":"1"}`),
		"two values":     put(`{"version":1}{"version":1}`),
		"bad UTF-8":      put("{\"version\":1,\"id\":\"\xff\"}"),
		"very deep":      put(strings.Repeat(`{"version":`, 1<<20)),
		"very long":      func(t *testing.T, name string) { sparse(t, name, 65<<20) },
		"a fifo": func(t *testing.T, name string) {
			replace(t, name, func() error { return unix.Mkfifo(name, 0o600) })
		},
		"a link": func(t *testing.T, name string) {
			replace(t, name, func() error { return os.Symlink("/dev/zero", name) })
		},
		"a directory": func(t *testing.T, name string) {
			replace(t, name, func() error { return os.Mkdir(name, 0o700) })
		},
	}
	for damage, do := range damages {
		for _, file := range []string{"request.json", "decision.json", "started.json", "outcome.json"} {
			t.Run(file+"/"+damage, func(t *testing.T) {
				t.Parallel()
				d := golden(t)
				name := d.file(file)
				do(t, name)
				run, err := d.Record(clock())
				if err == nil || !strings.Contains(err.Error(), name) {
					t.Errorf("Record = %v, %v, want an error that names the file", run.State, err)
				}
				if damage == "newer" && !strings.Contains(err.Error(), "use a newer one") {
					t.Errorf("%v doesn't say what to do", err)
				}
			})
		}
	}
}

func truncate(t *testing.T, name string) {
	t.Helper()
	info, err := os.Stat(name)
	if err == nil {
		err = os.Truncate(name, info.Size()/2)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func sparse(t *testing.T, name string, size int64) {
	t.Helper()
	if err := os.Truncate(name, size); err != nil {
		t.Fatal(err)
	}
}

func replace(t *testing.T, name string, with func() error) {
	t.Helper()
	if err := errors.Join(os.Remove(name), with()); err != nil {
		t.Fatal(err)
	}
}

func TestHostileTokenAndStreams(t *testing.T) {
	t.Parallel()
	d := golden(t)
	for _, text := range []string{"", "\n", "zz", strings.Repeat("0a", tokenBytes-1), strings.Repeat("0a", 1000)} {
		write(t, d.file("token"), text)
		if token, err := d.Token(); err == nil {
			t.Errorf("Token = %q of %q", token, text)
		}
	}
	if _, err := d.OpenStdin(); err != nil {
		t.Error(err)
	}
	replace(t, d.file("stdin"), func() error { return unix.Mkfifo(d.file("stdin"), 0o600) })
	if f, err := d.OpenStdin(); err == nil {
		f.Close()
		t.Error("a fifo was opened as stdin")
	}
	replace(t, d.file("stdin"), func() error { return nil })
	if _, err := d.OpenStdin(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("stdin that wasn't given: %v", err)
	}
	replace(t, d.file("outcome.json"), func() error { return os.Symlink("request.json", d.file("stdout")) })
	if _, err := d.Record(clock()); err == nil || !strings.Contains(err.Error(), "stdout") {
		t.Errorf("a link as stdout: %v", err)
	}
	moved := filepath.Join(filepath.Dir(d.Path()), string(newID(t, 0)))
	if err := os.Rename(d.Path(), moved); err != nil {
		t.Fatal(err)
	}
	if other, err := Open(moved); err != nil {
		t.Error(err)
	} else if _, err := other.Sealed(); err == nil || !strings.Contains(err.Error(), "of another run") {
		t.Errorf("a run under another's id: %v", err)
	}
}

func TestFirstWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ argv, want string }{
		{"go vet", "go vet"},
		{"printf a\nb\x1b[31m", "printf a b [31m"},
		{"\xff", "\uFFFD"},
		{strings.Repeat("é", 60), strings.Repeat("é", 38) + "…"},
	} {
		got := label.Of(strings.Split(c.argv, "|"))
		if got != c.want || len(got) > 80 || !utf8.ValidString(got) {
			t.Errorf("label.Of(%q) = %q, want %q", c.argv, got, c.want)
		}
	}
}

// A record file that is accepted is written again as the same value.
func FuzzRecordFiles(f *testing.F) {
	for _, name := range []string{"request.json", "decision.json", "claim.json", "started.json", "outcome.json"} {
		b, err := os.ReadFile(filepath.Join("testdata", "v1", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		fuzzOne[sealed.Request](t, b)
		fuzzOne[sealed.Decision](t, b)
		fuzzOne[Entry](t, b)
		fuzzOne[startedFile](t, b)
		fuzzOne[outcome.File](t, b)
	})
}

func fuzzOne[T any, P interface {
	*T
	durable.Versioned
}](t *testing.T, b []byte) {
	var v, again T
	if durable.DecodeJSON(b, P(&v)) != nil {
		return
	}
	out, err := durable.EncodeJSON(v, true)
	if err != nil {
		return // a time or a text that can be read and not written
	}
	if err := durable.DecodeJSON(out, P(&again)); err != nil {
		t.Fatalf("%s was accepted and written as %s: %v", b, out, err)
	}
	final, err := durable.EncodeJSON(again, true)
	if err != nil || string(final) != string(out) {
		t.Fatalf("%s\nbecame %s, %v", out, final, err)
	}
}

// A run's own supervisor is believed how it ended, without a look; and what was written, or
// read by who remembers, isn't read again.
func TestToldIsBelieved(t *testing.T) {
	t.Parallel()
	d := &Dir{path: t.TempDir()}
	if d.Tell(paddock.Outcome{State: paddock.Running}); d.Told() {
		t.Error("a run that goes on is over")
	}
	d.Tell(paddock.Outcome{State: paddock.Exited})
	o, err := d.Outcome()
	if err != nil || o == nil || o.State != paddock.Exited || !d.Told() {
		t.Fatalf("%v, %v", o, err)
	}
	o.State = paddock.Lost // it is whose who asked
	if o, err := d.Outcome(); err != nil || o.State != paddock.Exited {
		t.Errorf("%v, %v", o, err)
	}
	reads := &Dir{path: d.path}
	if err := d.WriteStarted(goldenStarted()); err != nil {
		t.Fatal(err)
	}
	if s, err := reads.Started(); err != nil || s == nil {
		t.Fatalf("%v, %v", s, err)
	}
	if err := os.Remove(d.file("started.json")); err != nil {
		t.Fatal(err)
	}
	if s, err := d.Started(); err != nil || s == nil {
		t.Errorf("who wrote it has %v, %v", s, err)
	}
	if s, err := reads.Started(); err != nil || s != nil {
		t.Errorf("who doesn't remember has %v, %v", s, err)
	}
}
