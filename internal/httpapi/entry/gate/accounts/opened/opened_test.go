//go:build linux

package opened_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"paddock/internal/httpapi/entry/gate"
	"paddock/internal/httpapi/entry/gate/accounts/opened"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

func open(t *testing.T, c opened.Config) *opened.Accounts {
	t.Helper()
	a, err := opened.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

func state(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err == nil {
		err = os.Chmod(dir, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// What is kept is ours alone, is there again the next time, and is written down.
func TestKept(t *testing.T) {
	t.Parallel()
	c := opened.Config{State: state(t), Now: time.Now}
	first := open(t, c)
	code, until, err := first.FirstLink(t.Context())
	if err != nil || code == "" || !until.After(time.Now()) {
		t.Fatalf("%q, %v, %v", code, until, err)
	}
	key, err := os.ReadFile(filepath.Join(c.State, opened.Key))
	if err != nil {
		t.Fatal(err)
	}
	again := open(t, c)
	if _, err := again.Login(t.Context(), gate.From{Addr: "127.0.0.1"}, gate.Proof{Code: code}); err != nil {
		t.Error(err)
	}
	if code, _, err := again.FirstLink(t.Context()); code != "" || err != nil {
		t.Errorf("another link (%v) for who is logged in", err)
	}
	if err := again.Forget(t.Context()); err != nil {
		t.Error(err)
	}
	if same, err := os.ReadFile(filepath.Join(c.State, opened.Key)); err != nil || string(same) != string(key) || len(key) != 32 {
		t.Error("the key is another one", err)
	}
	for _, name := range []string{opened.Database, opened.Key} {
		if st, err := os.Stat(filepath.Join(c.State, name)); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, st, err)
		}
	}
	journal, err := os.ReadFile(filepath.Join(c.State, "journal", "000001.jsonl"))
	if err != nil || !strings.Contains(string(journal), `"what":"user-added"`) || !strings.Contains(string(journal), `"what":"login"`) || strings.Contains(string(journal), code) {
		t.Errorf("%v, the journal:\n%s", err, journal)
	}
}

// What others can read is refused.
func TestOpenToOthers(t *testing.T) {
	t.Parallel()
	dir := state(t)
	for name, mode := range map[string]os.FileMode{opened.Key: 0o640, opened.Database: 0o604, "address": 0o644} {
		c := opened.Config{State: filepath.Join(dir, name+".state"), Now: time.Now}
		file := filepath.Join(c.State, name)
		if name == "address" {
			c.Postgres = file
		}
		if err := os.Mkdir(c.State, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(strings.Repeat("k", 32)), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		if a, err := opened.Open(t.Context(), c); err == nil || !strings.Contains(err.Error(), "can be read") {
			t.Errorf("%s: %v, %v", name, a, err)
		}
	}
}
