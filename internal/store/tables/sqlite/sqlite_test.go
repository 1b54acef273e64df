//go:build linux

package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"paddock/internal/store"
	"paddock/internal/store/storetest"
	"paddock/internal/store/tables/sqlite"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

func open(t testing.TB, path string) store.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// place returns where a database could be.
func place(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "paddock.db")
}

func TestConforms(t *testing.T) {
	storetest.Conform(t, func(t testing.TB) store.Store { return open(t, place(t)) })
}

func TestPathsAreTakenAsTheyAre(t *testing.T) {
	path := filepath.Join(filepath.Dir(place(t)), "a ?mode=memory&b#c%20.db")
	s := open(t, path)
	u := storetest.NewUser(t, s, store.Viewer)
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
	if _, err := open(t, path).User(t.Context(), u.ID); err != nil {
		t.Error(err)
	}
	if _, err := sqlite.Open(t.Context(), "relative.db"); !errors.Is(err, store.ErrInvalid) {
		t.Error("a relative path:", err)
	}
}

// TestManyOpenAtOnce opens a new database by several at once: one makes the tables.
func TestManyOpenAtOnce(t *testing.T) {
	path := place(t)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			s, err := sqlite.Open(t.Context(), path)
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

func TestOpenToOthersIsRefused(t *testing.T) {
	path := place(t)
	if err := open(t, path).Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		st, err := os.Stat(name)
		if err != nil || st.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s is open to others: %v, %v", name, st, err)
		}
	}
	for what, spoil := range map[string]func(path string) error{
		"the file can be read":         func(p string) error { return os.Chmod(p, 0o640) },
		"the directory can be written": func(p string) error { return os.Chmod(filepath.Dir(p), 0o777) },
		"a second name":                func(p string) error { return os.Link(p, p+"2") },
		"a link":                       func(p string) error { return errors.Join(os.Rename(p, p+"2"), os.Symlink(p+"2", p)) },
		"a directory":                  func(p string) error { return errors.Join(os.Remove(p), os.Mkdir(p, 0o700)) },
		"a pipe":                       func(p string) error { return errors.Join(os.Remove(p), unix.Mkfifo(p, 0o600)) },
		"of somebody else":             func(p string) error { return os.Chown(p, 65534, 65534) },
	} {
		t.Run(what, func(t *testing.T) {
			if what == "of somebody else" && os.Geteuid() != 0 {
				t.Skip("only root gives files away")
			}
			path := place(t)
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := spoil(path); err != nil {
				t.Fatal(err)
			}
			s, err := sqlite.Open(t.Context(), path)
			if err == nil {
				t.Error("opened", s.Close())
			}
			if spoilt := what == "a pipe" || what == "of somebody else"; spoilt && !errors.Is(err, store.ErrOpen) {
				t.Error("that isn't why:", err)
			}
			if what == "the directory can be written" {
				return // who saves and restores names the file, wherever it is
			}
			if err := sqlite.Backup(t.Context(), path, filepath.Join(t.TempDir(), "to")); err == nil || what == "of somebody else" && !errors.Is(err, store.ErrOpen) {
				t.Error("a backup of it:", err)
			}
			if err := sqlite.Restore(t.Context(), path, filepath.Join(t.TempDir(), "to")); err == nil || what == "of somebody else" && !errors.Is(err, store.ErrOpen) {
				t.Error("restored from it:", err)
			}
		})
	}
}

func TestNewerIsRefused(t *testing.T) {
	path := place(t)
	open(t, path)
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := db.ExecContext(t.Context(), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)"); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(t.Context(), path); !errors.Is(err, store.ErrNewer) {
		t.Error("opened a newer one:", err)
	}
	copied := path + ".copy"
	if err := sqlite.Backup(t.Context(), path, copied); err != nil {
		t.Fatal(err)
	}
	if err := sqlite.Restore(t.Context(), copied, path+".new"); !errors.Is(err, store.ErrNewer) {
		t.Error("restored a newer one:", err)
	}
}

func TestBackupAndRestore(t *testing.T) {
	ctx := t.Context()
	path := place(t)
	s := open(t, path)
	u := storetest.NewUser(t, s, store.Admin)
	saved, again := path+".saved", path+".again"
	if err := sqlite.Backup(ctx, path, saved); err != nil {
		t.Fatal(err)
	}
	later := storetest.NewUser(t, s, store.Admin)
	if st, err := os.Stat(saved); err != nil || st.Mode().Perm() != 0o600 {
		t.Error("a backup that others can read:", st, err)
	}
	if err := sqlite.Backup(ctx, path, saved); !errors.Is(err, os.ErrExist) {
		t.Error("over an older backup:", err)
	}
	if err := sqlite.Restore(ctx, saved, path); !errors.Is(err, os.ErrExist) {
		t.Error("over a database:", err)
	}
	if err := sqlite.Restore(ctx, saved, again); err != nil {
		t.Fatal(err)
	}
	back := open(t, again)
	if _, err := back.User(ctx, u.ID); err != nil {
		t.Error(err)
	}
	if _, err := back.User(ctx, later.ID); !errors.Is(err, store.ErrNotFound) {
		t.Error("what came after the backup:", err)
	}
	text, err := os.ReadFile(saved)
	if err != nil {
		t.Fatal(err)
	}
	for what, spoil := range map[string]func([]byte) []byte{
		"cut":     func(b []byte) []byte { return b[:len(b)/2] },
		"empty":   func([]byte) []byte { return nil },
		"no such": func([]byte) []byte { return []byte("this is a text, and not a database at all") },
	} {
		broken := path + "." + what
		if err := os.WriteFile(broken, spoil(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := sqlite.Restore(ctx, broken, broken+".db"); err == nil {
			t.Error("restored from what is", what)
		}
		if _, err := os.Stat(broken + ".db"); err == nil {
			t.Error("something was left of what is", what)
		}
	}
}

// TestGivenUp sees that nothing of a change is kept whose context ended.
func TestGivenUp(t *testing.T) {
	s := open(t, place(t))
	u := storetest.NewUser(t, s, store.Operator)
	w := storetest.NewWorker(t, s)
	r := storetest.Enqueue(t, s, storetest.NewRun(t, u.ID, storetest.Noon))
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, _, err := s.Renew(ctx, w.ID, w.Epoch, storetest.Term(storetest.Noon)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if got := storetest.Take(t, s, w, r.ID); len(got) != 1 {
		t.Error("the next one can't do anything")
	}
}
