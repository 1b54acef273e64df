//go:build linux

package opened_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"paddock/internal/approval/vouched"
	"paddock/internal/auth"
	"paddock/internal/auth/keyfile"
	"paddock/internal/httpapi/entry/gate"
	"paddock/internal/httpapi/entry/gate/accounts/opened"
	"paddock/internal/store"
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
	key, err := os.ReadFile(filepath.Join(c.State, keyfile.Name))
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
	if same, err := os.ReadFile(filepath.Join(c.State, keyfile.Name)); err != nil || string(same) != string(key) || len(key) != 32 {
		t.Error("the key is another one", err)
	}
	for _, name := range []string{opened.Database, keyfile.Name} {
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
	for name, mode := range map[string]os.FileMode{keyfile.Name: 0o640, opened.Database: 0o604, "address": 0o644} {
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

// The server's word stands beside a vote only where a factor was just shown, in a session.
func TestVouch(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	c := opened.Config{State: state(t), Now: func() time.Time { return now }}
	a := open(t, c)
	secret, err := keyfile.Read(filepath.Join(c.State, keyfile.Name))
	if err != nil {
		t.Fatal(err)
	}
	key, err := keyfile.Verifier(secret)
	if err != nil {
		t.Fatal(err)
	}
	user := store.User{ID: "u1", Name: "anna"}
	who := func(shown time.Duration) auth.Who {
		return auth.OfSession(user, store.Session{ID: "s1", Proven: store.At(now.Add(-shown))}, vouched.Fresh, store.At(now))
	}
	bare := auth.OfSession(user, store.Session{ID: "s1"}, vouched.Fresh, store.At(now))
	for name, w := range map[string]auth.Who{"nobody": {}, "no factor": bare, "too old": who(vouched.Fresh), "a token": auth.OfToken(user, store.Token{ID: "t1"}, store.At(now)), "the operator": auth.Local()} {
		if got, err := a.Vouch(w, []byte("vote")); err != nil || string(got) != "vote" {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	word, err := a.Vouch(who(time.Minute), []byte("vote"))
	if err != nil {
		t.Fatal(err)
	}
	said, err := vouched.Open(&key.Public, word)
	if err != nil || said.Vote != "vote" || said.Account != "anna" || said.Check("anna", now, now) != nil || said.Check("ben", now, now) == nil {
		t.Errorf("%+v, %v", said, err)
	}
	if again, err := a.Vouch(who(0), word); err != nil || string(again) != string(word) {
		t.Errorf("it is vouched for twice: %s, %v", again, err)
	}
}
