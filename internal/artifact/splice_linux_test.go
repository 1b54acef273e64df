package artifact

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/artifact/pages/moment/frames"
	"paddock/internal/artifact/pages/moment/marks"
)

// spliced has text kept by way of a pipe, and returns how much was.
func spliced(t *testing.T, b *Bank, s paddock.Stream, text []byte) (kept int, err error) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	for kept < len(text) && err == nil {
		part := text[kept:min(len(text), kept+(64<<10))]
		if _, err := w.Write(part); err != nil {
			t.Fatal(err)
		}
		for end := kept + len(part); kept < end && err == nil; {
			var n int
			n, err = b.Splice(s, r, end-kept)
			kept += n
		}
	}
	return kept, err
}

// What is kept unseen has the same digest, marks and frames as what is written, in
// whatever order the two come.
func TestSplicedIsWhatWasPrinted(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(3, 4))
	for _, first := range []int{0, 1} {
		b, dir := create(t, Options{})
		var want [2]bytes.Buffer
		for i := range 60 {
			text := bytes.Repeat([]byte("some words\nand\xff more\n"), rnd.IntN(9000))
			stream := rnd.IntN(2)
			want[stream].Write(text)
			if i%2 == first {
				put(t, b, frames.Streams[stream], string(text))
			} else if n, err := spliced(t, b, frames.Streams[stream], text); n != len(text) || err != nil {
				t.Fatalf("kept %d of %d, %v", n, len(text), err)
			}
			if got := b.Size(frames.Streams[stream]); got != int64(want[stream].Len()) {
				t.Fatalf("%d bytes are kept, want %d", got, want[stream].Len())
			}
		}
		var sums [2]paddock.StreamSummary
		sums[0], sums[1] = seal(t, b)
		for i, s := range frames.Streams {
			if sums[i].Bytes != int64(want[i].Len()) || sums[i].Digest != paddock.DigestOf(sha256.Sum256(want[i].Bytes())) {
				t.Errorf("%s: %+v of %d bytes", s, sums[i], want[i].Len())
			}
			if got := unstitch(t, dir, s); !bytes.Equal(got, want[i].Bytes()) {
				t.Errorf("%s: the frames are of %d bytes", s, len(got))
			}
			if fits, err := marks.Marked(dir, s); !fits || err != nil {
				t.Errorf("%s: its lines aren't where the marks say, %v", s, err)
			}
			if err := Open(dir).Verify(s, sums[i]); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestSpliceAtTheCap(t *testing.T) {
	t.Parallel()
	b, dir := create(t, Options{Cap: 100_000})
	text := bytes.Repeat([]byte("0123456789"), 20_000)
	if n, err := spliced(t, b, paddock.Stdout, text[:60_000]); n != 60_000 || err != nil || b.Left(paddock.Stdout) != 40_000 {
		t.Fatal(n, err, b.Left(paddock.Stdout))
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := w.Write(text[60_000:120_000]); err != nil {
		t.Fatal(err)
	}
	w.Close()
	for b.Left(paddock.Stdout) > 0 {
		if n, err := b.Splice(paddock.Stdout, r, 1<<20); n == 0 || err != nil {
			t.Fatal(n, err)
		}
	}
	if n, err := b.Splice(paddock.Stdout, r, 1<<20); n != 0 || err != nil && !errors.Is(err, unix.EAGAIN) {
		t.Errorf("over the cap %d are kept, %v", n, err)
	}
	left, err := io.ReadAll(r)
	if err != nil || string(left) != string(text[100_000:120_000]) {
		t.Errorf("%d bytes are left in the pipe, %v", len(left), err)
	}
	sum, _ := seal(t, b)
	kept, err := os.ReadFile(filepath.Join(dir, "stdout"))
	if err != nil || !bytes.Equal(kept, text[:100_000]) || sum.Digest != paddock.DigestOf(sha256.Sum256(text[:100_000])) {
		t.Errorf("%d are kept, %+v, %v", len(kept), sum, err)
	}
}

func TestSpliceIsRefused(t *testing.T) {
	t.Parallel()
	b, _ := create(t, Options{})
	if _, err := spliced(t, b, paddock.Combined, []byte("x")); err == nil {
		t.Error("both streams at once are kept")
	}
	b.kept[0].f = synced{b.kept[0].f, func() {}} // no file of the system's
	if n, err := spliced(t, b, paddock.Stdout, []byte("x")); n != 0 || !errors.Is(err, errors.ErrUnsupported) {
		t.Error(n, err)
	}
	seal(t, b)
	if n, err := spliced(t, b, paddock.Stderr, []byte("x")); n != 0 || !errors.Is(err, ErrSealed) {
		t.Error(n, err)
	}
}

// On a disk that is full what was kept is counted to the byte, and the rest is in
// the pipe.
func TestSpliceToAFullFilesystem(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("needs the right to mount: %v", err)
	}
	defer func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	}()
	b, err := Create(dir, Options{Cap: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	text := bytes.Repeat([]byte("0123456789abcdef"), 128<<10)
	kept, err := spliced(t, b, paddock.Stdout, text)
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(kept, err)
	}
	info, statErr := os.Stat(filepath.Join(dir, "stdout"))
	if statErr != nil || info.Size() != int64(kept) || b.Size(paddock.Stdout) != int64(kept) {
		t.Fatalf("kept %d, the file has %d, %v", kept, info.Size(), statErr)
	}
	sum, _, err := b.Seal()
	if err != nil && !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	if sum.Digest != paddock.DigestOf(sha256.Sum256(text[:kept])) {
		t.Errorf("%+v", sum)
	}
}
