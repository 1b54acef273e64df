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
	"paddock/internal/app"
	"paddock/internal/approval"
	"paddock/internal/auth"
	"paddock/internal/httpapi/entry/gate"
	"paddock/internal/httpapi/entry/gate/accounts/opened/workspaces"
	"paddock/internal/httpapi/entry/gate/approvals"
	"paddock/internal/httpapi/entry/gate/search"
	"paddock/internal/journal/sign"
	"paddock/internal/testproc"
)

func into[T any](t testing.TB, a reply, status int) (v T) {
	t.Helper()
	if err := json.Unmarshal(a.body, &v); err != nil || a.StatusCode != status {
		t.Fatalf("%d %s, %v; want %d", a.StatusCode, a.body, err, status)
	}
	return v
}

// finished starts a command and waits for its end.
func (s *stand) finished(as, body string) paddock.Run {
	s.t.Helper()
	run := into[paddock.Run](s.t, s.do(http.MethodPost, "/api/v1/runs", as, body), http.StatusCreated)
	return into[paddock.Run](s.t, s.get("/api/v1/runs/"+string(run.ID)+"?wait_ms=45000", as), http.StatusOK)
}

func TestWorkspaces(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	w := into[workspaces.Workspace](t, s.do(http.MethodPost, "/api/v1/workspaces", "operator", `{"name":"site"}`), http.StatusCreated)
	dir := s.dir + "/operator/site"
	if w.Name != "site" || filepath.Join(w.Root, w.Path) != dir {
		t.Errorf("%+v", w)
	}
	s.do(http.MethodPost, "/api/v1/workspaces", "operator", `{"name":"site"}`).problem(t, http.StatusConflict, paddock.Conflict)
	for _, bad := range []string{`{}`, `{"name":".."}`, `{"name":"a/b"}`, `{"name":"A\u0000"}`, `{"name":"` + strings.Repeat("a", 300) + `"}`, `{"name":"ok","root":"/"}`, `{"name":"ok","root":"` + s.dir + `/"}`, `{"name":"ok","path":"/etc"}`, `{"name":"ok","name":"no"}`} {
		s.do(http.MethodPost, "/api/v1/workspaces", "operator", bad).problem(t, http.StatusUnprocessableEntity, paddock.InvalidRequest)
	}
	// What is in the way isn't taken over.
	if err := os.Mkdir(s.dir+"/operator/taken", 0o755); err != nil {
		t.Fatal(err)
	}
	s.do(http.MethodPost, "/api/v1/workspaces", "operator", `{"name":"taken"}`).problem(t, http.StatusConflict, paddock.Conflict)

	run := s.finished("operator", `{"argv":["sh","-c","pwd; echo x > here"],"workspace":"site"}`)
	if text, err := os.ReadFile(dir + "/here"); err != nil || string(text) != "x\n" || run.Workspace != dir || run.Outcome == nil || run.State != paddock.Exited {
		t.Errorf("%q, %v, %+v", text, err, run)
	}
	s.do(http.MethodPost, "/api/v1/runs", "operator", `{"argv":["sh","-c","true"],"workspace":"site","dir":".."}`).problem(t, http.StatusForbidden, paddock.CwdOutsideRoot)
	if d := into[paddock.Decision](t, s.do(http.MethodPost, "/api/v1/policy/explain", "operator", `{"argv":["sh"],"workspace":"site"}`), http.StatusOK); d.Grant() == nil || d.Grant().Root != dir {
		t.Errorf("%+v", d.Grant())
	}
	// Nobody else has it, by whatever name; an admin has, by its id.
	for _, name := range []string{"site", string(w.ID), "../operator/site", dir, "\u0000"} {
		body := fmt.Sprintf(`{"argv":["sh","-c","true"],"workspace":%q}`, name)
		if name == "\u0000" {
			body = `{"argv":["sh","-c","true"],"workspace":"\u0000"}`
		}
		s.do(http.MethodPost, "/api/v1/runs", "approver", body).problem(t, http.StatusNotFound, paddock.NotFound)
	}
	s.do(http.MethodDelete, "/api/v1/workspaces/"+string(w.ID), "approver", "").problem(t, http.StatusNotFound, paddock.NotFound)
	s.do(http.MethodDelete, "/api/v1/workspaces/site", "approver", "").problem(t, http.StatusNotFound, paddock.NotFound)
	if l := into[workspaces.List](t, s.get("/api/v1/workspaces", "approver"), http.StatusOK); len(l.Workspaces) != 0 {
		t.Errorf("%+v", l)
	}
	if l := into[workspaces.List](t, s.get("/api/v1/workspaces", "admin"), http.StatusOK); len(l.Workspaces) != 1 || len(l.Roots) != 1 {
		t.Errorf("%+v", l)
	}
	if run := s.finished("admin", `{"argv":["sh","-c","true"],"workspace":"`+string(w.ID)+`"}`); run.Workspace != dir {
		t.Errorf("%+v", run)
	}

	s.do(http.MethodPost, "/api/v1/workspaces", "operator", `{"name":"waaaaaaaaaaaaaaaaaaaaaaaaaa"}`).problem(t, http.StatusUnprocessableEntity, paddock.InvalidRequest)
	// While something runs there it stays; then it goes with all that is in it.
	long := into[paddock.Run](t, s.do(http.MethodPost, "/api/v1/runs", "operator", `{"argv":["sh","-c","exec sleep 1000"],"workspace":"site"}`), http.StatusCreated)
	s.do(http.MethodDelete, "/api/v1/workspaces/site", "operator", "").problem(t, http.StatusConflict, paddock.Conflict)
	s.do(http.MethodPost, "/api/v1/runs/"+string(long.ID)+"/kill", "operator", `{"signal":"KILL"}`)
	if a := s.do(http.MethodDelete, "/api/v1/workspaces/site", "operator", ""); a.StatusCode != http.StatusNoContent {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
	if left, _ := filepath.Glob(s.dir + "/operator/.*removed*"); len(left) > 0 {
		t.Errorf("%q is left", left)
	}
	if _, err := os.Lstat(dir); err == nil {
		t.Error("the directory is left")
	}
	s.do(http.MethodPost, "/api/v1/runs", "operator", `{"argv":["sh"],"workspace":"site"}`).problem(t, http.StatusNotFound, paddock.NotFound)
	into[workspaces.Workspace](t, s.do(http.MethodPost, "/api/v1/workspaces", "operator", `{"name":"site"}`), http.StatusCreated)
}

// token makes "token" the operator's, for one workspace and with every scope.
func (s *stand) token(workspace string) {
	c := s.desk.accounts["operator"]
	who := auth.Who{User: c.Who.User, Name: c.Who.Name, Role: c.Who.Role, Token: "t0", Workspaces: []string{workspace}}
	for _, v := range auth.Verbs() {
		who.Scopes = append(who.Scopes, string(v))
	}
	s.desk.mu.Lock()
	defer s.desk.mu.Unlock()
	s.desk.accounts["token"] = gate.Caller{Name: c.Name, Role: c.Role, Who: who}
}

// Of what persons are asked such a token sees what is to run in its workspace.
func TestApprovalsOfOneWorkspace(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	person, err := sign.Create(filepath.Join(s.dir, "person"))
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("version: 1\nroots: [{path: %s}]\nexecutables: [{name: sh, path: /bin/sh, args: any}]\ncontainment: {require: off}\nrules: [{name: there, ask: 'true'}]\napprovals:\n  keys: [{name: p, key: '%s'}]\n", s.dir, approval.KeyText(&person.Public))
	if err := os.WriteFile(s.dir+"/policy.yaml", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	asked := map[string]paddock.ApprovalID{}
	for _, name := range []string{"site", "other"} {
		into[workspaces.Workspace](t, s.do(http.MethodPost, "/api/v1/workspaces", "operator", `{"name":"`+name+`"}`), http.StatusCreated)
		run := into[paddock.Run](t, s.do(http.MethodPost, "/api/v1/runs", "operator", `{"argv":["sh","-c","exit 7"],"workspace":"`+name+`"}`), http.StatusCreated)
		asked[name] = run.Approval
		defer s.do(http.MethodPost, "/api/v1/runs/"+string(run.ID)+"/kill", "operator", "{}")
	}
	s.token("site")
	if l := into[approvals.Listing](t, s.get("/api/v1/approvals", "token"), http.StatusOK); len(l.Approvals) != 1 || l.Approvals[0].ID != asked["site"] || asked["site"] == "" {
		t.Errorf("%+v", l)
	}
	for _, path := range []string{"", "/question"} {
		s.get("/api/v1/approvals/"+string(asked["site"])+path, "token").into(t, http.StatusOK, nil)
		s.get("/api/v1/approvals/"+string(asked["other"])+path, "token").problem(t, http.StatusNotFound, paddock.NotFound)
	}
	if l := into[approvals.Listing](t, s.get("/api/v1/approvals", "operator"), http.StatusOK); len(l.Approvals) != 2 {
		t.Errorf("%+v", l)
	}
}

// A token for one workspace starts nothing elsewhere, and sees nothing that ran elsewhere.
func TestTokenOfOneWorkspace(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	for _, name := range []string{"site", "other"} {
		into[workspaces.Workspace](t, s.do(http.MethodPost, "/api/v1/workspaces", "operator", `{"name":"`+name+`"}`), http.StatusCreated)
	}
	s.token("site")

	elsewhere := s.finished("operator", `{"argv":["sh","-c","echo other"],"workspace":"other"}`)
	nowhere := s.finished("operator", `{"argv":["sh","-c","echo none"]}`)
	mine := s.finished("token", `{"argv":["sh","-c","echo mine"],"workspace":"site"}`)
	s.do(http.MethodPost, "/api/v1/runs", "token", `{"argv":["sh","-c","true"]}`).problem(t, http.StatusForbidden, paddock.Forbidden)
	s.do(http.MethodPost, "/api/v1/policy/explain", "token", `{"argv":["sh","-c","true"]}`).problem(t, http.StatusForbidden, paddock.Forbidden)
	s.do(http.MethodPost, "/api/v1/runs", "token", `{"argv":["sh","-c","true"],"workspace":"other"}`).problem(t, http.StatusNotFound, paddock.NotFound)
	s.do(http.MethodPost, "/api/v1/workspaces", "token", `{"name":"third"}`).problem(t, http.StatusNotFound, paddock.NotFound)
	s.do(http.MethodDelete, "/api/v1/workspaces/other", "token", "").problem(t, http.StatusNotFound, paddock.NotFound)
	for _, run := range []paddock.Run{elsewhere, nowhere} {
		for _, path := range []string{"", "?wait_ms=1", "/detail", "/statement", "/output", "/events"} {
			s.get("/api/v1/runs/"+string(run.ID)+path, "token").problem(t, http.StatusNotFound, paddock.NotFound)
		}
		s.get("/api/v1/events?runs="+string(mine.ID)+","+string(run.ID), "token").problem(t, http.StatusNotFound, paddock.NotFound)
		s.do(http.MethodPost, "/api/v1/runs/"+string(run.ID)+"/kill", "token", `{}`).problem(t, http.StatusNotFound, paddock.NotFound)
	}
	if f := into[search.Found](t, s.get("/api/v1/search?q=echo", "token"), http.StatusOK); len(f.Runs) != 1 || f.Runs[0].ID != mine.ID {
		t.Errorf("%+v", f)
	}
	for _, path := range []string{"/api/v1/runs", "/api/v1/policy/explain"} { // what ran elsewhere isn't read by what runs here
		s.do(http.MethodPost, path, "token", `{"argv":["sh","-c","cat"],"workspace":"site","stdin":{"run":"`+string(elsewhere.ID)+`"}}`).problem(t, http.StatusNotFound, paddock.NotFound)
	}
	s.finished("token", `{"argv":["sh","-c","cat"],"workspace":"site","stdin":{"run":"`+string(mine.ID)+`"}}`)
	held := 0
	for _, row := range s.door.in.Table { // every other route is closed to it, whatever its scopes say
		if !slices.Contains(auth.Verbs(), row.Verb) || row.Verb.Placed() {
			continue
		}
		held++
		path := strings.NewReplacer("{id}", "x", "{name}", "x").Replace(row.Path)
		s.do(row.Method, path, "token", "").problem(t, http.StatusForbidden, paddock.Forbidden)
	}
	if held < 20 {
		t.Errorf("only %d routes aren't for such tokens", held)
	}
	if page := into[paddock.Page](t, s.get("/api/v1/runs/"+string(mine.ID)+"/output", "token"), http.StatusOK); page.Content != "mine\n" {
		t.Errorf("%+v", page)
	}
	if l := into[app.Listing](t, s.get("/api/v1/runs", "token"), http.StatusOK); len(l.Runs) != 2 || l.Runs[1].ID != mine.ID {
		t.Errorf("%+v", l)
	}
	if l := into[workspaces.List](t, s.get("/api/v1/workspaces", "token"), http.StatusOK); len(l.Workspaces) != 1 {
		t.Errorf("%+v", l)
	}
}

// A clone is a run under the policy, and no address names a program or has a password.
func TestClone(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	into[workspaces.Workspace](t, s.do(http.MethodPost, "/api/v1/workspaces", "operator", `{"name":"site"}`), http.StatusCreated)
	for _, bad := range []string{"", "x", "/etc", "file:///etc", "ext::sh -c id", "--upload-pack=id", "-x", "https://", "https://ann@example.org/x", "https://a:b@example.org/x", "ssh://git:pw@example.org/x", "https://example.org/\n", "git@example.org:x", "ssh://-oProxyCommand=id/x", "ssh://git@-oProxyCommand=id/x", "ssh://-oProxyCommand=id@example.org/x", "https://example.org/" + strings.Repeat("x", 3000)} {
		body, err := json.Marshal(workspaces.Clone{URL: bad})
		if err != nil {
			t.Fatal(err)
		}
		s.do(http.MethodPost, "/api/v1/workspaces/site/clone", "operator", string(body)).problem(t, http.StatusUnprocessableEntity, paddock.InvalidRequest)
	}
	s.do(http.MethodPost, "/api/v1/workspaces/none/clone", "operator", `{"url":"https://example.org/x"}`).problem(t, http.StatusNotFound, paddock.NotFound)
	s.do(http.MethodPost, "/api/v1/workspaces/site/clone", "operator", `{"url":"https://example.org/x"}`).problem(t, http.StatusForbidden, paddock.ExecutableNotAllowed)
}

// A repository is brought in by two runs; asking again with the same key is the same two.
func TestCloneOverHTTP(t *testing.T) {
	t.Parallel()
	git, err := filepath.EvalSymlinks("/usr/bin/git")
	if err != nil {
		testproc.Skip(t, "there is no git")
	}
	s := open(t, nil)
	text := fmt.Sprintf("version: 1\nroots: [{path: %s}]\nexecutables: [{name: git, path: %s, args: any}, {name: sh, path: /bin/sh, args: any}]\ncontainment: {require: off}\n", s.dir, git)
	if err := os.WriteFile(s.dir+"/policy.yaml", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	there := s.finished("operator", `{"argv":["sh","-c","mkdir from && cd from && git init -q . && echo hello > file && git add file && git -c user.name=a -c user.email=a@example.org commit -qm x && git clone -q --bare . ../served.git && cd ../served.git && git update-server-info"]}`)
	if there.State != paddock.Exited || *there.Outcome.Reason.ExitCode != 0 {
		t.Fatalf("%+v", there.Outcome)
	}
	served := httptest.NewServer(http.FileServer(http.Dir(s.dir)))
	defer served.Close()
	into[workspaces.Workspace](t, s.do(http.MethodPost, "/api/v1/workspaces", "operator", `{"name":"site"}`), http.StatusCreated)
	// Who gave a wrong address asks again, where git init may write nothing any more.
	wrong := into[paddock.Run](t, s.do(http.MethodPost, "/api/v1/workspaces/site/clone", "operator", `{"url":"`+served.URL+`/none.git"}`), http.StatusCreated)
	wrong = into[paddock.Run](t, s.get("/api/v1/runs/"+string(wrong.ID)+"?wait_ms=45000", "operator"), http.StatusOK)
	if wrong.Argv[1] != "pull" || *wrong.Outcome.Reason.ExitCode == 0 {
		t.Errorf("%q: %+v", wrong.Argv, wrong.Outcome)
	}
	if err := os.WriteFile(s.dir+"/policy.yaml", []byte(strings.Replace(text, "args: any", "args: [{allow: [pull, ...]}]", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	var ids []paddock.RunID
	for range 2 {
		run := into[paddock.Run](t, s.do(http.MethodPost, "/api/v1/workspaces/site/clone", "operator", `{"url":"`+served.URL+`/served.git"}`, func(r *http.Request) { r.Header.Set("Idempotency-Key", "k") }), http.StatusCreated)
		run = into[paddock.Run](t, s.get("/api/v1/runs/"+string(run.ID)+"?wait_ms=45000", "operator"), http.StatusOK)
		if run.State != paddock.Exited || *run.Outcome.Reason.ExitCode != 0 {
			t.Errorf("%+v: %s", run.Outcome.Reason, s.get("/api/v1/runs/"+string(run.ID)+"/output?stream=combined", "operator").body)
		}
		ids = append(ids, run.ID)
	}
	if text, err := os.ReadFile(s.dir + "/operator/site/file"); err != nil || string(text) != "hello\n" || ids[0] != ids[1] {
		t.Errorf("%q, %v, runs %q", text, err, ids)
	}
}
