//go:build linux

package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"paddock"
	"paddock/internal/httpapi/entry/gate/accounts/opened/workspaces"
	"paddock/internal/testproc"
)

// repository is a stand whose workspace site has a repository, with a branch fix and with
// places that other tools obey; policy sets the containment from then on.
func repository(t *testing.T) (s *stand, policy func(require string)) {
	t.Helper()
	git, err := filepath.EvalSymlinks("/usr/bin/git")
	if err != nil {
		testproc.Skip(t, "there is no git")
	}
	s = open(t, nil)
	policy = func(require string) {
		text := fmt.Sprintf("version: 1\nroots: [{path: %s}]\nexecutables: [{name: git, path: %s, args: any}, {name: sh, path: /bin/sh, args: any}]\ncontainment: {require: %s}\n", s.dir, git, require)
		if err := os.WriteFile(s.dir+"/policy.yaml", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	policy("off")
	into[workspaces.Workspace](t, s.do(http.MethodPost, "/api/v1/workspaces", "operator", `{"name":"site"}`), http.StatusCreated)
	script := "git init -q . && mkdir .vscode && echo {} > .vscode/settings.json && echo x > .gitmodules && echo hello > file && git add -A && git -c user.name=a -c user.email=a@example.org commit -qm x && git branch fix && git clone -q --bare . ../../served.git && cd ../../served.git && git update-server-info"
	body, err := json.Marshal(map[string]any{"argv": []string{"sh", "-c", script}, "workspace": "site"})
	if err != nil {
		t.Fatal(err)
	}
	if run := s.finished("operator", string(body)); *run.Outcome.Reason.ExitCode != 0 {
		t.Fatalf("%+v: %s", run.Outcome, s.get("/api/v1/runs/"+string(run.ID)+"/output?stream=combined", "operator").body)
	}
	return s, policy
}

// cloned asks for a clone and waits for its end.
func (s *stand) cloned(body string) paddock.Run {
	s.t.Helper()
	run := into[paddock.Run](s.t, s.do(http.MethodPost, "/api/v1/workspaces/site/clone", "operator", body), http.StatusCreated)
	return into[paddock.Run](s.t, s.get("/api/v1/runs/"+string(run.ID)+"?wait_ms=45000", "operator"), http.StatusOK)
}

// A worktree is made of the workspace's own repository by one run. What runs in it sees
// nothing else, so that the repository it is of can't be written; and what of it other
// tools would obey went to the quarantine, which is told.
func TestWorktree(t *testing.T) {
	t.Parallel()
	s, policy := repository(t)
	policy("full")
	if a := s.do(http.MethodPost, "/api/v1/runs", "operator", `{"argv":["sh","-c","true"],"workspace":"site"}`); a.StatusCode != http.StatusCreated {
		testproc.Skip(t, "there is no containment here: "+string(a.body))
	}
	run := s.cloned(`{"rev":"fix","into":"fix-1"}`)
	dir := s.dir + "/operator/site"
	if run.State != paddock.Exited || *run.Outcome.Reason.ExitCode != 0 || run.Workspace != dir {
		t.Fatalf("%+v: %s", run.Outcome, s.get("/api/v1/runs/"+string(run.ID)+"/output?stream=combined", "operator").body)
	}
	var found []string
	if run.Outcome.Deeper != nil {
		for _, f := range run.Outcome.Deeper.Found {
			found = append(found, f.Path)
		}
	}
	for _, want := range []string{"fix-1/.vscode", "fix-1/.gitmodules", "fix-1/.git/hooks", "fix-1/.git/config"} {
		if !slices.Contains(found, want) {
			t.Errorf("the quarantine of the clone has %q, and not %s", found, want)
		}
	}
	before, err := os.ReadFile(dir + "/.git/HEAD")
	if err != nil {
		t.Fatal(err)
	}
	script := `git log --oneline && echo more >> file && git add file && git -c user.name=a -c user.email=a@example.org commit -qm more -- file && ls -a .. && cat ../.git/HEAD; echo gone > ../.git/HEAD; chmod -R u+w .git/objects; for f in $(find .git/objects -type f); do echo bad > $f; done; true`
	body, err := json.Marshal(map[string]any{"argv": []string{"sh", "-c", script}, "workspace": "site/fix-1"})
	if err != nil {
		t.Fatal(err)
	}
	run = s.finished("operator", string(body))
	output := string(s.get("/api/v1/runs/"+string(run.ID)+"/output?stream=combined", "operator").body)
	if run.Workspace != dir+"/fix-1" || *run.Outcome.Reason.ExitCode != 0 || strings.Contains(output, "ref: ") {
		t.Errorf("%+v: %s", run, output)
	}
	after, err := os.ReadFile(dir + "/.git/HEAD")
	if text, bad := os.ReadFile(dir + "/fix-1/file"); err != nil || bad != nil || string(after) != string(before) || string(text) != "hello\nmore\n" {
		t.Errorf("HEAD was %q and is %q (%v), file is %q (%v)", before, after, err, text, bad)
	}
	policy("off")
	if run := s.finished("operator", `{"argv":["git","fsck","--no-progress"],"workspace":"site"}`); *run.Outcome.Reason.ExitCode != 0 {
		t.Errorf("the repository was written to: %s", s.get("/api/v1/runs/"+string(run.ID)+"/output?stream=combined", "operator").body)
	}
}

// With a directory to go into any repository can be cloned; what is there is removed by its
// name, when nothing runs there.
func TestCloneIntoADirectory(t *testing.T) {
	t.Parallel()
	s, _ := repository(t)
	served := httptest.NewServer(http.FileServer(http.Dir(s.dir)))
	defer served.Close()
	run := s.cloned(`{"url":"` + served.URL + `/served.git","into":"copy"}`)
	if run.State != paddock.Exited || *run.Outcome.Reason.ExitCode != 0 || slices.Contains(run.Argv, "pull") {
		t.Fatalf("%q %+v", run.Argv, run.Outcome)
	}
	dir := s.dir + "/operator/site/copy"
	if text, err := os.ReadFile(dir + "/file"); err != nil || string(text) != "hello\n" {
		t.Errorf("%q, %v", text, err)
	}
	if again := s.cloned(`{"rev":"fix","into":"copy"}`); *again.Outcome.Reason.ExitCode == 0 {
		t.Error("what is there was taken over")
	}
	for _, bad := range []string{
		`{"rev":"fix"}`, `{"into":"x"}`, `{"rev":"fix","into":"../x"}`, `{"rev":"fix","into":".git"}`, `{"rev":"fix","into":"-x"}`, `{"rev":"fix","into":"a/b"}`, `{"rev":"fix","into":"A"}`, `{"rev":"fix","into":"a\u0000"}`,
		`{"rev":"fix","into":"` + strings.Repeat("a", 65) + `"}`, `{"rev":"--upload-pack=id","into":"x"}`, `{"rev":"a..b","into":"x"}`, `{"rev":"a b","into":"x"}`, `{"rev":"\u0000","into":"x"}`, `{"rev":"` + strings.Repeat("a", 201) + `","into":"x"}`,
		`{"rev":"fix","into":"x","url":"https://example.org/x"}`, `{"url":"file:///etc","into":"x"}`, `{"rev":1,"into":"x"}`, `{"rev":"fix","into":"x","into":"y"}`,
	} {
		s.do(http.MethodPost, "/api/v1/workspaces/site/clone", "operator", bad).problem(t, http.StatusUnprocessableEntity, paddock.InvalidRequest)
	}
	for _, bad := range []string{"site/", "site/..", "site/a/b", "site/.git", "site/-x", "/site"} {
		if a := s.do(http.MethodPost, "/api/v1/runs", "operator", `{"argv":["sh","-c","true"],"workspace":"`+bad+`"}`); a.StatusCode != http.StatusUnprocessableEntity && a.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d %s", bad, a.StatusCode, a.body)
		}
	}
	s.do(http.MethodPost, "/api/v1/runs", "operator", `{"argv":["sh","-c","true"],"workspace":"site/none"}`).problem(t, http.StatusUnprocessableEntity, paddock.CwdMissing)
	s.do(http.MethodPost, "/api/v1/runs", "approver", `{"argv":["sh","-c","true"],"workspace":"site/copy"}`).problem(t, http.StatusNotFound, paddock.NotFound)
	if err := os.Symlink("/etc", s.dir+"/operator/site/link"); err != nil {
		t.Fatal(err)
	}
	s.do(http.MethodPost, "/api/v1/runs", "operator", `{"argv":["sh","-c","true"],"workspace":"site/link"}`).problem(t, http.StatusUnprocessableEntity, paddock.CwdMissing)

	long := into[paddock.Run](t, s.do(http.MethodPost, "/api/v1/runs", "operator", `{"argv":["sh","-c","exec sleep 1000"],"workspace":"site/copy"}`), http.StatusCreated)
	s.do(http.MethodDelete, "/api/v1/workspaces/site/copy", "operator", "").problem(t, http.StatusConflict, paddock.Conflict)
	s.do(http.MethodDelete, "/api/v1/workspaces/site", "operator", "").problem(t, http.StatusConflict, paddock.Conflict)
	s.do(http.MethodDelete, "/api/v1/workspaces/site/copy", "approver", "").problem(t, http.StatusNotFound, paddock.NotFound)
	s.do(http.MethodPost, "/api/v1/runs/"+string(long.ID)+"/kill", "operator", `{"signal":"KILL"}`)
	if a := s.do(http.MethodDelete, "/api/v1/workspaces/site/copy", "operator", ""); a.StatusCode != http.StatusNoContent {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
	if a := s.do(http.MethodDelete, "/api/v1/workspaces/site/link", "operator", ""); a.StatusCode != http.StatusNoContent {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
	s.do(http.MethodDelete, "/api/v1/workspaces/site/copy", "operator", "").problem(t, http.StatusNotFound, paddock.NotFound)
	s.do(http.MethodDelete, "/api/v1/workspaces/site/.git", "operator", "").problem(t, http.StatusUnprocessableEntity, paddock.InvalidRequest)
	if _, err := os.Stat("/etc/passwd"); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(s.dir + "/operator/site/.removed*"); len(left) != 0 {
		t.Errorf("%q is left", left)
	}
}

// A run can ask for a worktree of its own, and asking again with its key is the same run in
// the same worktree.
func TestRunInAWorktree(t *testing.T) {
	t.Parallel()
	s, _ := repository(t)
	body := `{"argv":["sh","-c","cat file; echo own > file"],"workspace":"site","worktree":{"rev":"fix"}}`
	key := func(r *http.Request) { r.Header.Set("Idempotency-Key", "once") }
	var all []paddock.Run
	for range 2 {
		all = append(all, into[paddock.Run](t, s.do(http.MethodPost, "/api/v1/runs", "operator", body, key), http.StatusCreated))
	}
	all = append(all, s.finished("operator", body))
	into[paddock.Run](t, s.get("/api/v1/runs/"+string(all[0].ID)+"?wait_ms=45000", "operator"), http.StatusOK)
	if all[0].ID != all[1].ID || all[0].Workspace == all[2].Workspace || !strings.HasPrefix(all[0].Workspace, s.dir+"/operator/site/wt-") {
		t.Errorf("%+v", all)
	}
	for _, run := range all[1:] {
		if text, err := os.ReadFile(run.Workspace + "/file"); err != nil || string(text) != "own\n" {
			t.Errorf("%s: %q, %v", run.Workspace, text, err)
		}
	}
	if text, err := os.ReadFile(s.dir + "/operator/site/file"); err != nil || string(text) != "hello\n" {
		t.Errorf("the workspace itself: %q, %v", text, err)
	}
	for _, bad := range []string{
		`"worktree":{"rev":"fix"}`, `"workspace":"site","worktree":{}`, `"workspace":"site","worktree":{"rev":""}`, `"workspace":"site","worktree":{"rev":"-x"}`, `"workspace":"site","worktree":{"rev":"a\u0000"}`, `"workspace":"site","worktree":{"rev":["fix"]}`,
		`"workspace":"site","worktree":{"rev":"fix","rev":"x"}`, `"workspace":"site","worktree":{"rev":"fix","path":"/etc"}`, `"workspace":"site/x","worktree":{"rev":"fix"}`, `"workspace":"site","worktree":"fix"`, `"workspace":"site","worktree":{"rev":"` + strings.Repeat("a", 2001) + `"}`,
	} {
		s.do(http.MethodPost, "/api/v1/runs", "operator", `{"argv":["sh","-c","true"],`+bad+`}`).problem(t, http.StatusUnprocessableEntity, paddock.InvalidRequest)
	}
	s.do(http.MethodPost, "/api/v1/runs", "operator", `{"argv":["sh","-c","true"],"workspace":"site","worktree":{"rev":"none"}}`).problem(t, http.StatusConflict, paddock.Conflict)
	s.do(http.MethodPost, "/api/v1/runs", "approver", `{"argv":["sh","-c","true"],"workspace":"site","worktree":{"rev":"fix"}}`).problem(t, http.StatusNotFound, paddock.NotFound)
	s.do(http.MethodPost, "/api/v1/policy/explain", "operator", `{"argv":["sh","-c","true"],"workspace":"site","worktree":{"rev":"fix"}}`).problem(t, http.StatusUnprocessableEntity, paddock.InvalidRequest)
}
