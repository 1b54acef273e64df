//go:build linux

package repositories_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"paddock/internal/testproc"
)

// A kind is a repository of a size that people have. Each commit changes one file; every
// twentieth file is as long as a source file that people complain of.
type kind struct {
	name           string
	commits, files int
}

const (
	perDirectory = 25
	program      = "/usr/bin/git"
	begun        = 1_700_000_000
)

// file is the name of the nth file.
func (k kind) file(n int) string {
	dir := n / perDirectory
	return fmt.Sprintf("part%d/dir%d/file%d.txt", dir/40, dir, n)
}

// text is what the nth file holds after it was changed so often.
func text(n, changed int) string {
	lines := 20
	if n%20 == 0 {
		lines = 400
	}
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "line %d of file %d says %x\n", i, n, uint64(n+1)*2654435761*uint64(i+1))
		if i == 10 && n%1000 == 0 {
			b.WriteString("a needle is in here\n")
		}
		if i < 5 {
			fmt.Fprintf(&b, "changed %d times\n", max(0, changed-i))
		}
	}
	return b.String()
}

// changes are the files that the nth commit after the first changes: mostly one of few.
func (k kind) changes(n int) int {
	if n%10 == 0 {
		return (n * 7919) % k.files
	}
	return ((n%7)*20 + 1) % k.files
}

// write writes what fast-import reads.
func (k kind) write(b *bufio.Writer) {
	data := func(s string) { fmt.Fprintf(b, "data %d\n%s\n", len(s), s) }
	commit := func(n int) {
		fmt.Fprintf(b, "commit refs/heads/main\ncommitter Ada <ada@example.org> %d +0000\n", begun+n*60)
		data(fmt.Sprintf("the change with the number %d\n\nWhat it is for takes a line, and another one.\n", n))
	}
	commit(0)
	for n := range k.files {
		fmt.Fprintf(b, "M 100644 inline %s\n", k.file(n))
		data(text(n, 0))
	}
	times := map[int]int{}
	for n := 1; n < k.commits; n++ {
		commit(n)
		f := k.changes(n)
		times[f]++
		fmt.Fprintf(b, "M 100644 inline %s\n", k.file(f))
		data(text(f, times[f]))
		if n == k.commits/2 {
			fmt.Fprint(b, "reset refs/heads/side\nfrom refs/heads/main\n\n")
		}
	}
	fmt.Fprintf(b, "commit refs/heads/side\ncommitter Bob <bob@example.org> %d +0000\n", begun+k.commits*60)
	data("a change beside the others")
	fmt.Fprint(b, "M 100644 inline beside\n")
	data("beside")
}

// make makes the repository, as one is that somebody works in for a while: packed, with
// what git remembers of history, and two files that are changed.
func (k kind) make(t *testing.T, root string) {
	t.Helper()
	must(t, os.Mkdir(root, 0o755))
	plain(t, root, "init", "-q", "-b", "main")
	cmd := testproc.Command(t, program, "-c", "core.compression=1", "fast-import", "--quiet")
	cmd.Dir = root
	in, out := io.Pipe()
	cmd.Stdin = in
	written := make(chan error, 1)
	go func() {
		b := bufio.NewWriterSize(out, 1<<20)
		k.write(b)
		err := b.Flush()
		written <- err
		out.CloseWithError(err)
	}()
	said, err := cmd.CombinedOutput()
	in.CloseWithError(io.ErrClosedPipe)
	if err2 := <-written; err != nil || err2 != nil {
		t.Fatalf("%v, %v: %s", err, err2, said)
	}
	plain(t, root, "commit-graph", "write", "--reachable")
	plain(t, root, "pack-refs", "--all")
	plain(t, root, "reset", "-q", "--hard")
	// What was written in the second of the index would be read again and again.
	long := "200001010000"
	plainly(t, root, "find", ".", "-path", "./.git", "-prune", "-o", "-type", "f", "-exec", "touch", "-t", long, "{}", "+")
	plain(t, root, "update-index", "-q", "--refresh")
	for _, n := range []int{0, k.files - 1} {
		name := filepath.Join(root, k.file(n))
		before, err := os.ReadFile(name)
		must(t, err)
		must(t, os.WriteFile(name, append(before, "one more line\n"...), 0o644))
	}
}

func plain(t testing.TB, dir string, args ...string) []byte { return plainly(t, dir, program, args...) }

func plainly(t testing.TB, dir, name string, args ...string) []byte {
	t.Helper()
	cmd := testproc.Command(t, name, args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + dir, "LC_ALL=C.UTF-8", "GIT_CONFIG_NOSYSTEM=1"}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return out
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
