package served

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"paddock/internal/app/evidence/census/names"
)

func TestChanges(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	if err := os.Mkdir(filepath.Join(state, "tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	first := map[string]string{"listen": "127.0.0.1:1", "hosts": "", "log": "text"}
	if got := Changes(state, first); got != "no start before this one is known" {
		t.Error(got)
	}
	keep := func(words map[string]string) {
		t.Helper()
		if err := Keep(state, words); err != nil {
			t.Fatal(err)
		}
	}
	keep(first)
	if got := Changes(state, first); got != "" {
		t.Error(got)
	}
	next := map[string]string{"listen": "127.0.0.1:2", "hosts": "a\x1b\n" + strings.Repeat("x", 1000), "providers.p": "oidc"}
	got := Changes(state, next)
	for _, want := range []string{`listen: "127.0.0.1:1" → "127.0.0.1:2"`, `hosts: (none) → "a\x1b\nxxx`, `log: "text" → (none)`, `providers.p: (none) → "oidc"`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nlacks %s", got, want)
		}
	}
	if len(got) > 600 || strings.ContainsAny(got, "\x1b\n") {
		t.Errorf("%q", got)
	}
	keep(next)
	if left, err := os.ReadDir(filepath.Join(state, "tmp")); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
	for _, bad := range []string{"", "[]", `{"a":1}`, `{"a":"1","a":"2"}`, "\xff"} {
		if err := os.WriteFile(filepath.Join(state, names.Served), []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := Changes(state, next); !strings.HasPrefix(got, "what was before isn't known") {
			t.Errorf("%q: %s", bad, got)
		}
	}
}
