//go:build linux

package git

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"

	"paddock"
	"paddock/internal/git/query"
	"paddock/internal/testproc"
)

// A size is that of a repository which is large in every direction.
type size struct{ commits, files, blob int }

// most is what one answer may allocate, however large the repository is: what is
// read of git's output, copies of it as it grows, and the lists.
const most = 128 << 20

// An answer takes no more memory of ours for a large repository than for any, and
// says what it left out. This test isn't parallel: it counts what is allocated.
func TestLargeRepository(t *testing.T) {
	s := size{commits: 600, files: 2500, blob: 11 << 20}
	if os.Getenv("PADDOCK_LONG") != "" {
		s = size{commits: 100_000, files: 50_000, blob: 500 << 20}
	}
	w := newWorld(t, paddock.Off)
	w.grow(s)
	for _, c := range []struct {
		q    query.Query
		more bool
		note string
	}{
		{query.Log{Count: 500, Format: "stat"}, false, ""},
		{query.Log{Count: 10, Skip: s.commits - 5}, false, ""},
		{query.Log{Count: 5, In: "dir7/file7"}, false, ""},
		{query.Show{Ref: "first"}, true, ""}, // every file, and the blob as lines
		{query.Show{Ref: "first", NameOnly: true}, true, ""},
		{query.Diff{Base: "first", Head: "main"}, false, ""},
		{query.Diff{Base: "first", Stat: true}, true, ""}, // no file is in the working tree
		{query.Status{}, true, ""},
		{query.ListFiles{}, true, ""},
		{query.Blame{In: "changed"}, false, ""},
		{query.MergeBase{Base: "first", Head: "main"}, false, ""},
		{query.Branches{}, true, ""},
		{query.Grep{Ref: "main", Pattern: "line|file"}, true, ""},
		{query.Grep{Ref: "main", Pattern: "line|file", Count: true}, true, ""},
		{query.Cat{In: "big"}, false, ""},
		{query.Cat{In: "big", Offset: 9 << 20, Limit: 1000}, false, ""},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		a := w.ask(c.q)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > most {
			t.Errorf("%#v took %d MiB", c.q, used>>20)
		}
		switch {
		case a.State == paddock.TimedOut: // on a machine with much else to do; it said so, and took no more memory
			hasNote(t, a, "was ended after")
		case c.more && !a.More:
			t.Errorf("%#v doesn't say that there is more: %+v", c.q, a.Notes)
		case !a.OK && a.State != paddock.OutputLimit:
			t.Errorf("%#v: %s, %q, %s", c.q, a.State, a.Notes, a.Stderr)
		case a.Content != nil && (a.Content.Size != int64(s.blob) || a.Content.EOF || !strings.Contains(a.Content.Text, "a line of many\n")):
			t.Errorf("%#v: %+v", c.q, a)
		}
	}
}

// grow makes a repository by fast-import, without a working tree.
func (w *world) grow(s size) {
	w.t.Helper()
	w.git("init", "-q", "-b", "main")
	cmd := testproc.Command(w.t, program, "-c", "core.compression=1", "fast-import", "--quiet")
	cmd.Dir, cmd.Env = w.root, []string{"PATH=/usr/bin:/bin", "HOME=" + w.base}
	in, out := io.Pipe()
	cmd.Stdin = in
	written := make(chan error, 1)
	go func() {
		b := bufio.NewWriterSize(out, 1<<20)
		s.write(b)
		err := b.Flush()
		written <- err
		out.CloseWithError(err)
	}()
	text, err := cmd.CombinedOutput()
	in.CloseWithError(io.ErrClosedPipe)
	if err := errorsOf(err, <-written); err != nil {
		w.t.Fatalf("%v: %s", err, text)
	}
	w.git("reset", "-q")
}

func (s size) write(b *bufio.Writer) {
	const line = "a line of many\n"
	fmt.Fprintf(b, "blob\nmark :1\ndata %d\n", s.blob)
	for left := s.blob; left > 0; left -= len(line) {
		b.WriteString(line[:min(left, len(line))])
	}
	fmt.Fprint(b, "\nblob\nmark :2\ndata 5\nfile\n\n")
	commit := func(n int, branch string) {
		message := fmt.Sprintf("commit %d", n)
		fmt.Fprintf(b, "commit refs/heads/%s\ncommitter Ada <ada@example.org> %d +0000\ndata %d\n%s\n", branch, 1_700_000_000+n, len(message), message)
	}
	commit(0, "main")
	fmt.Fprint(b, "M 100644 :1 big\n")
	for i := range s.files {
		fmt.Fprintf(b, "M 100644 :2 dir%d/file%d\n", i%500, i)
	}
	fmt.Fprint(b, "\nreset refs/tags/first\nfrom refs/heads/main\n\n")
	for n := 1; n < s.commits; n++ {
		commit(n, "main")
		text := fmt.Sprintf("number %d\n", n)
		fmt.Fprintf(b, "M 100644 inline changed\ndata %d\n%s\n", len(text), text)
		if n%4 == 0 {
			fmt.Fprintf(b, "reset refs/tags/v%d\nfrom refs/heads/main\n\n", n)
		}
	}
}
