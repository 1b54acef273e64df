package shelf

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"paddock"
)

func TestNewest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one := filepath.Join(dir, "one")
	if err := os.WriteFile(one, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var want []paddock.RunID
	for i := range 3000 {
		id, err := paddock.NewRunID(time.UnixMilli(1_800_000_000_000+int64(i)), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Link(one, filepath.Join(dir, string(id))); err != nil {
			t.Fatal(err)
		}
		want = append([]paddock.RunID{id}, want...)
	}
	long := time.Now().Add(-time.Hour)
	if err := os.Chtimes(dir, long, long); err != nil {
		t.Fatal(err)
	}
	var names Names
	for _, c := range []struct {
		before paddock.RunID
		n      int
		want   []paddock.RunID
	}{
		{"", 10, want[:10]},
		{"", math.MaxInt, want},
		{want[9], 1000, want[10:1010]},
		{want[2990], 1000, want[2991:]},
		{want[2999], 10, nil},
	} {
		got, err := Newest(dir, c.before, c.n)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("Newest(%q, %d): %d ids, %v", c.before, c.n, len(got), err)
		}
		if got, err := names.Newest(dir, c.before, c.n); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("remembered, Newest(%q, %d): %d ids, %v", c.before, c.n, len(got), err)
		}
	}
}

// A directory is believed when another change would show in its time.
func TestStill(t *testing.T) {
	t.Parallel()
	second := time.Unix(1_800_000_000, 0)
	for _, c := range []struct {
		changed time.Time
		age     time.Duration
		want    bool
	}{
		{second.Add(5), 0, false},
		{second.Add(5), 99 * time.Millisecond, false},
		{second.Add(5), 100 * time.Millisecond, true},
		{second, time.Second, false},
		{second, 2 * time.Second, true},
		{second.Add(5), -time.Hour, false},
	} {
		if got := Still(c.changed, c.changed.Add(c.age)); got != c.want {
			t.Errorf("%s, %s later: %t", c.changed, c.age, got)
		}
	}
}

// What is remembered is what is there: a directory that has changed, or may have without
// showing it, is read again.
func TestNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var n Names
	var ids []paddock.RunID
	add := func(age time.Duration) {
		t.Helper()
		id, err := paddock.NewRunID(time.UnixMilli(1_800_000_000_000+int64(len(ids))), nil)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, string(id)), nil, 0o600)
		}
		if at := time.Now().Add(-age); err == nil {
			err = os.Chtimes(dir, at, at)
		}
		if err != nil {
			t.Fatal(err)
		}
		ids = append([]paddock.RunID{id}, ids...)
	}
	look := func(remembered bool) {
		t.Helper()
		reads := n.reads.Load()
		for range 3 {
			got, err := n.Newest(dir, "", 10)
			if err != nil || !slices.Equal(got, ids) {
				t.Errorf("%d of %d ids, %v", len(got), len(ids), err)
			}
		}
		want := int64(3)
		if remembered {
			want = 1
		}
		if got := n.reads.Load() - reads; got != want {
			t.Errorf("three looks at %d ids read the directory %d times, want %d", len(ids), got, want)
		}
	}
	add(time.Hour)
	look(true)
	add(time.Minute)
	look(true)
	add(-time.Hour) // in time to come, as just now: another could follow and bear the same time
	look(false)
	add(30 * time.Second)
	look(true)
	// What is too much takes the place of what was of use longest ago.
	n.remember("other", &day{ids: make([]packed, mostHeld-1)})
	if n.held > mostHeld || n.days[dir] != nil {
		t.Errorf("%d ids are remembered", n.held)
	}
	look(true)
	if got, err := n.Newest(filepath.Join(dir, "none"), "", 1); !os.IsNotExist(err) {
		t.Errorf("%v, %v", got, err)
	}
}
