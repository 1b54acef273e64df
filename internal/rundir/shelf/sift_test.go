package shelf

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"paddock"
)

// What was found out about a run isn't asked again, also after the directory has changed;
// who may look at few only is told where to go on, and misses nothing.
func TestSift(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var all []paddock.RunID
	add := func() {
		t.Helper()
		id, err := paddock.NewRunID(time.UnixMilli(1_800_000_000_000+int64(len(all))), nil)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, string(id)), nil, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append([]paddock.RunID{id}, all...)
	}
	for range 100 {
		add()
	}
	var n Names
	asked := map[paddock.RunID]int{}
	sift := func(looks int) (got []paddock.RunID, steps int) {
		t.Helper()
		for before := paddock.RunID(""); ; steps++ {
			s := &Sieve{Looks: looks, Wants: func(k Kind) bool { return k == 2 }, Of: func(_ string, id paddock.RunID) Kind {
				asked[id]++
				return Kind(1 + id[len(id)-1]%2)
			}}
			ids, next, err := n.Sift(dir, before, 1000, s)
			if err != nil || steps > 1000 {
				t.Fatal(next, err)
			}
			got = append(got, ids...)
			if before = next; next == "" {
				return got, steps
			}
			if _, err := paddock.ParseRunID(string(next)); err != nil {
				t.Fatal(err)
			}
		}
	}
	check := func(looks, steps int) {
		t.Helper()
		var want []paddock.RunID
		for _, id := range all {
			if id[len(id)-1]%2 == 1 {
				want = append(want, id)
			}
		}
		if got, n := sift(looks); !slices.Equal(got, want) || n != steps {
			t.Errorf("%d of %d ids in %d steps more, want %d", len(got), len(want), n, steps)
		}
	}
	check(10, 9)
	check(0, 0) // nothing is left to look at
	add()
	check(10, 0)
	check(-1, 0)
	if err := os.Remove(filepath.Join(dir, string(all[50]))); err != nil {
		t.Fatal(err)
	}
	all = slices.Delete(all, 50, 51)
	check(0, 0)
	for id, n := range asked {
		if n != 1 {
			t.Errorf("%s was looked at %d times", id, n)
		}
	}
}

// Packing keeps an id, and the order of ids.
func TestPacked(t *testing.T) {
	t.Parallel()
	last := packed{}
	for i := range 2000 {
		id, err := paddock.NewRunID(time.UnixMilli(int64(i)*1e9), nil)
		if err != nil {
			t.Fatal(err)
		}
		p := pack(id)
		if p.id() != id || !last.less(p) || p.less(p) || !p.less(p.following()) {
			t.Fatalf("%s became %s", id, p.id())
		}
		last = p
	}
	for _, name := range []string{"", "r", "x" + strings.Repeat("0", 26), "r8" + strings.Repeat("0", 25), "r7" + strings.Repeat("z", 26), "r0" + strings.Repeat("u", 25), "r0" + strings.Repeat("\x00", 25), "r0" + strings.Repeat("\xff", 25), "r7" + strings.Repeat("z", 25)} {
		_, err := paddock.ParseRunID(name)
		if _, ok := parse(name); ok != (err == nil) {
			t.Errorf("%q: %t, %v", name, ok, err)
		}
	}
	if p := (packed{1, 1<<64 - 1}); p.following() != (packed{2, 0}) {
		t.Error(p.following())
	}
}
