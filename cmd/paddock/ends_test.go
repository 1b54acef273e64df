//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"paddock"

	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/app"
	"paddock/internal/executor"
	"paddock/internal/testproc"
)

// A yard is a place to run the real thing in.
type yard struct {
	t       *testing.T
	paddock string
	work    string
}

func newYard(t *testing.T) *yard {
	t.Helper()
	work, err := os.MkdirTemp("", "paddock-yard-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(work); err != nil {
			t.Error(err)
		}
	})
	y := &yard{t: t, paddock: testproc.Program(t, "paddock"), work: work}
	testproc.Build(t, "paddock/cmd/paddock-stage")
	if err := furnish(y.work, testproc.Program(t, "prog")); err != nil {
		t.Fatal(err)
	}
	return y
}

// command is paddock in the yard's project.
func (y *yard) command(args ...string) *testproc.Cmd {
	y.t.Helper()
	cmd := testproc.Command(y.t, y.paddock, args...)
	cmd.Dir = filepath.Join(y.work, "proj")
	cmd.Env = []string{"HOME=" + filepath.Join(y.work, "home"), "PADDOCK_POLICY=" + filepath.Join(y.work, "policy.yaml"), "PATH=/usr/bin:/bin"}
	return cmd
}

func (y *yard) output(args ...string) string {
	y.t.Helper()
	out, err := y.command(args...).CombinedOutput()
	if err != nil {
		y.t.Fatalf("paddock %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// foreground starts a run and returns when its program is there.
func (y *yard) foreground(args ...string) (cmd *testproc.Cmd, stdout io.ReadCloser, stderr *strings.Builder) {
	y.t.Helper()
	cmd = y.command(append([]string{"run", "--"}, args...)...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		y.t.Fatal(err)
	}
	stderr = &strings.Builder{}
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		y.t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if line != "ready\n" {
		y.t.Fatalf("the program says %q (%v), want ready\n%s", line, err, stderr)
	}
	return cmd, stdout, stderr
}

func wantStatus(t *testing.T, err error, want int) {
	t.Helper()
	got := 0
	var exit *testproc.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("exit status %d, want %d", got, want)
	}
}

func TestSignalAsksTheRunToEnd(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(s.String(), func(t *testing.T) {
			cmd, stdout, stderr := y.foreground("prog", "polite")
			if err := cmd.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
			rest, err := io.ReadAll(stdout)
			if err != nil {
				t.Fatal(err)
			}
			wantStatus(t, cmd.Wait(), desk.ExitKilled)
			if want := s.String() + "\n"; string(rest) != want {
				t.Errorf("the program was asked by %q, want %q", rest, want)
			}
			if !strings.Contains(stderr.String(), "note: killed on request") {
				t.Errorf("standard error says %q", stderr)
			}
		})
	}
}

func TestSecondSignalKills(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	cmd, stdout, _ := y.foreground("prog", "stubborn")
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} { // two of a kind could become one
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := io.Copy(io.Discard, stdout); err != nil {
		t.Fatal(err)
	}
	wantStatus(t, cmd.Wait(), desk.ExitKilled)
	var list app.Listing
	if err := json.Unmarshal([]byte(y.output("ps", "--all", "--json")), &list); err != nil || len(list.Runs) != 1 {
		t.Fatalf("%v, %d runs", err, len(list.Runs))
	}
	r := list.Runs[0]
	if r.State != paddock.Killed || r.Outcome.Survivors != 0 || time.Duration(r.Duration) >= executor.Grace {
		t.Errorf("%s after %v with %d survivors; want it killed before the grace period is over", r.State, r.Duration, r.Outcome.Survivors)
	}
}

func TestForegroundRunEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	cmd, _, _ := y.foreground("prog", "stubborn")
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	wantStatus(t, cmd.Wait(), -1)
	id := newest(t, y)
	out, err := y.command("wait", id).CombinedOutput()
	wantStatus(t, err, desk.ExitKilled)
	if !strings.Contains(string(out), "killed because its caller was gone") {
		t.Errorf("wait says %s", out)
	}
}

// newest is the id of the run that was made last.
func newest(t *testing.T, y *yard) string {
	t.Helper()
	_, after, ok := strings.Cut(y.output("ps", "--all", "--json", "--limit", "1"), `"id":"`)
	if !ok {
		t.Fatal("there is no run")
	}
	id, _, _ := strings.Cut(after, `"`)
	return id
}

func TestBrokenStdoutEndsTheFollowingOnly(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	gone := filepath.Join(y.work, "gone")
	cmd, stdout, stderr := y.foreground("prog", "until", gone)
	if err := stdout.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(gone, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wantStatus(t, cmd.Wait(), 0)
	if stderr.Len() > 0 {
		t.Errorf("standard error says %q; a reader that left wants nothing", stderr)
	}
	if got := y.output("output", newest(t, y)); got != "ready\ndone\n" {
		t.Errorf("kept %q, want all of it", got)
	}
}

func TestFullStdoutIsSaid(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		testproc.Skip(t, "there is no /dev/full: "+err.Error())
	}
	defer full.Close()
	var stderr strings.Builder
	cmd := y.command("run", "--", "prog", "say", "something")
	cmd.Stdout, cmd.Stderr = full, &stderr
	wantStatus(t, cmd.Run(), desk.ExitFault)
	if !strings.Contains(stderr.String(), "stdout could not be passed on whole") || !strings.Contains(stderr.String(), "paddock output r") {
		t.Errorf("standard error says %q", &stderr)
	}
}

// Two users share a machine: neither sees the other's runs, and neither is in
// the other's way.
func TestTwoUsers(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	if got := y.output("run", "--", "prog", "both"); got == "" {
		t.Error("the first user's run printed nothing")
	}
	state := filepath.Join(y.work, "home", ".local", "state", "paddock")
	other := y.command("ps", "--all", "--state", state)
	testproc.AsUser(t, other, testproc.Nobody)
	out, err := other.CombinedOutput()
	wantStatus(t, err, desk.ExitFault)
	if strings.Contains(string(out), "prog") {
		t.Errorf("another user sees the runs: %s", out)
	}
	// The other's own state, in a place of their own, under a policy of root's.
	home := filepath.Join(y.work, "theirs")
	if err := errors.Join(os.Mkdir(home, 0o700), os.Chown(home, testproc.Nobody, testproc.Nobody), os.Chmod(filepath.Join(y.work, "policy.yaml"), 0o644)); err != nil {
		t.Fatal(err)
	}
	own := y.command("run", "--", "prog", "say", fmt.Sprint(testproc.Nobody))
	own.Env = append(own.Env, "HOME="+home)
	testproc.AsUser(t, own, testproc.Nobody)
	out, err = own.CombinedOutput()
	wantStatus(t, err, 0)
	if string(out) != fmt.Sprintln(testproc.Nobody) {
		t.Errorf("their run printed %q", out)
	}
}

// What holds programs is found out for ordinary users as for root.
func TestDoctorOfAnOrdinaryUser(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	home := filepath.Join(y.work, "theirs")
	if err := errors.Join(os.Mkdir(home, 0o700), os.Chmod(filepath.Join(y.work, "policy.yaml"), 0o644)); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(home, testproc.Nobody, testproc.Nobody); err != nil {
			t.Fatal(err)
		}
	}
	cmd := y.command("doctor", "--json")
	cmd.Env = append(cmd.Env, "HOME="+home)
	testproc.AsUser(t, cmd, testproc.Nobody)
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
	var report struct {
		OK     bool
		Levels []struct {
			Level     paddock.Level
			Available bool
			Broken    int
			Checks    []struct{ Check string }
		}
	}
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatal(err)
	}
	if !report.OK || len(report.Levels) != 3 {
		t.Errorf("it says %s", out)
	}
	for _, l := range report.Levels {
		if l.Available && (l.Broken > 0 || len(l.Checks) < 30) {
			t.Errorf("%s: %d of %d broken", l.Level, l.Broken, len(l.Checks))
		}
		if l.Level == paddock.Full && !l.Available && testproc.MustContain() {
			t.Error("PADDOCK_MUST_CONTAIN=1 and full isn't available")
		}
	}
}
