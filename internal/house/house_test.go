package house_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"paddock/internal/house"
	"paddock/internal/house/papers"
	"paddock/internal/house/source"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

const root = "../.."

var tree = sync.OnceValues(func() (*source.Tree, error) { return source.Load(root) })

func theTree(t *testing.T) *source.Tree {
	t.Helper()
	tr, err := tree()
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// TestHouse holds the code to its plan.
func TestHouse(t *testing.T) {
	t.Parallel()
	tr := theTree(t)
	for _, f := range house.Inspect(tr) {
		t.Error(f)
	}
}

// TestGuests compares the guest book with the modules that go.mod requires, and
// with the packages linked into what is shipped that could start programs.
func TestGuests(t *testing.T) {
	t.Parallel()
	tr := theTree(t)
	modules, linked := required(t), linkedGuests(t, tr)
	starters, err := house.Starters(linked)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range slices.Concat(
		papers.Guests(tr, papers.ModulesHeading, modules, nil),
		// A package of a required module is linked as soon as somebody imports it.
		papers.Guests(tr, papers.StartersHeading, starters, modules),
	) {
		t.Error(f)
	}
}

// TestOneToolchain sees that every place that names the toolchain names the one
// of go.mod.
func TestOneToolchain(t *testing.T) {
	t.Parallel()
	version := regexp.MustCompile(`go ?(1\.\d+\.\d+)`)
	want := ""
	for _, name := range []string{"go.mod", "tools/go.mod", "Makefile", "README.md", "AGENTS.md"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		m := version.FindSubmatch(text)
		if m == nil {
			t.Errorf("%s names no Go version", name)
			continue
		}
		if want == "" {
			want = string(m[1])
		}
		if got := string(m[1]); got != want {
			t.Errorf("%s: got Go %s, want %s as in go.mod", name, got, want)
		}
	}
}

func required(t *testing.T) []string {
	t.Helper()
	var mod struct {
		Require []struct{ Path string }
	}
	if err := json.Unmarshal(goTool(t, "mod", "edit", "-json"), &mod); err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, r := range mod.Require {
		paths = append(paths, r.Path)
	}
	if len(paths) == 0 {
		t.Fatal("go.mod requires nothing: the list was not read")
	}
	return paths
}

// linkedGuests returns the packages of others, the standard library's too, that
// shipped packages of this module link in, with their Go files.
func linkedGuests(t *testing.T, tr *source.Tree) map[string][]string {
	t.Helper()
	var shipped []string
	for _, dir := range tr.Dirs((*source.File).Shipped) {
		if !source.WithinAny(dir, []string{"internal/house", "internal/testproc"}) {
			shipped = append(shipped, "./"+dir)
		}
	}
	args := append([]string{"list", "-deps", "-json=ImportPath,Dir,GoFiles,Standard,Imports"}, shipped...)
	dec := json.NewDecoder(strings.NewReader(string(goTool(t, args...))))
	guests := map[string][]string{}
	for {
		var p struct {
			ImportPath, Dir string
			GoFiles         []string
			Standard        bool
			Imports         []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		_, ours := tr.Local(p.ImportPath)
		if ours || p.Standard && !slices.Contains(p.Imports, "os/exec") {
			continue // the standard library starts programs through os/exec only, outside os itself
		}
		for _, name := range p.GoFiles {
			guests[p.ImportPath] = append(guests[p.ImportPath], filepath.Join(p.Dir, name))
		}
	}
	return guests
}

func goTool(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := testproc.Command(t, "go", args...)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		var exit *testproc.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, exit.Stderr)
		}
		t.Fatal(err)
	}
	return out
}
