//go:build linux

// Package repositories_test measures the git tools beside git itself, on repositories of
// the sizes that people have. Each question is asked in turn with git's own command for it,
// in one process on one machine; what counts is how much later an answer is, and how much
// that is of git's own time. `make bench-git` runs it and docs/git.md has the table. Without
// -results it goes through everything once and small.
package repositories_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"paddock/internal/testproc"
	"paddock/runner"
)

var (
	results = flag.String("results", "", "measure, and write every sample to this file as JSON")
	record  = flag.Bool("record", false, "also write the results and their table into docs/")
	rounds  = flag.Int("rounds", 20, "how many times each question is asked")
	kept    = flag.String("kept", "", "a directory in which the repositories are made once, and stay")
	only    = flag.String("only", "", "only questions with this in their name, of repositories with this in theirs")
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

// kinds are measured; a small one stands for them where nothing is.
var (
	kinds = []kind{{"of one file", 40, 1}, {"of this project's size", 1000, 2000}, {"large", 100_000, 50_000}}
	small = []kind{{"of one file", 40, 1}, {"small", 60, 90}}
)

// A question, asked of git by words and of ours by a value.
type question struct {
	what  string
	plain []string
	ours  runner.GitQuestion
	right func(runner.GitAnswer) bool
}

// questions are what is asked of a repository of a kind: the same work of both, as far as
// git's commands let it be.
func (k kind) questions() []question {
	one := k.file(1 % k.files)
	commits := func(n int) func(runner.GitAnswer) bool {
		return func(a runner.GitAnswer) bool { return len(a.Commits) == n }
	}
	answered := func(a runner.GitAnswer) bool { return a.OK }
	return []question{
		{"log of 20", []string{"log", "--max-count=20"}, runner.GitLog{}, commits(20)},
		{"log of a path", []string{"log", "--max-count=20", "--", one}, runner.GitLog{In: one}, answered},
		{"log with counts", []string{"log", "--max-count=20", "--numstat"}, runner.GitLog{Format: "stat"}, commits(20)},
		{"show", []string{"show", "HEAD"}, runner.GitShow{}, commits(1)},
		{"status", []string{"status", "--porcelain=v2", "--branch"}, runner.GitStatus{}, func(a runner.GitAnswer) bool { return len(a.Changes) == min(2, k.files) }},
		{"diff of the working tree", []string{"diff"}, runner.GitDiff{}, func(a runner.GitAnswer) bool { return len(a.Files) == min(2, k.files) }},
		{"diff of HEAD and the working tree", []string{"diff", "HEAD"}, runner.GitDiff{Base: "HEAD"}, answered},
		{"diff HEAD~10 HEAD", []string{"diff", "HEAD~10", "HEAD"}, runner.GitDiff{Base: "HEAD~10", Head: "HEAD"}, answered},
		{"grep of the working tree", []string{"grep", "-n", "-I", "needle"}, runner.GitGrep{Pattern: "needle"}, func(a runner.GitAnswer) bool { return len(a.Matches) > 0 }},
		{"grep of HEAD", []string{"grep", "-n", "-I", "needle", "HEAD"}, runner.GitGrep{Pattern: "needle", Ref: "HEAD"}, func(a runner.GitAnswer) bool { return len(a.Matches) > 0 }},
		{"blame", []string{"blame", "--porcelain", "-L1,20", "HEAD", "--", one}, runner.GitBlame{In: one, Start: 1, End: 20}, func(a runner.GitAnswer) bool { return len(a.Lines) == 20 }},
		{"ls-files", []string{"ls-files", "-z", "--stage"}, runner.GitListFiles{}, func(a runner.GitAnswer) bool { return len(a.Entries) > 0 }},
		{"merge-base", []string{"merge-base", "main", "side"}, runner.GitMergeBase{Base: "main", Head: "side"}, func(a runner.GitAnswer) bool { return a.Base != "" }},
		{"branches", []string{"for-each-ref", "refs/heads", "refs/tags"}, runner.GitBranches{}, func(a runner.GitAnswer) bool { return len(a.Refs) == 2 }},
		{"cat", []string{"cat-file", "blob", "HEAD:" + one}, runner.GitCat{In: one}, func(a runner.GitAnswer) bool { return a.Content != nil && a.Content.Text != "" }},
	}
}

// A series is what was measured of one question of one repository.
type series struct {
	Repository string    `json:"repository"`
	What       string    `json:"what"`
	Git        []float64 `json:"git_ms"` // in the order in which they were taken, in turn
	Ours       []float64 `json:"ours_ms"`
	Runs       int       `json:"runs"` // of one answer
}

// A sheet is the raw results of it all.
type sheet struct {
	Machine string    `json:"machine"`
	Series  []*series `json:"series"`
}

func describe(t *testing.T) string {
	var u unix.Utsname
	must(t, unix.Uname(&u))
	load, err := os.ReadFile("/proc/loadavg")
	must(t, err)
	version := strings.TrimSpace(string(plain(t, "/", "--version")))
	return fmt.Sprintf("%s: %d CPUs, %s/%s, Linux %s, %s, %s, load %s at the start, everything on tmpfs.", time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH,
		strings.Join(strings.Split(unix.ByteSliceToString(u.Release[:]), ".")[:2], "."), runtime.Version(), version, strings.Fields(string(load))[0])
}

// TestBesideGit asks each question in turn with git itself.
func TestBesideGit(t *testing.T) {
	if _, err := os.Stat(program); err != nil {
		testproc.Skip(t, "there is no "+program)
	}
	long, asked, times := *results != "", kinds, *rounds
	if !long {
		asked, times = small, 1
	}
	dir, err := os.MkdirTemp("/dev/shm", "paddock-repositories-")
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	if *kept == "" {
		*kept = dir
	}
	s := &sheet{Machine: describe(t)}
	for i, k := range asked {
		root := filepath.Join(*kept, fmt.Sprint("root", i))
		if _, err := os.Stat(filepath.Join(root, ".git", "index")); err != nil {
			k.make(t, root)
		}
		w := furnish(t, filepath.Join(dir, fmt.Sprint(i)), root, k)
		for _, q := range k.questions() {
			if *only == "" || strings.Contains(q.what+" "+k.name, *only) {
				s.Series = append(s.Series, w.beside(q, times))
			}
		}
	}
	s.tell(t, long && *record)
}

// A world is one repository, and a Runner that may read it.
type world struct {
	t    *testing.T
	kind kind
	dir  string
	root string
	r    *runner.Runner
}

func furnish(t *testing.T, dir, root string, k kind) *world {
	t.Helper()
	w := &world{t: t, kind: k, dir: dir, root: root}
	must(t, os.Mkdir(dir, 0o711))
	policy := filepath.Join(dir, "policy.yaml")
	must(t, os.WriteFile(policy, []byte("version: 1\nroots: [{path: "+w.root+"}]\nexecutables: []\ngit: {executable: "+program+"}\n"), 0o600))
	stage := filepath.Join(t.TempDir(), "paddock-stage") // a copy, as whatever installs it makes one
	plainly(t, dir, "/bin/cp", testproc.Build(t, "paddock/cmd/paddock-stage"), stage)
	r, err := runner.Open(t.Context(), policy, runner.Options{StateDir: filepath.Join(dir, "state"), Stage: stage, Warm: 2, Warn: func(err error) { t.Error(err) }})
	must(t, err)
	t.Cleanup(func() { must(t, r.Close()) }) // before what it has is removed
	w.r = r
	if _, err := r.Git(t.Context(), "", runner.GitLog{}); err != nil {
		testproc.Skip(t, err.Error())
	}
	return w
}

// beside measures one question: git and ours in turn, each first as often as the other. Before
// each the machine may come to rest.
func (w *world) beside(q question, times int) *series {
	s := &series{Repository: w.kind.name, What: q.what}
	git := func() float64 { return took(func() { plain(w.t, w.root, q.plain...) }) }
	ours := func() float64 {
		return took(func() {
			a, err := w.r.Git(w.t.Context(), "", q.ours)
			must(w.t, err)
			if !q.right(a) {
				w.t.Fatalf("%s: %+v", q.what, a)
			}
		})
	}
	before := w.runs()
	git()
	ours() // neither is counted
	s.Runs = w.runs() - before
	for i := range times {
		for j := range 2 {
			rest()
			if (i+j)%2 == 0 {
				s.Git = append(s.Git, git())
			} else {
				s.Ours = append(s.Ours, ours())
			}
		}
	}
	return s
}

func (w *world) runs() int {
	names, err := filepath.Glob(filepath.Join(w.dir, "state", "runs", "*", "*"))
	must(w.t, err)
	return len(names)
}

func rest() { <-time.After(30 * time.Millisecond) }

func took(f func()) float64 {
	start := time.Now()
	f()
	return float64(time.Since(start).Microseconds()) / 1e3
}

func median(v []float64) float64 { return slices.Sorted(slices.Values(v))[len(v)/2] }

// table is the results for people.
func (s *sheet) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n| repository | asked | git | ours | more | ratio | runs |\n|---|---|--:|--:|--:|--:|--:|\n", s.Machine)
	for _, m := range s.Series {
		git, ours := median(m.Git), median(m.Ours)
		fmt.Fprintf(&b, "| %s | %s | %.3g ms | %.3g ms | %.3g ms | %.3g× | %d |\n", m.Repository, m.What, git, ours, ours-git, ours/git, m.Runs)
	}
	return b.String()
}

func (s *sheet) tell(t *testing.T, record bool) {
	t.Helper()
	text, err := json.Marshal(s)
	must(t, err)
	table := s.table()
	if *results != "" {
		must(t, os.WriteFile(*results, append(text, '\n'), 0o644))
		_, err = os.Stdout.WriteString(table)
		must(t, err)
	}
	if record {
		must(t, os.WriteFile(rawFile, append(text, '\n'), 0o644))
		document, err := os.ReadFile(documentFile)
		must(t, err)
		must(t, os.WriteFile(documentFile, []byte(replaced(t, string(document), table)), 0o644))
	}
}

// The committed results, and the document that has their table between two marks.
const (
	rawFile      = "../../docs/benchmarks-git.json"
	documentFile = "../../docs/git.md"
	begin        = "<!-- the table: make bench-git RECORD=1 -->\n"
	end          = "<!-- the end of the table -->\n"
)

func replaced(t *testing.T, document, table string) string {
	t.Helper()
	before, rest, ok := strings.Cut(document, begin)
	_, after, ended := strings.Cut(rest, end)
	if !ok || !ended {
		t.Fatalf("%s has no place for the table", documentFile)
	}
	return before + begin + "\n" + table + "\n" + end + after
}

// TestTheDocumentShowsTheResults: nobody corrects a number by hand.
func TestTheDocumentShowsTheResults(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(rawFile)
	must(t, err)
	var s sheet
	must(t, json.Unmarshal(text, &s))
	document, err := os.ReadFile(documentFile)
	must(t, err)
	if replaced(t, string(document), s.table()) != string(document) {
		t.Errorf("the table in %s isn't that of %s: make bench-git RECORD=1", documentFile, rawFile)
	}
}
