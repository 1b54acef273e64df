package present

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"paddock/internal/git/parse/present/scan"
)

const (
	id1 = "1111111111111111111111111111111111111111"
	id2 = "2222222222222222222222222222222222222222"
)

func TestStatusOfHostileNames(t *testing.T) {
	out := "# branch.oid " + id1 + "\x00# branch.head a b\x00# branch.upstream o/m\x00# branch.ab +2 -3\x00# stash 4\x00" +
		"1 .M N... 100644 100644 100644 " + id1 + " " + id1 + " ? x\n\x00" +
		"2 R. SC.. 160000 160000 160000 " + id1 + " " + id1 + " R100 1 .M N...\x002 from\x00" +
		"2 .C N... 100644 100644 100644 " + id1 + " " + id1 + " C75 copy\x00orig\x00" +
		"u AA N... 100644 100644 100644 100644 " + id1 + " " + id1 + " " + id1 + " u x\x00? # branch.oid \xff\x00"
	s, more, err := Status([]byte(out), false)
	if err != nil || more || s.Head != id1 || s.Branch != "a b" || s.Detached || s.Upstream.Ref != "o/m" || *s.Upstream.Ahead != 2 || *s.Upstream.Behind != 3 {
		t.Fatalf("%+v, %v, %v", s, more, err)
	}
	want := []Change{
		{Kind: "changed", Path: "? x\n", Unstaged: "M"}, {Kind: "renamed", Path: "1 .M N...", From: "2 from", Staged: "R", Submodule: true},
		{Kind: "copied", Path: "copy", From: "orig", Unstaged: "C"}, {Kind: "conflict", Path: "u x", Conflict: "AA"}, {Kind: "untracked", Path: "# branch.oid \uFFFD", Raw: "IyBicmFuY2gub2lkIP8="},
	}
	if fmt.Sprintf("%+v", s.Changes) != fmt.Sprintf("%+v", want) {
		t.Errorf("%+v\nwant %+v", s.Changes, want)
	}
	if s, more, err := Status(bytes.Repeat([]byte("? x\x00"), MostChanges+1), false); len(s.Changes) != MostChanges || !more || err != nil {
		t.Errorf("%d, %v, %v", len(s.Changes), more, err)
	}
}

// The same bytes are a mark between groups, or the beginning of a name.
func TestMarksAndNames(t *testing.T) {
	show := func(matches []Match) string {
		var all []string
		for _, m := range matches {
			all = append(all, fmt.Sprintf("%q %d %d %q %t", m.Path, m.Number, m.Column, m.Text, m.Context))
		}
		return strings.Join(all, "; ")
	}
	for out, want := range map[string]string{
		"a\x001\x003\x00x\n--\nb\x002\x00y\n":                                 `"a" 1 3 "x" false; "b" 2 0 "y" true`,
		"--\nb\x001\x001\x00x\n--\nb\x002\x00y\n":                             `"--\nb" 1 1 "x" false; "--\nb" 2 0 "y" true`,
		"--\nb\x001\x001\x00x\n--\nb\x003\x001\x00y\n":                        `"--\nb" 1 1 "x" false; "b" 3 1 "y" false`,
		"--\nb\x001\x001\x00x\n--\n--\nb\x003\x001\x00--\n--\nc\x004\x00--\n": `"--\nb" 1 1 "x" false; "--\nb" 3 1 "--" false; "c" 4 0 "--" true`,
	} {
		got, more, err := Matches([]byte(out), "", true, false)
		if err != nil || more || show(got) != want {
			t.Errorf("%q: %s, %v, %v; want %s", out, show(got), more, err, want)
		}
	}
	if got, _, err := Matches([]byte("r:a\x001\x001\x00r:b\n"), "r:", false, false); err != nil || show(got) != `"a" 1 1 "r:b" false` {
		t.Error(show(got), err)
	}
	if _, _, err := Matches([]byte("a\x001\x001\x00x\n--\nb\x001\x001\x00x\n"), "r:", false, false); !errors.Is(err, scan.ErrForm) {
		t.Error(err)
	}
	long := "a\x001\x001\x00" + strings.Repeat("x", mostLine+1) + "\n"
	if got, _, err := Matches([]byte(long), "", false, false); err != nil || !got[0].Cut || len(got[0].Text) != mostLine {
		t.Error(err)
	}
	if got, more, err := Matches(bytes.Repeat([]byte("a\x001\x001\x00x\n"), MostMatches+1), "", false, false); len(got) != MostMatches || !more || err != nil {
		t.Errorf("%d, %v, %v", len(got), more, err)
	}
	if got, more, err := Counts(bytes.Repeat([]byte("a\x001\n"), MostCounts+1), "", false); len(got) != MostCounts || !more || err != nil {
		t.Errorf("%d, %v, %v", len(got), more, err)
	}
}

func TestRefsAndObjects(t *testing.T) {
	refs, _, err := Refs([]byte("refs/heads/a\x00"+id1+"\x00\x00*\x002026\x00refs/remotes/o/m\x00"+strings.Repeat("s", 600)+"\x00\nrefs/tags/\xff\x00"+id1+"\x00"+id2+"\x00 \x00\x00\x00\x00\n"), false)
	if err != nil || len(refs) != 2 || refs[0].Upstream != "o/m" || !refs[0].Current || len(refs[0].Subject) != mostSubject || refs[1].Raw != "/w==" || refs[1].Commit != id2 {
		t.Errorf("%+v, %v", refs, err)
	}
	objects, err := Objects([]byte("100644 blob " + id1 + "      11\td/x\n\x00120000 blob " + id1 + "     BAD\tl\x00160000 commit " + id1 + "       -\tm\x00100644 blob " + id1 + "\tn\x00"))
	if err != nil || len(objects) != 4 || objects[3].Size != -1 || objects[0].Size != 11 || objects[0].Path != "d/x\n" || objects[1].Size != -1 || objects[2].Kind != "submodule" {
		t.Errorf("%+v, %v", objects, err)
	}
}

func TestWhatElseIsNotOfTheForm(t *testing.T) {
	for _, out := range []string{"x", "x\x00", "1 .M\x00", "1 .M N... 1 2 3 4 5 x", "1 .Q N... 1 2 3 4 5 x\x00", "2 R. N... 1 2 3 4 5 R1 x\x00", "u AA N... x\x00", "# branch.oid x\x00", "# branch.ab +1 -1\x00", "# branch.upstream x\x00# branch.ab 1\x00"} {
		if _, _, err := Status([]byte(out), false); !errors.Is(err, scan.ErrForm) {
			t.Errorf("status of %q: %v", out, err)
		}
	}
	for _, out := range []string{"x", "x\x00", "a\x001\x00x", "a\x000\x00x\n", "a\x00-1\x00x\n", "a\x00x\x00x\n", "\x001\x001\x00x\n", "--\n"} {
		if _, _, err := Matches([]byte(out), "", true, false); !errors.Is(err, scan.ErrForm) {
			t.Errorf("matches of %q: %v", out, err)
		}
		if _, _, err := Counts([]byte(out), "", false); !errors.Is(err, scan.ErrForm) {
			t.Errorf("counts of %q: %v", out, err)
		}
	}
	for _, out := range []string{"x", "refs/heads/a\x00x\x00\x00\x00\x00\x00\x00\n", "refs/notes/a\x00" + id1 + "\x00\x00\x00\x00\x00\x00\n", "refs/heads/a\x00" + id1 + "\x00\x00\x00\x00\x00\x00", "refs/heads/a\x00" + id1 + "\x00x\x00\x00\x00\x00\x00\n"} {
		if _, _, err := Refs([]byte(out), false); !errors.Is(err, scan.ErrForm) {
			t.Errorf("refs of %q: %v", out, err)
		}
	}
	for _, out := range []string{"x", "100644 blob " + id1 + " 1 x\x00", "100644 blob " + id1 + " 1\tx", "100644 blob x 1\tx\x00", "100644 tree " + id1 + " 1\tx\x00", "100644 blob " + id1 + " -1\tx\x00"} {
		if _, err := Objects([]byte(out)); !errors.Is(err, scan.ErrForm) {
			t.Errorf("objects of %q: %v", out, err)
		}
	}
}

// Whatever git prints, or is made to print, nothing breaks, no list is longer than
// its bound, and what is cut off is no error.
func FuzzPresent(f *testing.F) {
	f.Add([]byte("# branch.oid "+id1+"\x00# branch.ab +1 -1\x001 .M N... 1 2 3 4 5 x\x002 R. N... 1 2 3 4 5 R1 x\x00y\x00? z\x00"), "")
	f.Add([]byte("a\x001\x003\x00x\n--\nb\x002\x00y\n"), "")
	f.Add([]byte("r:a\x001\nr:b\x002\n"), "r:")
	f.Add([]byte("refs/heads/a\x00"+id1+"\x00\x00*\x002026\x00\x00s\x00\n"), "")
	f.Add([]byte("100644 blob "+id1+"      11\td/x\x00"), "")
	f.Fuzz(func(t *testing.T, out []byte, prefix string) {
		before := bytes.Clone(out)
		for _, cut := range []bool{false, true} {
			s, _, err1 := Status(out, cut)
			m, _, err2 := Matches(out, prefix, true, cut)
			n, _, err3 := Matches(out, prefix, false, cut)
			c, _, err4 := Counts(out, prefix, cut)
			_, _, err5 := Refs(out, cut)
			if err := errors.Join(err1, err2, err3, err4, err5); cut && err != nil {
				t.Errorf("what is cut off is an error: %v", err)
			}
			if len(s.Changes) > MostChanges || len(m) > MostMatches || len(n) > MostMatches || len(c) > MostCounts {
				t.Error("a list is too long")
			}
			for _, x := range append(m, n...) {
				if x.Number < 1 || len(x.Text) > 3*mostLine {
					t.Errorf("%+v", x)
				}
			}
		}
		_, _ = Objects(out)
		if !bytes.Equal(before, out) {
			t.Error("what was read has changed")
		}
	})
}
