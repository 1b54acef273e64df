package parcel

import (
	"os"
	"strings"
	"testing"

	"paddock"
	"paddock/internal/executor/judge"
	"paddock/internal/executor/judge/facts"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

// Who runs in a workspace can put a link in the place of a workspace inside of it, after
// that was judged: also one to a directory around it, in which the judged one lies, too.
func TestRootIsTheOneThatWasJudged(t *testing.T) {
	t.Parallel()
	root, err := os.MkdirTemp("", "roots") // others may not write to what is above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	site := root + "/ann/site"
	for _, dir := range []string{site + "/fix/sub", root + "/bob/site"} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"", "sub"} {
		found := facts.New().Find(t.Context(), facts.Query{Roots: []string{root}, Workspace: site + "/fix", Dir: dir})
		defer found.Close()
		if found.Fault != nil || found.DirFile == nil {
			t.Fatalf("%+v", found)
		}
		j := &judge.Judgement{Found: found, Decision: paddock.Decision{Granted: paddock.Gives(&paddock.Grant{Root: found.Dir.Root, Dir: found.Dir.Real})}}
		if got, err := rootOf(j); err != nil || got != site+"/fix" {
			t.Fatalf("%s, %v", got, err)
		}
		for _, to := range []string{root, root + "/ann", site, "..", "../../..", root + "/bob/site", "/", "kept"} {
			if err := os.Rename(site+"/fix", site+"/kept"); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(to, site+"/fix"); err != nil {
				t.Fatal(err)
			}
			if got, err := rootOf(j); err == nil || !strings.Contains(err.Error(), "leads elsewhere") {
				t.Errorf("by a link to %s the root is %q, %v", to, got, err)
			}
			if err := os.Remove(site + "/fix"); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(site+"/kept", site+"/fix"); err != nil {
				t.Fatal(err)
			}
		}
	}
}
