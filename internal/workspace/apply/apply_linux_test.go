package apply

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"paddock/internal/testproc"
	"paddock/internal/workspace/apply/tree"
	"paddock/internal/workspace/apply/tree/change"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

type fataler interface {
	Helper()
	Fatal(args ...any)
}

func must(t fataler, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A scene is a workspace and the run's copy of it.
type scene struct {
	t          fataler
	base, copy *tree.Root
	basePath   string
	copyPath   string
	before     []change.Entry
	start      []change.Entry
}

func newScene(t fataler, dir string) *scene {
	t.Helper()
	s := &scene{t: t, basePath: filepath.Join(dir, "base"), copyPath: filepath.Join(dir, "copy")}
	must(t, os.MkdirAll(s.basePath, 0o755), os.MkdirAll(s.copyPath, 0o755))
	return s
}

// begin takes the copy, as at a run's start.
func (s *scene) begin() {
	s.t.Helper()
	var err error
	s.base, err = tree.Open(s.basePath)
	must(s.t, err)
	s.copy, err = tree.Open(s.copyPath)
	must(s.t, err)
	seen, err := s.base.Walk(1000, false)
	must(s.t, err)
	_, err = s.base.Copy(seen, s.copy, 1<<20)
	must(s.t, err)
	s.before, s.start = seen.Entries, s.walk(s.copy)
}

func (s *scene) close() { must(s.t, s.base.Close(), s.copy.Close()) }

func (s *scene) walk(r *tree.Root) []change.Entry {
	s.t.Helper()
	seen, err := r.Walk(1000, false)
	must(s.t, err)
	return seen.Entries
}

func (s *scene) order() *Order {
	return &Order{
		Base: s.base, From: s.copy, Changes: change.Between(s.before, s.start, s.walk(s.copy)),
		Protected: func(name string) bool { return name == ".envrc" || strings.HasPrefix(name, ".git/hooks") },
		Temp:      ".unfinished", UID: os.Geteuid(), Groups: []int{os.Getegid()},
	}
}

// looks is a tree for comparing.
func looks(t fataler, dir string) map[string]string {
	out := map[string]string{}
	must(t, filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || p == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		content := ""
		switch {
		case info.Mode().IsRegular():
			b, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			content = string(b)
		case info.Mode()&os.ModeSymlink != 0:
			if content, err = os.Readlink(p); err != nil {
				return err
			}
		}
		rel, err := filepath.Rel(dir, p)
		out[rel] = fmt.Sprint(info.Mode(), " ", content)
		return err
	}))
	return out
}

var parts = []string{"a", "b", "c"}

// scribble changes a tree at random.
func scribble(t *rapid.T, dir, label string) {
	for i := range rapid.IntRange(0, 8).Draw(t, label) {
		name := filepath.Join(dir, filepath.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 1, 3).Draw(t, fmt.Sprint(label, i))...))
		what := rapid.SampledFrom([]string{"file", "tool", "dir", "shut", "link", "gone"}).Draw(t, "what")
		if what != "dir" || rapid.Bool().Draw(t, "anew") {
			if err := os.RemoveAll(name); !errors.Is(err, unix.ENOTDIR) {
				must(t, err)
			}
		}
		if what == "gone" {
			continue
		}
		// Others may have made files of the directories above.
		for at := dir; ; {
			rel, _ := filepath.Rel(at, filepath.Dir(name))
			if rel == "." {
				break
			}
			at = filepath.Join(at, strings.Split(rel, "/")[0])
			if info, err := os.Lstat(at); err == nil && !info.IsDir() {
				must(t, os.Remove(at))
			}
			must(t, os.MkdirAll(at, 0o755))
		}
		content := []byte(rapid.StringMatching(`[xy]{0,3}`).Draw(t, "content"))
		switch what {
		case "file":
			must(t, os.WriteFile(name, content, 0o644))
		case "tool":
			must(t, os.WriteFile(name, content, 0o755))
		case "dir":
			if info, err := os.Lstat(name); err == nil && !info.IsDir() {
				must(t, os.Remove(name))
			}
			must(t, os.MkdirAll(name, 0o755))
		case "shut":
			must(t, os.MkdirAll(name, 0o755), os.Chmod(name, 0o750))
		case "link":
			must(t, os.Symlink("x"+string(content), name))
		}
	}
}

// Whatever a run did, and wherever applying it was interrupted, applying it in
// the end gives the workspace that the run saw.
func TestApplyGivesWhatTheRunSaw(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(top, "")
		must(t, err)
		defer func() { must(t, os.RemoveAll(dir)) }()
		s := newScene(t, dir)
		scribble(t, s.basePath, "base")
		s.begin()
		defer s.close()
		scribble(t, s.copyPath, "run")
		crash := rapid.IntRange(0, 12).Draw(t, "crash")
		died := errors.New("died")
		o := s.order()
		o.step = func() error {
			if crash--; crash < 0 {
				return died
			}
			return nil
		}
		troubles, err := o.Check()
		must(t, err)
		if len(troubles) > 0 {
			t.Fatalf("%+v", troubles)
		}
		if err := o.Do(); err != nil {
			if !errors.Is(err, died) {
				t.Fatal(err)
			}
			o = s.order()
			o.Resumed = true
			troubles, err = o.Check()
			must(t, err)
			if len(troubles) > 0 {
				t.Fatalf("after a crash: %+v", troubles)
			}
			must(t, o.Do())
		}
		if diff := cmp.Diff(looks(t, s.copyPath), looks(t, s.basePath)); diff != "" {
			t.Fatalf("(-run +workspace):\n%s", diff)
		}
		// Once more changes nothing.
		o = s.order()
		o.step = func() error { return errors.New("a write") }
		if _, err := o.Check(); err != nil {
			t.Fatal(err)
		}
		must(t, o.Do())
	})
}

// One change that must not be made keeps all from being made.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		run, meanwhile func(dir string) error
		path           string
		overwrite      bool // whether naming the path helps
	}{
		"protected": {run: func(d string) error { return os.WriteFile(d+"/.envrc", nil, 0o644) }, path: ".envrc"},
		"deeper": {run: func(d string) error {
			return errors.Join(os.MkdirAll(d+"/.git/hooks", 0o755), os.WriteFile(d+"/.git/hooks/pre-commit", nil, 0o755))
		}, path: ".git/hooks"},
		"fifo":          {run: func(d string) error { return unix.Mkfifo(d+"/pipe", 0o600) }, path: "pipe"},
		"setuid":        {run: func(d string) error { return os.Chmod(d+"/file", 0o755|os.ModeSetuid) }, path: "file"},
		"absolute link": {run: func(d string) error { return os.Symlink("/etc/passwd", d+"/link") }, path: "link"},
		"link outside":  {run: func(d string) error { return os.Symlink("../../x", d+"/dir/link") }, path: "dir/link"},
		"changed meanwhile": {run: func(d string) error { return os.WriteFile(d+"/file", []byte("run"), 0o644) },
			meanwhile: func(d string) error { return os.WriteFile(d+"/file", []byte("other"), 0o644) }, path: "file", overwrite: true},
		"appeared meanwhile": {run: func(d string) error { return os.WriteFile(d+"/new", []byte("run"), 0o644) },
			meanwhile: func(d string) error { return os.WriteFile(d+"/new", []byte("other"), 0o644) }, path: "new", overwrite: true},
		"gone meanwhile": {run: func(d string) error { return os.WriteFile(d+"/file", []byte("run"), 0o644) },
			meanwhile: func(d string) error { return os.Remove(d + "/file") }, path: "file", overwrite: true},
		"more in it": {run: func(d string) error { return os.RemoveAll(d + "/dir") },
			meanwhile: func(d string) error { return os.WriteFile(d+"/dir/mine", nil, 0o644) }, path: "dir"},
		"a link on the way": {run: func(d string) error { return os.WriteFile(d+"/dir/inner", []byte("run"), 0o644) },
			meanwhile: func(d string) error { return errors.Join(os.RemoveAll(d+"/dir"), os.Symlink("/etc", d+"/dir")) }, path: "dir/inner"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, t.TempDir())
			must(t, os.Mkdir(s.basePath+"/dir", 0o755), os.WriteFile(s.basePath+"/file", []byte("old"), 0o644), os.WriteFile(s.basePath+"/dir/inner", []byte("old"), 0o644))
			s.begin()
			defer s.close()
			must(t, c.run(s.copyPath), os.WriteFile(s.copyPath+"/zealous", nil, 0o644))
			if c.meanwhile != nil {
				must(t, c.meanwhile(s.basePath))
			}
			was := looks(t, s.basePath)
			troubles, err := s.order().Check()
			must(t, err)
			if !slices.ContainsFunc(troubles, func(tr Trouble) bool { return tr.Path == c.path && tr.Why != "" }) {
				t.Fatalf("%+v", troubles)
			}
			if diff := cmp.Diff(was, looks(t, s.basePath)); diff != "" {
				t.Error(diff)
			}
			o := s.order()
			o.Overwrite = true
			troubles, err = o.Check()
			must(t, err)
			if c.overwrite != (len(troubles) == 0) {
				t.Errorf("with the path named: %+v", troubles)
			}
			if c.overwrite {
				must(t, o.Do())
				if diff := cmp.Diff(looks(t, s.copyPath), looks(t, s.basePath)); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// Who comes in between isn't overwritten.
func TestSomebodyElseAtTheLastMoment(t *testing.T) {
	t.Parallel()
	s := newScene(t, t.TempDir())
	must(t, os.WriteFile(s.basePath+"/file", []byte("old"), 0o644))
	s.begin()
	defer s.close()
	must(t, os.WriteFile(s.copyPath+"/file", []byte("run"), 0o644))
	o := s.order()
	if troubles, err := o.Check(); err != nil || len(troubles) > 0 {
		t.Fatal(troubles, err)
	}
	must(t, os.WriteFile(s.basePath+"/file", []byte("other"), 0o644))
	if err := o.Do(); err == nil {
		t.Error("applied")
	}
	if got := looks(t, s.basePath)["file"]; !strings.HasSuffix(got, "other") {
		t.Error(got)
	}
	if err := (&Order{}).Do(); err == nil {
		t.Error("an order was carried out that nobody checked")
	}
}
