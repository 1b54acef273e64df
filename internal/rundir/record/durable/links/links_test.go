//go:build linux

package links

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"paddock"
	"paddock/internal/rundir/record/durable"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

// The key of a run that isn't there goes, if it leads to that run and to no other;
// whatever is in place of what the run should have said, nothing else is removed.
func TestDropKey(t *testing.T) {
	t.Parallel()
	const asked = `{"version":1,"request":{"idempotency_key":"k"}}`
	for name, c := range map[string]struct {
		spoil func(dir, key string) error
		stays bool
	}{
		"as it was":          {func(string, string) error { return nil }, false},
		"no claim":           {func(dir, _ string) error { return os.Remove(filepath.Join(dir, Claim)) }, true},
		"no request":         {func(dir, _ string) error { return os.Remove(filepath.Join(dir, "request.json")) }, true},
		"a torn request":     {write(asked[:20]), true},
		"a request twice":    {write(`{"request":{"idempotency_key":"k"},"request":{"idempotency_key":"k"}}`), true},
		"a key of NUL":       {write(`{"request":{"idempotency_key":"\u0000"}}`), true},
		"a key that is long": {write(`{"request":{"idempotency_key":"` + strings.Repeat("k", 5000) + `"}}`), true},
		"a key of a number":  {write(`{"request":{"idempotency_key":1}}`), true},
		"no key":             {write(`{"request":{}}`), true},
		"bad UTF-8":          {write("{\"request\":{\"idempotency_key\":\"\xff\"}}"), true},
		"a link in its place": {func(dir, _ string) error {
			name := filepath.Join(dir, "request.json")
			if err := os.Rename(name, name+".away"); err != nil {
				return err
			}
			return os.Symlink(name+".away", name)
		}, true},
		"another's": {func(_, key string) error {
			if err := os.Remove(key); err != nil {
				return err
			}
			return os.WriteFile(key, []byte("{}"), 0o600)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := t.TempDir()
			dir, x := filepath.Join(state, "run"), Index{state}
			id, err := paddock.ParseRunID("r00000000000000000000000000")
			must(t, err)
			e := EntryOf(durable.Version, id, paddock.Principal{Kind: paddock.User, ID: "user:ann"}, "")
			text, err := durable.EncodeJSON(e, false)
			must(t, err)
			for _, name := range []string{dir, filepath.Join(state, KeysDir)} {
				must(t, os.Mkdir(name, 0o700))
			}
			must(t, os.WriteFile(filepath.Join(dir, Claim), text, 0o600))
			must(t, os.WriteFile(filepath.Join(dir, "request.json"), []byte(asked), 0o600))
			key := x.Key(e.Principal, "k")
			must(t, Link(dir, key))
			must(t, c.spoil(dir, key))
			for range 2 {
				must(t, x.DropKey(dir))
			}
			if _, err := os.Lstat(key); (err == nil) != c.stays {
				t.Errorf("the key: %v", err)
			}
		})
	}
}

func write(text string) func(dir, key string) error {
	return func(dir, _ string) error {
		return os.WriteFile(filepath.Join(dir, "request.json"), []byte(text), 0o600)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
