package facts

import (
	"context"
	"crypto/sha256"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/executor/judge/facts/roots"
	"paddock/internal/policy"
	"paddock/internal/trust"
)

// tempDir is a directory without links in its path.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t testing.TB, p, text string, mode os.FileMode) string {
	t.Helper()
	must(t, os.WriteFile(p, []byte(text), 0o600))
	must(t, os.Chmod(p, mode))
	return p
}

func mkdir(t testing.TB, p string) string {
	t.Helper()
	must(t, os.MkdirAll(p, 0o755))
	return p
}

const elf = "\x7fELF not really"

func find(t testing.TB, q Query) *Found {
	t.Helper()
	found := New().Find(context.Background(), q)
	t.Cleanup(found.Close)
	return found
}

func executable(t testing.TB, p string, searchPath ...string) *Found {
	t.Helper()
	return find(t, Query{Wanted: policy.Wanted{Executable: p}, SearchPath: strings.Join(searchPath, ":")})
}

func TestExecutableIsJudgedWithEverythingAboveIt(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		make   func(t *testing.T, dir string) string
		unsafe string // part of the words; empty: safe
	}{
		{"a plain file", func(t *testing.T, dir string) string { return write(t, dir+"/x", elf, 0o755) }, ""},
		{"not executable", func(t *testing.T, dir string) string { return write(t, dir+"/x", elf, 0o644) }, "no execute permission"},
		{"a directory", func(t *testing.T, dir string) string { return mkdir(t, dir+"/x") }, "not a regular file"},
		{"a pipe", func(t *testing.T, dir string) string {
			must(t, syscall.Mkfifo(dir+"/x", 0o755))
			return dir + "/x"
		}, "not a regular file"},
		{"a device", func(t *testing.T, dir string) string { return "/dev/null" }, ""}, // decided below
		{"writable by all", func(t *testing.T, dir string) string { return write(t, dir+"/x", elf, 0o757) }, "by everyone (mode 0757)"},
		{"writable by its group", func(t *testing.T, dir string) string { return write(t, dir+"/x", elf, 0o775) }, "by its group"},
		{"a parent writable by all", func(t *testing.T, dir string) string {
			must(t, os.Chmod(mkdir(t, dir+"/d/e"), 0o755))
			must(t, os.Chmod(dir+"/d", 0o777))
			return write(t, dir+"/d/e/x", elf, 0o755)
		}, "/d can be written to by everyone"},
		{"a sticky parent", func(t *testing.T, dir string) string {
			must(t, os.Chmod(mkdir(t, dir+"/d"), 0o777|os.ModeSticky))
			return write(t, dir+"/d/x", elf, 0o755)
		}, ""},
		{"a link", func(t *testing.T, dir string) string {
			write(t, dir+"/x", elf, 0o755)
			must(t, os.Symlink("x", dir+"/l"))
			return dir + "/l"
		}, ""},
		{"a link through an unsafe directory", func(t *testing.T, dir string) string {
			mkdir(t, dir+"/open")
			write(t, dir+"/open/x", elf, 0o755)
			must(t, os.Chmod(dir+"/open", 0o777))
			must(t, os.Symlink(dir+"/open/x", dir+"/l"))
			return dir + "/l"
		}, "/open can be written to by everyone"},
		{"links in a circle", func(t *testing.T, dir string) string {
			must(t, os.Symlink("b", dir+"/a"))
			must(t, os.Symlink("a", dir+"/b"))
			return dir + "/a"
		}, "too many levels of symbolic links"},
		{"a file where a directory must be", func(t *testing.T, dir string) string {
			return write(t, dir+"/x", elf, 0o755) + "/y"
		}, "not a directory"},
		{"a relative path", func(t *testing.T, dir string) string { return "x" }, "not an absolute path"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.name == "a device" {
				tt.unsafe = "" // its words depend on the machine; it must just not pass
			}
			found := executable(t, tt.make(t, tempDir(t)))
			e := found.Executable
			if !e.Found {
				t.Fatal("not found")
			}
			if tt.name == "a device" {
				if e.Unsafe == "" {
					t.Error("a device is no executable")
				}
				return
			}
			if (tt.unsafe == "") != (e.Unsafe == "") || !strings.Contains(e.Unsafe, tt.unsafe) {
				t.Errorf("unsafe = %q, want %q", e.Unsafe, tt.unsafe)
			}
			if (found.Launch != nil) != (e.Unsafe == "") {
				t.Errorf("launch = %v with unsafe %q", found.Launch, e.Unsafe)
			}
		})
	}
}

func TestExecutableOfAnotherOwnerIsUnsafe(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	p := write(t, dir+"/x", elf, 0o755)
	f := New()
	if os.Geteuid() == 0 {
		must(t, os.Chown(p, 12345, -1))
	} else {
		f.owner = trust.UID(12345) // then what we made is somebody else's
	}
	found := f.Find(context.Background(), Query{Wanted: policy.Wanted{Executable: p}})
	defer found.Close()
	if want := "who is neither root nor the user"; !strings.Contains(found.Executable.Unsafe, want) {
		t.Errorf("unsafe = %q, want %q", found.Executable.Unsafe, want)
	}
}

func TestLinkOfAnotherOwnerIsUnsafe(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root to give a link away")
	}
	dir := tempDir(t)
	must(t, os.Chmod(dir, 0o777|os.ModeSticky))
	write(t, dir+"/x", elf, 0o755)
	must(t, os.Symlink("x", dir+"/l"))
	must(t, os.Lchown(dir+"/l", 12345, 12345))
	if e := executable(t, dir+"/l").Executable; !strings.Contains(e.Unsafe, "/l belongs to user 12345") {
		t.Errorf("unsafe = %q", e.Unsafe)
	}
}

func TestMissingExecutable(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	must(t, os.Symlink("nowhere", dir+"/dangling"))
	for _, p := range []string{dir + "/none", dir + "/none/deeper", dir + "/dangling"} {
		found := executable(t, p)
		if diff := cmp.Diff(policy.ExecutableFacts{}, found.Executable); diff != "" || found.Launch != nil {
			t.Errorf("%s: %s", p, diff)
		}
	}
}

func TestDigestIsOfTheDescriptor(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	p := write(t, dir+"/x", elf, 0o755)
	f := New()
	q := Query{Wanted: policy.Wanted{Executable: p, Pinned: true}}
	found := f.Find(context.Background(), q)
	defer found.Close()
	want := paddock.DigestOf(sha256.Sum256([]byte(elf)))
	if found.Executable.Digest != want {
		t.Errorf("digest = %s, want %s (unsafe %q)", found.Executable.Digest, want, found.Executable.Unsafe)
	}
	// Swapping the path leaves what was judged.
	write(t, dir+"/other", "#!/bin/evil", 0o755)
	must(t, os.Rename(dir+"/other", p))
	held, err := io.ReadAll(io.NewSectionReader(found.Launch.File, 0, 1<<20))
	if err != nil || string(held) != elf {
		t.Errorf("the descriptor holds %q, %v", held, err)
	}
	again := f.Find(context.Background(), q)
	defer again.Close()
	if again.Executable.Digest == want {
		t.Error("the digest of the file before was given for the one in its place")
	}
}

func TestDigestIsRememberedUntilTheFileChanges(t *testing.T) {
	t.Parallel()
	p := write(t, tempDir(t)+"/x", elf, 0o755)
	f := New()
	f.memory.Now = func() time.Time { return time.Now().Add(time.Hour) } // by which the file is old
	first, err := f.DigestFile(context.Background(), p)
	must(t, err)
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	if second, err := f.DigestFile(canceled, p); err != nil || second != first {
		t.Errorf("asked again: %s, %v", second, err)
	}
	write(t, p, elf+"!", 0o755)
	if _, err := f.DigestFile(canceled, p); err == nil {
		t.Error("a changed file was not read again")
	}
}

func TestScriptsAreFollowedToTheBinary(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	bin := write(t, dir+"/bin", elf, 0o755)
	mkdir(t, dir+"/path")
	write(t, dir+"/path/tool", elf, 0o755)
	write(t, dir+"/env", elf, 0o755)
	write(t, dir+"/one", "#!"+bin+" -x y\n", 0o755)
	write(t, dir+"/two", "#!"+dir+"/one -z\n", 0o755)
	write(t, dir+"/byenv", "#!"+dir+"/env tool\n", 0o755)
	write(t, dir+"/byenvS", "#!"+dir+"/env -S tool a b\n", 0o755)
	write(t, dir+"/path/wrapped", "#!"+bin+"\n", 0o755)
	write(t, dir+"/envscript", "#!"+dir+"/env wrapped\n", 0o755)
	type ip = paddock.Interpreter
	tests := []struct {
		script string
		chain  []ip
		path   string
		argv   []string
	}{
		{"bin", nil, bin, []string{"word", "1", "2"}},
		{"one", []ip{{Path: bin, Argument: "-x y"}}, bin, []string{bin, "-x y", dir + "/one", "1", "2"}},
		{"two", []ip{{Path: dir + "/one", Argument: "-z"}, {Path: bin, Argument: "-x y"}}, bin,
			[]string{bin, "-x y", dir + "/one", "-z", dir + "/two", "1", "2"}},
		{"byenv", []ip{{Path: dir + "/env", Argument: "tool"}, {Path: dir + "/path/tool"}}, dir + "/path/tool",
			[]string{"tool", dir + "/byenv", "1", "2"}},
		{"byenvS", []ip{{Path: dir + "/env", Argument: "-S tool a b"}, {Path: dir + "/path/tool"}}, dir + "/path/tool",
			[]string{"tool", "a", "b", dir + "/byenvS", "1", "2"}},
		{"envscript", []ip{{Path: dir + "/env", Argument: "wrapped"}, {Path: dir + "/path/wrapped"}, {Path: bin}}, bin,
			[]string{bin, dir + "/path/wrapped", dir + "/envscript", "1", "2"}},
	}
	for _, tt := range tests {
		t.Run(tt.script, func(t *testing.T) {
			t.Parallel()
			found := executable(t, dir+"/"+tt.script, dir+"/nowhere", dir+"/path")
			if found.Executable.Unsafe != "" {
				t.Fatal(found.Executable.Unsafe)
			}
			if diff := cmp.Diff(tt.chain, found.Executable.Interpreters); diff != "" {
				t.Error(diff)
			}
			if found.Launch.Path != tt.path {
				t.Errorf("launches %s, want %s", found.Launch.Path, tt.path)
			}
			if diff := cmp.Diff(tt.argv, found.Launch.Argv([]string{"word", "1", "2"})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestScriptsThatCannotBeFollowedAreUnsafe(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, first string
		want        string
	}{
		{"missing interpreter", "#!DIR/none\n", "/none does not exist"},
		{"windows line end", "#!DIR/bin\r\n", "carriage return"},
		{"unsafe interpreter", "#!DIR/loose\n", "loose can be written to by everyone"},
		{"interpreter that isn't executable", "#!DIR/plain\n", "no execute permission"},
		{"a script that names itself", "#!DIR/x\n", "more than 4 scripts"},
		{"env and nothing in PATH", "#!DIR/env none\n", "none is in no directory of PATH"},
		{"env and an option", "#!DIR/env -i sh\n", "env is given the option"},
		{"env and an unsafe program", "#!DIR/env loose\n", "loose can be written to by everyone"},
		{"env and a relative path", "#!DIR/env ./bin\n", "not an absolute path"},
		{"env and nothing", "#!DIR/env\n", "no program"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := tempDir(t)
			write(t, dir+"/bin", elf, 0o755)
			write(t, dir+"/env", elf, 0o755)
			write(t, dir+"/loose", elf, 0o757)
			write(t, dir+"/plain", elf, 0o644)
			p := write(t, dir+"/x", strings.ReplaceAll(tt.first, "DIR", dir), 0o755)
			found := executable(t, p, dir)
			if !found.Executable.Found || found.Launch != nil || !strings.Contains(found.Executable.Unsafe, tt.want) {
				t.Errorf("unsafe = %q, want %q", found.Executable.Unsafe, tt.want)
			}
		})
	}
}

func TestRelativePathEntryIsUnsafe(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	write(t, dir+"/env", elf, 0o755)
	p := write(t, dir+"/x", "#!"+dir+"/env tool\n", 0o755)
	if e := executable(t, p, "", "/usr/bin").Executable; !strings.Contains(e.Unsafe, "not absolute") {
		t.Errorf("unsafe = %q", e.Unsafe)
	}
}

func TestWorkingDirectory(t *testing.T) {
	t.Parallel()
	base := tempDir(t)
	root := mkdir(t, base+"/root")
	other := mkdir(t, base+"/other")
	mkdir(t, base+"/root-sibling")
	mkdir(t, root+"/a/b")
	mkdir(t, other+"/o")
	write(t, root+"/file", "", 0o644)
	for link, target := range map[string]string{
		root + "/in": "a/b", root + "/inabs": root + "/a", root + "/out": "/etc", root + "/outrel": "../../",
		root + "/cross": other + "/o", root + "/dangling": "/nowhere/at/all", base + "/alias": root,
	} {
		must(t, os.Symlink(target, link))
	}
	tests := []struct {
		name, dir string
		want      policy.DirFacts
	}{
		{"empty is the first root", "", policy.DirFacts{Found: true, Real: root, Root: root}},
		{"relative", "a/b", policy.DirFacts{Found: true, Real: root + "/a/b", Root: root}},
		{"absolute", root + "/a", policy.DirFacts{Found: true, Real: root + "/a", Root: root}},
		{"dots that stay", "a/../a/./b", policy.DirFacts{Found: true, Real: root + "/a/b", Root: root}},
		{"dots that leave and come back", "../root/a", policy.DirFacts{Found: true, Real: root + "/a", Root: root}},
		{"a link inside", "in", policy.DirFacts{Found: true, Real: root + "/a/b", Root: root}},
		{"an absolute link inside", "inabs/b", policy.DirFacts{Found: true, Real: root + "/a/b", Root: root}},
		{"another root by a link", "cross", policy.DirFacts{Found: true, Real: other + "/o", Root: other}},
		{"an alias of the root", base + "/alias/a", policy.DirFacts{Found: true, Real: root + "/a", Root: root}},
		{"a link out", "out", policy.DirFacts{Found: true, Real: "/etc"}},
		{"a relative link out", "outrel", policy.DirFacts{Found: true, Real: filepath.Dir(base)}},
		{"dots out", "../..", policy.DirFacts{Found: true, Real: filepath.Dir(base)}},
		{"outside", "/etc", policy.DirFacts{Found: true, Real: "/etc"}},
		{"a sibling with the same prefix", base + "/root-sibling", policy.DirFacts{Found: true, Real: base + "/root-sibling"}},
		{"missing outside looks like outside", "/etc/no/such", policy.DirFacts{Found: true, Real: "/etc/no/such"}},
		{"missing inside", "a/none", policy.DirFacts{Real: root + "/a/none"}},
		{"a file", "file", policy.DirFacts{Real: root + "/file"}},
		{"a dangling link out", "dangling", policy.DirFacts{Found: true, Real: "/nowhere/at/all"}},
		{"a NUL", "a\x00b", policy.DirFacts{}},
		{"a name that is too long", strings.Repeat("n", 300), policy.DirFacts{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			found := find(t, Query{Roots: []string{root, other}, Dir: tt.dir})
			if diff := cmp.Diff(tt.want, found.Dir); diff != "" {
				t.Error(diff)
			}
			if (found.DirFile != nil) != (tt.want.Root != "") {
				t.Errorf("descriptor: %v", found.DirFile)
			}
			if found.DirFile != nil {
				if real, err := roots.RealPath(found.DirFile); err != nil || real != tt.want.Real {
					t.Errorf("the descriptor is of %s, %v", real, err)
				}
			}
		})
	}
}

func TestMagicLinksAreNotFollowed(t *testing.T) {
	t.Parallel()
	root := tempDir(t)
	must(t, os.Symlink("/proc/self/cwd", root+"/cwd"))
	found := find(t, Query{Roots: []string{root, "/proc"}, Dir: "cwd"})
	if found.DirFile != nil {
		t.Errorf("placed in %+v", found.Dir)
	}
}

func TestRootOfTheFileSystemIsARoot(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	for _, name := range []string{"", "/", dir, strings.TrimPrefix(dir, "/")} {
		found := find(t, Query{Roots: []string{"/"}, Dir: name})
		if found.DirFile == nil || found.Dir.Root != "/" {
			t.Errorf("%q: %+v", name, found.Dir)
		}
	}
	for _, p := range []string{"/proc/self/cwd", "/etc/passwd", "x"} {
		found := find(t, Query{Roots: []string{"/"}, Wanted: policy.Wanted{Paths: []string{p}}})
		if !found.Paths[p].Inside {
			t.Errorf("%s: %+v", p, found.Paths[p])
		}
	}
}

func TestNestedRootsAndRootsByLink(t *testing.T) {
	t.Parallel()
	base := tempDir(t)
	inner := mkdir(t, base+"/a/b")
	must(t, os.Symlink(base+"/a", base+"/link"))
	found := find(t, Query{Roots: []string{base + "/link", inner, base + "/gone"}, Dir: inner})
	if diff := cmp.Diff(policy.DirFacts{Found: true, Real: inner, Root: inner}, found.Dir); diff != "" {
		t.Error(diff)
	}
	found = find(t, Query{Roots: []string{base + "/link", inner}})
	if diff := cmp.Diff(policy.DirFacts{Found: true, Real: base + "/a", Root: base + "/link"}, found.Dir); diff != "" {
		t.Error(diff)
	}
	found = find(t, Query{Roots: []string{base + "/gone", inner}, Dir: "x"})
	if found.DirFile != nil || found.Dir != (policy.DirFacts{}) {
		t.Errorf("relative to a root that is gone: %+v", found.Dir)
	}
}

// What runs in a root can exchange another root inside it for a link.
func TestRootInsideAnotherIsNoLink(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	mkdir(t, dir+"/outer/inner")
	mkdir(t, dir+"/elsewhere")
	roots := []string{dir + "/outer", dir + "/outer/inner"}
	if got := find(t, Query{Roots: roots, Dir: dir + "/outer/inner"}).Dir; got.Root != roots[1] {
		t.Errorf("before: %+v", got)
	}
	must(t, os.Remove(dir+"/outer/inner"))
	must(t, os.Symlink(dir+"/elsewhere", dir+"/outer/inner"))
	if got := find(t, Query{Roots: roots, Dir: dir + "/outer/inner"}).Dir; got.Root != "" {
		t.Errorf("a link inside a root became a root: %+v", got)
	}
}

func TestPathArguments(t *testing.T) {
	t.Parallel()
	base := tempDir(t)
	root := mkdir(t, base+"/root")
	mkdir(t, root+"/desk/sub")
	write(t, root+"/desk/file", "", 0o644)
	for link, target := range map[string]string{
		root + "/desk/out": "/etc/passwd", root + "/desk/dangling": base + "/elsewhere/new", root + "/desk/danglingin": "later",
		root + "/desk/loop": "loop", root + "/desk/up": "..", root + "/desk/magic": "/proc/self/root",
	} {
		must(t, os.Symlink(target, link))
	}
	w := root + "/desk/"
	tests := map[string]policy.PathFacts{
		"file":              {Real: w + "file", Inside: true},
		".":                 {Real: root + "/desk", Inside: true},
		"new/deeper/x":      {Real: w + "new/deeper/x", Inside: true},
		"up/x":              {Real: root + "/x", Inside: true},
		"../..":             {Real: base},
		"../../other":       {Real: base + "/other"},
		"out":               {Real: "/etc/passwd"},
		"dangling":          {Real: base + "/elsewhere/new"},
		"danglingin":        {Real: w + "later", Inside: true},
		"/etc/passwd":       {Real: "/etc/passwd"},
		root + "/desk/file": {Real: w + "file", Inside: true},
		"none/../../../etc": {Real: w + "none"},
		"file/../../../etc": {Real: base + "/etc"},
		"loop":              {},
		// The program's own link would lead it elsewhere than ours leads us.
		"/proc/self/root" + w + "file": {Real: "/proc/self/root" + w + "file"},
		"magic" + w + "file":           {Real: "/proc/self/root" + w + "file"},
		"":                             {},
		"a\x00b":                       {},
		"sub/../../desk/new":           {Real: w + "new", Inside: true},
	}
	var paths []string
	for p := range tests {
		paths = append(paths, p)
	}
	found := find(t, Query{Roots: []string{root}, Dir: "desk", Wanted: policy.Wanted{Paths: paths}})
	if diff := cmp.Diff(tests, found.Paths); diff != "" {
		t.Error(diff)
	}
}

func TestStdinFile(t *testing.T) {
	t.Parallel()
	base := tempDir(t)
	root := mkdir(t, base+"/root")
	mkdir(t, root+"/desk")
	write(t, root+"/desk/in", "hello", 0o644)
	write(t, base+"/secret", "x", 0o644)
	must(t, os.Symlink(base+"/secret", root+"/desk/out"))
	must(t, syscall.Mkfifo(root+"/desk/pipe", 0o644))
	tests := []struct{ file, problem string }{
		{"in", ""},
		{root + "/desk/in", ""},
		{"../desk/in", ""},
		{"out", "which is outside every root"},
		{"/etc/passwd", "which is outside every root"},
		{"/etc/nothing-here", "which is outside every root"},
		{"none", "no such file"},
		{".", "not a regular file"},
		{"pipe", "not a regular file"},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			t.Parallel()
			found := find(t, Query{Roots: []string{root}, Dir: "desk", Stdin: tt.file})
			if !found.Stdin.Checked || (tt.problem == "") != (found.Stdin.Problem == "") || !strings.Contains(found.Stdin.Problem, tt.problem) {
				t.Errorf("%+v, want %q", found.Stdin, tt.problem)
			}
			if (found.StdinFile != nil) != (tt.problem == "") {
				t.Errorf("descriptor %v", found.StdinFile)
			}
			if found.StdinFile != nil {
				if got, err := io.ReadAll(found.StdinFile); err != nil || string(got) != "hello" {
					t.Errorf("read %q, %v", got, err)
				}
			}
		})
	}
}

// An attacker who exchanges a directory for a link to the outside, as fast as
// it can, never gets a descriptor outside.
func TestExchangedDirectoryNeverLeadsOut(t *testing.T) {
	t.Parallel()
	base := tempDir(t)
	root := mkdir(t, base+"/root")
	mkdir(t, root+"/a/deep")
	mkdir(t, base+"/outside/deep")
	must(t, os.Symlink(base+"/outside", root+"/b"))
	stop := make(chan struct{})
	var attacker sync.WaitGroup
	attacker.Add(1)
	go func() {
		defer attacker.Done()
		runtime.LockOSThread()
		for {
			select {
			case <-stop:
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, root+"/a", unix.AT_FDCWD, root+"/b", unix.RENAME_EXCHANGE)
			}
		}
	}()
	f, placed, refused := New(), 0, 0
	for range 2000 {
		found := f.Find(context.Background(), Query{Roots: []string{root}, Dir: "a/deep"})
		if found.DirFile == nil {
			refused++
			continue
		}
		placed++
		real, err := roots.RealPath(found.DirFile)
		if err != nil || real != root && !strings.HasPrefix(real, root+"/") {
			t.Errorf("placed in %s, %v", real, err)
		}
		found.Close()
	}
	close(stop)
	attacker.Wait()
	t.Logf("%d placed, %d refused", placed, refused)
	if placed == 0 {
		t.Error("nothing was ever placed, so nothing was tested")
	}
}

func TestNothingStaysOpen(t *testing.T) {
	base := tempDir(t)
	root := mkdir(t, base+"/root")
	mkdir(t, root+"/a")
	write(t, root+"/in", "", 0o644)
	bin := write(t, base+"/bin", elf, 0o755)
	script := write(t, base+"/script", "#!"+bin+"\n", 0o755)
	bad := write(t, base+"/bad", "#!"+base+"/none\n", 0o755)
	must(t, os.Symlink("/etc", root+"/out"))
	before := descriptors(t)
	f := New()
	for _, exe := range []string{bin, script, bad, base, base + "/none", bin + "/x"} {
		for _, dir := range []string{"", "a", "out", "none", "/etc/none"} {
			for _, in := range []string{"", root + "/in", "out", "none"} {
				f.Find(context.Background(), Query{
					Wanted: policy.Wanted{Executable: exe, Pinned: true, Paths: []string{"in", "../out/x", "none/x"}},
					Roots:  []string{root, base + "/gone", "/proc"}, Dir: dir, Stdin: in,
				}).Close()
			}
		}
	}
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(entries)
}
