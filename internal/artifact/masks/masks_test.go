package masks

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"paddock/internal/redact"
)

// stream makes a stream with text in a directory of its own.
func stream(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "stdout")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func masked(t *testing.T, path string, spans ...redact.Span) {
	t.Helper()
	w, err := Create(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range spans {
		if err := w.Add([]redact.Span{s}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func cover(t *testing.T, path string) (Source, error) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	src, err := Cover(f, path, 0)
	if err != nil {
		if _, err := f.Stat(); err == nil {
			t.Error("the stream is still open")
		}
		return nil, err
	}
	t.Cleanup(func() { src.Close() })
	return src, nil
}

// Every part of a stream is shown as the whole is.
func TestCover(t *testing.T) {
	t.Parallel()
	path := stream(t, "one secret\nand\nanother, another")
	masked(t, path, redact.Span{Offset: 4, Length: 10}, redact.Span{Offset: 15, Length: 7}, redact.Span{Offset: 24, Length: 1000})
	const want = "one ******\n***\n*******, *******"
	src, err := cover(t, path)
	if err != nil {
		t.Fatal(err)
	}
	for from := range want {
		for to := from; to < len(want); to++ {
			p := make([]byte, to-from)
			if _, err := src.ReadAt(p, int64(from)); err != nil || string(p) != want[from:to] {
				t.Fatalf("%d to %d: %q, %v", from, to, p, err)
			}
		}
	}
}

// A mask counts from the moment it is written, for who reads already.
func TestMasksGrow(t *testing.T) {
	t.Parallel()
	path := stream(t, "secret, secret")
	w, err := Create(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	src, err := cover(t, path)
	if err != nil {
		t.Fatal(err)
	}
	p := make([]byte, 14)
	if _, err := src.ReadAt(p, 0); err != nil || string(p) != "secret, secret" {
		t.Errorf("%q, %v", p, err)
	}
	if err := w.Add([]redact.Span{{Offset: 0, Length: 6}, {Offset: 8, Length: 6}}); err != nil {
		t.Fatal(err)
	}
	if _, err := src.ReadAt(p, 0); err != nil || string(p) != "******, ******" {
		t.Errorf("%q, %v", p, err)
	}
}

func TestManyMasks(t *testing.T) {
	t.Parallel()
	path := stream(t, strings.Repeat("sx", 3*atOnce))
	var spans []redact.Span
	for i := range 3 * atOnce {
		spans = append(spans, redact.Span{Offset: int64(2 * i), Length: 1})
	}
	w, err := Create(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Add(spans); err != nil {
		t.Fatal(err)
	}
	src, err := cover(t, path)
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []int64{0, 2, 2 * atOnce, 3 * atOnce} {
		p := make([]byte, 6*atOnce-from)
		if _, err := src.ReadAt(p, from); err != nil || strings.Contains(string(p), "s") || strings.Count(string(p), "x") != len(p)/2 {
			t.Errorf("from %d: %v", from, err)
		}
	}
}

// Without the file nothing is hidden; with one that isn't what it is to be,
// nothing is shown.
func TestMasksThatCannotBeRead(t *testing.T) {
	t.Parallel()
	path := stream(t, "secret")
	src, err := cover(t, path)
	if err != nil {
		t.Fatal(err)
	}
	if _, is := src.(*os.File); !is {
		t.Error("a stream without masks is covered")
	}
	record := func(n ...byte) string {
		b := make([]byte, size*len(n)/2)
		for i, v := range n {
			b[i*8] = v
		}
		return string(b)
	}
	for name, text := range map[string]string{
		"empty": "", "another file": "PADMASK2", "cut": "PADM", "no length": magic + record(0, 0), "out of order": magic + record(3, 2, 0, 1),
		"negative": magic + record(0, 2)[:15] + "\xff", "too far": magic + strings.Repeat("\xff", 16),
	} {
		path := stream(t, "secret")
		if err := os.WriteFile(Name(path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		src, err := cover(t, path)
		p := []byte("......")
		if err == nil {
			_, err = src.ReadAt(p, 0)
		}
		if err == nil || strings.Contains(string(p), "secret") || !strings.Contains(err.Error(), "nothing is shown") {
			t.Errorf("%s: %q, %v", name, p, err)
		}
	}
	dir := stream(t, "secret")
	if err := os.Mkdir(Name(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := cover(t, dir); err == nil {
		t.Error("a directory is read as masks")
	}
	// One that isn't written to its end covers bytes that aren't there yet.
	torn := stream(t, "secret")
	if err := os.WriteFile(Name(torn), []byte(magic+record(0, 6)+"\x09"), 0o600); err != nil {
		t.Fatal(err)
	}
	src, err = cover(t, torn)
	p := make([]byte, 6)
	if err == nil {
		_, err = src.ReadAt(p, 0)
	}
	if err != nil || string(p) != "******" {
		t.Errorf("%q, %v", p, err)
	}
	if _, err := Create(torn, 0); err == nil {
		t.Error("masks are written over")
	}
}
