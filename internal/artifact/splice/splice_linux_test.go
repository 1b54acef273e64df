package splice

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

// pipe returns a pipe with text in it.
func pipe(t *testing.T, text string) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	return r, w
}

func TestMove(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("0123456789", 3000)
	r, w := pipe(t, text)
	to, err := os.Create(filepath.Join(t.TempDir(), "to"))
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	if _, err := to.WriteString("before "); err != nil { // it goes on where the file is
		t.Fatal(err)
	}
	moved := 0
	for _, most := range []int{1, 4096, 7000} {
		n, err := Move(r, to, most)
		if moved += n; n != most || err != nil {
			t.Fatalf("moved %d of %d, %v", n, most, err)
		}
	}
	for {
		n, err := Move(r, to, 1<<20)
		if moved += n; errors.Is(err, unix.EAGAIN) { // all is moved, and somebody could write more
			break
		}
		if err != nil || n == 0 {
			t.Fatalf("moved %d, %v", n, err)
		}
	}
	w.Close()
	if n, err := Move(r, to, 1); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %d, %v", n, err)
	}
	got, err := os.ReadFile(to.Name())
	if err != nil || moved != len(text) || string(got) != "before "+text {
		t.Errorf("%d bytes were moved of %d, %v", moved, len(text), err)
	}
}

// What isn't moved is still there for who reads it.
func TestRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, flags := range map[string]int{"appending": os.O_WRONLY | os.O_APPEND, "for reading": os.O_RDONLY} {
		r, _ := pipe(t, "some text")
		to, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|flags, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer to.Close()
		n, err := Move(r, to, 100)
		if n != 0 || err == nil || errors.Is(err, io.EOF) || errors.Is(err, unix.EAGAIN) {
			t.Errorf("%s: moved %d, %v", name, n, err)
		}
		b := make([]byte, 100)
		if n, err := r.Read(b); string(b[:n]) != "some text" || err != nil {
			t.Errorf("%s: %q is left, %v", name, b[:n], err)
		}
	}
	r, _ := pipe(t, "x")
	r.Close()
	if _, err := Move(r, r, 1); err == nil {
		t.Error("moved from what is closed")
	}
}
