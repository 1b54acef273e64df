package lineage_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"paddock/internal/lineage"
	"paddock/internal/policy"
	"paddock/internal/trust"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func more(r lineage.Reader, path string) []policy.Source {
	data, err := os.ReadFile(path)
	if err != nil {
		panic(err)
	}
	return r.More(path, data)
}

// said is each file with what is wrong with it, for one line.
func said(dir string, sources []policy.Source) string {
	var out []string
	for _, s := range sources {
		line := strings.TrimPrefix(s.Name, dir+"/")
		if s.Floor {
			line += " (floor)"
		}
		if s.Problem != "" {
			line += ": " + strings.ReplaceAll(s.Problem, dir+"/", "")
		}
		out = append(out, line)
	}
	return strings.Join(out, "; ")
}

func TestMore(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	write(t, at("alone.yaml"), "version: 1\n# extends nothing\n")
	write(t, at("p/own.yaml"), "version: 1\nextends: ../team.yaml\n")
	write(t, at("p/deep.yaml"), "version: 1\nextends: "+at("p/own.yaml")+"\n")
	write(t, at("team.yaml"), "version: 1\n")
	write(t, at("gone.yaml"), "version: 1\nextends: none.yaml\n")
	write(t, at("a.yaml"), "version: 1\nextends: ./b.yaml\n")
	write(t, at("b.yaml"), "version: 1\nextends: a.yaml\n")
	write(t, at("self.yaml"), "version: 1\nextends: self.yaml\n")
	write(t, at("dir.yaml"), "version: 1\nextends: p\n")
	write(t, at("floor.yaml"), "version: 1\n")
	for i := range 12 {
		write(t, at(fmt.Sprintf("%d.yaml", i)), fmt.Sprintf("version: 1\nextends: %d.yaml\n", i+1))
	}
	user := lineage.Reader{User: trust.User(), Floor: at("no-floor.yaml"), Keeper: trust.User()}
	floored := user
	floored.Floor = at("floor.yaml")
	for _, c := range []struct {
		reader     lineage.Reader
		from, want string
	}{
		{user, "alone.yaml", ""},
		{user, "p/own.yaml", "team.yaml"},
		{user, "p/deep.yaml", "p/own.yaml; team.yaml"},
		{floored, "p/own.yaml", "team.yaml; floor.yaml (floor)"},
		{floored, "alone.yaml", "floor.yaml (floor)"},
		{lineage.Reader{User: trust.User()}, "alone.yaml", ""},
		{user, "gone.yaml", "none.yaml: there is no such file"},
		{user, "a.yaml", "b.yaml; a.yaml: it extends itself, by way of a.yaml and b.yaml"},
		{user, "self.yaml", "self.yaml: it extends itself, by way of self.yaml"},
		{user, "dir.yaml", "p: p is not a regular file"},
	} {
		if got := said(dir, more(c.reader, at(c.from))); got != c.want {
			t.Errorf("%s: %q, want %q", c.from, got, c.want)
		}
	}
	if got := said(dir, more(user, at("0.yaml"))); !strings.HasSuffix(got, "9.yaml: at most 8 files are extended one by the other") {
		t.Errorf("%q", got)
	}
	if got := said(dir, user.More("name", []byte("version: 1\nextends: x.yaml\n"))); !strings.HasPrefix(got, "x.yaml: this policy is no file") {
		t.Errorf("%q", got)
	}
}

// What others could change belongs to no policy, and a floor is its keeper's alone.
func TestDistrusted(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("who can change a file is only looked at on Linux")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	own, team := filepath.Join(dir, "own.yaml"), filepath.Join(dir, "team.yaml")
	write(t, own, "version: 1\nextends: team.yaml\n")
	write(t, team, "version: 1\n")
	if err := os.Chmod(team, 0o666); err != nil {
		t.Fatal(err)
	}
	user := lineage.Reader{User: trust.User()}
	if got := said(dir, more(user, own)); got != "team.yaml: team.yaml can be written to by everyone (mode 0666)" {
		t.Errorf("%q", got)
	}
	if os.Geteuid() == 0 { // the keeper is somebody else, or root while the file is another's
		if err := os.Chown(team, 12345, -1); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(team, 0o644); err != nil {
		t.Fatal(err)
	}
	root := lineage.Reader{User: trust.User(), Floor: team, Keeper: trust.UID(0)}
	got := more(root, own)
	if floor := got[len(got)-1]; !floor.Floor || !strings.Contains(floor.Problem, "who is neither root nor") {
		t.Errorf("%+v", floor)
	}
	if s := lineage.System(); s.Floor != "/etc/paddock/floor.yaml" || s.Keeper != trust.UID(0) {
		t.Errorf("%+v", s)
	}
}
