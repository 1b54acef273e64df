//go:build linux

package httpapi

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"paddock"
	"paddock/internal/app/used"
	"paddock/internal/httpapi/entry/gate/past"
	"paddock/internal/httpapi/entry/gate/search"
)

// What was written down is read a page at a time, and is whole; who isn't an admin gets
// none of it.
func TestPast(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	s.get("/api/v1/audit/head", "admin").problem(t, http.StatusNotFound, paddock.NotFound)
	for range 3 {
		run := s.start("operator", "echo hello")
		s.get("/api/v1/runs/"+string(run.ID)+"?wait_ms=45000", "operator").into(t, http.StatusOK, nil)
	}
	seen, kinds := int64(0), map[string]int{}
	for after := int64(0); ; {
		var page struct {
			Entries []struct {
				Seq  int64  `json:"seq"`
				Kind string `json:"kind"`
			} `json:"entries"`
			Next, Broken int64
		}
		s.get("/api/v1/audit?limit=2&after="+strconv.FormatInt(after, 10), "admin").into(t, http.StatusOK, &page)
		for _, e := range page.Entries {
			if e.Seq != seen+1 {
				t.Errorf("%d after %d", e.Seq, seen)
			}
			seen = e.Seq
			kinds[e.Kind]++
		}
		if after = page.Next; after == 0 {
			break
		}
	}
	if kinds["start"] != 3 || kinds["begin"] != 1 {
		t.Errorf("%v", kinds)
	}
	var starts past.Entries
	if s.get("/api/v1/audit?kind=start", "admin").into(t, http.StatusOK, &starts); len(starts.Entries) != 3 || starts.Next != 0 {
		t.Errorf("%+v", starts)
	}
	for _, query := range []string{"after=-1", "limit=1001", "run=x", "since=yesterday", "limit=0x"} {
		s.get("/api/v1/audit?"+query, "admin").problem(t, http.StatusUnprocessableEntity, paddock.InvalidRequest)
	}
	var head past.Head
	s.get("/api/v1/audit/head", "admin").into(t, http.StatusOK, &head)
	saved := func(line string) string {
		text, err := json.Marshal(past.Saved{Heads: []string{line}})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	var report past.Report
	s.do(http.MethodPost, "/api/v1/audit/verify", "admin", saved(head.Line)).into(t, http.StatusOK, &report)
	if !report.Whole || report.Report.Saved != 1 || head.Seq < seen {
		t.Errorf("%+v %+v", head, report)
	}
	last := "0"
	if strings.HasSuffix(head.Line, last) { // as one in so many digests does
		last = "1"
	}
	other := past.Head{Line: head.Line[:len(head.Line)-1] + last}
	if s.do(http.MethodPost, "/api/v1/audit/verify", "admin", saved(other.Line)).into(t, http.StatusOK, &report); report.Whole {
		t.Errorf("a head of another journal fits: %+v", report)
	}
	s.do(http.MethodPost, "/api/v1/audit/verify", "admin", saved("x")).problem(t, http.StatusUnprocessableEntity, paddock.InvalidRequest)
	files, err := filepath.Glob(filepath.Join(s.dir, "state", "journal", "*.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	text, err := os.ReadFile(files[0])
	if err == nil {
		err = os.WriteFile(files[0], bytes.Replace(text, []byte("echo hello"), []byte("echo hallo"), 1), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.get("/api/v1/audit/head", "admin").problem(t, http.StatusConflict, paddock.Conflict)
	if s.do(http.MethodPost, "/api/v1/audit/verify", "admin", "{}").into(t, http.StatusOK, &report); report.Whole || len(report.Report.Faults) == 0 {
		t.Errorf("a line was changed: %+v", report)
	}
	s.get("/api/v1/audit", "approver").problem(t, http.StatusForbidden, paddock.Forbidden)
}

// One finds one's own runs, and an admin everybody's.
func TestSearch(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	var runs []paddock.Run
	for _, as := range []string{"operator", "bob"} {
		runs = append(runs, s.start(as, "echo Needle"))
		s.start(as, "echo straw")
	}
	var found search.Found
	if s.get("/api/v1/search?q=needle", "bob").into(t, http.StatusOK, &found); len(found.Runs) != 1 || found.Runs[0].ID != runs[1].ID || found.Looked != 2 {
		t.Errorf("%+v", found)
	}
	if s.get("/api/v1/search?q=NEEDLE", "admin").into(t, http.StatusOK, &found); len(found.Runs) != 2 || found.Next != "" {
		t.Errorf("%+v", found)
	}
	s.get("/api/v1/search", "admin").problem(t, http.StatusUnprocessableEntity, paddock.InvalidRequest)
	for _, path := range []string{"search?q=x&cursor=x", "runs?cursor=x", "runs?cursor=" + strings.Repeat("r", 5000)} { // said by the name it has here
		if p := s.get("/api/v1/"+path, "admin").problem(t, http.StatusUnprocessableEntity, paddock.InvalidRequest); !strings.HasPrefix(p.Detail, "cursor is ") || len(p.Detail) > 200 {
			t.Errorf("%s", p.Detail)
		}
	}
}

// A policy that was read again says whether it counts.
func TestReload(t *testing.T) {
	t.Parallel()
	s := open(t, func(c *Config) {
		c.Policy = func() (Policy, error) {
			return Policy{File: "policy.yaml", Digest: "sha256:x", Problem: paddock.Refused(paddock.PolicyInvalid, "line 3")}, nil
		}
	})
	var r Reloaded
	if s.do(http.MethodPost, "/api/v1/policy/reload", "admin", "").into(t, http.StatusOK, &r); r.Digest != "sha256:x" || r.Problem == nil || r.Problem.Code != paddock.PolicyInvalid {
		t.Errorf("%+v", r)
	}
	s.do(http.MethodPost, "/api/v1/policy/reload", "approver", "").problem(t, http.StatusForbidden, paddock.Forbidden)
}

// One is told what one has used, and an admin what others have.
func TestQuotas(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	policy := filepath.Join(s.dir, "policy.yaml")
	text, err := os.ReadFile(policy)
	if err == nil {
		err = os.WriteFile(policy, append(text, "quotas: {principal: {runs_per_hour: 2}, total: {runs_per_day: 100}}\n"...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	var q used.Quotas
	if s.get("/api/v1/quotas", "operator").into(t, http.StatusOK, &q); q.Active != 0 || q.Concurrent == 0 || len(q.Counters) != 1 || q.Counters[0].Name != "principal.runs_per_hour" || q.Counters[0].Left != 2 {
		t.Errorf("%+v", q)
	}
	for range 2 {
		run := s.start("operator", "exit 0")
		s.get("/api/v1/runs/"+string(run.ID)+"?wait_ms=45000", "operator").into(t, http.StatusOK, nil)
	}
	if s.get("/api/v1/quotas", "operator").into(t, http.StatusOK, &q); q.Counters[0].Used != 2 || q.Counters[0].Left != 0 || q.Counters[0].Again == nil {
		t.Errorf("%+v", q)
	}
	if s.get("/api/v1/quotas?user=operator", "admin").into(t, http.StatusOK, &q); len(q.Counters) != 2 || q.Counters[0].Used != 2 || q.Counters[1].Used != 2 {
		t.Errorf("%+v", q)
	}
	s.get("/api/v1/quotas?user=operator", "bob").problem(t, http.StatusNotFound, paddock.NotFound)
	s.get("/api/v1/quotas?user=../x", "admin").problem(t, http.StatusUnprocessableEntity, paddock.InvalidRequest)
}
