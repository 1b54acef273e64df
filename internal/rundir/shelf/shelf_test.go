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
	}
}
