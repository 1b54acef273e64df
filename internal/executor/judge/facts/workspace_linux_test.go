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

// Where workspaces are, nothing is found for a command without one: neither in a root with
// such a directory in it, nor in one inside of it, nor by a link.
func TestApart(t *testing.T) {
	t.Parallel()
	base := tempDir(t)
	spaces, other := mkdir(t, base+"/srv/spaces"), mkdir(t, base+"/other")
	around, within := base+"/srv", mkdir(t, spaces+"/within")
	theirs := mkdir(t, spaces+"/ann/site")
	write(t, theirs+"/secret", "x", 0o600)
	must(t, os.Symlink(theirs, other+"/in"))
	must(t, os.Symlink(spaces, base+"/byname"))
	for name, tc := range map[string]struct {
		roots, apart []string
		dir          string
		root         string
		said         bool
	}{
		"theirs":                 {[]string{other, spaces}, []string{spaces}, theirs, "", true},
		"what isn't there":       {[]string{other, spaces}, []string{spaces}, spaces + "/none", "", true},
		"all of them":            {[]string{other, spaces}, []string{spaces}, spaces, "", true},
		"by a link":              {[]string{other, spaces}, []string{spaces}, other + "/in", "", true},
		"by dots":                {[]string{other, spaces}, []string{spaces}, "../srv/spaces/ann", "", true},
		"the first root":         {[]string{spaces, other}, []string{spaces}, "", "", true},
		"below the first root":   {[]string{spaces}, []string{spaces}, "ann/site", "", true},
		"a root around":          {[]string{around}, []string{spaces}, around, "", true},
		"a root within":          {[]string{within, other}, []string{spaces}, within, "", true},
		"the whole machine":      {[]string{"/"}, []string{spaces}, "/etc", "", true},
		"a root by another name": {[]string{base + "/byname"}, []string{spaces}, base + "/byname/ann", "", true},
		"apart by another name":  {[]string{spaces}, []string{base + "/byname"}, theirs, "", true},
		"elsewhere":              {[]string{spaces, other}, []string{spaces}, other, other, false},
		"the first, elsewhere":   {[]string{other, spaces}, []string{spaces}, "", other, false},
		"beside":                 {[]string{other}, []string{base + "/oth"}, other, other, false},
		"what is gone":           {[]string{other}, []string{base + "/gone"}, other, other, false},
	} {
		found := find(t, Query{Roots: tc.roots, Apart: tc.apart, Dir: tc.dir})
		if found.Fault != nil || found.Dir.Root != tc.root || (found.DirFile != nil) != (tc.root != "") || found.Dir.Apart != tc.said {
			t.Errorf("%s: %+v, %v", name, found.Dir, found.Fault)
		}
	}
	q := Query{Roots: []string{other, spaces}, Apart: []string{spaces}, Dir: other, Stdin: theirs + "/secret"}
	q.Wanted.Paths = []string{theirs + "/secret", "in/secret"}
	found := find(t, q)
	if found.StdinFile != nil || found.Paths[q.Wanted.Paths[0]].Inside || found.Paths[q.Wanted.Paths[1]].Inside {
		t.Errorf("paths among workspaces: %+v, %+v", found.Paths, found.Stdin)
	}
	q = Query{Roots: []string{spaces}, Apart: []string{spaces}, Workspace: theirs}
	if found := find(t, q); found.Dir.Root != theirs || found.Dir.Apart {
		t.Errorf("in a workspace: %+v", found.Dir)
	}
}
