package auth_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"paddock/internal/auth"
)

// matrix is who may do what, written down a second time and by other means than the
// table: – nothing, o his own, x others', a all; of viewer, operator, approver, admin.
const matrix = `
whoami             o o o o
sessions.list      o o o a
sessions.revoke    o o o a
password.change    o o o o
factors.change     o o o a
tokens.list        o o o a
tokens.create      o o o o
tokens.revoke      o o o a
runs.start         - o o a  starts
runs.list          o o o a
runs.read          o o o a
runs.output        o o o a
runs.follow        o o o a
runs.raw           - - - a
runs.kill          - o o a
runs.attach        - o o a
runs.keep          - o o a
runs.remove        - o o a
changes.read       o o o a
changes.apply      - o o a
changes.discard    - o o a
git.read           - o o a  starts
tasks.read         o o o a
tasks.write        - o o a
delegates.start    - o o a  starts
delegates.read     o o o a
delegates.cancel   - o o a
mcp.use            o o o o
policy.read        - - - a
policy.explain     - a a a
policy.reload      - - - a
approvals.list     o o a a
approvals.read     o o a a
approvals.vote     - - x a  starts second
workspaces.read    o o o a
workspaces.create  - o o a
workspaces.clone   - o o a  starts
workspaces.remove  - o o a
quotas.read        o o o a
quotas.set         - - - a
users.read         - - - a
users.change       - - - a
invitations.read   - - - a
invitations.change - - - a
workers.read       - a a a
workers.change     - - - a
audit.read         - - - a
metrics.read       - - - a
profiles.read      - - - a
config.read        - - - a
`

var reaches = map[string]auth.Reach{"-": auth.Nothing, "o": auth.Own, "x": auth.Others, "a": auth.All}

func TestEveryCell(t *testing.T) {
	t.Parallel()
	lines := strings.Split(strings.TrimSpace(matrix), "\n")
	var named []auth.Verb
	for _, line := range lines {
		words := strings.Fields(line)
		v := auth.Verb(words[0])
		named = append(named, v)
		for i, r := range auth.Roles() {
			want, known := reaches[words[1+i]]
			if !known {
				t.Fatalf("%q isn't a cell", words[1+i])
			}
			if got := auth.Reaches(r, v); got != want {
				t.Errorf("%s of %s reaches %d, want %d", v, r, got, want)
			}
			for whose, may := range map[auth.Whose]bool{
				auth.Mine:    want == auth.Own || want == auth.All,
				auth.Foreign: want == auth.Others || want == auth.All,
			} {
				if auth.May(r, v, whose) != may {
					t.Errorf("%s may %s (whose: %d): %t", r, v, whose, !may)
				}
			}
		}
		if v.Starts() != slices.Contains(words, "starts") || v.Second() != slices.Contains(words, "second") {
			t.Errorf("%s: its marks are others", v)
		}
	}
	if !slices.Equal(named, auth.Verbs()) {
		t.Errorf("the verbs are %q, and here stand %q", auth.Verbs(), named)
	}
}

// covers says that a reach includes all that another does.
func covers(a, b auth.Reach) bool {
	for _, w := range []auth.Whose{auth.Mine, auth.Foreign} {
		if b.Includes(w) && !a.Includes(w) {
			return false
		}
	}
	return true
}

func TestHigherRolesReachFurther(t *testing.T) {
	t.Parallel()
	roles := auth.Roles()
	for _, v := range auth.Verbs() {
		for i := 1; i < len(roles); i++ {
			less, more := auth.Reaches(roles[i-1], v), auth.Reaches(roles[i], v)
			if !covers(more, less) && v != auth.ApprovalsVote {
				t.Errorf("%s: %s reaches %d, and %s only %d", v, roles[i-1], less, roles[i], more)
			}
		}
	}
}

// No verb starts a program for a role that couldn't start one through the front door.
func TestNothingStartsBehindTheFrontDoor(t *testing.T) {
	t.Parallel()
	for _, v := range auth.Verbs() {
		for _, r := range auth.Roles() {
			if v.Starts() && auth.Reaches(r, v) != auth.Nothing && auth.Reaches(r, auth.RunsStart) == auth.Nothing {
				t.Errorf("%s may %s, which starts a program, and may start none", r, v)
			}
		}
	}
}

func TestUnknownRolesAndVerbs(t *testing.T) {
	t.Parallel()
	for _, r := range []auth.Role{"", "Admin", "root", "admin "} {
		for _, v := range auth.Verbs() {
			if auth.May(r, v, auth.Mine) || auth.May(r, v, auth.Foreign) {
				t.Errorf("%q may %s", r, v)
			}
		}
		if _, err := auth.ParseRole(string(r)); err == nil {
			t.Errorf("%q is a role", r)
		}
	}
	if v := auth.Verb("runs.fly"); auth.May(auth.Admin, v, auth.Mine) || v.Delegable() || !v.Second() {
		t.Error("a verb that doesn't exist can be done")
	}
	if !auth.Below(auth.Viewer, auth.Operator) || auth.Below(auth.Admin, auth.Admin) || auth.Below(auth.Admin, auth.Viewer) || !auth.Below("", auth.Viewer) {
		t.Error("the order of roles is another")
	}
}

func TestScope(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		words []string
		want  string
	}{
		{[]string{"runs.read", "runs.read", "runs.output"}, "[runs.output runs.read]"},
		{[]string{"changes.*"}, "[changes.apply changes.discard changes.read]"},
		{[]string{"approvals.*"}, "[approvals.list approvals.read]"},
		{nil, "[]"},
		{[]string{"approvals.vote"}, "approvals.vote can't be done by a token"},
		{[]string{"tokens.create"}, "tokens.create can't be done by a token"},
		{[]string{"tokens.*"}, "is nothing that such a token can do"},
		{[]string{"*"}, "is nothing that such a token can do"},
		{[]string{".*"}, "is nothing that such a token can do"},
		{[]string{"run.*"}, "is nothing that such a token can do"},
		{[]string{"runs.*.*"}, "is nothing that such a token can do"},
		{[]string{""}, "is nothing that such a token can do"},
		{[]string{"runs.read\x00"}, `"runs.read\x00" is nothing`},
		{[]string{strings.Repeat("x", 1<<20)}, "is nothing that such a token can do"},
	} {
		got, err := auth.Scope(tc.words, auth.Operator, false)
		said := fmt.Sprint(got)
		if err != nil {
			said = err.Error()
		}
		if !strings.Contains(said, tc.want) || len(said) > 200 {
			t.Errorf("%.40q: %s, want %s", tc.words, said, tc.want)
		}
	}
	// A star is what the owner's role may, and of that what can be held to workspaces.
	for _, tc := range []struct {
		word   string
		owner  auth.Role
		narrow bool
		want   string
	}{
		{"runs.*", auth.Viewer, false, "[runs.follow runs.list runs.output runs.read]"},
		{"runs.*", auth.Operator, false, "[runs.attach runs.follow runs.keep runs.kill runs.list runs.output runs.read runs.remove runs.start]"},
		{"runs.*", auth.Operator, true, "[runs.attach runs.follow runs.kill runs.list runs.output runs.read runs.start]"},
		{"audit.*", auth.Operator, false, "is nothing that such a token can do"},
		{"mcp.*", auth.Operator, true, "[mcp.use]"},
		{"git.*", auth.Operator, true, "is nothing that such a token can do"},
	} {
		got, err := auth.Scope([]string{tc.word}, tc.owner, tc.narrow)
		said := fmt.Sprint(got)
		if err != nil {
			said = err.Error()
		}
		if !strings.Contains(said, tc.want) {
			t.Errorf("%s of %s, %v: %s, want %s", tc.word, tc.owner, tc.narrow, said, tc.want)
		}
	}
	for _, v := range auth.Verbs() {
		if auth.Reaches(auth.Viewer, v) == auth.Nothing && auth.Reaches(auth.Operator, v) == auth.Nothing && v.Second() && v.Delegable() {
			t.Errorf("a token may %s", v)
		}
	}
}

// The page for people has the same table.
func TestThePage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/accounts.md")
	if err != nil {
		t.Fatal(err)
	}
	word := map[auth.Reach]string{auth.Nothing: "–", auth.Own: "own", auth.Others: "others'", auth.All: "all"}
	for _, v := range auth.Verbs() {
		line := fmt.Sprintf("| `%s` |", v)
		for _, r := range auth.Roles() {
			line += " " + word[auth.Reaches(r, v)] + " |"
		}
		token := "yes"
		if !v.Delegable() {
			token = "–"
		}
		if line += " " + token + " |"; !strings.Contains(string(page), line+"\n") {
			t.Errorf("docs/accounts.md lacks the line\n%s", line)
		}
	}
}
