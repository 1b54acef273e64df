package remains

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"paddock/internal/contain/protect"
)

// Of a run that never came to be what was put into its root is taken away, but nothing that
// lies behind a link that is there now.
func TestUnborn(t *testing.T) {
	t.Parallel()
	const id = "r0000000000000-nobody"
	root := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(root, link))
	left := func() {
		t.Helper()
		for _, name := range []string{".claude", ".envrc"} {
			must(t, os.Mkdir(filepath.Join(root, name), 0o755))
			must(t, os.Chtimes(filepath.Join(root, name), time.Unix(0, 0), time.Unix(0, 0)))
		}
	}
	count := func() int {
		entries, err := os.ReadDir(root)
		must(t, err)
		return len(entries)
	}
	warn := func(err error) { t.Error(err) }
	left()
	Unborn(id, link, warn)
	Unborn(id, "", warn)
	if got := count(); got != 2 {
		t.Errorf("of 2 behind a link %d are there", got)
	}
	Unborn(id, root, warn)
	if got := count(); got != 0 {
		t.Errorf("%d are left", got)
	}
	f, err := os.Open(root)
	must(t, err)
	g, err := protect.Keep(f, nil)
	must(t, err)
	made := count()
	Unborn(id, root, warn)
	if got := count(); got != made || made == 0 {
		t.Errorf("of %d that a run relies on %d are there", made, got)
	}
	must(t, g.Release())
}
