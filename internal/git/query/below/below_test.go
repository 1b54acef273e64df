package below

import (
	"slices"
	"strings"
	"testing"

	"paddock/internal/git/query"
)

// Every question is limited to the root, or to the path in it, whatever else is asked; and
// what a caller says stays where it was.
func TestArgs(t *testing.T) {
	t.Parallel()
	ids := []string{strings.Repeat("1", 40), strings.Repeat("2", 40)}
	for _, c := range []struct {
		q    query.Query
		ids  []string
		end  string // the last words
		has  string
		lack string
	}{
		{query.Log{Author: "--no-relative"}, ids[:1], ids[0] + " -- .", "--relative --author=--no-relative", " --no-relative"},
		{query.Log{In: "a", Format: "stat"}, ids[:1], ids[0] + " -- a", "--relative", "--no-relative"},
		{query.Show{}, ids[:1], "--end-of-options " + ids[0] + "^! -- .", "log --full-history --max-count=1 --relative", "--no-relative"},
		{query.Diff{Base: "a", Head: "b"}, ids, "--end-of-options " + ids[0] + " " + ids[1] + " -- .", "--relative", "--no-relative"},
		{query.Diff{In: "a"}, nil, "--end-of-options -- a", "--relative", "--no-relative"},
		{query.Blame{In: "a"}, ids[:1], ids[0] + " -- a", "blame --no-follow", ""},
		{query.Grep{Pattern: "--full-name", Fixed: true}, nil, "-e --full-name -- .", "", ""},
		{query.Grep{Pattern: "x", Ref: "a", Count: true}, ids[:1], "-e x " + ids[0] + " -- .", "", "--full-name"},
		{query.Status{}, nil, " -- .", "", ""},
		{query.ListFiles{}, nil, " -- .", "", ""},
		{query.Branches{}, nil, "refs/heads refs/tags", "%(upstream)%00%00", "%(subject)"},
		{query.Cat{In: "a"}, ids[:1], ids[0] + " -- svc/pay/a", "--full-tree", ""},
		{query.Cat{In: "."}, ids[:1], ids[0] + " -- svc/pay", "--full-tree", ""},
		{query.MergeBase{Base: "a", Head: "b"}, ids, "--end-of-options " + ids[0] + " " + ids[1], "", ""},
	} {
		name, err := query.Within("/r", c.q.Path())
		if err != nil {
			t.Fatal(err)
		}
		before := c.q.Args(c.ids, name)
		words := Args(c.q, c.ids, "svc/pay", name)
		all := strings.Join(words, " ")
		for part := range strings.FieldsSeq(c.has) {
			if !strings.Contains(all, part) {
				t.Errorf("%#v: %q lacks %q", c.q, all, part)
			}
		}
		if !strings.HasSuffix(all, c.end) || c.lack != "" && strings.Contains(all, c.lack) {
			t.Errorf("%#v: %q, want %q at its end and no %q", c.q, all, c.end, c.lack)
		}
		if after := c.q.Args(c.ids, name); !slices.Equal(before, after) {
			t.Errorf("%#v says something else afterwards: %q", c.q, after)
		}
	}
	for name, want := range map[string]string{"svc/pay/a": "a", "svc/payment": "svc/payment", "a": "a"} {
		if got := Name("svc/pay", name); got != want {
			t.Errorf("%q is %q", name, got)
		}
	}
	if Name("", "svc/pay/a") != "svc/pay/a" {
		t.Error("a name is changed where the root is the repository's top")
	}
}
