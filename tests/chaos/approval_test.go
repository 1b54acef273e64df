//go:build linux

package chaos_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"paddock"
	"paddock/internal/approval"
	"paddock/internal/failpoint"
	"paddock/internal/journal/sign"
	"paddock/internal/testproc"
)

// Whoever brings the vote that starts a run can be killed at each step: the approval is
// unused, or used by that run, which is started once or says that it was lost.
func TestCrashBetweenUseAndStart(t *testing.T) {
	t.Parallel()
	testproc.BuildTo(t, "failing", "paddock/cmd/paddock-stage", "failpoints") // beside the other
	f := newField(t, 1, "")
	bin := filepath.Join(f.binaries("approve"), "paddock")
	key, err := sign.Create(filepath.Join(f.dir, "key"))
	must(t, err)
	text, err := os.ReadFile(f.policies[paddock.Off])
	must(t, err)
	policy := fmt.Sprintf("%srules: [{name: ask-me, ask: 'true'}]\napprovals: {keys: [{name: anna, key: %q}]}\n", text, approval.KeyText(&key.Public))
	must(t, os.WriteFile(f.policies[paddock.Off], []byte(policy), 0o600))
	for _, it := range []struct {
		point string
		ends  []paddock.State
	}{
		{"approval/use", []paddock.State{paddock.Exited}},
		{"approval/used", []paddock.State{paddock.Exited}},
		{"approval/begun", []paddock.State{paddock.Lost}},
		{"handover/ready", []paddock.State{paddock.Lost}},
		{"handover/readied", []paddock.State{paddock.Lost}},
		{"handover/give", []paddock.State{paddock.Lost}},
		{"handover/given", []paddock.State{paddock.Exited, paddock.Lost}},
	} {
		started := filepath.Join(f.root, "starts", strings.ReplaceAll(it.point, "/", "-"))
		out, err := f.paddock("run", "-d", "--", "sh", "-c", "echo once >> "+started).Output()
		must(t, err)
		run := strings.TrimSpace(string(out))
		out, err = f.paddock("approve", "list", "-q").Output()
		must(t, err)
		id := strings.TrimSpace(string(out))
		arm(t, bin, it.point+" 1 kill\n")
		said, err := testproc.Command(t, bin, "--state", f.state, "--policy", f.policies[paddock.Off], "approve", "add", id, f.vote(key, id)).CombinedOutput()
		if hit, hitErr := os.ReadFile(bin + failpoint.HitSuffix); hitErr != nil || err == nil {
			t.Errorf("%s: %v, %s; hit %q, %v", it.point, err, said, hit, hitErr)
		}
		must(t, remove(bin+failpoint.HitSuffix))
		_ = f.paddock("wait", run).Run() // its status says how it ended
		out, err = f.paddock("show", "--json", run).Output()
		must(t, err)
		var all struct {
			Run struct {
				State paddock.State `json:"state"`
			} `json:"run"`
		}
		must(t, json.Unmarshal(out, &all))
		shown := all.Run
		if !slices.Contains(it.ends, shown.State) {
			t.Errorf("%s: it is %s", it.point, shown.State)
		}
		f.usedBy(it.point, id, run)
		text, err := os.ReadFile(started)
		if n := strings.Count(string(text), "once"); n > 1 || shown.State == paddock.Exited && n != 1 || n == 0 && !os.IsNotExist(err) {
			t.Errorf("%s: it was started %d times, %v", it.point, n, err)
		}
	}
	if out, err := f.paddock("audit", "verify").CombinedOutput(); err != nil {
		t.Errorf("audit verify: %v\n%s", err, out)
	}
	f.nothingLeft()
}

// usedBy checks that the approval was used by that run and by no other.
func (f *field) usedBy(when, id, run string) {
	f.t.Helper()
	out, err := f.paddock("approve", "show", "--json", id).Output()
	must(f.t, err)
	var a struct {
		Used []string `json:"used"`
	}
	must(f.t, json.Unmarshal(out, &a))
	if !slices.Equal(a.Used, []string{run}) {
		f.t.Errorf("%s: it was used by %v and not by %s", when, a.Used, run)
	}
}

// vote is the file of what another person signs about id.
func (f *field) vote(key *sign.Key, id string) string {
	f.t.Helper()
	text, err := f.paddock("approve", "export", id).Output()
	must(f.t, err)
	asked, err := approval.Read(text)
	must(f.t, err)
	now := time.Now()
	envelope, err := approval.Sign(key, asked, approval.Statement{By: "operator:uid=of-another", Approve: true, Uses: 1, At: now, Until: now.Add(10 * time.Minute)})
	must(f.t, err)
	file := filepath.Join(f.dir, "vote-"+id)
	must(f.t, os.WriteFile(file, envelope, 0o600))
	return file
}
