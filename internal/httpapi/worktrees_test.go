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
	"paddock/internal/client"
	"paddock/internal/httpapi/entry/gate/accounts/opened/workspaces"
	"paddock/internal/testproc"
	"paddock/internal/workspace/apply/tree/place/worktree"
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
		`{"rev":"fix~1","into":"x"}`, `{"rev":"fix","into":"x","url":"https://example.org/x"}`, `{"url":"file:///etc","into":"x"}`, `{"rev":1,"into":"x"}`, `{"rev":"fix","into":"x","into":"y"}`,
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

// shell runs a script in a workspace and returns what it printed.
func (s *stand) shell(workspace, script string) string {
	s.t.Helper()
	body, err := json.Marshal(map[string]any{"argv": []string{"sh", "-c", script}, "workspace": workspace})
	if err != nil {
		s.t.Fatal(err)
	}
	run := s.finished("operator", string(body))
	out := string(s.get("/api/v1/runs/"+string(run.ID)+"/output?stream=combined", "operator").body)
	if *run.Outcome.Reason.ExitCode != 0 {
		s.t.Fatalf("%s: %s", script, out)
	}
	return out
}

// A commit is named by all digits of its id, whether a branch leads to it or not; what is
// no commit makes nothing.
func TestWorktreeOfACommit(t *testing.T) {
	t.Parallel()
	s, _ := repository(t)
	s.shell("site", "git checkout -q --detach && echo second > file && git -c user.name=a -c user.email=a@example.org commit -qam second && git rev-parse HEAD > ../id && git checkout -q fix && git rev-parse HEAD:file > ../blob")
	read := func(name string) string {
		text, err := os.ReadFile(s.dir + "/operator/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(text))
	}
	id := read("id")
	if run := s.cloned(`{"rev":"` + id + `","into":"second"}`); run.State != paddock.Exited || *run.Outcome.Reason.ExitCode != 0 {
		t.Fatalf("%q %+v: %s", run.Argv, run.Outcome, s.get("/api/v1/runs/"+string(run.ID)+"/output?stream=combined", "operator").body)
	}
	if text := read("site/second/file"); text != "second" || !strings.Contains(s.shell("site/second", "git rev-parse HEAD"), id) {
		t.Errorf("the worktree has %q", text)
	}
	body := `{"argv":["sh","-c","git rev-parse HEAD"],"workspace":"site","worktree":{"rev":"` + id + `"}}`
	key := func(r *http.Request) { r.Header.Set("Idempotency-Key", "commit") }
	one := into[paddock.Run](t, s.do(http.MethodPost, "/api/v1/runs", "operator", body, key), http.StatusCreated)
	two := into[paddock.Run](t, s.do(http.MethodPost, "/api/v1/runs", "operator", body, key), http.StatusCreated)
	if one.ID != two.ID || one.Workspace != two.Workspace {
		t.Errorf("asked twice: %+v and %+v", one, two)
	}
	for name, bad := range map[string]string{"no commit": strings.Repeat("0", 39) + "1", "a blob": read("blob")} {
		if run := s.cloned(`{"rev":"` + bad + `","into":"none"}`); *run.Outcome.Reason.ExitCode == 0 || !slices.Contains(run.Argv, "rev-parse") {
			t.Errorf("%s: %q %+v", name, run.Argv, run.Outcome)
		}
		s.do(http.MethodPost, "/api/v1/runs", "operator", `{"argv":["sh","-c","true"],"workspace":"site","worktree":{"rev":"`+bad+`"}}`).problem(t, http.StatusConflict, paddock.Conflict)
	}
	if _, err := os.Stat(s.dir + "/operator/site/none"); err == nil {
		t.Error("a worktree of nothing was made")
	}
}

// Worktrees are listed to whom the workspace is shown. Tidied are those that were made for
// runs that are over, some time ago, and that have nothing of their own.
func TestTidyWorktrees(t *testing.T) {
	t.Parallel()
	s, _ := repository(t)
	// What other tools obey is in the quarantine of the run that cloned, and git misses it.
	s.shell("site", "git checkout -q fix && git rm -qr .vscode .gitmodules && git -c user.name=a -c user.email=a@example.org commit -qm without")
	list := func(as string) worktree.Listing {
		return into[worktree.Listing](t, s.get("/api/v1/workspaces/site/worktrees", as), http.StatusOK)
	}
	if all := list("operator"); all.Trees == nil || len(all.Trees) != 0 {
		t.Errorf("%+v", all)
	}
	s.cloned(`{"rev":"fix","into":"mine"}`)
	made := func(script string) paddock.Run {
		body, err := json.Marshal(map[string]any{"argv": []string{"sh", "-c", script}, "workspace": "site", "worktree": map[string]string{"rev": "fix"}})
		if err != nil {
			t.Fatal(err)
		}
		return into[paddock.Run](t, s.do(http.MethodPost, "/api/v1/runs", "operator", string(body)), http.StatusCreated)
	}
	const as = "git -c user.name=a -c user.email=a@example.org "
	trees := map[string]string{}
	for name, script := range map[string]string{
		"clean": "cat file", "changed": "echo x > new", "committed": "echo x > file; " + as + "commit -qam x",
		"branched": "git checkout -q -b own; echo x > file; " + as + "commit -qam x; git checkout -q fix", "broken": "rm -rf .git/HEAD",
	} {
		run := made(script)
		trees[name] = "site/" + filepath.Base(run.Workspace)
		if run = into[paddock.Run](t, s.get("/api/v1/runs/"+string(run.ID)+"?wait_ms=45000", "operator"), http.StatusOK); *run.Outcome.Reason.ExitCode != 0 {
			t.Fatalf("%s: %s", name, s.get("/api/v1/runs/"+string(run.ID)+"/output?stream=combined", "operator").body)
		}
	}
	busy := made("exec sleep 1000")
	trees["busy"] = "site/" + filepath.Base(busy.Workspace)
	all := list("operator")
	if len(all.Trees) != 7 || all.More {
		t.Fatalf("%+v", all)
	}
	for _, tree := range all.Trees {
		at := tree.Name == trees["busy"]
		if tree.ForRun == (tree.Name == "site/mine") || tree.Made.IsZero() || (tree.Run == busy.ID) != at {
			t.Errorf("%+v", tree)
		}
	}
	tidy := func(body string) worktree.Tidied {
		return into[worktree.Tidied](t, s.do(http.MethodPost, "/api/v1/workspaces/site/worktrees/tidy", "operator", body), http.StatusOK)
	}
	if got := tidy(`{}`); len(got.Removed) != 0 || len(got.Left) != 6 {
		t.Errorf("just made: %+v", got)
	}
	s.later.Store(int64(2 * worktree.Rest))
	got := tidy(`{}`)
	why := map[string]string{}
	for _, l := range got.Left {
		why[l.Name] = l.Why
	}
	if !slices.Equal(got.Removed, []string{trees["clean"]}) || got.More {
		t.Errorf("%+v", got)
	}
	for name, want := range map[string]string{
		"changed": "aren't committed", "committed": "commits of its own", "branched": "commits of its own",
		"broken": "git didn't say", "busy": string(busy.ID),
	} {
		if !strings.Contains(why[trees[name]], want) {
			t.Errorf("%s: %q", name, why[trees[name]])
		}
	}
	for _, path := range []string{"worktrees", "worktrees/tidy"} {
		method := map[bool]string{true: http.MethodGet, false: http.MethodPost}[path == "worktrees"]
		body := map[bool]string{true: "", false: "{}"}[path == "worktrees"]
		s.do(method, "/api/v1/workspaces/site/"+path, "bob", body).problem(t, http.StatusNotFound, paddock.NotFound)
		s.do(method, "/api/v1/workspaces/none/"+path, "operator", body).problem(t, http.StatusNotFound, paddock.NotFound)
		if a := s.do(method, "/api/v1/workspaces/..%2f..%2fetc/"+path, "operator", body); a.StatusCode != http.StatusNotFound {
			t.Errorf("%d %s", a.StatusCode, a.body)
		}
	}
	s.do(http.MethodPost, "/api/v1/workspaces/site/worktrees/tidy", "viewer", `{}`).problem(t, http.StatusForbidden, paddock.Forbidden)
	s.do(http.MethodPost, "/api/v1/workspaces/site/worktrees/tidy", "operator", `{"changed":"yes"}`).problem(t, http.StatusUnprocessableEntity, paddock.InvalidRequest)
	if got := tidy(`{"changed":true}`); len(got.Removed) != 4 || len(got.Left) != 1 || got.Left[0].Name != trees["busy"] {
		t.Errorf("%+v", got)
	}
	s.do(http.MethodPost, "/api/v1/runs/"+string(busy.ID)+"/kill", "operator", `{"signal":"KILL"}`)
	if got := tidy(`{}`); !slices.Equal(got.Removed, []string{trees["busy"]}) || len(list("operator").Trees) != 1 {
		t.Errorf("%+v", got)
	}
}

// The client of the command line asks for a terminal in a worktree, and has both.
func TestTerminalInAWorktree(t *testing.T) {
	t.Parallel()
	s, _ := repository(t)
	git, err := filepath.EvalSymlinks("/usr/bin/git")
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("version: 1\nroots: [{path: %s}]\nexecutables: [{name: git, path: %s, args: any}, {name: sh, path: /bin/sh, args: any, pty: true}]\ncontainment: {require: off}\n", s.dir, git)
	if err := os.WriteFile(s.dir+"/policy.yaml", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	server, err := client.New(s.url, "operator")
	if err != nil {
		t.Fatal(err)
	}
	run, err := server.StartIn(t.Context(), paddock.Request{Command: paddock.Command{Argv: []string{"sh", "-c", "stty size; cat file; test -t 0"}, Workspace: "site", Terminal: &paddock.TerminalSize{Rows: 7, Columns: 33}}}, "fix")
	if err != nil {
		t.Fatal(err)
	}
	run = into[paddock.Run](t, s.get("/api/v1/runs/"+string(run.ID)+"?wait_ms=45000", "operator"), http.StatusOK)
	page := into[paddock.Page](t, s.get("/api/v1/runs/"+string(run.ID)+"/output", "operator"), http.StatusOK)
	if run.Outcome == nil || run.Outcome.Reason.ExitCode == nil || *run.Outcome.Reason.ExitCode != 0 || !strings.HasPrefix(run.Workspace, s.dir+"/operator/site/wt-") || page.Content != "7 33\r\nhello\r\n" {
		t.Errorf("%+v: %q", run, page.Content)
	}
}
