package kernfs

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestRead(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"/proc/self/cgroup", "/proc/sys/kernel/random/boot_id", "/proc/cpuinfo", os.DevNull} {
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Read(name)
		if err != nil || name != "/proc/cpuinfo" && !bytes.Equal(got, want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	long := filepath.Join(t.TempDir(), "long")
	text := bytes.Repeat([]byte("0123456789\n"), 5000)
	if err := os.WriteFile(long, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := Read(long); err != nil || !bytes.Equal(got, text) {
		t.Errorf("%d of %d bytes, %v", len(got), len(text), err)
	}
	for name, want := range map[string]error{"/proc/no/such": fs.ErrNotExist, "/proc": syscall.EISDIR, "a\x00b": syscall.EINVAL, strings.Repeat("x", 5000): syscall.ENAMETOOLONG} {
		if got, err := Read(name); !errors.Is(err, want) || got != nil {
			t.Errorf("%.20q: %q, %v, want %v", name, got, err, want)
		}
	}
}

// What isn't there isn't made, and what is longer isn't cut.
func TestWrite(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "file")
	if err := Write(name, "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := os.WriteFile(name, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Write(name, "x"); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(name); err != nil || string(got) != "xefore" {
		t.Errorf("%q, %v", got, err)
	}
	if err := Write("/dev/full", "x"); !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
}
