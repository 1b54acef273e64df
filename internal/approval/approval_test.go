package approval

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"paddock"
	"paddock/internal/journal/sign"
)

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

var agent = paddock.Principal{Kind: paddock.Agent, ID: "agent:one"}

func matterOf(argv ...string) paddock.Matter {
	return paddock.Matter{
		Version: MatterVersion, Principal: agent, RequestDigest: "sha256:" + paddock.Digest(strings.Repeat("1", 64)), PolicyDigest: "sha256:" + paddock.Digest(strings.Repeat("2", 64)),
		Rules: []string{"push"}, Argv: argv, Programs: []paddock.ProgramFile{{Path: "/usr/bin/git", Digest: "sha256:" + paddock.Digest(strings.Repeat("3", 64))}},
		Root: "/srv", Dir: "/srv", EnvironmentNames: []string{"PATH"}, EnvironmentDigest: "sha256:" + paddock.Digest(strings.Repeat("4", 64)),
	}
}

func keyAt(t testing.TB, dir, name string) *sign.Key {
	t.Helper()
	k, err := sign.Create(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func listed(k *sign.Key, name, principal string) paddock.ApprovalKey {
	return paddock.ApprovalKey{Name: name, Key: KeyText(&k.Public), Principal: principal}
}

func approvedBy(keys ...paddock.ApprovalKey) paddock.Approvals {
	return paddock.Approvals{Keys: keys, Approvers: 1, Expires: time.Hour, Lasts: 15 * time.Minute, Uses: 1}
}

// yes is a vote that counts.
func yes(at time.Time) Statement {
	return Statement{By: "operator:uid=7", Approve: true, At: at, Uses: 1, Until: at.Add(10 * time.Minute)}
}

func signed(t testing.TB, k *sign.Key, a paddock.Approval, s Statement) []byte {
	t.Helper()
	envelope, err := Sign(k, a, s)
	if err != nil {
		t.Fatal(err)
	}
	return envelope
}

func untold(paddock.Approval, paddock.Vote) error { return nil }

func asked(t testing.TB, b Book, m paddock.Matter, by paddock.Approvals, now time.Time) paddock.Approval {
	t.Helper()
	a, err := b.Ask(m, by, now)
	if err != nil || a.State != paddock.ApprovalWaiting {
		t.Fatalf("asked: %+v, %v", a, err)
	}
	return a
}

func TestApprovedAndUsedOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	anna := keyAt(t, dir, "anna")
	b, by, m := In(dir), approvedBy(listed(anna, "anna", "")), matterOf("git", "push")
	a := asked(t, b, m, by, noon)
	if _, err := b.Use(a.ID, m, by, "r1", noon); err == nil {
		t.Error("it is used before it is approved")
	}
	a, err := b.Vote(a.ID, signed(t, anna, a, yes(noon)), noon, untold)
	if err != nil || a.State != paddock.ApprovalApproved {
		t.Fatalf("%+v, %v", a, err)
	}
	if _, err := b.Use(a.ID, matterOf("git", "push", "--force"), by, "r1", noon); err == nil {
		t.Error("it is used for another matter")
	}
	if _, err := b.Use(a.ID, m, by, "r1", noon); err != nil {
		t.Error(err)
	}
	if _, err := b.Use(a.ID, m, by, "r2", noon); err == nil {
		t.Error("it is used twice")
	}
	if a, err := b.Get(a.ID, noon); err != nil || a.State != paddock.ApprovalUsed || len(a.Used) != 1 {
		t.Errorf("%+v, %v", a, err)
	}
}

// Every fact is one that an approval is bound to.
func TestEveryFactCounts(t *testing.T) {
	t.Parallel()
	was, err := Facts(matterOf("git"))
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*paddock.Matter){
		"principal": func(m *paddock.Matter) { m.Principal.ID += "x" }, "kind": func(m *paddock.Matter) { m.Principal.Kind = paddock.Host },
		"request": func(m *paddock.Matter) { m.RequestDigest = "" }, "policy": func(m *paddock.Matter) { m.PolicyDigest = "" },
		"rules": func(m *paddock.Matter) { m.Rules = nil }, "argv": func(m *paddock.Matter) { m.Argv = append(m.Argv, "") },
		"program": func(m *paddock.Matter) { m.Programs = nil }, "content": func(m *paddock.Matter) { m.Programs = []paddock.ProgramFile{{Path: "/usr/bin/git"}} },
		"root": func(m *paddock.Matter) { m.Root = "/" }, "dir": func(m *paddock.Matter) { m.Dir = "/srv/x" },
		"names": func(m *paddock.Matter) { m.EnvironmentNames = nil }, "values": func(m *paddock.Matter) { m.EnvironmentDigest = "" },
		"stdin": func(m *paddock.Matter) { m.Stdin = "sha256:0" }, "limits": func(m *paddock.Matter) { m.Limits.Output = 1 },
		"containment": func(m *paddock.Matter) { m.Containment.Level = paddock.Off }, "version": func(m *paddock.Matter) { m.Version = 2 },
		"factor": func(m *paddock.Matter) { m.SecondFactor = true },
	} {
		m := matterOf("git")
		change(&m)
		if is, err := Facts(m); err != nil || is == was {
			t.Errorf("%s makes no other matter: %v", name, err)
		}
	}
}

// What an attacker brings counts for nothing, and says why.
func TestVotesThatDoNotCount(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	anna, mallory := keyAt(t, dir, "anna"), keyAt(t, dir, "mallory")
	b, by, m := In(dir), approvedBy(listed(anna, "anna", "")), matterOf("git", "push")
	a := asked(t, b, m, by, noon)
	other := asked(t, b, matterOf("git", "fetch"), by, noon)
	elsewhere := a
	elsewhere.Matter.PolicyDigest = "sha256:" + paddock.Digest(strings.Repeat("9", 64))
	good := signed(t, anna, a, yes(noon))
	with := func(change func(*Statement)) []byte {
		s := yes(noon)
		change(&s)
		return signed(t, anna, a, s)
	}
	statement, err := json.Marshal(map[string]any{"version": 1})
	if err != nil {
		t.Fatal(err)
	}
	attested, err := anna.Envelope(statement).Text()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		envelope []byte
		want     string
	}{
		"another key":          {signed(t, mallory, a, yes(noon)), "no key that the policy lists"},
		"another request":      {signed(t, anna, other, yes(noon)), "another request"},
		"another policy":       {signed(t, anna, elsewhere, yes(noon)), "another policy"},
		"who asks":             {with(func(s *Statement) { s.By = agent.ID }), "who asks can't"},
		"before it was asked":  {with(func(s *Statement) { s.At = noon.Add(-time.Hour) }), "while the request waited"},
		"after it expired":     {with(func(s *Statement) { s.At = noon.Add(2 * time.Hour) }), "while the request waited"},
		"no uses":              {with(func(s *Statement) { s.Uses = 0 }), "how many uses"},
		"less than none":       {with(func(s *Statement) { s.Uses = -1 }), "how many uses"},
		"for ever":             {with(func(s *Statement) { s.Until = time.Time{} }), "until when"},
		"lines":                {with(func(s *Statement) { s.Reason = "a\nb" }), "one line"},
		"bad text":             {with(func(s *Statement) { s.Reason = strings.Repeat("x", MostReason+1) }), "one line"},
		"a flipped bit":        {bytes.Replace(good, []byte(`"sig":"`), []byte(`"sig":"A`), 1), "no key"},
		"a space":              {append(slices.Clone(good), ' '), "no key"},
		"a doubled key":        {bytes.Replace(good, []byte(`{"payloadType"`), []byte(`{"payloadType":"x","payloadType"`), 1), "no key"},
		"an unknown key":       {bytes.Replace(good, []byte(`{"payloadType"`), []byte(`{"more":1,"payloadType"`), 1), "no key"},
		"a statement of a run": {attested, "no key"},
		"nothing":              {nil, "no key"},
		"NUL":                  {[]byte("\x00\x00"), "no key"},
		"too long":             {bytes.Repeat([]byte("x"), mostVote*10), "longer than"},
	} {
		got, err := b.Vote(a.ID, c.envelope, noon, func(paddock.Approval, paddock.Vote) error {
			t.Errorf("%s: it is told", name)
			return nil
		})
		var void *Void
		if !errors.As(err, &void) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if got.State != paddock.ApprovalWaiting {
			t.Errorf("%s: it is %s", name, got.State)
		}
		// Nor does it where somebody puts the file there.
		name := b.path(a.ID, voteName(&anna.Public, true))
		if err := os.WriteFile(name, c.envelope, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := b.As(a.ID, m, by, noon); err != nil || got.State != paddock.ApprovalWaiting || len(got.Void) != 1 {
			t.Errorf("%s, put there: %s %v, %v", name, got.State, got.Void, err)
		}
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	// A denial under the name of an approval is none.
	deny := signed(t, anna, a, Statement{By: "operator:uid=7", At: noon})
	if err := os.WriteFile(b.path(a.ID, voteName(&anna.Public, true)), deny, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := b.As(a.ID, m, by, noon); err != nil || got.State != paddock.ApprovalWaiting || len(got.Void) != 1 {
		t.Errorf("a denial as an approval: %+v, %v", got, err)
	}
}

func TestWhoHoldsTheKeyAsks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	k := keyAt(t, dir, "own")
	b, by, m := In(dir), approvedBy(listed(k, "own", agent.ID)), matterOf("git", "push")
	a := asked(t, b, m, by, noon)
	if _, err := b.Vote(a.ID, signed(t, k, a, yes(noon)), noon, untold); err == nil || !strings.Contains(err.Error(), "who asks can't") {
		t.Errorf("%v", err)
	}
	deny := Statement{By: agent.ID, At: noon, Reason: "taken back"} // but may take it back
	if a, err := b.Vote(a.ID, signed(t, k, a, deny), noon, untold); err != nil || a.State != paddock.ApprovalDeclined {
		t.Errorf("%+v, %v", a, err)
	}
}

// Nor can whoever a delegate works for, at any level.
func TestWhoHoldsTheKeyHasADelegateAsk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	own, boss, anna := keyAt(t, dir, "own"), keyAt(t, dir, "boss"), keyAt(t, dir, "anna")
	worker := agent.Delegate("worker", "d1")
	b, by, m := In(dir), approvedBy(listed(own, "own", worker.ID), listed(boss, "boss", agent.ID), listed(anna, "anna", "")), matterOf("git", "push")
	m.Principal = worker.Delegate("worker", "d2")
	a := asked(t, b, m, by, noon)
	as := yes(noon)
	as.By = agent.ID
	for name, vote := range map[string][]byte{"who gave the task": signed(t, own, a, yes(noon)), "whoever that works for": signed(t, boss, a, yes(noon)), "the same by another key": signed(t, anna, a, as)} {
		if _, err := b.Vote(a.ID, vote, noon, untold); err == nil || !strings.Contains(err.Error(), "who asks can't") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if a, err := b.Vote(a.ID, signed(t, anna, a, yes(noon)), noon, untold); err != nil || a.State != paddock.ApprovalApproved {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestTwoPersons(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	anna, annas, ben := keyAt(t, dir, "anna"), keyAt(t, dir, "annas"), keyAt(t, dir, "ben")
	by := approvedBy(listed(anna, "anna", "anna"), listed(annas, "anna-too", "anna"), listed(ben, "ben", ""))
	by.Approvers, by.Uses = 2, 3
	b, m := In(dir), matterOf("git", "push")
	a := asked(t, b, m, by, noon)
	three := yes(noon)
	three.Uses = 3
	vote := func(k *sign.Key, s Statement) paddock.Approval {
		t.Helper()
		got, err := b.Vote(a.ID, signed(t, k, a, s), noon, untold)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	vote(anna, three)
	if got := vote(annas, three); got.State != paddock.ApprovalWaiting {
		t.Errorf("two keys of one person make it %s", got.State)
	}
	two := yes(noon)
	two.Uses, two.Until = 2, noon.Add(time.Minute)
	if got := vote(ben, two); got.State != paddock.ApprovalApproved || got.Uses != 2 {
		t.Errorf("two persons: %+v", got)
	}
	if got, err := b.Get(a.ID, noon.Add(2*time.Minute)); err != nil || got.State != paddock.ApprovalLapsed {
		t.Errorf("after the shorter time: %+v, %v", got, err)
	}
	// One who changes his mind has the last word.
	if got := vote(anna, Statement{By: "x", At: noon, Reason: "no"}); got.State != paddock.ApprovalDeclined {
		t.Errorf("%+v", got)
	}
}

// No vote gives more than the policy that decides, whatever it says.
func TestPolicyBounds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	anna := keyAt(t, dir, "anna")
	b, by, m := In(dir), approvedBy(listed(anna, "anna", "")), matterOf("git", "push")
	a := asked(t, b, m, by, noon)
	generous := Statement{By: "x", Approve: true, At: noon, Uses: 1000, Until: noon.Add(1000 * time.Hour)}
	a, err := b.Vote(a.ID, signed(t, anna, a, generous), noon, untold)
	if err != nil || a.Uses != 1 || !a.Votes[0].Until.Equal(noon.Add(by.Lasts)) {
		t.Errorf("%+v, %v", a, err)
	}
	// The keys that count are those of who decides, not those written beside the vote.
	if got, err := b.As(a.ID, m, approvedBy(listed(keyAt(t, dir, "ben"), "ben", "")), noon); err != nil || got.State != paddock.ApprovalWaiting {
		t.Errorf("by other keys it is %s, %v", got.State, err)
	}
	if got, err := b.As(a.ID, m, paddock.Approvals{}, noon); err != nil || got.State != paddock.ApprovalWaiting {
		t.Errorf("by no keys it is %s, %v", got.State, err)
	}
}

func TestClocks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	anna := keyAt(t, dir, "anna")
	b, by, m := In(dir), approvedBy(listed(anna, "anna", "")), matterOf("git", "push")
	a := asked(t, b, m, by, noon)
	if got, err := b.Get(a.ID, noon.Add(time.Hour)); err != nil || got.State != paddock.ApprovalLapsed {
		t.Errorf("at its end: %+v, %v", got, err)
	}
	if got, err := b.Get(a.ID, noon.Add(-time.Hour)); err != nil || got.State != paddock.ApprovalLapsed {
		t.Errorf("with the clock set back: %+v, %v", got, err)
	}
	if first, err := b.Over(a.ID, noon); !first || err != nil {
		t.Errorf("%v, %v", first, err)
	}
	if first, err := b.Over(a.ID, noon); first || err != nil {
		t.Errorf("%v, %v", first, err)
	}
	// Seen as expired it stays so, also by a clock that was set back.
	if _, err := b.Vote(a.ID, signed(t, anna, a, yes(noon)), noon, untold); err == nil {
		t.Error("a vote on what is over counts")
	}
	if got, err := b.Get(a.ID, noon); err != nil || got.State != paddock.ApprovalLapsed {
		t.Errorf("%+v, %v", got, err)
	}
	// It can be asked anew, and no vote of before counts then.
	if again := asked(t, b, m, by, noon); again.ID == a.ID || again.Digest == a.Digest {
		t.Errorf("asked again as %s", again.ID)
	}
}

// A file that was changed is no approval, nor one at the end of a link.
func TestTampered(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(t *testing.T, b Book, id paddock.ApprovalID){
		"another command": func(t *testing.T, b Book, id paddock.ApprovalID) { edit(t, b.path(id, askName), `"push"`, `"pull"`) },
		"an unknown key": func(t *testing.T, b Book, id paddock.ApprovalID) {
			edit(t, b.path(id, askName), `{"version"`, `{"x":1,"version"`)
		},
		"a doubled key": func(t *testing.T, b Book, id paddock.ApprovalID) {
			edit(t, b.path(id, askName), `{"version"`, `{"version":1,"version"`)
		},
		"a space": func(t *testing.T, b Book, id paddock.ApprovalID) {
			edit(t, b.path(id, askName), `{"version"`, `{ "version"`)
		},
		"a version": func(t *testing.T, b Book, id paddock.ApprovalID) {
			edit(t, b.path(id, askName), `{"version":1`, `{"version":2`)
		},
		"nothing": func(t *testing.T, b Book, id paddock.ApprovalID) { write(t, b.path(id, askName), "") },
		"NUL":     func(t *testing.T, b Book, id paddock.ApprovalID) { write(t, b.path(id, askName), "\x00") },
		"a link": func(t *testing.T, b Book, id paddock.ApprovalID) {
			move(t, b.path(id, askName), filepath.Join(t.TempDir(), "ask"))
		},
		"a linked directory": func(t *testing.T, b Book, id paddock.ApprovalID) {
			move(t, b.path(id), filepath.Join(t.TempDir(), "dir"))
		},
		"a use that can't be read": func(t *testing.T, b Book, id paddock.ApprovalID) {
			write(t, b.path(id, useName(0)), "{}")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			b, by, m := In(dir), approvedBy(listed(keyAt(t, dir, "anna"), "anna", "")), matterOf("git", "push")
			a := asked(t, b, m, by, noon)
			change(t, b, a.ID)
			if got, err := b.As(a.ID, m, by, noon); err == nil {
				t.Errorf("it is read as %+v", got)
			}
			if list, err := b.List(noon); err == nil || len(list) != 0 {
				t.Errorf("it is listed: %v, %v", list, err)
			}
		})
	}
}

// Another asking under the same facts brings no vote along, whoever edits the file.
func TestEditedAskingLosesItsVotes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	anna := keyAt(t, dir, "anna")
	b, by, m := In(dir), approvedBy(listed(anna, "anna", "")), matterOf("git", "push")
	a := asked(t, b, m, by, noon)
	if _, err := b.Vote(a.ID, signed(t, anna, a, yes(noon)), noon, untold); err != nil {
		t.Fatal(err)
	}
	edit(t, b.path(a.ID, askName), "2026-11-29T13:00:00Z", "2029-11-29T13:00:00Z") // it would expire later
	if got, err := b.As(a.ID, m, by, noon); err != nil || got.State != paddock.ApprovalWaiting || len(got.Void) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

func edit(t *testing.T, name, old, to string) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil || !bytes.Contains(text, []byte(old)) {
		t.Fatalf("%s has no %s: %v", name, old, err)
	}
	write(t, name, strings.Replace(string(text), old, to, 1))
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func move(t *testing.T, name, to string) {
	t.Helper()
	if err := errors.Join(os.Rename(name, to), os.Symlink(to, name)); err != nil {
		t.Fatal(err)
	}
}

func TestTooMuchAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b, by := In(dir), approvedBy(listed(keyAt(t, dir, "anna"), "anna", ""))
	for i := range mostOpen {
		asked(t, b, matterOf("git", fmt.Sprint(i)), by, noon)
	}
	if _, err := b.Ask(matterOf("more"), by, noon); !errors.Is(err, ErrFull) {
		t.Errorf("%v", err)
	}
	mine := matterOf("more") // delegates, too, ask for whom they work
	mine.Principal = mine.Principal.Delegate("worker", "d1")
	if _, err := b.Ask(mine, by, noon); !errors.Is(err, ErrFull) {
		t.Errorf("%v", err)
	}
	other := matterOf("more")
	other.Principal.ID = "agent:two"
	asked(t, b, other, by, noon)
	// What expired makes room, and is forgotten in the end.
	asked(t, b, matterOf("more"), by, noon.Add(2*time.Hour))
	if _, err := b.Ask(matterOf("much later"), by, noon.Add(keptFor+4*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if list, err := b.List(noon); err != nil || len(list) != 1 {
		t.Errorf("%d are left, %v", len(list), err)
	}
}

func TestIDs(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "..", "a", "a/../../x", "a" + strings.Repeat("0", 20), "a" + strings.Repeat("0", 20) + "-0", "A" + strings.Repeat("0", 20) + "-1", "a" + strings.Repeat("0", 20) + "-1\n"} {
		if id, err := ParseID(bad); err == nil {
			t.Errorf("%q is %q", bad, id)
		}
		if _, err := In(t.TempDir()).Get(paddock.ApprovalID(bad), noon); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// Who signs elsewhere signs exactly what is shown there.
func TestReadElsewhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	anna := keyAt(t, dir, "anna")
	b, by, m := In(dir), approvedBy(listed(anna, "anna", "")), matterOf("git", "push")
	a := asked(t, b, m, by, noon)
	text, err := b.Text(a.ID)
	if err != nil {
		t.Fatal(err)
	}
	read, err := Read(text)
	if err != nil || read.Digest != a.Digest || read.Matter.Argv[1] != "push" {
		t.Fatalf("%+v, %v", read, err)
	}
	if a, err := b.Vote(a.ID, signed(t, anna, read, yes(noon)), noon, untold); err != nil || a.State != paddock.ApprovalApproved {
		t.Errorf("%+v, %v", a, err)
	}
	if _, err := Read(bytes.Replace(text, []byte(`{"version"`), []byte(`{ "version"`), 1)); err == nil {
		t.Error("another spelling is read")
	}
}

func FuzzRead(f *testing.F) {
	dir := f.TempDir()
	b := In(dir)
	a := asked(f, b, matterOf("git", "push"), approvedBy(listed(keyAt(f, dir, "anna"), "anna", "")), noon)
	text, err := b.Text(a.ID)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		a, err := Read(text)
		if err != nil {
			return
		}
		if again, err := Read(text); err != nil || again.Digest != a.Digest {
			t.Errorf("it is read differently: %v", err)
		}
	})
}

// mostChecks is how many histories TestModel tries, but with PADDOCK_LONG.
const mostChecks = 12

// Whatever happens in whatever order, no more is started than was approved, only
// with the same facts, never after a denial or the time, and never by one person
// where two must approve.
func TestModel(t *testing.T) {
	t.Parallel()
	keys := t.TempDir()
	people := []*sign.Key{keyAt(t, keys, "a"), keyAt(t, keys, "b"), keyAt(t, keys, "c")}
	checks, failed := 0, false
	rapid.Check(t, func(r *rapid.T) {
		if checks++; checks > mostChecks && !failed && os.Getenv("PADDOCK_LONG") == "" {
			return // each waits for the disk a hundred times
		}
		over := false
		defer func() { failed = failed || !over }()
		dir, err := os.MkdirTemp(keys, "state")
		if err != nil {
			r.Fatal(err)
		}
		defer os.RemoveAll(dir)
		by := approvedBy(listed(people[0], "a", ""), listed(people[1], "b", ""), listed(people[2], "c", ""))
		by.Approvers, by.Uses = rapid.IntRange(1, 2).Draw(r, "approvers"), rapid.IntRange(1, 3).Draw(r, "uses")
		type told struct {
			yes, no map[int]bool
			uses    int
			until   time.Time
			used    int
			expires time.Time
		}
		model := map[paddock.ApprovalID]*told{}
		facts := map[paddock.ApprovalID]int{}
		var ids []paddock.ApprovalID
		now, runs := noon, 0
		matter := func(i int) paddock.Matter { return matterOf("git", fmt.Sprint(i)) }
		r.Repeat(map[string]func(*rapid.T){
			"ask": func(r *rapid.T) {
				i := rapid.IntRange(0, 1).Draw(r, "facts")
				a, err := In(dir).Ask(matter(i), by, now)
				if err != nil {
					r.Fatal(err)
				}
				ids = append(ids, a.ID)
				facts[a.ID] = i
				model[a.ID] = &told{yes: map[int]bool{}, no: map[int]bool{}, uses: by.Uses, expires: a.ExpiresAt}
			},
			"vote": func(r *rapid.T) {
				if len(ids) == 0 {
					r.Skip()
				}
				id, who, approve := rapid.SampledFrom(ids).Draw(r, "id"), rapid.IntRange(0, 2).Draw(r, "who"), rapid.Bool().Draw(r, "yes")
				a, err := In(dir).Get(id, now)
				if err != nil {
					r.Fatal(err)
				}
				s := Statement{By: "x", Approve: approve, At: now}
				if approve {
					s.Uses, s.Until = rapid.IntRange(1, 5).Draw(r, "n"), now.Add(time.Duration(rapid.IntRange(1, 30).Draw(r, "min"))*time.Minute)
				}
				envelope, err := Sign(people[who], a, s)
				if err != nil {
					r.Fatal(err)
				}
				if _, err := In(dir).Vote(id, envelope, now, untold); err != nil {
					return
				}
				m := model[id]
				if !approve {
					m.no[who] = true
				} else if !m.yes[who] {
					m.yes[who], m.uses = true, min(m.uses, s.Uses)
					if until := s.At.Add(min(by.Lasts, s.Until.Sub(s.At))); m.until.IsZero() || until.Before(m.until) {
						m.until = until
					}
				}
			},
			"wait": func(r *rapid.T) { now = now.Add(time.Duration(rapid.IntRange(1, 40).Draw(r, "min")) * time.Minute) },
			"use": func(r *rapid.T) {
				if len(ids) == 0 {
					r.Skip()
				}
				id, i := rapid.SampledFrom(ids).Draw(r, "id"), rapid.IntRange(0, 1).Draw(r, "facts")
				runs++
				m := model[id]
				may := facts[id] == i && len(m.no) == 0 && len(m.yes) >= by.Approvers && m.used < m.uses && now.Before(m.until)
				_, err := In(dir).Use(id, matter(i), by, paddock.RunID(fmt.Sprint(runs)), now)
				if (err == nil) != may {
					r.Fatalf("%s is used: %v, want %v", id, err, may)
				}
				if err == nil {
					m.used++
				}
			},
		})
		over = true
	})
}
