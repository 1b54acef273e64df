//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// At a terminal init shows what it would allow and asks; nothing but yes is one.
func TestPolicyInitAsks(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]int{"y\n": 0, "yes\n": 0, " YES \n": 0, "n\n": 125, "\n": 125, "": 125, "yet\n": 125} {
		d := newPerson(t)
		if err := os.WriteFile(filepath.Join(d.Dir, "Makefile"), []byte("all:\n\ttrue\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		d.ErrTerminal, d.In = true, strings.NewReader(answer)
		if got := d.types("policy", "init"); got != want {
			t.Errorf("%q: status %d, want %d: %s", answer, got, want, &d.err)
		}
		if !strings.Contains(d.err.String(), "paddock: write a policy that allows ") || !strings.Contains(d.err.String(), "? [y/N] ") {
			t.Errorf("%q: it asks %q", answer, &d.err)
		}
		made, err := filepath.Glob(filepath.Join(d.env["HOME"], ".config/paddock/projects/*.yaml"))
		if err != nil || len(made) != 1 && want == 0 || len(made) != 0 && want != 0 {
			t.Errorf("%q: it made %v, %v", answer, made, err)
		}
	}
}
