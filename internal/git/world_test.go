//go:build linux

package git

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/executor"
	"paddock/internal/git/ground"
	"paddock/internal/git/query"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

var alice = paddock.Principal{Kind: paddock.Agent, ID: "alice"}

// A world is a repository, something outside of it, and a room that may read it.
type world struct {
	t    testing.TB
	exec *executor.Executor
	room *Room
	// base holds all else; outside is readable for us and not to be read.
	base, root, outside string
	// sub is the policy's root in it, with a slash behind; empty where they are the same.
	sub            string
	helper, canary string
}

const program = "/usr/bin/git"

// secret stands in files outside of the repository.
const secret = "paddock-secret-of-elsewhere"

// stageOf has the supervisor's path in processes of other users, which can't build.
const stageOf = "PADDOCK_TEST_GIT_STAGE"

func stage(t testing.TB) string {
	if path := os.Getenv(stageOf); path != "" {
		return path
	}
	return testproc.Build(t, "paddock/cmd/paddock-stage")
}

func newWorld(t testing.TB, level paddock.Level) *world {
	t.Helper()
	return newWorldWith(t, level, "")
}

// newWorldWith has further sections in its policy.
func newWorldWith(t testing.TB, level paddock.Level, sections string) *world {
	t.Helper()
	return worldOf(t, level, "", sections)
}

// newWorldBelow has a root that is a directory of a repository, whose top is above it.
func newWorldBelow(t testing.TB, level paddock.Level) *world {
	t.Helper()
	return worldOf(t, level, "/svc/pay", "")
}

// worldOf has its policy's root at below in the world's.
func worldOf(t testing.TB, level paddock.Level, below, sections string) *world {
	t.Helper()
	if _, err := os.Stat(program); err != nil {
		testproc.Skip(t, "there is no "+program)
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	w := &world{t: t, base: base, root: base + "/root", outside: base + "/outside", canary: base + "/outside/canary"}
	for _, dir := range []string{w.root, w.outside} {
		must(t, os.Mkdir(dir, 0o755))
	}
	must(t, os.WriteFile(w.outside+"/secret.txt", []byte(secret+"\n"), 0o644))
	w.helper = w.root + below + "/helper.sh"
	must(t, os.MkdirAll(w.root+below, 0o755))
	if below != "" {
		w.sub = below[1:] + "/"
	}
	policy := `version: 1
roots: [{path: ` + w.root + below + `}]
executables: []
git: {executable: ` + program + `}
containment: {require: ` + string(level) + `}
` + sections
	if below != "" {
		policy = strings.Replace(policy, "git: {", "git: {repositories: [../..], ", 1)
	}
	if level == paddock.Standard && os.Geteuid() == 0 {
		policy = strings.Replace(policy, "{require: standard", "{run_as: nobody, require: standard", 1)
		must(t, os.Chmod(filepath.Dir(base), 0o711))
		must(t, os.Chmod(base, 0o711))
	}
	w.exec, err = executor.Open(t.Context(), executor.Config{
		State: base + "/state", Policy: executor.PolicyText("policy.yaml", []byte(policy)), Stage: stage(t), Warm: 2,
	})
	must(t, err)
	t.Cleanup(func() { must(t, errorsOf(w.exec.Close(), testproc.Unlocked(base+"/state/runs/*/*/lock"))) })
	w.room = New(w.exec)
	_, err = ground.Of(t.Context(), w.exec, Ask{Principal: alice, Door: paddock.DoorGo}.request(""))
	if r, ok := errors.AsType[*paddock.Refusal](err); ok && r.Code == paddock.ContainmentUnavailable {
		testproc.Skip(t, r.Message)
	}
	must(t, err)
	return w
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) explain(req paddock.Request) paddock.Decision {
	w.t.Helper()
	d, err := w.exec.Explain(w.t.Context(), req)
	must(w.t, err)
	return d
}

// git runs plain git, which is to work, in the root.
func (w *world) git(args ...string) string {
	w.t.Helper()
	out, err := w.plain(args...)
	if err != nil {
		w.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (w *world) plain(args ...string) (string, error) {
	w.t.Helper()
	cmd := testproc.Command(w.t, program, args...)
	cmd.Dir = w.root
	cmd.Env = []string{
		"PATH=/usr/bin:/bin", "HOME=" + w.base, "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C", "TZ=UTC", "GIT_ALLOW_PROTOCOL=ext:file:ssh:git:x/../helper.sh",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.org", "GIT_COMMITTER_NAME=Bob", "GIT_COMMITTER_EMAIL=bob@example.org",
		"GIT_AUTHOR_DATE=2026-03-01T10:00:00+02:00", "GIT_COMMITTER_DATE=2026-03-01T10:00:00+02:00",
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (w *world) write(name, text string) {
	w.t.Helper()
	path := name
	if !filepath.IsAbs(name) {
		path = filepath.Join(w.root, name)
	}
	must(w.t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(w.t, os.WriteFile(path, []byte(text), 0o644))
}

// commit makes a repository of two commits and a file that is changed since.
func (w *world) commit() {
	w.t.Helper()
	if _, err := os.Lstat(w.root + "/.git"); err == nil {
		w.history()
	} else {
		must(w.t, os.CopyFS(w.root, os.DirFS(prepared(w.t, w.sub))))
		w.git("update-index", "-q", "--refresh") // since the files are others than those that were added
	}
	w.write(w.sub+"a.txt", "one\nTWO\nthree\nfour\n")
}

func (w *world) history() {
	w.t.Helper()
	w.git("init", "-q", "-b", "main")
	w.write(w.sub+"a.txt", "one\ntwo\n")
	w.git("add", "-A")
	w.git("commit", "-q", "-m", "first")
	w.write(w.sub+"a.txt", "one\nTWO\nthree\n")
	w.git("commit", "-q", "-a", "-m", "second")
}

var repositories sync.Map // of the directories whose tops have what history makes

// prepared has such a repository made once in a process, where the file is in sub.
func prepared(t testing.TB, sub string) string {
	t.Helper()
	once, _ := repositories.LoadOrStore(sub, sync.OnceValues(func() (string, error) {
		base, err := os.MkdirTemp("", "prepared")
		if err != nil {
			return "", err
		}
		testproc.AtEnd(func() error { return os.RemoveAll(base) })
		w := &world{t: t, base: base, root: base, sub: sub}
		w.history()
		return base, nil
	}))
	dir, err := once.(func() (string, error))()
	must(t, err)
	return dir
}

func (w *world) try(q query.Query) (Answer, error) {
	w.t.Helper()
	return w.room.Ask(w.t.Context(), Ask{Principal: alice, Door: paddock.DoorGo, Query: q})
}

func (w *world) ask(q query.Query) Answer {
	w.t.Helper()
	a, err := w.try(q)
	must(w.t, err)
	return a
}

func (w *world) text(a Answer) string {
	w.t.Helper()
	var b strings.Builder
	must(w.t, w.exec.Follow(w.t.Context(), a.Run, paddock.Stdout, 0, &b))
	return b.String()
}

func refused(t testing.TB, err error, code paddock.Code) {
	t.Helper()
	r, ok := errors.AsType[*paddock.Refusal](err)
	if !ok || r.Code != code {
		t.Fatalf("%v; want a refusal with %s", err, code)
	}
}

func hasNote(t testing.TB, a Answer, part string) {
	t.Helper()
	if !strings.Contains(strings.Join(a.Notes, "\n"), part) {
		t.Errorf("the notes are %q; want %q in them", a.Notes, part)
	}
}

// questions are one of every kind, and every way of reading the working tree.
func questions() []query.Query {
	return []query.Query{
		query.Log{}, query.Log{Format: "stat", In: "a.txt"}, query.Show{}, query.Diff{}, query.Diff{Stat: true}, query.Diff{Base: "HEAD~1"},
		query.Diff{Base: "HEAD~1", Head: "HEAD"}, query.Blame{In: "a.txt"}, query.MergeBase{Base: "HEAD", Head: "HEAD~1"}, query.ListFiles{},
		query.Status{}, query.Grep{Pattern: "one"}, query.Grep{Pattern: "one", Ref: "HEAD", Count: true}, query.Branches{}, query.Cat{In: "a.txt"},
	}
}

// dangerous are the questions by which git reads what could make it run or read
// something: patches, files of the working tree, the index.
func dangerous() []query.Query {
	return []query.Query{
		query.Show{}, query.Diff{}, query.Diff{Base: "HEAD~1", Head: "HEAD"}, query.Blame{In: "a.txt"}, query.ListFiles{},
		query.Status{Untracked: "all"}, query.Grep{Pattern: "one"}, query.Grep{Pattern: "one", Ref: "HEAD"}, query.Branches{}, query.Cat{In: "a.txt"},
	}
}

// everything is all that an answer and its run tell.
func (w *world) everything(a Answer) string {
	w.t.Helper()
	text, err := json.Marshal(a)
	must(w.t, err)
	all := string(text)
	if a.Run != "" {
		var b strings.Builder
		must(w.t, w.exec.Follow(w.t.Context(), a.Run, paddock.Stdout, 0, &b))
		must(w.t, w.exec.Follow(w.t.Context(), a.Run, paddock.Stderr, 0, &b))
		all += b.String()
	}
	return all
}

func errorsOf(errs ...error) error { return errors.Join(errs...) }

func mkfifo(path string) error { return unix.Mkfifo(path, 0o600) }
