//go:build linux

package httpapi

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"paddock"
	"paddock/internal/approval"
	"paddock/internal/approval/vouched"
	"paddock/internal/auth"
	"paddock/internal/auth/keyfile"
	"paddock/internal/httpapi/entry/gate/approvals"
	"paddock/internal/journal/sign"
)

// What an approver asked for himself isn't his to approve, whoever a key that he has says
// that he is. An admin could make another user who does.
func TestVoteOnOnesOwn(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	person, err := sign.Create(filepath.Join(s.dir, "person"))
	if err != nil {
		t.Fatal(err)
	}
	text := "version: 1\nroots: [{path: " + s.dir + "}]\nexecutables: [{name: sh, path: /bin/sh, args: any}]\ncontainment: {require: off}\n" +
		"rules: [{name: there, ask: 'true'}]\napprovals:\n  keys: [{name: p, key: '" + approval.KeyText(&person.Public) + "'}]\n"
	if err := os.WriteFile(filepath.Join(s.dir, "policy.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, as := range []string{"approver", "admin"} {
		run := s.start(as, "exit 7")
		at := "/api/v1/approvals/" + string(run.Approval)
		var q approvals.Question
		s.get(at+"/question", as).into(t, http.StatusOK, &q)
		a, err := approval.Read([]byte(q.Text))
		if err != nil {
			t.Fatal(err)
		}
		envelope, err := approval.Sign(person, a, approval.Statement{By: "somebody", Approve: true, At: time.Now().UTC().Truncate(time.Millisecond), Uses: 1, Until: time.Now().UTC().Add(time.Hour).Truncate(time.Millisecond)})
		if err != nil {
			t.Fatal(err)
		}
		body, err := json.Marshal(approvals.Signed{Envelope: string(envelope)})
		if err != nil {
			t.Fatal(err)
		}
		if as == "admin" {
			s.do(http.MethodPost, at+"/votes", as, string(body)).into(t, http.StatusOK, new(paddock.Approval))
			continue
		}
		s.do(http.MethodPost, at+"/votes", as, string(body)).problem(t, http.StatusForbidden, paddock.Forbidden)
		s.do(http.MethodPost, "/api/v1/runs/"+string(run.ID)+"/kill", as, "{}")
		s.get(at, as).into(t, http.StatusOK, &a)
		if !a.Left() || !slices.Equal(a.Ended, []paddock.RunID{run.ID}) {
			t.Errorf("of a question whose run was killed it says %+v", a)
		}
	}
}

// A vote on what wants a second factor counts where the server says that one was shown,
// and what waits for it starts.
func TestVoteWithSecondFactor(t *testing.T) {
	t.Parallel()
	secret := keyfile.Fresh()
	verifier, err := keyfile.Verifier(secret)
	if err != nil {
		t.Fatal(err)
	}
	shown := make(map[string]bool) // nobody has, at first
	var at string
	s := open(t, func(c *Config) {
		c.Vouch = func(who auth.Who, vote []byte) ([]byte, error) {
			if !shown[who.Name] {
				return vote, nil
			}
			return vouched.Sign(verifier, vouched.Statement{Vote: string(vote), Account: who.Name, ShownAt: time.Now(), At: time.Now()})
		}
	})
	person, err := sign.Create(filepath.Join(s.dir, "person"))
	if err != nil {
		t.Fatal(err)
	}
	text := "version: 1\nroots: [{path: " + s.dir + "}]\nexecutables: [{name: sh, path: /bin/sh, args: any}]\ncontainment: {require: off}\n" +
		"rules: [{name: there, ask: 'true', second_factor: true}]\napprovals:\n  keys: [{name: p, key: '" + approval.KeyText(&person.Public) + "', account: approver}]\n" +
		"  verifiers: [{name: desk, key: '" + approval.KeyText(&verifier.Public) + "'}]\n"
	if err := os.WriteFile(filepath.Join(s.dir, "policy.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	run := s.start("bob", "exit 7")
	at = "/api/v1/approvals/" + string(run.Approval)
	var q approvals.Question
	s.get(at+"/question", "approver").into(t, http.StatusOK, &q)
	a, err := approval.Read([]byte(q.Text))
	if err != nil || !a.Matter.SecondFactor {
		t.Fatalf("%+v, %v", a, err)
	}
	envelope, err := approval.Sign(person, a, approval.Statement{By: "user:approver", Approve: true, At: time.Now().UTC().Truncate(time.Millisecond), Uses: 1, Until: time.Now().UTC().Add(time.Hour).Truncate(time.Millisecond)})
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(approvals.Signed{Envelope: string(envelope)})
	if err != nil {
		t.Fatal(err)
	}
	s.do(http.MethodPost, at+"/votes", "approver", string(body)).problem(t, http.StatusForbidden, paddock.SecondFactorRequired)
	shown["admin"] = true // somebody else, with his vote
	s.do(http.MethodPost, at+"/votes", "admin", string(body)).problem(t, http.StatusForbidden, paddock.SecondFactorRequired)
	shown["approver"] = true
	var voted paddock.Approval
	s.do(http.MethodPost, at+"/votes", "approver", string(body)).into(t, http.StatusOK, &voted)
	if len(voted.Votes) != 1 || voted.Votes[0].Factor == nil || voted.Votes[0].Factor.Account != "approver" {
		t.Errorf("%+v", voted)
	}
	var over paddock.Run
	s.get("/api/v1/runs/"+string(run.ID)+"?wait_ms=45000", "bob").into(t, http.StatusOK, &over)
	if over.State != paddock.Exited || over.Outcome == nil || over.Outcome.Reason.ExitCode == nil || *over.Outcome.Reason.ExitCode != 7 {
		t.Errorf("%+v", over)
	}
}
