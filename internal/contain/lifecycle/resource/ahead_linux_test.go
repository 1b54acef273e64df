package resource

import (
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"paddock/internal/contain/lifecycle/resource/early"
	"paddock/internal/testproc"
)

// paths are where an Ahead is.
func (a *Ahead) paths() (all []string) {
	for _, d := range a.directories {
		all = append(all, d.Path())
	}
	return all
}

// earlyMain makes a group ahead, says where such are, and waits.
func earlyMain() int {
	a := Probe().MakeAhead()
	if a == nil {
		fmt.Println("none")
		return 0
	}
	fmt.Println(strings.Join(a.paths(), " "))
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

func needAhead(t *testing.T) *Ahead {
	t.Helper()
	a := Probe().MakeAhead()
	if a == nil || len(a.directories) == 0 {
		testproc.Skip(t, "no group of cgroup v1 can be made")
	}
	t.Cleanup(func() {
		if err := a.Remove(); err != nil {
			t.Error(err)
		}
	})
	return a
}

func limiting(t *testing.T, l Limits) Plan {
	t.Helper()
	p, err := Probe().Plan(l)
	if err != nil {
		t.Fatal(err)
	}
	p.Directories = p.Limiting()
	return p
}

// contents are the settings of a group, as the kernel has them.
func contents(t *testing.T, g *Group) (all []string) {
	t.Helper()
	for _, d := range g.directories {
		for _, f := range d.set {
			b, err := os.ReadFile(path.Join(d.path, f.Name))
			if err != nil && !f.Optional {
				t.Error(err)
			}
			all = append(all, f.Name+" "+string(b))
		}
	}
	return all
}

// What was made ahead is, once it is given, what would have been made then.
func TestAheadIsTheSame(t *testing.T) {
	t.Parallel()
	a := needAhead(t)
	p := limiting(t, Limits{Memory: 1 << 24, Processes: 9})
	want, err := p.Make(nameFor(t) + "-usual")
	if err != nil {
		t.Fatal(err)
	}
	got, err := a.Give(p, nameFor(t))
	if err != nil {
		t.Fatal(err)
	}
	if g, w := contents(t, got), contents(t, want); !slices.Equal(g, w) {
		t.Errorf("%q, want %q", g, w)
	}
	if len(got.join) != len(want.join) || len(got.thread) != len(want.thread) || got.kill != nil {
		t.Errorf("%d and %d files to join by, want %d and %d", len(got.join), len(got.thread), len(want.join), len(want.thread))
	}
	for _, d := range got.directories {
		if path.Base(d.path) != nameFor(t) {
			t.Errorf("it is called %s", d.path)
		}
	}
	if err := a.Remove(); err != nil {
		t.Error(err)
	}
	if m, err := got.Members(); err != nil || len(m) != 0 {
		t.Errorf("%v, %v: it went with what it came from", m, err)
	}
	for _, g := range []*Group{got, want} {
		if err := g.Remove(); err != nil {
			t.Error(err)
		}
	}
}

// Where something else is needed nothing is left of it, and neither where its name is taken.
func TestAheadDoesNotFit(t *testing.T) {
	t.Parallel()
	other := limiting(t, Limits{Processes: 9})
	both := limiting(t, Limits{Memory: 1 << 24, Processes: 9})
	taken, err := both.Make(nameFor(t))
	if err != nil {
		testproc.Skip(t, err.Error())
	}
	defer func() {
		if err := taken.Remove(); err != nil {
			t.Error(err)
		}
	}()
	for what, give := range map[string]func(*Ahead) (*Group, error){
		"less":      func(a *Ahead) (*Group, error) { return a.Give(other, nameFor(t)+"-x") },
		"taken":     func(a *Ahead) (*Group, error) { return a.Give(both, nameFor(t)) },
		"a path":    func(a *Ahead) (*Group, error) { return a.Give(both, "../x") },
		"one early": func(a *Ahead) (*Group, error) { return a.Give(both, "ahead-x") },
	} {
		a := needAhead(t)
		mine := slices.Clone(a.directories)
		if g, err := give(a); err == nil {
			t.Errorf("%s: it was given, %v", what, g.Remove())
		}
		for _, d := range mine {
			if _, err := os.Lstat(path.Join(d.Folder(), path.Base(nameFor(t)+"-x"))); err == nil {
				t.Errorf("%s: something is left", what)
			}
			if err := d.Set("cgroup.procs", "0"); err == nil {
				t.Errorf("%s: it is still there", what)
			}
		}
	}
}

// What somebody has who waits is left alone, and taken away when he was killed.
func TestAheadIsSwept(t *testing.T) {
	cmd := testproc.Self(t, "early")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 1<<16)
	n, err := stdout.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	if string(line[:n]) == "none\n" {
		testproc.Skip(t, "no group of cgroup v1 can be made")
	}
	held := func() (paths []string) {
		for _, at := range strings.Fields(string(line[:n])) {
			if _, err := os.Lstat(at); err == nil {
				paths = append(paths, at)
			}
		}
		return paths
	}
	sweep := func() {
		if _, err := Probe().Sweep("no such run", func(string) bool { return false }); err != nil {
			t.Error(err)
		}
	}
	sweep()
	if len(held()) == 0 {
		t.Error("it was taken from who has it")
	}
	for _, at := range held() {
		if !early.Is(path.Base(at)) {
			t.Errorf("%s looks like a run's", at)
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	sweep()
	if left := held(); len(left) != 0 {
		t.Errorf("%q is left of one that was killed", left)
	}
}
