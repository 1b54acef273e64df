//go:build linux

package httpapi

import (
	"crypto/rand"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"paddock"
	"paddock/internal/dispatch/rows"
	"paddock/internal/httpapi/entry/gate/accounts/opened/principals"
)

// Whoever had something run is listed once, by the last of it, and then accounts that
// never had; a page at a time they are the same.
func TestPrincipals(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	user := func(name string) paddock.Principal {
		return paddock.Principal{Kind: paddock.User, ID: "user:" + name}
	}
	agent := paddock.Principal{Kind: paddock.Agent, ID: "user:operator > mcp/x"}
	begin := time.Now().Add(-time.Hour)
	var last paddock.RunID
	for i, p := range []paddock.Principal{user("operator"), agent, user("gone"), user("admin"), user("operator"), user("gone"), agent, user("operator")} {
		id, err := paddock.NewRunID(begin.Add(time.Duration(i)*time.Second), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		row, nonce := rows.Adopted(paddock.Run{ID: id, RequestDigest: paddock.DigestOf([32]byte{byte(i)})}, paddock.Request{Principal: p, Command: paddock.Command{Argv: []string{"sh"}}})
		if _, _, err := s.store.Enqueue(t.Context(), row, nonce); err != nil {
			t.Fatal(err)
		}
		last = id
	}
	var all principals.Listing
	s.get("/api/v1/principals", "admin").into(t, http.StatusOK, &all)
	var got []string
	for _, p := range all.Principals {
		got = append(got, string(p.Kind)+" "+p.ID)
		if (p.LastRun == "") != (p.LastRunAt == nil) || (p.Account == nil) != (p.ID == agent.ID || p.ID == "user:gone") {
			t.Errorf("%+v", p)
		}
	}
	want := "user user:operator, agent user:operator > mcp/x, user user:gone, user user:admin, "
	if text := strings.Join(got, ", "); !strings.HasPrefix(text, want) || len(got) != 6 || !strings.Contains(text, "user:viewer") || !strings.Contains(text, "user:approver") {
		t.Fatalf("%s", text)
	}
	if p := all.Principals[0]; p.LastRun != last || p.Account.Role != "operator" || p.Account.Disabled {
		t.Errorf("%+v", p)
	}
	for limit := 1; limit <= 6; limit++ {
		var pieces []string
		for next := ""; ; {
			var page principals.Listing
			s.get("/api/v1/principals?limit="+strconv.Itoa(limit)+"&cursor="+url.QueryEscape(next), "admin").into(t, http.StatusOK, &page)
			if len(page.Principals) > limit || page.Next != "" && len(page.Principals) != limit {
				t.Fatalf("%d of %d", len(page.Principals), limit)
			}
			for _, p := range page.Principals {
				pieces = append(pieces, string(p.Kind)+" "+p.ID)
			}
			if next = page.Next; next == "" || len(pieces) > 12 {
				break
			}
		}
		if strings.Join(pieces, ", ") != strings.Join(got, ", ") {
			t.Errorf("%d at a time: %q", limit, pieces)
		}
	}
	id := string(last)
	for _, query := range []string{"limit=-1", "limit=201", "limit=x", "cursor=" + id, "cursor=r.1", "cursor=r.x." + id, "cursor=u.1." + id, "cursor=r.01." + id, "cursor=r.-1." + id, "cursor=r.99999999999999999999." + id, "cursor=r.1." + id + "%00", "cursor=r.1." + strings.Repeat("r", 5000), "q=x"} {
		s.get("/api/v1/principals?"+query, "admin").problem(t, http.StatusUnprocessableEntity, paddock.InvalidRequest)
	}
	s.get("/api/v1/principals", "approver").problem(t, http.StatusForbidden, paddock.Forbidden)
}
