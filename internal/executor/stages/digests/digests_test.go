package digests

import (
	"context"
	"crypto/sha256"
	"os"
	"path/filepath"
	"testing"

	"paddock"
)

// The digest is read once per content, over processes, and never of another.
func TestDigestIsRemembered(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	binary, memory := filepath.Join(dir, "stage"), filepath.Join(dir, "memory")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	over, cancel := context.WithCancel(t.Context())
	cancel() // with this, only what is remembered can be answered
	write(binary, "one")
	want := paddock.DigestOf(sha256.Sum256([]byte("one")))
	if got, err := Of(binary, memory).Get(t.Context()); err != nil || got != want {
		t.Fatalf("%s, %v", got, err)
	}
	if got, err := Of(binary, memory).Get(over); err != nil || got != want {
		t.Errorf("another process: %s, %v", got, err)
	}
	write(binary, "three")
	if got, err := Of(binary, memory).Get(over); err == nil {
		t.Errorf("a changed binary has the digest %s", got)
	}
	for _, rubbish := range []string{"", "{", `{"digest":"x"}`, "[]"} {
		write(memory, rubbish)
		got, err := Of(binary, memory).Get(t.Context())
		if want := paddock.DigestOf(sha256.Sum256([]byte("three"))); err != nil || got != want {
			t.Errorf("with the memory %q: %s, %v", rubbish, got, err)
		}
	}
	if left, err := filepath.Glob(memory + ".*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
