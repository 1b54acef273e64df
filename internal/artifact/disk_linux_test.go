package artifact

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"paddock"
)

// A disk that is really full, where the test may mount one.
func TestFullFilesystem(t *testing.T) {
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
	chunk := bytes.Repeat([]byte("0123456789abcdef"), 8<<10)
	var total int64
	for err == nil {
		var n int
		n, _, err = b.Append(paddock.Stdout, chunk)
		total += int64(n)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	info, statErr := os.Stat(filepath.Join(dir, "stdout"))
	if statErr != nil || info.Size() != total || b.Size(paddock.Stdout) != total {
		t.Fatalf("kept %d, the file has %d, %v", total, info.Size(), statErr)
	}
	sum, _, err := b.Seal()
	if err != nil && !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	if err := Open(dir).Verify(paddock.Stdout, sum); err != nil {
		t.Fatal(err)
	}
}

// A FIFO in a file's place is refused, and doesn't block whoever opens it.
func TestPipeInPlaceOfFile(t *testing.T) {
	t.Parallel()
	b, r := bank(t, "abc\n")
	seal(t, b)
	if err := swap(r.dir, func(path string) error { return syscall.Mkfifo(path, 0o600) }); err != nil {
		t.Fatal(err)
	}
	for _, s := range everyStream {
		_, err := r.Size(s)
		if s != paddock.Stderr {
			wantFailure(t, err)
		}
	}
}
