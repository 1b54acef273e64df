package places

import (
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"paddock"
)

func TestPolicies(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	p := Places{State: state}
	for _, dir := range []string{Policies, "a", "b", "c"} {
		if err := os.Mkdir(filepath.Join(state, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(state, name) }
	text := []byte("version: 1\n")
	digest := paddock.DigestOf(sha256.Sum256(text))
	for _, run := range []string{"a", "b", "b"} { // again is no fault
		if err := p.KeepPolicy(at(run), digest, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.KeepPolicy(at("c"), "", nil); err != nil {
		t.Fatal(err)
	}
	for _, run := range []string{"a", "b"} {
		if got, err := PolicyOf(at(run), digest); err != nil || string(got) != string(text) {
			t.Errorf("%q, %v", got, err)
		}
	}
	if _, err := PolicyOf(at("c"), digest); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	kept := filepath.Join(state, Policies, digest.Hex())
	there := func() bool { _, err := os.Lstat(kept); return err == nil }
	sweep := func(later time.Duration) {
		t.Helper()
		if err := p.SweepPolicies(time.Now().Add(later)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(at("a")); err != nil {
		t.Fatal(err)
	}
	if sweep(2 * time.Hour); !there() {
		t.Error("a text that a run has was swept")
	}
	if err := os.RemoveAll(at("b")); err != nil {
		t.Fatal(err)
	}
	if sweep(0); !there() {
		t.Error("a new text was swept")
	}
	if sweep(2 * time.Hour); there() && runtime.GOOS != "windows" {
		t.Error("nobody's text stays")
	}
	if err := p.KeepPolicy(at("c"), digest, text); err != nil { // comes back
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(at("c/policy")), os.WriteFile(at("c/policy"), []byte("other"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := PolicyOf(at("c"), digest); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("another text was taken: %v", err)
	}
}
