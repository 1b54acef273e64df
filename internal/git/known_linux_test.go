//go:build linux

package git

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"paddock"
	"paddock/internal/executor"
	"paddock/internal/git/parse/printed"
	"paddock/internal/git/query"
	"paddock/internal/git/query/command"
)

// known is what tools that give git to models were seen to get wrong, and the
// tests, here or in the package that is named, that fail if ours do.
var knownFaults = []struct{ fault, tests string }{
	{"two revisions that are paths make git compare any two files of the machine", "TestTwoFilesAreNotCompared"},
	{"blame converts files by a program that the repository names", "TestHostileRepositoryRunsNothing"},
	{"a difference with the working tree runs the repository's filters", "TestHostileRepositoryRunsNothing"},
	{"a log that is set to show signatures runs what checks them", "TestHostileRepositoryRunsNothing"},
	{"the user's own configuration applies", "TestConfigurationIsTheRepositorysAlone"},
	{"a partial clone fetches what it lacks, by programs that it names", "TestHostileRepositoryRunsNothing TestKindsOfRepositories"},
	{"the settings of a submodule apply within it", "TestHostileRepositoryRunsNothing"},
	{"a root inside of a repository shows all of the repository", "TestKindsOfRepositories TestRootBelowTheTop TestRootBelowWhatIsNone TestContainmentHoldsPlainGitBelow"},
	{"a revision with a colon shows files that a path may not name", "TestHostileValues internal/git/query.TestRevisions"},
	{"magic in paths leads to the repository's top, and globs match other files", "TestHostileValues TestPathsAreNames"},
	{"git gets the environment of the host, secrets included", "TestGitKnowsNothingOfTheHost"},
	{"git is found by PATH", "internal/policy.TestLoadFaults"},
	{"git that isn't there is a result like others", "TestWithoutGit"},
	{"a path is checked once, and another by the time it is read", "TestContainmentHoldsPlainGit TestContainmentHoldsPlainGrep"},
	{"what was checked is another repository by the time git reads it", "TestExchangedRepositoryTellsNothing"},
	{"a setting that newer versions of git obey is passed over", "TestConfiguredHooksAreOff"},
	{"values become flags", "TestHostileValues internal/git/query.FuzzCommand internal/git/query.FuzzMoreCommands"},
	{"a flag that is split over two values writes a file", "TestHostileValues"},
	{"blame reads files outside", "TestHostileValues"},
	{"the history of a path that is gone can't be asked for", "TestPathsAreNames"},
	{"git tools let git be run as a command", "TestTheSectionWidensNothing"},
	{"git tools that aren't set up don't say how to", "internal/policy.TestRefusal_git_not_allowed internal/mcpserver.TestGitToolsAreListedWhereThePolicySaysSo"},
	{"a run that was ended by time or by its cap looks like a failed one", "TestEndsAreTold TestLargeRepository"},
	{"what git complains of can't be seen", "TestEndsAreTold"},
	{"no common ancestor looks like a failure", "TestWhatIsThereAndWhatIsNot"},
	{"names that aren't ASCII are written in octal", "TestHonestRepository TestStatus TestCat"},
	{"a link that git tracks is followed, so its own history can't be asked for", "TestCat"},
	{"revisions with characters that git permits are refused", "TestOddNamesOfBranches internal/git/query.TestRevisions"},
	{"a revision that names a file is taken for a path", "TestPathsAreNames"},
	{"there is no status", "TestStatus"},
	{"there is no list of branches and tags", "TestBranches"},
	{"there is no search", "TestGrep"},
	{"a log has no pages, no author and no end", "TestPagesOfALog TestLogOfSomebody"},
	{"a preview is as long as it likes, and the rest is lost", "TestPreviewsAndTheRest"},
	{"whoever has an id reads what is kept", "runner.TestArtifactsOfOthers internal/mcpserver.TestUnknownAndForeignLookAlike"},
	{"what was printed stays on the disk for ever", "runner.TestArtifactsArePruned"},
	{"to answer costs much more than git does", "TestOneRunWhereTheIDIsKnown TestHeadsThatAreNotRead TestFiltersThatAreRead TestDirectoriesThatAreRead TestResolvedWhileItIsAnswered TestFilesThatSeemSomebodyElses"},
	{"all that git prints is held in memory", "TestLargeRepository"},
	{"a list of what is dangerous is cut, and taken for whole", "TestCutListsAreNotBelieved"},
}

func TestKnownFaultsHaveTests(t *testing.T) {
	t.Parallel()
	have := map[string]map[string]bool{}
	for _, k := range knownFaults {
		for _, test := range strings.Fields(k.tests) {
			dir, name := "internal/git", test
			if at := strings.LastIndexByte(test, '.'); at >= 0 {
				dir, name = test[:at], test[at+1:]
			}
			if have[dir] == nil {
				have[dir] = tests(t, "../../"+dir)
			}
			if !have[dir][name] {
				t.Errorf("that %s is tested by %s, which isn't in %s", k.fault, name, dir)
			}
		}
	}
}

// tests are the names of the tests in a directory.
func tests(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(dir + "/*_test.go")
	must(t, err)
	names := map[string]bool{}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		must(t, err)
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
				names[fn.Name.Name] = true
			}
		}
	}
	return names
}

func TestTwoFilesAreNotCompared(t *testing.T) {
	t.Parallel()
	w := newWorld(t, paddock.Off)
	w.commit()
	file := w.outside + "/secret.txt"
	if out, _ := w.plain("diff", "/dev/null", file); !strings.Contains(out, secret) {
		t.Errorf("plain git doesn't compare files either, so this shows nothing: %s", out)
	}
	for _, q := range []query.Query{
		query.Diff{Base: "/dev/null", Head: file}, query.Diff{Base: file, Head: "/dev/null"}, query.Diff{Base: w.outside, Head: w.root},
		query.Diff{Base: "HEAD", Head: file}, query.Show{Ref: file}, query.Grep{Ref: file, Pattern: "."},
	} {
		_, err := w.try(q)
		refused(t, err, paddock.RevisionInvalid)
	}
}

func TestConfigurationIsTheRepositorysAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, paddock.Off)
	w.commit()
	w.write(w.base+"/.gitconfig", "[core]\n\tpager = x\n")
	if out := w.git("config", "--list", "--show-origin"); !strings.Contains(out, "/.gitconfig") {
		t.Errorf("plain git reads no configuration of the user either, so this shows nothing: %s", out)
	}
	place := command.Place{Dir: w.root + "/.git", Worktree: w.root}
	for _, line := range strings.Split(strings.TrimSpace(w.run(place.Command([]string{"config", "--list", "--show-origin"}, nil))), "\n") {
		if origin, _, _ := strings.Cut(line, "\t"); origin != "command line:" && origin != "file:"+w.root+"/.git/config" {
			t.Errorf("a setting is from %s", line)
		}
	}
}

// run runs git as the tools do, with words of ours.
func (w *world) run(argv []string) string {
	w.t.Helper()
	run, err := w.exec.Start(w.t.Context(), paddock.Request{Principal: alice, Door: paddock.DoorGo, Room: Name, Command: paddock.Command{Argv: argv, Dir: w.root}})
	must(w.t, err)
	_, err = w.exec.Wait(w.t.Context(), run.ID)
	must(w.t, err)
	var b strings.Builder
	must(w.t, w.exec.Follow(w.t.Context(), run.ID, paddock.Stdout, 0, &b))
	return b.String()
}

func TestGitKnowsNothingOfTheHost(t *testing.T) {
	stage(t) // is built, which asks git things, before git is told what follows
	t.Setenv("PADDOCK_TEST_TOKEN", secret)
	t.Setenv("GIT_EXTERNAL_DIFF", "/bin/false")
	t.Setenv("GIT_CONFIG_COUNT", "1")
	for _, name := range strings.Fields("GIT_CONFIG_KEY_0 GIT_CONFIG_VALUE_0 GIT_CONFIG_PARAMETERS GIT_DIR GIT_COMMON_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_OBJECT_DIRECTORY " +
		"GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_EXEC_PATH GIT_SSH GIT_SSH_COMMAND GIT_PROXY_COMMAND GIT_ASKPASS GIT_EDITOR GIT_PAGER PAGER LESSOPEN GIT_NAMESPACE GIT_TEMPLATE_DIR " +
		"GIT_ATTR_SOURCE GIT_REDIRECT_STDOUT GIT_REDIRECT_STDERR GIT_CONFIG_GLOBAL XDG_CONFIG_HOME GIT_REPLACE_REF_BASE GIT_GRAFT_FILE GIT_SHALLOW_FILE GIT_CEILING_DIRECTORIES GIT_DIFF_OPTS") {
		t.Setenv(name, "/"+secret)
	}
	for _, name := range []string{"GIT_TRACE", "GIT_TRACE_SETUP", "GIT_TRACE2", "GIT_TRACE2_EVENT", "GIT_TRACE2_PERF"} {
		t.Setenv(name, filepath.Join(t.TempDir(), secret)) // git would write there
	}
	w := newWorld(t, paddock.Off)
	w.commit()
	env := w.run([]string{"git", "-c", "alias.x=!env", "--git-dir=" + w.root + "/.git", "x"})
	for _, part := range []string{secret, "GIT_EXTERNAL_DIFF", "GIT_CONFIG_COUNT"} {
		if strings.Contains(env, part) {
			t.Errorf("git knows %s", part)
		}
	}
	for _, part := range []string{"HOME=/nonexistent", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL=\n", "LC_ALL=C"} {
		if !strings.Contains(env, part) {
			t.Errorf("git doesn't know %s: %s", part, env)
		}
	}
}

func TestPathsAreNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t, paddock.Off)
	w.commit()
	w.git("checkout", "-q", "--", ".")
	w.write("a1.txt", "x\n")
	w.git("add", "-A")
	w.git("commit", "-q", "-m", "of a1")
	w.write("a[1].txt", "y\n")
	w.git("add", "-A")
	w.git("commit", "-q", "-m", "of brackets")
	w.git("rm", "-q", "a1.txt")
	w.git("commit", "-q", "-m", "a1 is gone")
	for path, want := range map[string]string{"a[1].txt": "of brackets", "a1.txt": "a1 is gone|of a1", "a*": "", ":(top)a.txt": "", "[a-z].txt": ""} {
		var got []string
		for _, c := range w.ask(query.Log{In: path}).Commits {
			got = append(got, c.Message)
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%s has %q, want %q", path, got, want)
		}
	}
	for _, q := range []query.Query{query.Log{Ref: "a.txt"}, query.Show{Ref: "a.txt"}, query.Diff{Base: "a.txt"}, query.Cat{Ref: "a.txt", In: "a.txt"}} {
		_, err := w.try(q)
		refused(t, err, paddock.RevisionInvalid)
	}
}

func TestOddNamesOfBranches(t *testing.T) {
	t.Parallel()
	w := newWorld(t, paddock.Off)
	w.commit()
	for _, name := range []string{"fix#12", "wow!", "a=b", "größe/日本", "it's", "$(x);y|z", strings.Repeat("l", 200)} {
		w.git("branch", name)
		if a := w.ask(query.Log{Ref: name}); len(a.Commits) != 2 {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

func TestLogOfSomebody(t *testing.T) {
	t.Parallel()
	w := newWorld(t, paddock.Off)
	w.commit()
	w.git("commit", "-q", "--allow-empty", "-m", "later", "--date=2026-05-01T00:00:00Z", "--author=Zoë <zoe@example.org>")
	for _, c := range []struct {
		q    query.Log
		want int
	}{
		{query.Log{Author: "Zoë <"}, 1}, {query.Log{Author: "ada@example.org"}, 2}, {query.Log{Author: "ada.example"}, 0}, {query.Log{Author: "--all"}, 0},
		{query.Log{Until: "2026-03-02", Since: "2026-02-28"}, 3}, {query.Log{Until: "2026-02-01"}, 0},
	} {
		if a := w.ask(c.q); len(a.Commits) != c.want || !a.OK {
			t.Errorf("%+v: %+v", c.q, a)
		}
	}
}

// What is shown at once is short, and all of it is there.
func TestPreviewsAndTheRest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, paddock.Off)
	w.commit()
	w.git("commit", "-q", "--allow-empty", "-m", strings.Repeat("long message äöü ", 5000))
	a := w.ask(query.Log{Count: 1})
	if n := len([]rune(a.Preview)); n > mostPreview+1 || n < mostPreview || !a.Commits[0].Cut || len(a.Commits[0].Message) > 17<<10 {
		t.Errorf("a preview of %d characters, a message of %d bytes", n, len(a.Commits[0].Message))
	}
	if text := w.text(a); int64(len(text)) != a.Bytes || strings.Count(text, "long message äöü") != 5000 {
		t.Errorf("%d bytes are kept", len(text))
	}
}

func TestEndsAreTold(t *testing.T) {
	t.Parallel()
	status := 128
	for want, run := range map[string]paddock.Run{
		"was ended after 1m":   {State: paddock.TimedOut, Limits: paddock.Limits{Timeout: 60e9}},
		"more than the 5 byte": {State: paddock.OutputLimit, Limits: paddock.Limits{Output: 5}},
		"didn't end by itself": {State: paddock.Killed},
		"start (cgroup: gone)": {State: paddock.FailedToStart, Outcome: &paddock.Outcome{Reason: paddock.Reason{Step: "cgroup", Detail: "gone"}}},
		"Git failed; stderr":   {State: paddock.Exited, Outcome: &paddock.Outcome{Reason: paddock.Reason{ExitCode: &status}}},
	} {
		var a Answer
		a.of(run, nil)
		a.fill(query.ListFiles{}, nil, run, nil, []byte("fatal: it's \x1b[31mbroken\n"), false)
		if hasNote(t, a, want); a.OK || a.Stderr != "fatal: it's broken\n" {
			t.Errorf("%+v", a)
		}
	}
}

// That git didn't start while a repository is looked at is our fault and says why: nobody is told that
// the repository is broken.
func TestUnstartedIsNoRefusal(t *testing.T) {
	t.Parallel()
	var refused *paddock.Refusal
	err := printed.Asker{}.Broken(t.Context(), paddock.Run{ID: "r0", State: paddock.FailedToStart, Outcome: &paddock.Outcome{Reason: paddock.Reason{Step: "cgroup", Detail: "gone"}}})
	if err == nil || errors.As(err, &refused) || !strings.Contains(err.Error(), "run r0: Git didn't start (cgroup: gone)") {
		t.Errorf("got %v", err)
	}
}

// Where the policy drops what is over a limit, the lists by which a repository is made
// harmless are whole or not believed: one can end exactly where it is cut.
func TestCutListsAreNotBelieved(t *testing.T) {
	t.Parallel()
	const most = 2048
	w := newWorldWith(t, paddock.Off, "limits: {output: 2KiB, at_limit: drop}\n")
	w.attacked(attack{ready: func(w *world) {
		set("include.path", "/dev/null")(w) // so that git is asked for them
		fill := most - len(w.git("config", "--local", "--list", "--null", "--name-only")) - len("pad.\x00")
		set("pad."+strings.Repeat("a", fill), "1")(w)
		driver(".gitattributes", "filter=x", "filter.x.clean", "HELPER")(w)
	}, fires: [][]string{{"diff"}}})
	for _, q := range []query.Query{query.Diff{}, query.Status{}} {
		_, err := w.try(q)
		refused(t, err, paddock.RepositoryRefused)
	}
	if _, err := os.Stat(w.canary); err == nil {
		t.Error("a filter was run")
	}
	// So for the directories that are links when the working tree is searched.
	for n := range 60 {
		w.write("dir"+strings.Repeat("a", n)+"/file", "x\n")
	}
	w.write("last/secret.txt", "x\n")
	w.git("-c", "filter.x.clean=cat", "add", "-A")
	must(t, errorsOf(os.RemoveAll(w.root+"/last"), os.Symlink(w.outside, w.root+"/last")))
	_, err := w.try(query.Grep{Pattern: secret})
	refused(t, err, paddock.RepositoryRefused)
}

func TestWithoutGit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, paddock.Off)
	e, err := executor.Open(t.Context(), executor.Config{
		State: w.base + "/other", Stage: stage(t),
		Policy: executor.PolicyText("policy.yaml", []byte("version: 1\nroots: [{path: "+w.root+"}]\nexecutables: []\ngit: {executable: "+w.base+"/git}\ncontainment: {require: off}\n")),
	})
	must(t, err)
	defer func() { must(t, e.Close()) }()
	_, err = New(e).Ask(t.Context(), Ask{Principal: alice, Door: paddock.DoorGo, Query: query.Log{}})
	refused(t, err, paddock.ExecutableMissing)
	if _, err := os.Stat(w.base + "/git"); err == nil {
		t.Error("it is there")
	}
}
