package facts

import (
	"os"
	"strings"
	"testing"
)

// A workspace is the only root that there is, and is reached by no link.
func TestWorkspace(t *testing.T) {
	t.Parallel()
	base := tempDir(t)
	root, other := mkdir(t, base+"/root"), mkdir(t, base+"/other")
	mine, theirs := mkdir(t, root+"/ann/site"), mkdir(t, root+"/bob/site")
	mkdir(t, mine+"/sub")
	write(t, mine+"/sub/input", "x", 0o600)
	write(t, theirs+"/secret", "x", 0o600)
	must(t, os.Symlink(theirs, mine+"/out"))
	must(t, os.Symlink(theirs, root+"/ann/link"))
	must(t, os.Symlink("bob", root+"/eve"))
	must(t, os.Symlink(root, base+"/byname"))
	roots := []string{other, root}
	for name, tc := range map[string]struct{ roots, workspace, dir, real, root string }{
		"itself":            {"", mine, "", mine, mine},
		"below":             {"", mine, "sub", mine + "/sub", mine},
		"by its name":       {"", mine, mine + "/sub", mine + "/sub", mine},
		"up":                {"", mine, "../../bob/site", theirs, ""},
		"another":           {"", mine, theirs, theirs, ""},
		"the root":          {"", mine, root, root, ""},
		"a root of others":  {"", mine, other, other, ""},
		"a link out":        {"", mine, "out", theirs, ""},
		"a link":            {"", root + "/ann/link", "", "", ""},
		"a link above":      {"", root + "/eve/site", "", "", ""},
		"a file":            {"", mine + "/sub/input", "", "", ""},
		"missing":           {"", root + "/ann/none", "", "", ""},
		"dots":              {"", root + "/ann/../bob/site", "", "", ""},
		"a slash":           {"", mine + "/", "", "", ""},
		"outside":           {"", "/etc", "", "", ""},
		"relative":          {"", "ann/site", "", "", ""},
		"beside":            {"", root + "x", "", "", ""},
		"a root by a link":  {base + "/byname", base + "/byname/ann/site", "", mine, base + "/byname/ann/site"},
		"the whole root":    {"", root, "ann", root + "/ann", root},
		"a very long name":  {"", root + "/" + strings.Repeat("x", 100_000), "", "", ""},
		"NUL":               {"", root + "/ann\x00", "", "", ""},
		"a working dir out": {"", mine, "/etc", "/etc", ""},
	} {
		q := Query{Roots: roots, Workspace: tc.workspace, Dir: tc.dir}
		if tc.roots != "" {
			q.Roots = []string{tc.roots}
		}
		found := find(t, q)
		if found.Fault != nil || found.Dir.Real != tc.real || found.Dir.Root != tc.root || (found.DirFile != nil) != (tc.root != "") {
			t.Errorf("%s: %+v, %v", name, found.Dir, found.Fault)
		}
	}
	if found := find(t, Query{Roots: roots, Workspace: mine, Stdin: "../../bob/site/secret"}); found.StdinFile != nil {
		t.Error("the standard input is from elsewhere in the root")
	}
	if found := find(t, Query{Roots: roots, Workspace: mine, Stdin: "sub/input"}); found.StdinFile == nil {
		t.Errorf("%+v", found.Stdin)
	}
}
