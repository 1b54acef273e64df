//go:build linux

package mcpserver

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/app"
	"paddock/internal/executor"
	"paddock/internal/mcpserver/answer"
	"paddock/internal/mcpserver/answer/preview"
	"paddock/internal/testproc"
)

const permissive = `version: 1
roots: [{path: ROOT}]
executables:
  - {name: sh, path: /bin/sh, args: any, line_breaks: true}
git: {executable: /usr/bin/git}
limits: {timeout: 2m, output: 10MiB, concurrent: 1000}
containment: {require: off}
`

// A realHouse is everything behind the door as it is in use.
type realHouse struct {
	t    *testing.T
	root string
	app  *app.App
}

func newHouse(t *testing.T) *realHouse {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	h := &realHouse{t: t, root: base + "/root"}
	must(t, os.Mkdir(h.root, 0o755))
	e, err := executor.Open(t.Context(), executor.Config{
		State:  base + "/state",
		Grace:  time.Minute, // who ends a run has its outcome, however busy the machine is
		Policy: executor.PolicyText("policy.yaml", []byte(strings.ReplaceAll(permissive, "ROOT", h.root))),
		Stage:  testproc.Build(t, "paddock/cmd/paddock-stage"),
		Warn:   func(err error) { t.Log("warning:", err) },
	})
	must(t, err)
	h.app = app.New(e)
	t.Cleanup(func() {
		_, err := h.app.KillAll(context.Background(), me, app.KillRequest{Signal: "KILL"})
		if err := errors.Join(err, h.app.Close(), testproc.Unlocked(base+"/state/runs/*/*/lock")); err != nil {
			t.Error(err)
		}
	})
	return h
}

// gate is a pipe in the workspace: a program that reads it waits for open.
func (h *realHouse) gate(name string) (open func()) {
	h.t.Helper()
	must(h.t, unix.Mkfifo(filepath.Join(h.root, name), 0o600))
	return func() {
		h.t.Helper()
		f, err := os.OpenFile(filepath.Join(h.root, name), os.O_WRONLY, 0)
		must(h.t, err)
		must(h.t, f.Close())
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (c *client) sh(line string) answer.Started {
	c.t.Helper()
	return ok[answer.Started](c, "run_command_bg", fmt.Sprintf(`{"argv":["sh","-c",%q]}`, line))
}

func (c *client) settle(id paddock.RunID) answer.Status {
	c.t.Helper()
	for {
		if s := ok[answer.Status](c, "command_status", taskArgs(id, `,"waitMs":45000`)); s.Settled {
			return s
		}
	}
}

// all pages a whole stream back.
func (c *client) all(id paddock.RunID, stream paddock.Stream, limit int) []byte {
	c.t.Helper()
	var got []byte
	for offset, eof := int64(0), false; !eof; {
		page := ok[answer.Page](c, "command_output", taskArgs(id, fmt.Sprintf(`,"stream":%q,"offset":%d,"limit":%d,"raw":true`, stream, offset, limit)))
		b := []byte(page.Content)
		if page.Encoding == "base64" {
			var err error
			b, err = base64.StdEncoding.DecodeString(page.Content)
			must(c.t, err)
		}
		if page.NextOffset <= offset && !page.EOF {
			c.t.Fatalf("no progress at %d: %+v", offset, page)
		}
		got, offset, eof = append(got, b...), page.NextOffset, page.EOF
	}
	return got
}

func digest(b []byte) paddock.Digest { return paddock.DigestOf(sha256.Sum256(b)) }

// Case 1: a start returns before the command ends, and case 5: a long command
// is polled to its end and read meanwhile.
func TestHouseHandleBeforeTheEnd(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	c := connect(t, Config{App: h.app})
	open := h.gate("gate")
	run := c.sh(`echo first; read x < gate; echo second; exit 3`)
	if run.State != paddock.Running || run.StartedAt == nil || run.Cwd != h.root || *run.Running != 1 {
		t.Errorf("handle: %+v", run)
	}
	page := ok[answer.Page](c, "command_output", taskArgs(run.TaskID, `,"waitMs":45000`))
	if page.Content != "first\n" || page.EOF || page.HasMore {
		t.Errorf("meanwhile: %+v", page)
	}
	if s := ok[answer.Status](c, "command_status", taskArgs(run.TaskID, `,"waitMs":1`)); s.Settled || s.ExitCode != nil || s.StdoutDigest != "" || s.TailPreview != "first\n" {
		t.Errorf("meanwhile: %+v", s)
	}
	open()
	s := c.settle(run.TaskID)
	if s.State != paddock.Exited || *s.ExitCode != 3 || s.Error != "" || s.TailPreview != "first\nsecond\n" {
		t.Errorf("at last: %+v", s)
	}
	rest := ok[answer.Page](c, "command_output", taskArgs(run.TaskID, fmt.Sprintf(`,"offset":%d,"waitMs":45000`, page.NextOffset)))
	if rest.Content != "second\n" || !rest.EOF {
		t.Errorf("the rest: %+v", rest)
	}
}

// Case 6: much output is kept whole, pages back equal, and the tail is bounded;
// case 8: what the tool pages is what the verb pages.
func TestHouseMuchOutput(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	c := connect(t, Config{App: h.app})
	run := c.sh(`i=0; while [ $i -lt 3000 ]; do printf '%0990d é漢😀\n' $i; i=$((i+1)); done; printf '\377\000\303' >&2`)
	s := c.settle(run.TaskID)
	if s.StdoutBytes < 3_000_000 || s.StderrBytes != 3 {
		t.Fatalf("%d and %d bytes", s.StdoutBytes, s.StderrBytes)
	}
	if n := len([]rune(s.TailPreview)); n > preview.Most {
		t.Errorf("a preview of %d characters", n)
	}
	for _, limit := range []int{199_999, 65_537} {
		if got := c.all(run.TaskID, paddock.Stdout, limit); int64(len(got)) != s.StdoutBytes || digest(got) != s.StdoutDigest {
			t.Errorf("pages of %d: %d bytes, %s", limit, len(got), digest(got))
		}
	}
	if got := c.all(run.TaskID, paddock.Stderr, 2); !bytes.Equal(got, []byte{0xff, 0, 0xc3}) || digest(got) != s.StderrDigest {
		t.Errorf("stderr: %q", got)
	}
	var text strings.Builder
	for offset, eof := int64(0), false; !eof; {
		page := ok[answer.Page](c, "command_output", taskArgs(run.TaskID, fmt.Sprintf(`,"offset":%d,"limit":77777`, offset)))
		verb, err := h.app.Output(t.Context(), me, run.TaskID, paddock.PageRequest{Stream: paddock.Stdout, Offset: offset, Limit: 77777})
		must(t, err)
		if page.Content != verb.Content || page.NextOffset != verb.NextOffset || page.EOF != verb.EOF {
			t.Fatalf("the tool and the verb differ at %d", offset)
		}
		text.WriteString(page.Content)
		offset, eof = page.NextOffset, page.EOF
	}
	if digest([]byte(text.String())) != s.StdoutDigest {
		t.Error("pages of text don't reassemble")
	}
}

// Case 24: tools refuse and start in-band, and reading clears finished.
func TestHouseRefusesInBand(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	c := connect(t, Config{App: h.app})
	for args, code := range map[string]paddock.Code{
		`{"argv":["go vet ./... && echo done"]}`:              paddock.ShellSyntax,
		`{"argv":["rm","-rf","/"]}`:                           paddock.ExecutableNotAllowed,
		`{"argv":[]}`:                                         paddock.ArgvEmpty,
		`{"argv":["sh","a\u0000b"]}`:                          paddock.ArgvNUL,
		`{"argv":["sh"],"cwd":"/etc"}`:                        paddock.CwdOutsideRoot,
		`{"argv":["sh"],"cwd":"nowhere"}`:                     paddock.CwdMissing,
		`{"argv":["sh"],"timeoutMs":999999999}`:               paddock.LimitExceeded,
		`{"argv":["sh"],"env":{"LD_PRELOAD":"x"}}`:            paddock.EnvironmentNotAllowed,
		`{"argv":["sh"],"stdin":{"file":"/etc/passwd"}}`:      paddock.StdinNotAllowed,
		`{"argv":["sh"` + strings.Repeat(`,"x"`, 9999) + `]}`: paddock.ArgvTooMany,
	} {
		got := no(c, "run_command_bg", args)
		if got.Code != code || got.Message == "" || got.Hint == "" {
			t.Errorf("%.60s: got %+v, want %s", args, got, code)
		}
		if code == paddock.ShellSyntax {
			want := [][]string{{"go", "vet", "./..."}, {"echo", "done"}}
			if got.Suggestion == nil || cmp.Diff(want, got.Suggestion.Argvs) != "" {
				t.Errorf("suggestion: %+v", got.Suggestion)
			}
		}
	}
	run := c.sh(`exit 0`)
	if s := c.settle(run.TaskID); *s.Finished != 0 || *s.Running != 0 {
		t.Errorf("read: %+v", s.Counters)
	}
	other := connect(t, Config{App: h.app, Principal: stranger})
	for _, tool := range []string{"command_status", "command_output", "command_kill"} {
		if got := no(other, tool, taskArgs(run.TaskID, "")); got.Code != paddock.NotFound {
			t.Errorf("%s of a stranger: %+v", tool, got)
		}
	}
	if l := ok[answer.Listing](other, "command_list", `{}`); len(l.Tasks) != 0 {
		t.Errorf("a stranger sees %+v", l.Tasks)
	}
}

// Case 25: a status asked again is looked up again. Also a kill, which ends the
// tree and is told why; a second changes nothing.
func TestHouseStatusIsFresh(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	c := connect(t, Config{App: h.app})
	run := c.sh(`trap "" TERM; echo up; sleep 1000 & wait`)
	ok[answer.Page](c, "command_output", taskArgs(run.TaskID, `,"waitMs":45000`))
	a := ok[answer.Status](c, "command_status", taskArgs(run.TaskID, ""))
	b := ok[answer.Status](c, "command_status", taskArgs(run.TaskID, `,"waitMs":20`))
	if a.Settled || b.Settled || b.DurationMs <= a.DurationMs {
		t.Errorf("first %+v, then %+v", a, b)
	}
	killed := ok[answer.Status](c, "command_kill", taskArgs(run.TaskID, `,"signal":"KILL","reason":"enough"`))
	if killed.State != paddock.Killed || killed.Reason.Why != "enough" || killed.Reason.By != me.ID || killed.TailPreview != "up\n" {
		t.Errorf("killed: %+v", killed)
	}
	again := ok[answer.Status](c, "command_kill", taskArgs(run.TaskID, `,"reason":"again"`))
	if diff := cmp.Diff(killed, again); diff != "" {
		t.Errorf("killed again:\n%s", diff)
	}
}

// The same key finds the same run, over another connection too; and a run
// outlives the connection unless that was to end it.
func TestHouseOutlivesTheConnection(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	open := h.gate("gate")
	first := connect(t, Config{App: h.app})
	const args = `{"argv":["sh","-c","read x < gate; echo late"],"idempotencyKey":"k"}`
	run := ok[answer.Started](first, "run_command_bg", args)
	must(t, first.leave())
	second := connect(t, Config{App: h.app, OnDisconnect: Kill})
	if again := ok[answer.Started](second, "run_command_bg", args); again.TaskID != run.TaskID {
		t.Errorf("the key found %s, want %s", again.TaskID, run.TaskID)
	}
	doomed := second.sh(`sleep 1000`)
	must(t, second.leave())
	third := connect(t, Config{App: h.app})
	if s := ok[answer.Status](third, "command_status", taskArgs(doomed.TaskID, "")); !s.Settled || s.Reason.Kind != paddock.ReasonShutdown {
		t.Errorf("the second's own: %+v", s)
	}
	open()
	if s := third.settle(run.TaskID); *s.ExitCode != 0 || s.TailPreview != "late\n" {
		t.Errorf("the first's: %+v", s)
	}
}

func TestHouseManyAtOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	c := connect(t, Config{App: h.app})
	for i := range 20 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			run := c.sh(fmt.Sprintf(`echo %d; exit %d`, i, i))
			if s := c.settle(run.TaskID); *s.ExitCode != i || s.TailPreview != fmt.Sprintf("%d\n", i) {
				t.Errorf("got %+v", s)
			}
		})
	}
}

// What a command printed, what git printed and a report are read by one tool, by
// whom they belong to.
func TestHouseArtifacts(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/usr/bin/git"); err != nil {
		testproc.Skip(t, "there is no /usr/bin/git")
	}
	h := newHouse(t)
	c := connect(t, Config{App: h.app, Git: func() bool { return true }})
	c.settle(c.sh(`git init -q && git -c user.name=A -c user.email=a@b commit -q --allow-empty -m "the message"`).TaskID)
	log := ok[answer.Git](c, "git_log", `{}`)
	if len(log.Commits) != 1 || log.ArtifactID == "" || !strings.Contains(log.ReadBack, "retrieve_context") {
		t.Fatalf("%+v", log)
	}
	report, err := h.app.Bank(t.Context(), me, me, paddock.DoorGo, "a report", []byte("all is well\n"))
	must(t, err)
	foreign, err := h.app.Bank(t.Context(), stranger, stranger, paddock.DoorGo, "a report", []byte("a secret\n"))
	must(t, err)
	for id, want := range map[string]string{log.ArtifactID: "the message", string(report.ID): "all is well\n"} {
		a := ok[answer.Artifact](c, "retrieve_context", fmt.Sprintf(`{"artifactId":%q}`, id))
		if !strings.Contains(a.Content, want) || !a.EOF || a.HasMore || a.TotalSize == 0 {
			t.Errorf("%+v", a)
		}
	}
	if got := no(c, "retrieve_context", fmt.Sprintf(`{"artifactId":%q}`, foreign.ID)); got.Code != paddock.NotFound {
		t.Errorf("%+v", got)
	}
	if s := ok[answer.Status](c, "command_status", taskArgs(report.ID, "")); s.State != paddock.Banked || !s.Settled {
		t.Errorf("%+v", s)
	}
}
