package probe

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"paddock"
	"paddock/internal/contain/probe/attempt"
)

// unattempted are the rows that no attempt from inside one run can settle: other
// tests do.
var unattempted = []string{
	"the same deeper in the root, and a whole `.git` made in a root that has none",
	"protected places that a run made or changed all the same, at any depth", // found when the run is over
	"network, where `network: allowlist`",
	"network, where `network: host`",
	"only permitted executables are *started by Paddock*, with permitted arguments",
	"the file executed is the one that was judged",
	"the bytes executed are those that are pinned, of a binary and of what reads a script",
	"the same of a pinned script itself",
	"a path *argument* leads into a root",
	"the run ends: by time, cap, kill, caller gone, and its whole tree with it",
	"nothing outlives its supervisor, even killed with -9",
	"output is complete and unaltered, or its loss is counted",
	"other principals can't see, read or kill a run through Paddock",
	"disk written by the whole tree",
	"length of one file (`file_size`)",
	"a secret that the proxy injects (`secrets`)",
	"a secret that a program gets (`env_for`)",
	"such values in output, as they are or in base64, base32, hexadecimal digits and dumps, or escaped for URLs, HTML or JSON",
	"the same changed in any other way, in files that a program writes, in hosts that it asks for",
	"the root itself, with `workspace: overlay`",
	"the root of a git tool's run",
	"what a git tool's run executes",
	"what lies above the root of a git tool's run, in a repository that `git.repositories` names",
	"memory and processes by default",
	"memory, processes and CPU of the whole tree, where the policy says",
	"side channels, what the kernel itself gets wrong, another administrator of the machine",
}

// rows reads the one table of what is promised: first cell to the other three.
func rows(t *testing.T) map[string][]string {
	t.Helper()
	page, err := os.ReadFile("../../../docs/threat-model.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{}
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if len(cells) != 4 {
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows[cells[0]] = cells[1:]
	}
	delete(rows, "guarantee")
	return rows
}

// The page is for people and the table for the doctor; neither may promise what
// the other doesn't.
func TestTableIsTheThreatModel(t *testing.T) {
	t.Parallel()
	page := rows(t)
	seen := map[string]bool{}
	for _, c := range Table {
		if seen[c.ID] {
			t.Errorf("%s is there twice", c.ID)
		}
		seen[c.ID] = true
		cells := page[c.Row]
		if cells == nil {
			t.Errorf("%s: the page has no row %q", c.ID, c.Row)
			continue
		}
		for i, level := range []paddock.Level{paddock.Full, paddock.Standard, paddock.Off} {
			promise := c.At(level)
			if nothing := strings.HasPrefix(cells[i], "**no**"); nothing && promise != Never && c.ID != "shm" && !c.Beside {
				t.Errorf("%s at %s: promised here, but the page says %q", c.ID, level, cells[i])
			}
			if certain := slices.Contains([]string{"yes", "none", "refused", "invisible"}, cells[i]); certain && promise != Always {
				t.Errorf("%s at %s: not promised here, but the page says %q", c.ID, level, cells[i])
			}
			if strings.Contains(cells[i], "isolation") && promise == Always {
				t.Errorf("%s at %s: always promised here, but the page says %q", c.ID, level, cells[i])
			}
		}
		if c.Meaning == "" || c.Remedy == "" || c.Full == Never && c.Off == Never {
			t.Errorf("%s says too little", c.ID)
		}
	}
}

// What the doctor says is promised is what its attempts are held to.
func TestAttemptsFollowTheTable(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, a := range attempt.List {
		if seen[a.Name] || len(a.Promises) != 3 || strings.Trim(a.Promises, "ho-x") != "" {
			t.Errorf("%+v is there twice, or promises nonsense", a)
		}
		seen[a.Name] = true
		if c, ok := Find(a.Check); a.Check != "" && (!ok || c.Beside) {
			t.Errorf("%s is part of %q, which the doctor doesn't let it find out", a.Name, a.Check)
		}
		if a.Rough && a.At(paddock.Off) == attempt.Held {
			t.Errorf("%s is rough, and off holds it?", a.Name)
		}
	}
	for _, c := range Table {
		for _, level := range []paddock.Level{paddock.Full, paddock.Standard, paddock.Off} {
			promised := slices.ContainsFunc(c.attempts(level), func(a attempt.Attempt) bool {
				return a.At(level) == attempt.Held && !c.Works || a.At(level) == attempt.Open && c.Works
			})
			switch promise := c.At(level); {
			case c.Beside:
			case promise == Always && !promised:
				t.Errorf("%s is promised at %s, and no attempt of the doctor's is", c.ID, level)
			case promise == Never && promised && !c.Works:
				t.Errorf("%s isn't promised at %s, but an attempt is", c.ID, level)
			}
		}
	}
}

// A new row needs an attempt, or a reason to be in the list of those without.
func TestEveryRowIsAttempted(t *testing.T) {
	t.Parallel()
	page := rows(t)
	var without []string
	for row := range page {
		if !slices.ContainsFunc(Table, func(c Check) bool { return c.Row == row }) {
			without = append(without, row)
		}
	}
	want := slices.Clone(unattempted)
	slices.Sort(without)
	slices.Sort(want)
	if diff := cmp.Diff(want, without); diff != "" {
		t.Errorf("rows without an attempt (-known +found):\n%s", diff)
	}
}

// The page about the doctor explains every line that it prints.
func TestPageNamesEveryAttempt(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/doctor.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range Table {
		if !strings.Contains(string(page), "| `"+c.ID+"` |") {
			t.Errorf("docs/doctor.md doesn't explain %s", c.ID)
		}
	}
}

func TestPromises(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		promise Promise
		by      paddock.Isolation
		want    bool
	}{
		{Never, paddock.PIDNamespace, false},
		{Always, paddock.Guardian, true},
		{Hidden, paddock.PIDNamespace, true},
		{Hidden, paddock.UserPIDNamespace, true},
		{Hidden, paddock.CgroupKill, false},
		{Hidden, paddock.Guardian, false},
		{Hidden, "", false},
	} {
		if got := c.promise.Applies(c.by); got != c.want {
			t.Errorf("promise %d by %q: %t", c.promise, c.by, got)
		}
	}
	if (Check{Full: Always, Standard: Always, Off: Always}).At("none") != Never {
		t.Error("a level that there isn't promises something")
	}
}
