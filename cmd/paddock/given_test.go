//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/contain"
	"paddock/internal/redact"
	"paddock/internal/testproc"
)

// given prepares y for runs of user uid, whose sh gets theSecret as API.
func (y *yard) given(uid int, rest string) (command func(args ...string) *testproc.Cmd) {
	y.t.Helper()
	command = func(args ...string) *testproc.Cmd {
		cmd := y.command(args...)
		if uid != 0 {
			testproc.AsUser(y.t, cmd, uid)
		}
		return cmd
	}
	level := paddock.Off
	if slices.Contains(contain.Probe().Levels(), paddock.Full) {
		level = paddock.Full
	}
	key, policy, proj := filepath.Join(y.work, "key"), filepath.Join(y.work, "policy.yaml"), filepath.Join(y.work, "proj")
	text := fmt.Sprintf(`version: 1
roots: [{path: %q}]
executables:
  - {name: sh, path: /bin/sh, args: any}
  - {name: cat, path: /bin/cat, args: any}
secrets: {API: {file: %q, env_for: [sh]}}
environment: {accept: {GUESS: "<re:.*>"}}
containment: {require: %s}
%s`, proj, key, level, rest)
	err := errors.Join(os.WriteFile(key, []byte(theSecret+"\n"), 0o600), os.WriteFile(policy, []byte(text), 0o600))
	if os.Geteuid() == 0 {
		for _, path := range []string{key, policy, proj, filepath.Join(y.work, "home")} {
			err = errors.Join(err, os.Chown(path, uid, uid))
		}
	}
	if err != nil {
		y.t.Fatal(err)
	}
	return command
}

// spilling prints the secret in all sorts of ways, and leaves it in a file.
const spilling = `echo "plain $API"; echo "error $API" >&2; printf %s "x$API" | base64; printf %s "$API" | base64 | fold -w 9; printf %s "$API" > spilled; printf '\033[1msk-7Qh2vXm9\033[0m\n'; echo "last of it: $API"`

// quiet fails where text has the secret in it, in any form.
func quiet(t *testing.T, what string, text []byte) {
	t.Helper()
	if found := redact.Compile(theSecret).Find(text); len(found) > 0 {
		t.Errorf("%s: the secret is seen at %v in\n%s", what, found, text)
	}
}

// keptQuiet fails where a file of the state directory has the secret in it, but for
// the streams as they were printed.
func (y *yard) keptQuiet(raw bool) {
	y.t.Helper()
	streams := 0
	err := filepath.WalkDir(filepath.Join(y.work, "home"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if name := filepath.Base(path); name == "stdout" || name == "stderr" {
			streams++
			if raw {
				return err
			}
		}
		quiet(y.t, path, text)
		return err
	})
	if err != nil || streams == 0 {
		y.t.Errorf("looked in the wrong place: %v", err)
	}
}

func TestASecretIsGivenAndNeverSeen(t *testing.T) {
	t.Parallel()
	for name, uid := range users() {
		for _, when := range []paddock.Redaction{paddock.RedactShown, paddock.RedactStored} {
			if os.Geteuid() == 0 && (uid == 0) != (when == paddock.RedactShown) {
				continue // each user and each way once: there are many questions
			}
			t.Run(name+", "+string(when), func(t *testing.T) {
				t.Parallel()
				y := newYard(t)
				y.t = t
				command := y.given(uid, "redact: "+string(when)+"\n")
				y.spill(command, when)
				y.keptQuiet(when == paddock.RedactShown)
			})
		}
	}
}

// spill has the secret printed, and asks for it by every verb.
func (y *yard) spill(command func(args ...string) *testproc.Cmd, when paddock.Redaction) {
	y.t.Helper()
	say := func(status int, args ...string) string {
		y.t.Helper()
		out, err := command(args...).CombinedOutput()
		wantStatus(y.t, err, status)
		if !slices.Contains(args, "--unmasked") {
			quiet(y.t, strings.Join(args, " "), out)
		}
		return string(out)
	}
	stars := strings.Repeat("*", len(theSecret))
	out := say(0, "run", "--", "sh", "-c", spilling)
	if !strings.Contains(out, "plain "+stars+"\n") || !strings.Contains(out, "error "+stars+"\n") || !strings.HasSuffix(out, stars+"\n") {
		y.t.Errorf("it was printed as\n%s", out)
	}
	d := lastRun(y.t, command)
	id := string(d.Run.ID)
	if !slices.Equal(d.Decision.Grant().Secrets, []string{"API"}) || d.Run.Outcome.Stdout.Masked == 0 || d.Run.Outcome.Stderr.Masked != int64(len(theSecret)) {
		y.t.Errorf("%v, %+v", d.Decision.Grant().Secrets, d.Run.Outcome)
	}
	if text := say(0, "output", id, "--unmasked"); strings.Contains(text, "plain "+theSecret) != (when == paddock.RedactShown) {
		y.t.Errorf("%s, without masks:\n%s", when, text)
	}
	for _, args := range [][]string{
		{"output", id}, {"output", id, "--stream", "combined"}, {"output", id, "--raw"}, {"output", id, "--clean"}, {"output", id, "--json"}, {"output", id, "--json", "--raw"},
		{"output", id, "--tail", "1"}, {"output", id, "--grep", "plain"}, {"output", id, "--offset", "10", "--limit", "20"}, {"logs", id}, {"logs", id, "--json"},
		{"show", id}, {"show", id, "--json"}, {"status", id}, {"status", id, "--json"}, {"ps", "--all", "--json"}, {"wait", id}, {"verify", id}, {"audit", "list", "--json"}, {"audit", "export"},
		{"policy", "check"}, {"policy", "explain", "--", "sh", "-c", "x"}, {"policy", "explain", "--json", "--", "sh", "-c", "x"},
		// Another program that prints what the first one left, or is fed with what it printed.
		{"run", "--", "cat", "spilled"}, {"run", "--stdin-run", id, "--", "cat"}, {"run", "--stdin-file", "spilled", "--", "cat"},
	} {
		say(0, args...)
	}
	// A search that is told nothing of what is hidden is no oracle.
	for _, grep := range []string{"sk-7Qh2vXm9T", "7Qh2.*Ye"} {
		if n := say(0, "output", id, "--grep", grep, "--count"); n != "0\n" {
			y.t.Errorf("%q is found %s times", grep, n)
		}
	}
	for from := range 3 { // a page may begin and end within it
		say(0, "output", id, "--offset", fmt.Sprint(4+9*from), "--limit", "8")
	}
	for _, guess := range []string{theSecret, "token=" + theSecret + ";", "c2stN1FoMnZYbTlUZkx3NFJ6S2M4WWU="} {
		text := sayRaw(y.t, command, desk.ExitRefused, "run", "--env", "GUESS="+guess, "--", "cat", "spilled")
		if !strings.Contains(text, "secret_in_environment") || !strings.Contains(text, "GUESS, which") || strings.Contains(text, guess) {
			y.t.Errorf("%s", text)
		}
	}
}

func sayRaw(t *testing.T, command func(args ...string) *testproc.Cmd, status int, args ...string) string {
	t.Helper()
	out, err := command(args...).CombinedOutput()
	wantStatus(t, err, status)
	return string(out)
}

// An agent gets nothing of it, by any way of asking.
func TestAnAgentIsShownNoSecret(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	y.given(os.Geteuid(), "")
	a := y.asker()
	var task struct {
		TaskID string `json:"taskId"`
		State  string `json:"state"`
	}
	tell := func(tool string, args map[string]any) string {
		t.Helper()
		var all json.RawMessage
		a.call(tool, args, &all)
		quiet(t, tool, all)
		if err := json.Unmarshal(all, &task); err != nil {
			t.Fatal(err)
		}
		return string(all)
	}
	tell("run_command_bg", map[string]any{"argv": []string{"sh", "-c", spilling}})
	id := task.TaskID
	for task.State = ""; task.State != "exited"; {
		tell("command_status", map[string]any{"taskId": id, "waitMs": 20_000})
	}
	for _, args := range []map[string]any{{}, {"stream": "stderr"}, {"raw": true}, {"offset": 8}, {"offset": 7, "limit": 12}} {
		args["taskId"] = id
		tell("command_output", args)
	}
	tell("command_list", map[string]any{})
	if err := a.in.Close(); err != nil {
		t.Error(err)
	}
	if err := a.cmd.Wait(); err != nil {
		t.Error(err)
	}
	y.keptQuiet(true)
}

// What can't be given isn't, and says why without saying what.
func TestASecretThatCannotBeGiven(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	command := y.given(os.Geteuid(), "")
	key := filepath.Join(y.work, "key")
	for want, text := range map[string]string{
		"fewer than 8 bytes": "sk-7Qh2", "a variable can't carry": theSecret + "\x00" + theSecret, "what isn't UTF-8": theSecret + "\xff", "is empty": "\n", "more than 8192 bytes": strings.Repeat("sk-7Qh2v", 1100),
	} {
		if err := os.WriteFile(key, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out := sayRaw(t, command, desk.ExitRefused, "run", "--", "sh", "-c", "echo ran")
		if !strings.Contains(out, want) || !strings.Contains(out, "secret_unavailable") || strings.Contains(out, "sk-7") || strings.HasPrefix(out, "ran") {
			t.Errorf("%s: %s", want, out)
		}
	}
	// Others run all the same.
	if out := sayRaw(t, command, 0, "run", "--", "cat", "/dev/null"); out != "" {
		t.Errorf("%s", out)
	}
}

// A supervisor that is killed leaves nothing that is shown and shouldn't be.
func TestACrashShowsNoSecret(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	command := y.given(os.Geteuid(), "")
	id := strings.TrimSpace(sayRaw(t, command, 0, "run", "-d", "--", "sh", "-c", `echo "it is $API"; exec sleep 600`))
	for got := ""; !strings.Contains(got, "it is"); {
		got = sayRaw(t, command, 0, "output", id, "--wait", "20s", "--limit", "100")
		quiet(t, "while it goes on", []byte(got))
	}
	if err := syscall.Kill(lastRun(t, command).Run.Supervisor.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	out, err := command("wait", id).CombinedOutput()
	if err == nil {
		t.Errorf("it isn't lost:\n%s", out)
	}
	quiet(t, "wait", out)
	if got := sayRaw(t, command, 0, "output", id); got != "it is "+strings.Repeat("*", len(theSecret))+"\n" {
		t.Errorf("after the crash: %q", got)
	}
	// Without the places of secrets, nothing is shown.
	masks, err := filepath.Glob(filepath.Join(y.work, "home/.local/state/paddock/runs/*", id, "stdout.masks"))
	if err != nil || len(masks) != 1 {
		t.Fatal(masks, err)
	}
	if err := os.Truncate(masks[0], 3); err != nil {
		t.Fatal(err)
	}
	got := sayRaw(t, command, desk.ExitFault, "output", id)
	quiet(t, "with masks that are damaged", []byte(got))
	if !strings.Contains(got, "nothing is shown") {
		t.Errorf("%s", got)
	}
}
