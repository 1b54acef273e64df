package executor

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"paddock"
	"paddock/internal/contain/probe/attempt"
	"paddock/internal/contain/probe/attempt/lines"
	"paddock/internal/testproc"
)

// The table holds for root and for an ordinary user. Each is tried by this test
// binary in a process of that user, with a directory for temporary files that is
// not in /tmp: at level standard everybody's /tmp is the run's, too.
func TestEscapes(t *testing.T) {
	t.Parallel()
	if os.Getenv(stageVariable) != "" {
		t.Run("table", tryTable)
		t.Run("lines", tryLines)
		t.Run("starts", tryStarts)
		t.Run("listed", tryListed)
		t.Run("tools", tryTools)
		return
	}
	for _, name := range []string{"escapist", "waits"} {
		testproc.Helper(t, name) // by the processes below
	}
	base, cache := elsewhere(t), ""
	for _, uid := range []int{os.Geteuid(), testproc.Nobody} {
		if uid != os.Geteuid() && os.Geteuid() != 0 {
			continue
		}
		t.Run("uid "+strconv.Itoa(uid), func(t *testing.T) { cache = tryAs(t, base, uid, cache) })
	}
}

// tryAs tries everything as uid, with the cache of the go command that those
// before have left, and returns it.
func tryAs(t *testing.T, base string, uid int, cache string) string {
	home := filepath.Join(base, strconv.Itoa(uid))
	tmp := filepath.Join(home, "tmp")
	must(t, os.MkdirAll(tmp, 0o700))
	readyTools(t, home, cache)
	if os.Geteuid() == 0 {
		id, err := os.ReadFile("/usr/bin/id")
		must(t, err)
		program := filepath.Join(base, "setuid")
		must(t, os.WriteFile(program, id, 0o755))
		must(t, os.Chmod(program, os.ModeSetuid|0o755))
		must(t, filepath.WalkDir(home, func(path string, _ os.DirEntry, err error) error {
			must(t, err)
			return os.Lchown(path, uid, uid)
		}))
	}
	args := []string{"-test.run=^TestEscapes$", "-test.timeout=15m", fmt.Sprint("-test.v=", testing.Verbose())}
	cmd := testproc.Self(t, args...)
	testproc.AsUser(t, cmd, uid)
	cmd.Dir = tmp
	cmd.Env = append(cmd.Env, "TMPDIR="+tmp, "HOME="+home, stageVariable+"="+testproc.Build(t, "paddock/cmd/paddock-stage"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	} else if testing.Verbose() {
		t.Logf("%s", out)
	}
	return filepath.Join(home, "gocache")
}

// elsewhere makes a directory that isn't below /tmp, and whose parent an
// ordinary user can't read.
func elsewhere(t *testing.T) string {
	t.Helper()
	parent := "/var/lib"
	if os.Geteuid() != 0 {
		var err error
		parent, err = os.UserHomeDir()
		must(t, err)
	}
	base, err := os.MkdirTemp(parent, "paddock-test-")
	if err != nil {
		testproc.Skip(t, "nothing can be written outside of /tmp: "+err.Error())
	}
	must(t, os.Chmod(base, 0o711))
	t.Cleanup(func() {
		// Modules are read-only.
		_ = filepath.WalkDir(base, func(path string, d os.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				err = os.Chmod(path, 0o700)
			}
			return err
		})
		must(t, os.RemoveAll(base))
	})
	return base
}

func tryTable(t *testing.T) {
	for _, level := range levels {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			found := tryAll(t, level)
			for _, a := range attempt.List {
				t.Run(a.Name, func(t *testing.T) {
					switch answer := found[a.Name]; {
					case a.At(level) == attempt.Untried:
					case answer.Untried && slices.Contains(elsewhereOnly, a.Name):
					case answer.Untried:
						t.Error(answer.Hindrance)
					default:
						keep(t, a.At(level), answer.Hindrance)
					}
				})
			}
		})
	}
}

// elsewhereOnly names what not every machine or user has something for.
var elsewhereOnly = []string{"read what only root may", "reach an IPv6 service of the machine", "read a setting of the machine"}

// tryAll makes all attempts of the table in one run.
func tryAll(t *testing.T, level paddock.Level) map[string]attempt.Answer {
	th := newTheater(t)
	a := th.act(t, level, "", "root", "before")
	th.aim.OpenFiles = 256
	a.reopen(t, strings.Replace(a.policy, "limits: {", "limits: {open_files: 256, ", 1))
	run, _ := a.run(t, "before", "sh", "-c", "echo secret of an earlier run")
	dir, err := a.e.state.Run(run.ID)
	must(t, err)
	err = filepath.WalkDir(dir.Path(), func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if b, err := os.ReadFile(path); err == nil && strings.Contains(string(b), "secret of an earlier run\n") {
				th.aim.Output = path
			}
		}
		return err
	})
	must(t, err)
	if th.aim.Output == "" {
		t.Fatal("where is the output of a run?")
	}
	root := filepath.Join(a.dir, "root")
	th.aim.Root, th.aim.Level = root, level
	th.aim.State, th.aim.Journal = filepath.Join(a.e.state.Path(), "format"), filepath.Join(a.e.state.Path(), "journal")
	repository(t, a, "root")
	answer(t, "unix", root+"/socket")
	var names []string
	for _, r := range attempt.List {
		if r.At(level) != attempt.Untried {
			names = append(names, r.Name)
		}
	}
	order, err := json.Marshal(map[string]any{"Targets": th.aim, "Names": names})
	must(t, err)
	must(t, os.WriteFile(root+"/order.json", order, 0o600))
	run, out := a.run(t, "root", "escapist", "order.json")
	if run.State != paddock.Exited || *run.Outcome.Reason.ExitCode != 0 || run.Containment != level || run.Outcome.Survivors != 0 {
		t.Fatalf("%s %+v at %s: %s", run.State, run.Outcome, run.Containment, out)
	}
	var found map[string]attempt.Answer
	if err := json.Unmarshal([]byte(out), &found); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if left, err := filepath.Glob(th.aim.Outside + "/raced*"); err != nil || level != paddock.Off && len(left) > 0 {
		t.Errorf("a race was won: %q, %v", left, err)
	}
	return found
}

// repository makes a workspace that has a repository and settings of an agent.
func repository(t *testing.T, a *act, root string) {
	t.Helper()
	root = filepath.Join(a.dir, root)
	for _, dir := range []string{".git/hooks", ".git/objects", ".git/refs", ".claude", "evil"} {
		must(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	for name, text := range map[string]string{
		".git/config": "[core]\n\trepositoryformatversion = 0\n", ".git/HEAD": "ref: refs/heads/main\n", ".claude/settings.json": "{}\n",
	} {
		must(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o644))
	}
	must(t, os.Symlink(".claude/settings.json", filepath.Join(root, "earlier")))
	if b, err := os.ReadFile(filepath.Join(filepath.Dir(os.Getenv("HOME")), "setuid")); err == nil && len(b) > 0 {
		// A link keeps owner and mode.
		_ = os.Link(filepath.Join(filepath.Dir(os.Getenv("HOME")), "setuid"), filepath.Join(root, "setuid"))
	}
}

func tryLines(t *testing.T) {
	for _, level := range levels {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			th := newTheater(t)
			roots := make([]string, len(lines.Plain))
			for i := range lines.Plain {
				roots[i] = fmt.Sprint("repository", i)
			}
			a := th.act(t, level, "", roots...)
			for i, l := range lines.Plain {
				t.Run(l.Name, func(t *testing.T) {
					repository(t, a, roots[i])
					before := state(t, filepath.Join(a.dir, roots[i]))
					status, out := a.sh(t, roots[i], strings.ReplaceAll(l.Text, "PROGRAM", testproc.Program(t, "escapist")))
					hindrance := ""
					if status != 0 {
						hindrance = fmt.Sprintf("status %d: %s", status, out)
					}
					keep(t, l.At(level), hindrance)
					after := state(t, filepath.Join(a.dir, roots[i]))
					if l.At(level) == attempt.Held && before != after {
						t.Errorf("what was to be protected is another:\n%s\nit was\n%s", after, before)
					}
				})
			}
		})
	}
}

// state describes what is protected in a workspace.
func state(t *testing.T, root string) string {
	t.Helper()
	var b strings.Builder
	for _, name := range []string{".git/hooks", ".git/config", ".git/commondir", ".gitmodules", ".mcp.json", ".envrc", ".vscode", ".claude"} {
		err := filepath.WalkDir(filepath.Join(root, name), func(path string, d os.DirEntry, err error) error {
			if err != nil {
				return nil //nolint:nilerr // not there
			}
			info, err := d.Info()
			must(t, err)
			fmt.Fprintln(&b, path, info.Mode(), info.Size())
			return nil
		})
		must(t, err)
	}
	return b.String()
}
