package keyfile_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"paddock/internal/auth/keyfile"
)

// Servers that begin at once have one key, and vouch with one that comes from it.
func TestOneKey(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), keyfile.Name)
	if _, err := keyfile.Read(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("none is there: %v", err)
	}
	keys := make([][]byte, 8)
	var all sync.WaitGroup
	for i := range keys {
		all.Go(func() {
			var err error
			if keys[i], err = keyfile.Open(path); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	first, err := keyfile.Verifier(keys[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		v, err := keyfile.Verifier(k)
		if err != nil || !bytes.Equal(k, keys[0]) || v.ID() != first.ID() {
			t.Errorf("another key: %v", err)
		}
	}
	if other, err := keyfile.Verifier(keyfile.Fresh()); err != nil || other.ID() == first.ID() {
		t.Errorf("another server has the same: %v", err)
	}
	if bytes.Contains(first.Raw(), keys[0]) {
		t.Error("the key is told")
	}
	left, err := filepath.Glob(path + ".*")
	if err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}

func TestBadKeys(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"empty": "", "short": strings.Repeat("k", 31), "long": strings.Repeat("k", 33)} {
		path := filepath.Join(t.TempDir(), keyfile.Name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := keyfile.Open(path); err == nil {
			t.Errorf("%s is a key", name)
		}
		if _, err := keyfile.Verifier([]byte(text)); err == nil {
			t.Errorf("%s makes a verifier", name)
		}
	}
}
