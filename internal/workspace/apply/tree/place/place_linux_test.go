package place

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

func there(p string) bool { _, err := os.Lstat(p); return err == nil }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestMakeAndRemove(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	must(t, os.Mkdir(base+"/real", 0o755))
	must(t, os.Symlink("real", base+"/root")) // the operator's own link
	root := base + "/root"
	must(t, Make(root, "ann", "site"))
	must(t, Make(root, "ann", "other"))
	if err := Make(root, "ann", "site"); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	if info, err := os.Stat(base + "/real/ann/site"); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	must(t, os.Mkdir(root+"/ann/other/.git", 0o700))
	must(t, os.Symlink(".git", root+"/ann/other/link"))
	must(t, os.WriteFile(root+"/ann/other/file", nil, 0o600))
	for what, want := range map[string]bool{".git": true, "link": false, "file": false, "none": false} {
		if has, err := Holds(root, "ann/other", what); err != nil || has != want {
			t.Errorf("%s: %v, %v", what, has, err)
		}
	}
	must(t, os.RemoveAll(root+"/ann/other/.git"))
	must(t, os.Remove(root+"/ann/other/link"))
	must(t, os.Remove(root+"/ann/other/file"))
	deep := root + "/ann/site" + strings.Repeat("/d", 200)
	must(t, os.MkdirAll(deep, 0o700))
	must(t, os.WriteFile(deep+"/x", nil, 0o400))
	must(t, os.Symlink(root+"/ann/other", root+"/ann/site/link"))
	must(t, os.Chmod(root+"/ann/site/d", 0))
	must(t, Remove(t.Context(), root, "ann", "site", ".removed-1"))
	if there(root+"/ann/site") || there(root+"/ann/.removed-1") || !there(root+"/ann/other") {
		t.Error("too little was removed, or too much")
	}
	must(t, Remove(t.Context(), root, "ann", "site", ".removed-1"))
	must(t, Remove(t.Context(), root, "bob", "site", ".removed-1"))
	if err := Make(base+"/none", "ann", "site"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// A link in the place of a directory leads nowhere, and names are names.
func TestNothingLeadsElsewhere(t *testing.T) {
	t.Parallel()
	root, outside := t.TempDir(), t.TempDir()
	must(t, os.Mkdir(outside+"/site", 0o755))
	must(t, os.WriteFile(outside+"/site/keep", nil, 0o600))
	must(t, os.Symlink(outside, root+"/eve"))
	if err := Make(root, "eve", "new"); err == nil || there(outside+"/new") {
		t.Errorf("made beyond a link: %v", err)
	}
	if err := Remove(t.Context(), root, "eve", "site", ".removed-1"); err == nil || !there(outside+"/site/keep") {
		t.Errorf("removed beyond a link: %v", err)
	}
	must(t, Make(root, "ann", "a"))
	must(t, os.Symlink(outside+"/site", root+"/ann/site"))
	if err := Make(root, "ann", "site"); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	must(t, Remove(t.Context(), root, "ann", "site", ".removed-1")) // the link
	if !there(outside+"/site/keep") || there(root+"/ann/site") {
		t.Error("the link was followed")
	}
	for _, name := range []string{"", ".", "..", "a/b", "/etc", "a\x00", strings.Repeat("a", 300)} {
		if Make(root, name, "a") == nil || Make(root, "ann", name) == nil || Remove(t.Context(), root, name, "a", "b") == nil || Remove(t.Context(), root, "ann", name, "b") == nil || Remove(t.Context(), root, "ann", "a", name) == nil {
			t.Errorf("%.20q is a name", name)
		}
	}
	if all, _ := filepath.Glob(root + "/*"); len(all) != 2 {
		t.Errorf("%q", all)
	}
}

// A removal has an end of its own: what is left is found by the next, under whichever
// name it has by then.
func TestRemovalGoesOn(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	over, end := context.WithCancel(t.Context())
	end()
	must(t, Make(root, "ann", "site"))
	must(t, os.MkdirAll(root+"/ann/site/fix/deep/er", 0o700))
	must(t, os.WriteFile(root+"/ann/site/fix/deep/file", nil, 0o600))
	if err := RemoveIn(over, root, "ann/site", "fix", ".removed-fix"); !errors.Is(err, context.Canceled) {
		t.Errorf("a removal that has no time: %v", err)
	}
	if there(root+"/ann/site/fix") || !there(root+"/ann/site/.removed-fix") {
		t.Error("it isn't gone from its name, or was emptied without time")
	}
	must(t, RemoveIn(t.Context(), root, "ann/site", "fix", ".removed-fix"))
	if there(root + "/ann/site/.removed-fix") {
		t.Error("the second didn't go on")
	}
	if err := RemoveIn(t.Context(), root, "ann/site", "fix", ".removed-fix"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what isn't there: %v", err)
	}
	must(t, os.MkdirAll(root+"/ann/site/other/deep", 0o700))
	if err := Remove(over, root, "ann", "site", ".removed-1"); !errors.Is(err, context.Canceled) || there(root+"/ann/site") || !there(root+"/ann/.removed-1") {
		t.Errorf("a removal that has no time: %v", err)
	}
	must(t, Remove(t.Context(), root, "ann", "site", ".removed-1"))
	if there(root + "/ann/.removed-1") {
		t.Error("the second didn't go on")
	}
}

func TestHolders(t *testing.T) {
	t.Parallel()
	root, outside := t.TempDir(), t.TempDir()
	must(t, Make(root, "ann", "site"))
	at := root + "/ann/site/"
	for _, dir := range []string{"b/.git", "a/.git", "c", ".git"} {
		must(t, os.MkdirAll(at+dir, 0o700))
	}
	must(t, os.WriteFile(at+"file", nil, 0o600))
	must(t, os.WriteFile(at+"c/.git", nil, 0o600))
	must(t, os.MkdirAll(outside+"/x/.git", 0o700))
	must(t, os.Symlink(outside+"/x", at+"link"))
	must(t, os.Mkdir(at+"d", 0o700))
	must(t, os.Symlink(outside+"/x/.git", at+"d/.git"))
	all, more, err := Holders(root, "ann/site", ".git")
	if err != nil || more || len(all) != 2 || all[0].Name != "a" || all[1].Name != "b" || all[0].Made.IsZero() {
		t.Errorf("%v, %v, %v", all, more, err)
	}
	if _, _, err := Holders(root, "ann/none", ".git"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	must(t, os.Symlink(root+"/ann", root+"/eve"))
	for _, bad := range []string{"", "..", "ann/../ann", "/etc", "ann/site/", "a\x00", strings.Repeat("a/", 3000) + "a"} {
		if _, _, err := Holders(root, bad, ".git"); err == nil {
			t.Errorf("%.20q is a path", bad)
		}
	}
	if _, _, err := Holders(root, "eve/site", ".git"); err == nil {
		t.Error("a link was followed")
	}
}
