package task

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"paddock"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, map[string]func() int{"adds": adds}) }

var (
	alice = paddock.Principal{Kind: paddock.Agent, ID: "alice"}
	bob   = paddock.Principal{Kind: paddock.Agent, ID: "bob"}
	noon  = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
)

func at(t time.Time) func() time.Time { return func() time.Time { return t } }

func must[T any](t testing.TB, v T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func refused(t testing.TB, err error, code paddock.Code, want string) {
	t.Helper()
	r, ok := errors.AsType[*paddock.Refusal](err)
	if !ok || r.Code != code || !strings.Contains(r.Message+" "+r.Hint, want) {
		t.Errorf("got %+v, want %s with %q", err, code, want)
	}
}

// An item's life, each time with the whole list; another's list is another.
func TestChecklistLife(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	c := Open(state, at(noon))
	create := func(titles ...string) Checklist {
		t.Helper()
		list, err := c.Create(t.Context(), alice, titles, "")
		return must(t, list, err)
	}
	create("one", " \t ", " two ")
	list := create("three")
	if len(list.Items) != 3 || list.Items[1] != (Item{"t2", "two", Pending, "", noon, noon}) || list.Items[2].ID != "t3" {
		t.Errorf("%+v", list)
	}
	later := Open(state, at(noon.Add(time.Hour))) // another process, another time
	list, err := later.Update(t.Context(), alice, Change{ID: "t2", Status: InProgress})
	if must(t, list, err); list.Items[1].Status != InProgress || !list.Items[1].UpdatedAt.Equal(noon.Add(time.Hour)) || !list.Items[1].CreatedAt.Equal(noon) {
		t.Errorf("%+v", list.Items[1])
	}
	for _, change := range []Change{{"t1", Done, ""}, {"t2", Closed, "no\nneed"}, {"t3", Done, "x"}, {"t2", Closed, ""}, {"t3", Pending, ""}} {
		list, err = c.Update(t.Context(), alice, change)
		must(t, list, err)
	}
	counts := list.Counts()
	if list.Complete() || counts[Done] != 1 || counts[Closed] != 1 || counts[Pending] != 1 || counts[InProgress] != 0 || list.Items[2].Note != "x" || list.Items[1].Note != "no\nneed" {
		t.Errorf("%v %+v", counts, list)
	}
	list, err = c.Update(t.Context(), alice, Change{ID: "t3", Status: Done})
	if must(t, list, err); !list.Complete() {
		t.Errorf("%+v", list)
	}
	other, err := c.Get(bob)
	if must(t, other, err); len(other.Items) != 0 || other.Principal != bob {
		t.Errorf("%+v", other)
	}
	all, err := c.All()
	if must(t, all, err); len(all) != 1 || all[0].Principal != alice {
		t.Errorf("%+v", all)
	}
	list, err = c.Clear(t.Context(), alice)
	must(t, list, err)
	if list = create("four"); len(list.Items) != 1 || list.Items[0].ID != "t4" {
		t.Errorf("an id is used again: %+v", list)
	}
}

func TestChecklistRefuses(t *testing.T) {
	t.Parallel()
	c := Open(t.TempDir(), at(noon))
	create := func(titles ...string) error {
		_, err := c.Create(t.Context(), alice, titles, "")
		return err
	}
	update := func(id string, s Status, note string) error {
		_, err := c.Update(t.Context(), alice, Change{id, s, note})
		return err
	}
	refused(t, update("t1", Done, ""), paddock.NotFound, "tasks_create")
	if err := create("x"); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"a\x00b", "a\nb", "a\x1bb", "\xff", "a\x7f", strings.Repeat("x", MostTitle+1), strings.Repeat("x", 10*MostTitle)} {
		refused(t, create("fine", bad), paddock.InvalidRequest, "Title 2")
	}
	refused(t, create(), paddock.InvalidRequest, "no title")
	refused(t, create("", " "), paddock.InvalidRequest, "no title")
	refused(t, create(strings.Split(strings.Repeat("x,", MostItems)+"x", ",")...), paddock.InvalidRequest, "201 titles")
	refused(t, create(strings.Split(strings.Repeat("x,", MostItems-1)+"x", ",")...), paddock.LimitExceeded, "would have 201")
	refused(t, update("t9", Done, ""), paddock.NotFound, "Its items are t1.")
	refused(t, update("", Done, ""), paddock.NotFound, "t1")
	refused(t, update("../x", Done, ""), paddock.NotFound, "t1")
	refused(t, update("t1", "finished", ""), paddock.InvalidRequest, "pending, in_progress, done and closed")
	refused(t, update("t1", "", ""), paddock.InvalidRequest, "no status")
	refused(t, update("t1", Closed, "  "), paddock.InvalidRequest, "needs a note")
	for _, bad := range []string{"\x00", "\xff", "\x1b[2J", strings.Repeat("x", MostNote+1)} {
		refused(t, update("t1", Done, bad), paddock.InvalidRequest, "A note is at most")
	}
	for _, bad := range []string{"\x00", "\xff", strings.Repeat("k", 201)} {
		_, err := c.Create(t.Context(), alice, []string{"x"}, bad)
		refused(t, err, paddock.InvalidRequest, "idempotency key")
	}
	list, err := c.Get(alice)
	if must(t, list, err); len(list.Items) != 1 || list.Items[0].Status != Pending || list.Items[0].Note != "" {
		t.Errorf("what was refused changed something: %+v", list)
	}
}

// A client that gives up waiting and asks again doubles nothing.
func TestCreateIsRepeatable(t *testing.T) {
	t.Parallel()
	c := Open(t.TempDir(), at(noon))
	for _, ask := range []struct{ title, key string }{{"x", "k"}, {"x", "k"}, {"y", "k"}, {"x", "other"}, {"x", ""}, {"x", ""}} {
		_, err := c.Create(t.Context(), alice, []string{ask.title}, ask.key)
		must(t, 0, err)
	}
	list, err := c.Get(alice)
	if must(t, list, err); len(list.Items) != 5 {
		t.Errorf("%+v", list.Items)
	}
}

// adds is a process that adds items.
func adds() int {
	c := Open(os.Args[1], time.Now)
	for i := range 10 {
		if _, err := c.Create(context.Background(), alice, []string{fmt.Sprint(os.Args[2], i)}, ""); err != nil {
			fmt.Println(err)
			return 1
		}
	}
	return 0
}

// Several processes at once lose nothing and give no id twice.
func TestProcessesAtOnce(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	done := make(chan error, 4)
	for i := range 4 {
		cmd := testproc.Self(t, "adds", state, fmt.Sprint(i))
		go func() {
			out, err := cmd.CombinedOutput()
			if err != nil {
				err = fmt.Errorf("%w: %s", err, out)
			}
			done <- err
		}()
	}
	for range 4 {
		must(t, 0, <-done)
	}
	list, err := Open(state, time.Now).Get(alice)
	seen := map[string]bool{}
	for _, i := range must(t, list, err).Items {
		seen[i.ID], seen[i.Title] = true, true
	}
	if len(list.Items) != 40 || len(seen) != 80 {
		t.Errorf("%d items, %d ids and titles", len(list.Items), len(seen))
	}
}

// What is on the disk is whole: nothing that is left of a change that was cut off is
// read, and what isn't a checklist of ours is an error and not an empty one.
func TestWhatIsOnTheDisk(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	c := Open(state, at(noon))
	_, err := c.Create(t.Context(), alice, []string{"x"}, "")
	must(t, 0, err)
	name := filepath.Join(state, "tasks", fileOf(alice))
	info, err := os.Stat(name)
	if must(t, info, err).Mode().Perm() != 0o600 {
		t.Error(info.Mode())
	}
	text, err := os.ReadFile(name)
	const golden = `{"version":1,"principal":{"kind":"agent","id":"alice"},"items":[{"id":"t1","title":"x","status":"pending","created_at":"2026-11-29T12:00:00Z","updated_at":"2026-11-29T12:00:00Z"}],"made":1}` + "\n"
	if string(must(t, text, err)) != golden {
		t.Errorf("the form changed: %s", text)
	}
	must(t, 0, os.WriteFile(filepath.Join(state, "tasks", ".new-0011223344556677"), text[:20], 0o600))
	all, err := c.All()
	if must(t, all, err); len(all) != 1 {
		t.Errorf("%+v", all)
	}
	for _, bad := range []string{"", "{}", golden[:30], golden + golden, strings.Replace(golden, "\"version\":1", "\"version\":2", 1), strings.Replace(golden, "alice", "bob", 1)} {
		must(t, 0, os.WriteFile(name, []byte(bad), 0o600))
		if list, err := c.Get(alice); err == nil {
			t.Errorf("%.60q was read as %+v", bad, list)
		}
		if _, err := c.Create(t.Context(), alice, []string{"y"}, ""); err == nil {
			t.Errorf("%.60q was written over", bad)
		}
	}
}

// Whatever is done, ids are unique, their order stays, and what a call returns is what
// is read after it.
func TestChecklistProperties(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		c := Open(filepath.Join(base, fmt.Sprint(n)), at(noon))
		must(t, 0, os.Mkdir(filepath.Join(base, fmt.Sprint(n)), 0o700))
		for range rapid.IntRange(1, 6).Draw(rt, "steps") {
			var list Checklist
			var err error
			if rapid.Bool().Draw(rt, "create") {
				list, err = c.Create(t.Context(), alice, rapid.SliceOfN(rapid.String(), 0, 4).Draw(rt, "titles"), rapid.StringN(0, 2, 2).Draw(rt, "key"))
			} else {
				list, err = c.Update(t.Context(), alice, Change{fmt.Sprint("t", rapid.IntRange(0, 9).Draw(rt, "id")), rapid.SampledFrom(append(Statuses(), "x")).Draw(rt, "status"), rapid.String().Draw(rt, "note")})
			}
			if _, ok := errors.AsType[*paddock.Refusal](err); err != nil && !ok {
				rt.Fatal(err)
			}
			read, readErr := c.Get(alice)
			if readErr != nil {
				rt.Fatal(readErr)
			}
			if err == nil && fmt.Sprintf("%q", list.Items) != fmt.Sprintf("%q", read.Items) {
				rt.Fatalf("returned %q, read %q", list.Items, read.Items)
			}
			for i, item := range read.Items {
				if item.ID != fmt.Sprint("t", i+1) || item.Title == "" || item.Status == Closed && item.Note == "" {
					rt.Fatalf("%+v", item)
				}
			}
		}
	})
}

// Lists that have been complete for long are forgotten, the others stay.
func TestPruneForgetsWhatIsComplete(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	all := Open(t.TempDir(), func() time.Time { return now })
	who := func(id string) paddock.Principal { return paddock.Principal{Kind: paddock.Agent, ID: id} }
	for _, id := range []string{"done", "open", "late"} {
		if _, err := all.Create(t.Context(), who(id), []string{"a"}, ""); err != nil {
			t.Fatal(err)
		}
	}
	finish := func(id string) {
		if _, err := all.Update(t.Context(), who(id), Change{ID: "t1", Status: Done}); err != nil {
			t.Fatal(err)
		}
	}
	finish("done")
	now = now.AddDate(0, 1, 0)
	finish("late")
	broken, told := errors.New("no room"), ""
	tell := func(lists []Checklist) error {
		for _, list := range lists {
			told += list.Principal.ID + " "
		}
		return nil
	}
	week, one, none := now.AddDate(0, 0, -7), 1, 0
	for i, c := range []struct {
		stale Stale
		tell  func([]Checklist) error
		want  string
		left  int
	}{
		{Stale{Since: week}, nil, "done", 3},
		{Stale{}, tell, "", 3}, // nothing said is nothing too old
		{Stale{Since: week}, func([]Checklist) error { return broken }, "broken", 3},
		{Stale{Most: &one}, nil, "done", 3},
		{Stale{Most: &none}, nil, "donelate", 3},
		{Stale{Since: week}, tell, "done", 2},
		{Stale{Since: week}, tell, "", 2},
		{Stale{Most: &one}, tell, "", 2},
		{Stale{Most: &none}, tell, "late", 1},
	} {
		gone, err := all.Prune(t.Context(), c.stale, c.tell)
		ids := ""
		for _, list := range gone {
			ids += list.Principal.ID
		}
		if errors.Is(err, broken) {
			ids, err = ids+"broken", nil
		}
		if err != nil || ids != c.want {
			t.Errorf("%d: %q, want %q; %v", i, ids, c.want, err)
		}
		if left, err := all.All(); err != nil || len(left) != c.left {
			t.Errorf("%d: %d are left, want %d: %v", i, len(left), c.left, err)
		}
	}
	if told != "done late " {
		t.Errorf("told: %q", told)
	}
}
