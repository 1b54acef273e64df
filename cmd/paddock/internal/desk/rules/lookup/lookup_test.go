//go:build linux

package lookup

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"paddock"
)

// A world has a project to look from and every place to look in.
type world struct {
	Places
	t    *testing.T
	base string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	base := RealPath(t.TempDir())
	w := &world{t: t, base: base, Places: Places{
		Config: filepath.Join(base, "config"), Dir: filepath.Join(base, "work", "project", "deep"), System: filepath.Join(base, "system.yaml"),
	}}
	if err := os.MkdirAll(w.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return w
}

func text(root string) string {
	return fmt.Sprintf("version: 1\nroots: [{path: %q}]\nexecutables:\n  - {name: x, path: /bin/x, args: any}\ncontainment: {require: off}\n", root)
}

func (w *world) write(path, content string) string {
	w.t.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(w.base, path)
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o600)); err != nil {
		w.t.Fatal(err)
	}
	return path
}

func (w *world) trust(path string) {
	w.t.Helper()
	_, digest, err := ReadProposal(path)
	if err == nil {
		err = w.Trust(Trust{Path: path, Digest: digest, At: time.Unix(1e9, 0)})
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// Each place beats those after it.
func TestOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	project := filepath.Join(w.base, "work", "project")
	want := func(kind Kind) {
		t.Helper()
		found, refusal := refused(w.Find())
		if refusal != nil || found.Kind != kind {
			t.Fatalf("found %q (%v), want %q", found.Kind, refusal, kind)
		}
	}
	w.write(w.System, text("/srv"))
	want(BySystem)
	proposal := w.write(filepath.Join(project, WorkspaceFile), text(project))
	want(BySystem) // a proposal counts for nothing
	w.trust(proposal)
	want(ByTrust)
	w.write(w.ProjectFile(filepath.Dir(project)), text("/above"))
	want(ByProject)
	w.write(w.ProjectFile(project), text(project))
	if found, _ := w.Find(); found.Project != project {
		t.Errorf("found the policy of %s, want that of the nearest, %s", found.Project, project)
	}
	w.Environment = w.write("environment.yaml", text("/srv"))
	want(ByEnvironment)
	w.Flag = w.write("flag.yaml", text("/srv"))
	want(ByFlag)
}

// What is there but can't be used is told. Passing over it would mean another
// policy than the operator meant.
func TestNothingIsPassedOver(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		make func(*world)
		code paddock.Code
		say  string
	}{
		{"nothing", func(*world) {}, paddock.NoPolicy, "No policy applies"},
		{"a flag for a missing file", func(w *world) { w.Flag = "missing.yaml" }, paddock.NoPolicy, "named by --policy, doesn't exist"},
		{"an environment for a missing file", func(w *world) { w.Environment = "/missing.yaml" }, paddock.NoPolicy, "named by PADDOCK_POLICY, doesn't exist"},
		{"a project's policy that others may write", func(w *world) {
			if err := os.Chmod(w.write(w.ProjectFile(w.Dir), text("/srv")), 0o666); err != nil {
				w.t.Fatal(err)
			}
		}, paddock.PolicyInvalid, "can't be trusted"},
		{"a directory that others may write", func(w *world) {
			w.Flag = w.write("open/policy.yaml", text("/srv"))
			if err := os.Chmod(filepath.Dir(w.Flag), 0o777); err != nil {
				w.t.Fatal(err)
			}
		}, paddock.PolicyInvalid, "can't be trusted"},
		{"a project's policy that leads nowhere", func(w *world) {
			file := w.ProjectFile(w.Dir)
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.Symlink("nowhere", file)); err != nil {
				w.t.Fatal(err)
			}
		}, paddock.NoPolicy, "doesn't exist"},
		{"a directory in place of a policy", func(w *world) { w.Flag = w.base }, paddock.PolicyInvalid, "can't be trusted"},
		{"a proposal", func(w *world) { w.write(filepath.Join(w.Dir, WorkspaceFile), text(w.Dir)) }, paddock.NoPolicy, "counts only after it was trusted"},
		{"a proposal that changed", func(w *world) {
			path := w.write(filepath.Join(w.Dir, WorkspaceFile), text(w.Dir))
			w.trust(path)
			w.write(path, text(w.Dir)+"# one more line\n")
		}, paddock.NoPolicy, "was trusted on 2001-09-09"},
		{"a proposal that became a pipe", func(w *world) {
			path := w.write(filepath.Join(w.Dir, WorkspaceFile), text(w.Dir))
			w.trust(path)
			if err := errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)); err != nil {
				w.t.Fatal(err)
			}
		}, paddock.PolicyInvalid, "not a regular file"},
		{"a trust that somebody else may write", func(w *world) {
			path := w.write(filepath.Join(w.Dir, WorkspaceFile), text(w.Dir))
			w.trust(path)
			if err := os.Chmod(w.trustFile(path), 0o666); err != nil {
				w.t.Fatal(err)
			}
		}, paddock.PolicyInvalid, "can be written to by everyone"},
		{"a trust that is about another file", func(w *world) {
			path := w.write(filepath.Join(w.Dir, WorkspaceFile), text(w.Dir))
			w.write(w.trustFile(path), `{"path": "/elsewhere", "digest": "sha256:0"}`)
		}, paddock.PolicyInvalid, `it is about "/elsewhere"`},
		{"a trust that is broken", func(w *world) {
			path := w.write(filepath.Join(w.Dir, WorkspaceFile), text(w.Dir))
			w.write(w.trustFile(path), `{`)
		}, paddock.PolicyInvalid, "can't be used"},
		{"a policy without end", func(w *world) {
			w.Flag = w.write("long.yaml", strings.Repeat("# long\n", mostBytes/7+1))
		}, paddock.PolicyInvalid, "larger than 4 MiB"},
		{"an error", func(w *world) { w.Flag = w.write("bad.yaml", "version: 1\nrots: []\n") }, paddock.PolicyInvalid, "errors, the first at 1:1"},
		{"inside its own root", func(w *world) { w.Flag = w.write("work/policy.yaml", text(filepath.Join(w.base, "work"))) }, paddock.PolicyInvalid, "lies inside its own root"},
		{"inside its own root by a link", func(w *world) {
			if err := os.Symlink(filepath.Join(w.base, "work"), filepath.Join(w.base, "link")); err != nil {
				w.t.Fatal(err)
			}
			w.Flag = w.write("work/policy.yaml", text(filepath.Join(w.base, "link")))
		}, paddock.PolicyInvalid, "lies inside its own root"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			tt.make(w)
			s := &Source{Places: w.Places}
			p, refusal := refused(s.Load())
			if p != nil || refusal == nil {
				t.Fatal("there is a policy")
			}
			if refusal.Code != tt.code || !strings.Contains(refusal.Message, tt.say) {
				t.Errorf("refused with %v, want %s: …%s…", refusal, tt.code, tt.say)
			}
			if refusal.Hint == "" {
				t.Error("it doesn't say what to do")
			}
		})
	}
}

// The ways out name what to type.
func TestWaysOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	project := filepath.Join(w.base, "work", "project")
	if err := os.Mkdir(filepath.Join(project, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, refusal := refused(w.Find())
	if want := "`paddock policy init` in " + project; !strings.Contains(refusal.Hint, want) {
		t.Errorf("hint %q, want %q in it", refusal.Hint, want)
	}
	w.write(filepath.Join(project, WorkspaceFile), text(project))
	_, refusal = refused(w.Find())
	for _, want := range []string{"`paddock policy init` in " + project, "`paddock policy trust " + project + "/paddock.yaml`"} {
		if !strings.Contains(refusal.Hint, want) {
			t.Errorf("hint %q, want %q in it", refusal.Hint, want)
		}
	}
}

// What changes counts from the next request on; what doesn't isn't compiled again.
func TestSourceFollowsTheFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.write(filepath.Join(w.Dir, WorkspaceFile), text(w.Dir))
	w.trust(path)
	s := &Source{Places: w.Places}
	first, refusal := refused(s.Load())
	if refusal != nil {
		t.Fatal(refusal)
	}
	if again, _ := s.Load(); again != first {
		t.Error("the same content was compiled twice")
	}
	changed := w.write(path, text(w.Dir)+"# more\n")
	if _, refusal := refused(s.Load()); refusal == nil || refusal.Code != paddock.NoPolicy {
		t.Errorf("after a change: %v, want no_policy", refusal)
	}
	w.trust(changed)
	second, refusal := refused(s.Load())
	if refusal != nil {
		t.Fatal(refusal)
	}
	if second == first || second.Digest() != paddock.DigestOf(sha256.Sum256([]byte(text(w.Dir)+"# more\n"))) {
		t.Error("what was trusted anew doesn't count")
	}
}

func TestZeroPlacesFindNothing(t *testing.T) {
	t.Parallel()
	s := &Source{Places: Places{Dir: t.TempDir()}}
	if p, refusal := refused(s.Load()); p != nil || refusal == nil || refusal.Code != paddock.NoPolicy {
		t.Errorf("found %v, %v", p, refusal)
	}
}

func TestProjectFilesDiffer(t *testing.T) {
	t.Parallel()
	p := Places{Config: "/c"}
	seen := map[string]string{}
	for _, dir := range []string{"/", "/a", "/a/a", "/b/a", "/a b", "/a_b", "/ä", "/.a", "/..", "/" + strings.Repeat("x", 300), "/" + strings.Repeat("x", 301)} {
		file := p.ProjectFile(dir)
		if other, ok := seen[file]; ok {
			t.Errorf("%s and %s share %s", dir, other, file)
		}
		seen[file] = dir
		if filepath.Dir(file) != "/c/projects" || strings.HasPrefix(filepath.Base(file), ".") || len(filepath.Base(file)) > 100 {
			t.Errorf("%s has the file %s", dir, file)
		}
	}
}

func TestPublish(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := filepath.Join(w.base, "new", "dir", "file")
	if err := Publish(path, []byte("one"), false); err != nil {
		t.Fatal(err)
	}
	if err := Publish(path, []byte("two"), false); !errors.Is(err, os.ErrExist) {
		t.Errorf("publishing again without replacing: %v, want os.ErrExist", err)
	}
	if err := Publish(path, []byte("three"), true); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != "three" {
		t.Errorf("read %q, %v", got, err)
	}
	for name, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has mode %v (%v), want %v", name, info.Mode(), err, want)
		}
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind %v, %v", entries, err)
	}
	if err := os.Chmod(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := Publish(path, []byte("four"), true); err == nil {
		t.Error("published where others can replace it")
	}
}

// refused takes an error for the refusal that it must be.
func refused[T any](v T, err error) (T, *paddock.Refusal) {
	var refusal *paddock.Refusal
	if err != nil && !errors.As(err, &refusal) {
		panic(err)
	}
	return v, refusal
}
