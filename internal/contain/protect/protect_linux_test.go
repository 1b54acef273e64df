package protect

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

func keep(t *testing.T, root string, except ...string) *Guard {
	t.Helper()
	f, err := os.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	g, err := Keep(f, except)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func release(t *testing.T, g *Guard) {
	t.Helper()
	if err := g.Release(); err != nil {
		t.Error(err)
	}
}

func list(t *testing.T, root string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if path != root {
			found = append(found, strings.TrimPrefix(path, root+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func write(t *testing.T, root string, names ...string) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
		} else if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func names1(g *Guard) map[string]Path {
	m := map[string]Path{}
	for _, p := range g.Paths() {
		m[p.Name] = p
	}
	return m
}

func TestMissingPlacesAreHeldAndLeaveNothing(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	g := keep(t, root)
	for _, want := range []string{".mcp.json", ".claude", ".vscode", ".envrc"} {
		info, err := os.Lstat(filepath.Join(root, want))
		if err != nil || !info.IsDir() {
			t.Errorf("%s: %v, want an empty directory, which git doesn't see", want, err)
		}
		if _, ok := names1(g)[want]; !ok {
			t.Errorf("%s isn't kept", want)
		}
	}
	if _, err := os.Lstat(filepath.Join(root, ".git")); err == nil {
		t.Error("a .git was made up: programs would take the workspace for a repository")
	}
	release(t, g)
	if got := list(t, root); len(got) != 0 {
		t.Errorf("left behind: %q", got)
	}
}

func TestWhatExistsIsKeptAndItsParentPinned(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, ".git/config", ".git/hooks/", ".claude/settings.json")
	before := list(t, root)
	g := keep(t, root)
	got := names1(g)
	for name, want := range map[string]Path{
		".git": {Name: ".git", Pinned: true}, ".git/config": {Name: ".git/config", File: true}, ".git/hooks": {Name: ".git/hooks"}, ".claude": {Name: ".claude"},
	} {
		if got[name] != want {
			t.Errorf("%s: %+v, want %+v", name, got[name], want)
		}
	}
	if i, j := slices.IndexFunc(g.Paths(), func(p Path) bool { return p.Name == ".git" }), slices.IndexFunc(g.Paths(), func(p Path) bool { return p.Name == ".git/hooks" }); i > j {
		t.Error("what lies inside comes before what it lies in")
	}
	release(t, g)
	if after := list(t, root); !slices.Equal(before, after) {
		t.Errorf("before %q, after %q", before, after)
	}
}

func TestMissingHooksOfARepositoryAreHeld(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, ".git/HEAD")
	g := keep(t, root)
	if _, ok := names1(g)[".git/hooks"]; !ok {
		t.Error("hooks can be made")
	}
	if p, ok := names1(g)[".git/config"]; !ok || !p.File {
		t.Error("a configuration can be made")
	}
	release(t, g)
	if got := list(t, root); !slices.Equal(got, []string{".git", ".git/HEAD"}) {
		t.Errorf("left %q", got)
	}
}

func TestALinkedWorktreesFileIsKept(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, ".git")
	g := keep(t, root)
	if p := names1(g)[".git"]; !p.File || p.Pinned {
		t.Errorf("%+v", p)
	}
	release(t, g)
}

func TestSymbolicLinksAreRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{".claude", ".git"} {
		root := t.TempDir()
		if err := os.Symlink(t.TempDir(), filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(root)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Keep(f, nil); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		if got := list(t, root); !slices.Equal(got, []string{name}) {
			t.Errorf("left %q", got)
		}
	}
}

func TestExceptionsAreLeftAlone(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, ".git/HEAD")
	g := keep(t, root, ".vscode", ".git")
	for _, name := range []string{".vscode", ".git", ".git/hooks"} {
		if _, ok := names1(g)[name]; ok {
			t.Errorf("%s is kept", name)
		}
	}
	release(t, g)
}

func TestTheLastOfManyTakesThemAway(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	first := keep(t, root)
	var runs sync.WaitGroup
	for range 16 {
		runs.Go(func() {
			for range 8 {
				g := keep(t, root)
				if _, err := os.Lstat(filepath.Join(root, ".claude")); err != nil {
					t.Errorf("taken away from under another: %v", err)
				}
				release(t, g)
			}
		})
	}
	runs.Wait()
	if _, err := os.Lstat(filepath.Join(root, ".claude")); err != nil {
		t.Errorf("taken away from under the first: %v", err)
	}
	release(t, first)
	if got := list(t, root); len(got) != 0 {
		t.Errorf("left %q", got)
	}
}

// Who can't look whether a placeholder is there says so; that somebody took it away, with
// what it was in or without, is no fault.
func TestAPlaceholderThatCannotBeLookedAt(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, ".git/config")
	g := keep(t, root)
	aside := filepath.Join(root, "aside")
	if err := errors.Join(os.Remove(filepath.Join(root, ".claude")), os.Rename(filepath.Join(root, ".git"), aside)); err != nil {
		t.Fatal(err)
	}
	for _, change := range []func() error{
		func() error { return nil },
		func() error { return os.WriteFile(filepath.Join(root, ".git"), nil, 0o600) },
		func() error {
			return errors.Join(os.Remove(filepath.Join(root, ".git")), os.Symlink("aside", filepath.Join(root, ".git")))
		},
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		for _, p := range g.places {
			if !strings.HasPrefix(p.name, ".git/") && p.name != ".claude" {
				continue
			}
			if err := g.release(p); err != nil {
				t.Errorf("%s: %v", p.name, err)
			}
		}
	}
	if err := g.root.Close(); err != nil {
		t.Fatal(err)
	}
	inside := 0
	for _, p := range g.places {
		if strings.HasPrefix(p.name, ".git/") {
			inside++
		}
		if err := g.release(p); !errors.Is(err, unix.EBADF) {
			t.Errorf("%s: %v", p.name, err)
		}
		if err := unix.Close(p.fd); err != nil {
			t.Error(err)
		}
	}
	if inside == 0 {
		t.Error("nothing was held in .git")
	}
}

func TestWhatACrashLeftIsSwept(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	g := keep(t, root)
	for _, p := range g.places { // what a crash does
		if err := unix.Close(p.fd); err != nil {
			t.Fatal(err)
		}
	}
	g.root.Close()
	if len(list(t, root)) == 0 {
		t.Fatal("nothing is there to sweep")
	}
	write(t, root, ".vscode/settings.json") // somebody has made something of it
	if err := errors.Join(os.Mkdir(filepath.Join(root, tempPrefix+"a"), 0o755), os.WriteFile(filepath.Join(root, tempPrefix+"b"), []byte("."), 0o644)); err != nil {
		t.Fatal(err) // two that were ended before theirs was in place
	}
	f, err := os.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	if err := Sweep(f); err != nil {
		t.Error(err)
	}
	if got := list(t, root); !slices.Equal(got, []string{".vscode", ".vscode/settings.json"}) {
		t.Errorf("left %q", got)
	}
}

// A commondir says where a repository's configuration is, so a run that could
// make one would have its own configuration read. An empty one kills git.
func TestGitWorksWhileItIsTold(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		cmd := testproc.Command(t, "git", append([]string{"-C", root, "-c", "user.name=x", "-c", "user.email=x@y", "-c", "safe.directory=*"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("git %q: %v\n%s", args, err, out)
		}
	}
	git("init", "-q")
	g := keep(t, root)
	if _, ok := names1(g)[".git/commondir"]; !ok {
		t.Error(".git/commondir can be made")
	}
	for _, args := range [][]string{
		{"commit", "-q", "--allow-empty", "-m", "x"}, {"status"}, {"branch", "b"}, {"log", "-1"}, {"gc", "-q"}, {"worktree", "add", "-q", filepath.Join(t.TempDir(), "w"), "b"}, {"fsck"},
	} {
		git(args...)
	}
	release(t, g)
	for _, name := range []string{"commondir", "config.worktree", "info/attributes"} {
		if _, err := os.Lstat(filepath.Join(root, ".git", name)); err == nil {
			t.Errorf(".git/%s is left", name)
		}
	}
	git("status")
}

// Whoever can open a placeholder can lock it, as programs of other runs in the workspace
// can. Nobody waits for them: neither a run that begins nor who clears up.
func TestNobodyIsWaitedFor(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	g := keep(t, root)
	theirs, err := unix.Open(filepath.Join(root, ".claude"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		err = unix.Flock(theirs, unix.LOCK_SH)
	}
	if err != nil {
		t.Fatal(err)
	}
	release(t, g)
	if err := unix.Flock(theirs, unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	next := keep(t, root)
	if p, ok := names1(next)[".claude"]; !ok || p.File || p.Pinned {
		t.Errorf("what somebody keeps to himself isn't kept: %+v", p)
	}
	release(t, next)
	sweep := func() {
		t.Helper()
		f, err := os.Open(root)
		if err == nil {
			err = Sweep(f)
		}
		if err != nil {
			t.Error(err)
		}
	}
	sweep()
	if got := list(t, root); !slices.Equal(got, []string{".claude"}) {
		t.Errorf("left %q", got)
	}
	if err := unix.Close(theirs); err != nil {
		t.Fatal(err)
	}
	sweep()
	if got := list(t, root); len(got) != 0 {
		t.Errorf("left %q", got)
	}
}

// Tools that date everything at the beginning of time make empty files, too.
func TestWhatIsDatedLikeAPlaceholderIsTheUsers(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, name := range []string{".envrc", ".gitmodules", ".claude"} {
		if err := errors.Join(os.WriteFile(filepath.Join(root, name), nil, 0o644), os.Chtimes(filepath.Join(root, name), date, date)); err != nil {
			t.Fatal(err)
		}
	}
	g := keep(t, root)
	for _, name := range []string{".envrc", ".gitmodules", ".claude"} {
		if p := names1(g)[name]; !p.File {
			t.Errorf("%s: %+v", name, p)
		}
	}
	f, err := os.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	if got := Left(f); slices.Contains(got, ".envrc") {
		t.Errorf("told as left: %q", got)
	}
	release(t, g)
	if err := Sweep(f); err != nil {
		t.Error(err)
	}
	if got := list(t, root); !slices.Equal(got, []string{".claude", ".envrc", ".gitmodules"}) {
		t.Errorf("left %q", got)
	}
}
