package executor

import (
	"os"
	"strings"
	"testing"

	"paddock"
)

// What runs in a workspace sees nothing else of the root, and is refused elsewhere in it.
func TestRunInAWorkspace(t *testing.T) {
	t.Parallel()
	for _, level := range levels {
		if level == paddock.Off {
			continue // nothing is hidden there
		}
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			var root string
			f := open(t, func(c *Config) {
				root = c.State + "/../root"
				root = strings.ReplaceAll(root, "/state/..", "")
				text := strings.NewReplacer("ROOTS", "{path: "+root+"}", "PROGRAM", "/bin/true", "LEVEL", string(level), "MORE", "").Replace(policyForm)
				c.Apart = []string{root}
				c.Policy = PolicyText("policy.yaml", []byte(text))
			})
			mine := root + "/ann/site"
			for _, dir := range []string{mine, root + "/bob/site"} {
				must(t, os.MkdirAll(dir, 0o755))
			}
			must(t, os.WriteFile(root+"/bob/site/secret", []byte("secret"), 0o644))
			req := request("pwd; echo mine > it; cat ../../bob/site/secret; ls ../..; echo > ../../bob/site/planted")
			req.Command.Workspace = mine
			run, err := f.e.Start(t.Context(), req)
			must(t, err)
			run, err = f.e.Wait(t.Context(), run.ID)
			must(t, err)
			page, err := f.e.Output(t.Context(), run.ID, paddock.PageRequest{})
			must(t, err)
			_, planted := os.Stat(root + "/bob/site/planted")
			if run.Workspace != mine || !strings.HasPrefix(page.Content, mine+"\n") || strings.Contains(page.Content, "secret") || strings.Contains(page.Content, "bob") || planted == nil {
				t.Errorf("%s: %q, planted: %v", run.Workspace, page.Content, planted == nil)
			}
			if text, err := os.ReadFile(mine + "/it"); err != nil || string(text) != "mine\n" {
				t.Errorf("%q, %v", text, err)
			}
			for _, dir := range []string{root, "..", root + "/bob/site", "/etc"} {
				req.Command.Dir = dir
				d, err := f.e.Explain(t.Context(), req)
				if r := d.Refusal(); err != nil || r == nil || r.Code != paddock.CwdOutsideRoot {
					t.Errorf("in %s: %v, %v", dir, r, err)
				}
			}
			// Whoever names none gets near none, neither by saying where nor by saying nothing.
			req.Command.Workspace = ""
			for _, dir := range []string{"", "ann", mine, root + "/bob/site", root} {
				req.Command.Dir = dir
				d, err := f.e.Explain(t.Context(), req)
				if r := d.Refusal(); err != nil || r == nil || r.Code != paddock.CwdOutsideRoot || !strings.Contains(r.Message, "say in which") {
					t.Errorf("without a workspace in %q: %v, %v", dir, r, err)
				}
			}
			req.Command.Dir, req.Command.Workspace = "", "/etc"
			if d, err := f.e.Explain(t.Context(), req); err != nil || d.Effect != paddock.Deny {
				t.Errorf("/etc is a workspace: %v, %v", d.Effect, err)
			}
		})
	}
}
