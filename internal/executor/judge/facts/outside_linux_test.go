package facts

import (
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"paddock/internal/policy"
)

// Whatever there is outside of the roots, a caller is told the same, whichever way it asks.
func TestNothingIsToldOfWhatIsOutside(t *testing.T) {
	t.Parallel()
	base := tempDir(t)
	root := mkdir(t, base+"/root")
	mkdir(t, root+"/desk")
	write(t, root+"/desk/file", "", 0o644)
	x := mkdir(t, base+"/outside") + "/x"
	for link, target := range map[string]string{
		"out": x, "rel": "../../outside/x", "deep": x + "/y/z", "back": "../../outside/x/../../root/desk/file", "round": x + "/../../root/desk", "loop": "loop/" + x,
	} {
		must(t, os.Symlink(target, root+"/desk/"+link))
	}
	must(t, os.Symlink(base+"/root", base+"/alias"))
	asked := []string{
		x, x + "/", x + "/.", x + "/y", x + "/y/z", x + "/..", x + "/../x", x + "/y/..", x + "/y/../y", x + "/../..",
		x + "/../../root/desk/file", x + "/../../root/desk", x + "/y/../../../root/desk", x + "/../../alias/desk",
		"../../outside/x", "../../outside/x/y", "../../outside/x/../../root/desk", "../../outside/x/../../root/desk/file",
		"out", "out/", "out/y", "out/..", "out/../../root/desk", "out/y/../../../root/desk/file", "rel", "rel/y", "rel/../../root/desk",
		"deep", "deep/..", "deep/../../../../root/desk", "back", "round", "round/file", "loop", base + "/alias/desk/out", base + "/alias/desk/back",
		root + "/../outside/x/../../root/desk",
	}
	states := map[string]func(){
		"nothing":             func() {},
		"a directory":         func() { mkdir(t, x+"/y/z") },
		"an empty directory":  func() { mkdir(t, x) },
		"a directory of file": func() { mkdir(t, x); write(t, x+"/y", "", 0o644) },
		"a file":              func() { write(t, x, "", 0o644) },
		"a link to a file":    func() { must(t, os.Symlink("/etc/passwd", x)) },
		"a link elsewhere":    func() { must(t, os.Symlink("/usr/share", x)) },
		"a relative link":     func() { must(t, os.Symlink("../..", x)) },
		"a link to nothing":   func() { must(t, os.Symlink("/nowhere", x)) },
		"a loop":              func() { must(t, os.Symlink("x", x)) },
		"a closed directory":  func() { mkdir(t, x+"/y/z"); must(t, os.Chmod(x, 0)) },
	}
	type said struct {
		Dirs  map[string]policy.DirFacts
		Paths map[string]policy.PathFacts
		Stdin map[string]policy.StdinFacts
	}
	var first *said
	for _, name := range slices.Sorted(maps.Keys(states)) {
		states[name]()
		now := said{map[string]policy.DirFacts{}, nil, map[string]policy.StdinFacts{}}
		now.Paths = find(t, Query{Roots: []string{root}, Dir: "desk", Wanted: policy.Wanted{Paths: asked}}).Paths
		for _, p := range asked {
			dir := find(t, Query{Roots: []string{root}, Dir: p})
			stdin := find(t, Query{Roots: []string{root}, Dir: "desk", Stdin: p})
			if dir.DirFile != nil || stdin.StdinFile != nil || now.Paths[p].Inside {
				t.Errorf("%s: %s counts as inside", name, p)
			}
			now.Dirs[p], now.Stdin[p] = dir.Dir, stdin.Stdin
		}
		if first == nil {
			first = &now
		}
		if diff := cmp.Diff(*first, now); diff != "" {
			t.Errorf("with %s there:\n%s", name, diff)
		}
		if info, err := os.Lstat(x); err == nil && info.IsDir() { // nothing is done to what a link leads to
			must(t, os.Chmod(x, 0o700))
		}
		must(t, os.RemoveAll(x))
	}
}

// What an operator has beside the roots, as a link, may lead into one.
func TestLinksOfOthersLeadIn(t *testing.T) {
	t.Parallel()
	base := tempDir(t)
	root := mkdir(t, base+"/root")
	mkdir(t, root+"/desk")
	mkdir(t, base+"/home/ann")
	write(t, root+"/desk/file", "", 0o644)
	must(t, os.Symlink("../../root", base+"/home/ann/desk"))
	must(t, os.Symlink(base+"/home/ann", base+"/ann"))
	for _, way := range []string{base + "/home/ann/desk/", base + "/ann/desk/", base + "/ann/desk/desk/../"} {
		found := find(t, Query{Roots: []string{root}, Dir: way + "desk", Stdin: way + "desk/file", Wanted: policy.Wanted{Paths: []string{way + "desk/new"}}})
		if found.DirFile == nil || found.StdinFile == nil || !found.Paths[way+"desk/new"].Inside {
			t.Errorf("%s: %+v %+v %+v", way, found.Dir, found.Stdin, found.Paths)
		}
		if missing := find(t, Query{Roots: []string{root}, Dir: way + "none"}).Dir; missing != (policy.DirFacts{Real: root + "/none"}) {
			t.Errorf("%snone: %+v", way, missing)
		}
	}
}
