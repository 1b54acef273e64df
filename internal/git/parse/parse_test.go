package parse

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

const (
	id1 = "1111111111111111111111111111111111111111"
	id2 = "2222222222222222222222222222222222222222"
)

func head(id, message string) string {
	return "commit " + id + "\x00" + id2 + "\x00A\x00a@b\x002026-01-01T00:00:00Z\x00C\x00c@d\x002026-01-01T00:00:00Z\x00" + message + "\x00"
}

// What a message says can't be taken for the next commit or a list of files.
func TestCommitsOfHostileMessages(t *testing.T) {
	message := "commit " + id2 + "\n\n:100644 100644 a b M\ndiff --git a/x b/x\n@@ -1 +1 @@\n"
	out := head(id1, message) + "\x00\n:100644 100644 " + id1 + " " + id2 + " M\x00commit " + id2 + "\x001\t2\tcommit " + id2 + "\x00" + head(id2, "\xff") + "\x00"
	commits, more, err := Commits([]byte(out), false)
	if err != nil || more || len(commits) != 2 {
		t.Fatalf("%+v, %v, %v", commits, more, err)
	}
	if c := commits[0]; c.Message != strings.TrimRight(message, "\n") || len(c.Files) != 1 || c.Files[0].Path != "commit "+id2 || *c.Files[0].Deleted != 2 {
		t.Errorf("%+v", c)
	}
	if c := commits[1]; c.Message != "\uFFFD" || c.Files != nil {
		t.Errorf("%+v", c)
	}
}

// A line of a hunk can't end it, whatever it says.
func TestHunksOfHostileLines(t *testing.T) {
	hunk := "@@ -1,2 +1,3 @@ f\n-@@ -9,9 +9,9 @@\n diff --git a/y b/y\n+\x00\n+diff --git a/z b/z\n\\ No newline at end of file\n"
	out := ":100644 100644 " + id1 + " " + id2 + " M\x00x\x00:100644 100644 " + id1 + " " + id2 + " M\x00y\x00\x00" +
		"diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n" + hunk + "diff --git a/y b/y\nBinary files a/y and b/y differ\n"
	files, more, err := Files([]byte(out), false)
	if err != nil || more || len(files) != 2 || !files[1].Binary || len(files[1].Hunks) != 0 {
		t.Fatalf("%+v, %v, %v", files, more, err)
	}
	want := []Hunk{{OldStart: 1, OldLines: 2, NewStart: 1, NewLines: 3, Offset: int64(strings.Index(out, "@@ ")), Length: int64(len(hunk))}}
	if !reflect.DeepEqual(files[0].Hunks, want) {
		t.Errorf("%+v, want %+v", files[0].Hunks, want)
	}
}

func TestWhatIsNotOfTheForm(t *testing.T) {
	for _, out := range []string{
		"x", "commit ", "commit " + id1 + "\x00", head("short", ""), ":100644", ":1 2 3 4 M\x00", ":1 2 3 4\x00x\x00", ":1 2 3 4 Q\x00x\x00",
		":1 2 3 4 M\x00x\x001\t2\ty\x00", ":1 2 3 4 M\x00x\x00-1\t2\tx\x00", ":1 2 3 4 M\x00x\x00\x00@@ -1 +1 @@\n", ":1 2 3 4 M\x00x\x00\x00diff --git a/x b/x\n@@ -1 +1 @@\n-a\n",
		":1 2 3 4 M\x00x\x00\x00diff --git a/x b/x\n@@ -1 +1 @@\n-a\n-b\n+c\n", ":1 2 3 4 M\x00x\x00\x00diff --git a b\ndiff --git c d\n",
	} {
		if strings.HasPrefix(out, ":") {
			if _, _, err := Files([]byte(out), false); !errors.Is(err, ErrForm) {
				t.Errorf("files of %q: %v", out, err)
			}
			continue
		}
		if _, _, err := Commits([]byte(out), false); !errors.Is(err, ErrForm) {
			t.Errorf("commits of %q: %v", out, err)
		}
	}
	for _, out := range []string{"x\n", id1 + " 1\n", id1 + " a 1\n\tx\n", id1 + " 1 1 1\n"} {
		if _, _, err := Lines([]byte(out), false); !errors.Is(err, ErrForm) {
			t.Errorf("lines of %q: %v", out, err)
		}
	}
	for _, out := range []string{"x", "100644 x 0\ta\x00", "100644 " + id1 + " 9\ta\x00", "100644 " + id1 + " 0\ta"} {
		if _, _, err := Entries([]byte(out), false); !errors.Is(err, ErrForm) {
			t.Errorf("entries of %q: %v", out, err)
		}
	}
	for _, out := range []string{"", id1, "x\n", id1 + "\n" + id1 + "\n", strings.ToUpper("ab") + id1[2:] + "\n"} {
		if _, err := ID([]byte(out)); !errors.Is(err, ErrForm) {
			t.Errorf("id of %q: %v", out, err)
		}
	}
}

// What is cut off is left out, and said to be.
func TestCut(t *testing.T) {
	out := []byte(head(id1, "m") + "\x00" + head(id2, "n") + "\x00")
	for n := range out {
		commits, more, err := Commits(out[:n], true)
		if err != nil || !more || len(commits) > 2 {
			t.Fatalf("%d bytes: %d commits, %v, %v", n, len(commits), more, err)
		}
	}
	many := bytes.Repeat([]byte("100644 "+id1+" 0\ta\x00"), MostEntries+1)
	if entries, more, err := Entries(many, false); len(entries) != MostEntries || !more || err != nil {
		t.Errorf("%d entries, %v, %v", len(entries), more, err)
	}
}

func TestDrivers(t *testing.T) {
	got, err := Drivers([]byte("filter.a.clean\x00core.x\x00filter.b.c=d e.process\x00filter.a.smudge\x00filter.x\x00filter..clean\x00hook.x y.command\x00hook.jobs\x00nodot\x00"))
	if err != nil || fmt.Sprintf("%q", got) != `["filter.a" "filter.b.c=d e" "filter." "hook.x y"]` {
		t.Errorf("%q, %v", got, err)
	}
}

// Whatever git prints, or is made to print, nothing breaks, and what is read
// lies where it is said to.
func FuzzParse(f *testing.F) {
	f.Add([]byte(head(id1, "m") + "\x00\n:100644 100644 " + id1 + " " + id2 + " R100\x00a\x00b\x001\t2\t\x00a\x00b\x00"))
	f.Add([]byte(":100644 100644 " + id1 + " " + id2 + " T\x00x\x00\x00diff --git a/x b/x\n@@ -1 +0,0 @@\n-a\ndiff --git a/x b/x\n@@ -0,0 +1 @@\n+b\n"))
	f.Add([]byte(id1 + " 1 1 1\nauthor A\nauthor-time 5\nsummary s\nfilename \"a\\n\\303\"\n\tx\n"))
	f.Add([]byte("100644 " + id1 + " 0\ta\x00filter.a.clean\x00"))
	f.Fuzz(func(t *testing.T, out []byte) {
		before := bytes.Clone(out)
		for _, cut := range []bool{false, true} {
			if _, _, err := Commits(out, cut); cut && err != nil {
				t.Errorf("a cut log is an error: %v", err)
			}
			files, _, _ := Files(out, cut)
			for _, f := range files {
				for _, h := range f.Hunks {
					if h.Offset < 0 || h.Length < 0 || h.Offset+h.Length > int64(len(out)) || !bytes.HasPrefix(out[h.Offset:], []byte("@@ -")) {
						t.Errorf("a hunk is at %+v of %d bytes", h, len(out))
					}
				}
			}
			if _, _, err := Lines(out, cut); cut && err != nil {
				t.Errorf("cut lines are an error: %v", err)
			}
			if _, _, err := Entries(out, cut); cut && err != nil {
				t.Errorf("cut entries are an error: %v", err)
			}
		}
		if _, err := ID(out); err == nil && len(out) != 41 && len(out) != 65 {
			t.Errorf("%q is an id", out)
		}
		_, _ = Drivers(out)
		if !bytes.Equal(before, out) {
			t.Error("what was read has changed")
		}
	})
}
