package screen

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"paddock"
)

func TestEnforced(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		e    *paddock.Enforced
		want string
	}{
		{"nothing known", nil, ""},
		{"off as root", &paddock.Enforced{Level: paddock.Off, Network: "host", Identity: &paddock.Account{}, Evidence: paddock.EvidenceSameUID},
			"enforced: nothing: containment was off\nidentity: uid 0, gid 0\nevidence: same-uid: the run's account owns its record\n"},
		{"another's", &paddock.Enforced{Level: paddock.Standard, LandlockABI: 6, Network: "none", Identity: &paddock.Account{UID: 7, GID: 8, Name: "a\x1bb"}, Evidence: paddock.EvidenceProtected},
			"enforced: standard, privileges could be gained\nidentity: a\\x1bb, uid 7, gid 8\nevidence: protected: the run couldn't change its record\nfiles: the machine's, Landlock ABI 6\nnetwork: none\n"},
		{"what isn't known", &paddock.Enforced{Level: paddock.Off, Evidence: "x\x1b"}, "enforced: nothing: containment was off\nevidence: x\\x1b\n"},
		{"off", &paddock.Enforced{Level: paddock.Off, Network: "host"}, "enforced: nothing: containment was off\n"},
		{"full", &paddock.Enforced{
			Level: paddock.Full, Namespaces: []string{"user", "network"}, LandlockABI: 7, Filter: paddock.Digest("sha256:0123456789abcdef"), Mounts: "private",
			NoNewPrivileges: true, Network: "none", Protected: []string{".git/hooks", "a\x1bb"}, Limits: map[string]string{"open_files": "rlimit", "memory": "cgroup v2", "cpus": "none"},
		}, "enforced: full, no new privileges\nnamespaces: user, network\nfiles: a private view, Landlock ABI 7\nnetwork: none\ncalls: filter 0123456789ab\n" +
			"protected: .git/hooks $'a\\x1bb'\ncpus: not held\nmemory: held by cgroup v2\nopen_files: held by rlimit\n"},
		{"standard", &paddock.Enforced{Level: paddock.Standard, LandlockABI: 6, NoNewPrivileges: true, Network: "host"},
			"enforced: standard, no new privileges\nfiles: the machine's, Landlock ABI 6\nnetwork: the machine's\n"},
		{"allowlist", &paddock.Enforced{Level: paddock.Full, NoNewPrivileges: true, Network: "allowlist"},
			"enforced: full, no new privileges\nfiles: the machine's\nnetwork: listed hosts, through a proxy\n"},
		{"less than it should be", &paddock.Enforced{Level: paddock.Standard}, "enforced: standard, privileges could be gained\nfiles: the machine's\nnetwork: \n"},
	} {
		var got string
		for _, line := range enforced(tt.e) {
			got += fmt.Sprintf("%s: %s\n", line[0], line[1])
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestLater(t *testing.T) {
	t.Parallel()
	code := 3
	got := later([]paddock.Addendum{{Note: "a\x1bb", Outcome: paddock.Outcome{State: paddock.Exited, Reason: paddock.Reason{Kind: paddock.ReasonExit, ExitCode: &code}}}})
	if len(got) != 1 || got[0][0] != "addendum" || !strings.HasPrefix(got[0][1], "exited with status 3; known since ") || !strings.HasSuffix(got[0][1], ` (a\x1bb)`) {
		t.Errorf("shown as %q", got)
	}
	if later(nil) != nil {
		t.Error("a run without any shows some")
	}
}
