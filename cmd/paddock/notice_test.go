package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"paddock/cmd/paddock/internal/desk/doorway"
	"paddock/cmd/paddock/internal/desk/rules/lookup"
	"paddock/internal/lineage"
)

// What callers are told of the policy follows its file: broken, whole again, gone.
func TestNoticeOfABrokenPolicy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "policy.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	const good = "version: 1\nroots: [{path: /srv}]\nexecutables: [{name: sh, path: /bin/sh, args: any}]\n"
	write(good)
	say := doorway.Notice(&lookup.Source{Places: lookup.Places{Flag: file, Lineage: lineage.System()}})
	if got := say(); got != "" {
		t.Errorf("of a good policy it says %q", got)
	}
	write(good + "nonsense: [\n")
	if got := say(); !strings.Contains(got, "was changed and is broken; the previous one is in force") {
		t.Errorf("of a broken policy it says %q", got)
	}
	write(good + "# whole again\n")
	if got := say(); got != "" {
		t.Errorf("of a policy that is whole again it says %q", got)
	}
	write(good + "nonsense: [\n")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if got := say(); got != "" { // nothing is in force then, as the refusal says
		t.Errorf("of a policy that is gone it says %q", got)
	}
}
