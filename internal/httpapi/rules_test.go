//go:build linux

package httpapi

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"paddock"
	"paddock/internal/auth"
	"paddock/internal/httpapi/entry/gate"
	"paddock/internal/httpapi/entry/shield"
	"paddock/internal/httpapi/entry/table/ask"
)

// Each verb has a route and a row for each role: this is the whole matrix, once more
// and by hand.
var wanted = map[gate.Verb]string{ // who may: nobody logged in, Viewer, Operator, aPprover, Admin
	gate.Health: "nVOPA", gate.APIRead: "nVOPA", gate.Login: "nVOPA", gate.Connect: "nVOPA",
	gate.Logout: "VOPA", gate.WhoAmI: "VOPA",
	gate.RunsStart: "OPA", gate.RunsList: "VOPA", gate.RunsRead: "VOPA", gate.RunsOutput: "VOPA", gate.RunsFollow: "VOPA", gate.RunsKill: "OPA", gate.RunsAttach: "OPA",
	gate.PolicyRead: "A", gate.PolicyExplain: "OPA",
	gate.ApprovalsList: "VOPA", gate.ApprovalsRead: "VOPA", gate.ApprovalsVote: "PA",
	gate.SessionsList: "VOPA", gate.SessionsRevoke: "VOPA", gate.PasswordChange: "VOPA", gate.FactorsChange: "VOPA",
	gate.TokensList: "VOPA", gate.TokensCreate: "VOPA", gate.TokensRevoke: "VOPA",
	gate.UsersRead: "A", gate.UsersChange: "A", gate.InvitationsRead: "A", gate.InvitationsChange: "A",
	gate.MetricsRead: "A", gate.WorkersRead: "OPA", gate.WorkersChange: "A", gate.ProfilesRead: "A",
	gate.MCPUse: "VOPA", auth.GitRead: "OPA", auth.TasksRead: "VOPA", auth.TasksWrite: "OPA",
	auth.DelegatesStart: "OPA", auth.DelegatesRead: "VOPA", auth.DelegatesCancel: "OPA",
	gate.WorkspacesRead: "VOPA", gate.WorkspacesCreate: "OPA", gate.WorkspacesClone: "OPA", gate.WorkspacesRemove: "OPA",
	gate.PolicyReload: "A", gate.AuditRead: "A", gate.QuotasRead: "VOPA",
}

func TestMatrix(t *testing.T) {
	t.Parallel()
	letters := map[gate.Role]string{gate.Anybody: "n", gate.Viewer: "V", gate.Operator: "O", gate.Approver: "P", gate.Admin: "A"}
	if len(wanted) != len(gate.Verbs()) {
		t.Errorf("%d verbs, and %d are known here", len(gate.Verbs()), len(wanted))
	}
	for verb, who := range wanted {
		for role, letter := range letters {
			if got := gate.Permits(role, verb); got != strings.Contains(who, letter) {
				t.Errorf("%s for %q: %v", verb, role, got)
			}
		}
	}
	if gate.Permits("root", gate.RunsList) || gate.Permits(gate.Admin, "runs.everything") {
		t.Error("an unknown role or verb is permitted")
	}
}

// Every route is asked as every role: those who may not are told so before anything of
// the request is looked at, and the others aren't.
func TestEveryRouteAsEveryRole(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	verbs := map[gate.Verb]bool{}
	for _, r := range s.door.in.Table {
		verbs[r.Verb] = true
		path := strings.NewReplacer("{id}", "none", "{name}", "none", "{digest}", "none").Replace(r.Path)
		for _, role := range append(gate.Roles(), gate.Anybody) {
			a := s.do(r.Method, path, string(role), "")
			switch {
			case gate.Permits(role, r.Verb):
				if a.StatusCode == http.StatusForbidden || a.StatusCode >= 500 || a.StatusCode == http.StatusUnauthorized {
					t.Errorf("%s as %q: %d %s", r.Pattern(), role, a.StatusCode, a.body)
				}
			case role == gate.Anybody:
				a.problem(t, http.StatusUnauthorized, paddock.Unauthenticated)
			default:
				a.problem(t, http.StatusForbidden, paddock.Forbidden)
			}
		}
		if a := s.do(r.Method, path, "nobody", ""); r.Verb != gate.Login && r.Verb != gate.Connect {
			if a.problem(t, http.StatusUnauthorized, paddock.Unauthenticated); a.Header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s: no WWW-Authenticate", r.Pattern())
			}
		}
	}
	for _, v := range gate.Verbs() {
		if !verbs[v] && !slices.Contains(gate.OfTools(), v) {
			t.Errorf("no route has the verb %s", v)
		}
	}
	s.get("/api/v1/whoami", "scoped").problem(t, http.StatusForbidden, paddock.Forbidden)
	s.get("/api/v1/runs/none", "scoped").problem(t, http.StatusNotFound, paddock.NotFound)
}

// Nothing is a fault of ours, whatever is sent, and every answer has the headers.
func TestHostileRequests(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	large := `{"argv":["` + strings.Repeat("a", ask.MaxBody) + `"]}`
	set := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	for name, c := range map[string]struct {
		method, path, body string
		status             int
		code               paddock.Code
		change             func(*http.Request)
	}{
		"no such path":      {"GET", "/api/v2/runs", "", 404, "", nil},
		"no such method":    {"DELETE", "/api/v1/runs", "", 405, "", nil},
		"TRACE":             {"TRACE", "/api/v1/runs", "", 501, "", nil},
		"two slashes":       {"GET", "//api/v1/runs", "", 404, "", nil},
		"dots":              {"GET", "/api/v1/../v1/runs", "", 404, "", nil},
		"long URL":          {"GET", "/api/v1/runs?label=" + strings.Repeat("a", 9000), "", 414, "", nil},
		"another host":      {"GET", "/api/v1/runs", "", 421, "", func(r *http.Request) { r.Host = "evil.example" }},
		"host and port":     {"GET", "/livez", "", 200, "", func(r *http.Request) { r.Host = "LOCALHOST.:80" }},
		"another origin":    {"POST", "/api/v1/runs", "{}", 403, "", set("Origin", "https://evil.example")},
		"another site":      {"POST", "/api/v1/logout", "", 403, "", set("Sec-Fetch-Site", "cross-site")},
		"no type":           {"POST", "/api/v1/runs", "{}", 415, "", set("Content-Type", "text/plain")},
		"large":             {"POST", "/api/v1/runs", large, 413, "", nil},
		"unknown key":       {"POST", "/api/v1/runs", `{"argv":["sh"],"replace_env":{}}`, 422, paddock.InvalidRequest, nil},
		"doubled key":       {"POST", "/api/v1/runs", `{"argv":["sh"],"argv":["ls"]}`, 422, paddock.InvalidRequest, nil},
		"a shell string":    {"POST", "/api/v1/runs", `{"argv":"sh -c ls"}`, 422, paddock.InvalidRequest, nil},
		"nothing to run":    {"POST", "/api/v1/runs", `{}`, 422, paddock.ArgvEmpty, nil},
		"NUL":               {"POST", "/api/v1/runs", `{"argv":["sh","\u0000"]}`, 422, paddock.ArgvNUL, nil},
		"bad UTF-8":         {"POST", "/api/v1/runs", "{\"argv\":[\"\xff\"]}", 422, paddock.InvalidRequest, nil},
		"not listed":        {"POST", "/api/v1/runs", `{"argv":["rm","-rf","/"]}`, 403, paddock.ExecutableNotAllowed, nil},
		"long key":          {"POST", "/api/v1/runs", `{"argv":["sh"]}`, 422, paddock.InvalidRequest, set("Idempotency-Key", strings.Repeat("k", 300))},
		"stdin of nobody's": {"POST", "/api/v1/runs", `{"argv":["sh"],"stdin":{"run":"r00000000000000000000000000"}}`, 422, paddock.StdinNotAllowed, nil},
		"signal":            {"POST", "/api/v1/runs/r00000000000000000000000000/kill", `{"signal":"STOP"}`, 422, paddock.InvalidRequest, nil},
		"wait too long":     {"GET", "/api/v1/runs/r00000000000000000000000000?wait_ms=45001", "", 422, paddock.InvalidRequest, nil},
		"body of a GET":     {"GET", "/api/v1/runs", `{}`, 422, paddock.InvalidRequest, nil},
		"a code in the URL": {"POST", "/api/v1/login?code=abc", `{"code":"abc"}`, 422, paddock.InvalidRequest, nil},
		"token in the URL":  {"GET", "/api/v1/runs?token=operator", "", 422, paddock.InvalidRequest, nil},
		"wrong password":    {"POST", "/api/v1/login", `{"name":"operator","password":"x"}`, 401, paddock.Unauthenticated, nil},
		"no such approval":  {"GET", "/api/v1/approvals/x", "", 404, paddock.NotFound, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var change []func(*http.Request)
			if c.change != nil {
				change = append(change, c.change)
			}
			a := s.do(c.method, c.path, "operator", c.body, change...)
			if c.status >= 400 {
				a.problem(t, c.status, c.code)
			} else {
				a.into(t, c.status, nil)
			}
			for header, want := range map[string]string{
				"Content-Security-Policy": shield.APIPolicy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
				"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store",
			} {
				if got := a.Header.Values(header); len(got) != 1 || got[0] != want {
					t.Errorf("%s: %q", header, got)
				}
			}
			if c.status == 405 && a.Header.Get("Allow") != "GET, HEAD, POST" {
				t.Errorf("Allow: %s", a.Header.Get("Allow"))
			}
		})
	}
}

// Nobody's secrets get into the log, and no query does.
func TestLogTellsNoSecrets(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	var me Me
	a := s.do(http.MethodPost, "/api/v1/login", "", `{"name":"operator","password":"secret-operator"}`).into(t, http.StatusOK, &me)
	if me.Name != "operator" || me.Role != gate.Operator || !slices.Contains(me.Verbs, gate.RunsStart) || len(a.Cookies()) != 1 {
		t.Errorf("%+v %v", me, a.Cookies())
	}
	s.do(http.MethodPost, "/api/v1/login", "", `{"code":"c0de-of-a-link"}`).problem(t, http.StatusUnauthorized, paddock.Unauthenticated)
	s.do(http.MethodPost, "/api/v1/runs?t0ken=abc", "operator", `{"argv":["b0dy"]}`)
	s.get("/api/v1/runs/none/output?grep=l00k", "operator")
	s.get("/p4th", "t0ken-nobody")
	log := s.log.String()
	for _, secret := range []string{"secret-operator", "c0de", "t0ken", "b0dy", "l00k", "p4th"} {
		if strings.Contains(log, secret) {
			t.Errorf("%s is in the log:\n%s", secret, log)
		}
	}
	if !strings.Contains(log, `route="POST /api/v1/login" status=200`) || !strings.Contains(log, "user=operator") || strings.Count(log, "\n") != 5 {
		t.Errorf("the log:\n%s", log)
	}
}

func TestPace(t *testing.T) {
	t.Parallel()
	s := open(t, func(c *Config) { c.Limits.PerSecond, c.Limits.Burst = 0.001, 20 })
	for range 20 {
		s.get("/api/v1/whoami", "operator").into(t, http.StatusOK, nil)
	}
	if a := s.get("/api/v1/whoami", "operator"); a.problem(t, http.StatusTooManyRequests, paddock.Busy).Refusal.Retryable != true || a.Header.Get("Retry-After") == "" {
		t.Errorf("%v", a.Header)
	}
	s.get("/api/v1/whoami", "bob").into(t, http.StatusOK, nil)
	s.get("/livez", "").into(t, http.StatusOK, nil)
	s.get("/livez", "").into(t, http.StatusOK, nil)
	s.get("/livez", "").problem(t, http.StatusTooManyRequests, paddock.Busy)
	s.get("/api/v1/whoami", "guess").problem(t, http.StatusTooManyRequests, paddock.Busy)
}

// What all ask together is bounded, whoever they are, and so is what an address tries to log
// in with, whatever it tries.
func TestPaceOfAll(t *testing.T) {
	t.Parallel()
	s := open(t, func(c *Config) { c.Limits.AllPerSecond, c.Limits.AllBurst = 0.001, 3 })
	for _, who := range []string{"operator", "bob", "admin"} {
		s.get("/api/v1/whoami", who).into(t, http.StatusOK, nil)
	}
	for _, path := range []string{"/api/v1/whoami", "/livez", "/nowhere"} {
		if a := s.get(path, "viewer"); a.problem(t, http.StatusTooManyRequests, paddock.Busy).Refusal.Retryable != true || a.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %v", path, a.Header)
		}
	}
	now := time.Now() // stands still
	s = open(t, func(c *Config) { c.Shield.Now = func() time.Time { return now } })
	wrong := []string{`{"name":"operator","password":"x"}`, `{"name":"nobody","password":"x"}`, `{"code":"guess"}`}
	for i := range 10 {
		s.do(http.MethodPost, "/api/v1/login", "", wrong[i%len(wrong)]).problem(t, http.StatusUnauthorized, paddock.Unauthenticated)
	}
	for _, try := range append(wrong, `{"name":"operator","password":"secret-operator"}`) {
		s.do(http.MethodPost, "/api/v1/login", "", try).problem(t, http.StatusTooManyRequests, paddock.Busy)
	}
}

// A body is bounded as its configuration says, at every route that reads one.
func TestBodies(t *testing.T) {
	t.Parallel()
	s := open(t, func(c *Config) { c.Limits.Body = 1000 })
	for size, status := range map[int]int{1000: http.StatusOK, 1001: http.StatusRequestEntityTooLarge, 100_000: http.StatusRequestEntityTooLarge} {
		body := `{"argv":["echo"]}`
		body += strings.Repeat(" ", size-len(body))
		if a := s.do(http.MethodPost, "/api/v1/policy/explain", "operator", body); a.StatusCode != status {
			t.Errorf("%d bytes: %d %s", size, a.StatusCode, a.body)
		}
	}
	for _, path := range []string{"/api/v1/runs", "/api/v1/login"} {
		s.do(http.MethodPost, path, "operator", `{"argv":["echo","`+strings.Repeat("x", 1000)+`"]}`).problem(t, http.StatusRequestEntityTooLarge, "")
	}
}

func TestHealthAndNumbers(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	var h Health
	s.get("/readyz", "").into(t, http.StatusOK, &h)
	if !h.OK || h.Checks != nil || h.Version != "" {
		t.Errorf("anybody is told %+v", h)
	}
	s.get("/readyz", "admin").into(t, http.StatusOK, &h)
	if len(h.Checks) != 1 || h.Version != "test" {
		t.Errorf("an admin is told %+v", h)
	}
	s.get("/nowhere-"+strings.Repeat("x", 100), "")
	a := s.get("/metrics", "admin").into(t, http.StatusOK, nil)
	for _, want := range []string{`paddock_http_requests_total{route="GET /readyz",status="2xx"} 2`, `paddock_http_requests_total{route="other",status="4xx"} 1`, "paddock_event_streams 0"} {
		if !strings.Contains(string(a.body), want) {
			t.Errorf("no %s in\n%s", want, a.body)
		}
	}
	var p Policy
	s.get("/api/v1/policy", "admin").into(t, http.StatusOK, &p)
	var d paddock.Decision
	s.do(http.MethodPost, "/api/v1/policy/explain", "operator", `{"argv":["rm"]}`).into(t, http.StatusOK, &d)
	if d.Effect != paddock.Deny || p.File != "policy.yaml" {
		t.Errorf("%+v %+v", d, p)
	}
	for _, r := range d.Refusals {
		if r.Position != nil && strings.Contains(r.Position.File, "/") {
			t.Errorf("a user is told where the policy is: %+v", r.Position)
		}
	}
}

// The committed description is the one that is served, and what is answered is as it
// says.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	if _, err := s.door.openAPI(); err != nil {
		t.Fatal(err)
	}
	a := s.get("/api/v1/openapi.json", "").into(t, http.StatusOK, nil)
	file := filepath.Join("..", "..", "docs", "openapi.json")
	if *update {
		if err := os.WriteFile(file, a.body, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	committed, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(committed, a.body) {
		t.Errorf("docs/openapi.json isn't what is served (%v): go test ./internal/httpapi -run OpenAPI -update", err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(a.body))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("urn:openapi", doc); err != nil {
		t.Fatal(err)
	}
	holds := func(name string, body []byte) {
		t.Helper()
		schema, err := c.Compile("urn:openapi#/components/schemas/" + name)
		if err != nil {
			t.Fatal(err)
		}
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
		if err == nil {
			err = schema.Validate(v)
		}
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, body)
		}
	}
	run := s.start("operator", "echo hello; echo there >&2")
	path := "/api/v1/runs/" + string(run.ID)
	for name, r := range map[string]reply{
		"Run": s.get(path+"?wait_ms=45000", "operator"), "Listing": s.get("/api/v1/runs", "operator"),
		"Page": s.get(path+"/output?stream=combined", "operator"), "Detail": s.get(path+"/detail", "admin"),
		"Decision": s.do(http.MethodPost, "/api/v1/policy/explain", "operator", `{"argv":["sh"]}`),
		"Problem":  s.do(http.MethodPost, "/api/v1/runs", "operator", `{"argv":["ls | wc"]}`),
		"Me":       s.get("/api/v1/whoami", "bob"), "Health": s.get("/readyz", "admin"), "ApprovalsListing": s.get("/api/v1/approvals", "approver"),
		"Policy": s.get("/api/v1/policy", "admin"), "PolicyOf": s.get(path+"/policy", "admin"),
	} {
		holds(name, r.body)
	}
	var known struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(a.body, &known); err != nil {
		t.Fatal(err)
	}
	for _, r := range s.door.in.Table {
		if known.Paths[r.Path][strings.ToLower(r.Method)] == nil {
			t.Errorf("%s isn't described", r.Pattern())
		}
	}
}
