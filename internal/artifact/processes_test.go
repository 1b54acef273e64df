package artifact

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"paddock"
	"paddock/internal/artifact/pages/moment/frames"
	"paddock/internal/testproc"
)

// helpers are the processes that the tests kill.
var helpers = map[string]func() int{"owner": owner, "reader": follower}

// owner keeps a hundred lines for each byte that it is given, and answers.
func owner() int {
	b, err := Create(os.Args[1], Options{Cap: 1 << 30})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	var word [1]byte
	for n := 0; ; {
		if _, err := os.Stdin.Read(word[:]); err != nil {
			return 1 // it is there to be killed
		}
		for range 100 {
			if _, _, err := b.Append(frames.Streams[n%2], fmt.Appendf(nil, "%08d\n", n)); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
			n++
		}
		if _, err := os.Stdout.Write(word[:]); err != nil {
			return 1
		}
	}
}

// follower passes on what is in a stream from a place on, and waits to be killed.
func follower() int {
	from, err := strconv.ParseInt(os.Args[3], 10, 64)
	if err != nil {
		return 1
	}
	r := Open(os.Args[1])
	for {
		p, err := r.Page(paddock.PageRequest{Stream: paddock.Stream(os.Args[2]), Offset: from, Limit: 100}, false)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		if p.NextOffset == from {
			_, _ = io.Copy(io.Discard, os.Stdin)
			return 0
		}
		if _, err := io.WriteString(os.Stdout, p.Content); err != nil {
			return 1
		}
		from = p.NextOffset
	}
}

// Readers and the owner are processes that are killed at any moment: a reader
// that goes on from what had arrived misses nothing and gets nothing twice, and
// what the owner kept is there.
func TestKilledReadersGoOn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writer, in, out := begin(t, "owner", dir)
	var ack [1]byte
	got := map[paddock.Stream]*bytes.Buffer{paddock.Stdout: {}, paddock.Stderr: {}, paddock.Combined: {}}
	for round := range 6 {
		if _, err := in.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(out, ack[:]); err != nil {
			t.Fatal(err)
		}
		for s, have := range got {
			reader, _, pages := begin(t, "reader", dir, string(s), strconv.Itoa(have.Len()))
			if _, err := io.CopyN(have, pages, int64(100*round+37)); err != nil {
				t.Fatal(s, err)
			}
			end(t, reader)
		}
	}
	if _, err := in.Write([]byte("xxxx")); err != nil { // it dies while it writes
		t.Fatal(err)
	}
	end(t, writer)
	r := Open(dir)
	for s, have := range got {
		if _, err := r.CopySealed(have, s, int64(have.Len())); err != nil {
			t.Fatal(err)
		}
		step, next := 2, 0
		switch s {
		case paddock.Stderr:
			next = 1
		case paddock.Combined:
			step = 1
		}
		lines := bytes.SplitAfter(have.Bytes(), []byte("\n"))
		if len(lines[len(lines)-1]) != 0 || len(lines) < 600/step {
			t.Fatalf("%s: %d lines, the last is %q", s, len(lines), lines[len(lines)-1])
		}
		for _, l := range lines[:len(lines)-1] {
			if string(l) != fmt.Sprintf("%08d\n", next) {
				t.Fatalf("%s: got %q, want %08d", s, l, next)
			}
			next += step
		}
		if s == paddock.Combined {
			continue
		}
		if kept, err := os.ReadFile(filepath.Join(dir, string(s))); err != nil || !bytes.Equal(kept, have.Bytes()) {
			t.Fatalf("%s: %d bytes were read of %d, %v", s, have.Len(), len(kept), err)
		}
	}
}

func begin(t *testing.T, args ...string) (cmd *testproc.Cmd, in io.Writer, out io.Reader) {
	t.Helper()
	cmd = testproc.Self(t, args...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if out, err = cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, in, out
}

// end kills the process, which is what it was waiting for.
func end(t *testing.T, cmd *testproc.Cmd) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("a killed process ended well")
	}
}
