package durable

import (
	"path/filepath"
	"slices"
	"testing"
)

// What a power cut leaves of a file that wasn't made durable is told from what
// is damaged: only what can't be a whole text of ours is torn.
func TestTorn(t *testing.T) {
	t.Parallel()
	whole, err := EncodeJSON(note{1, "a\x00b"}, true)
	if err != nil || Torn(whole) {
		t.Errorf("%q is torn, %v", whole, err)
	}
	for _, torn := range []string{"", "\x00\x00\x00", `{"version":1`, "{\"version\":1\x00\x00}\n", "\x00\x00\"a\"}\n"} {
		if !Torn([]byte(torn)) {
			t.Errorf("%q isn't torn", torn)
		}
	}
}

// Not parallel: it listens to the whole package.
func TestPublishTakesAlong(t *testing.T) {
	dir := t.TempDir()
	along, name := filepath.Join(dir, "along"), filepath.Join(dir, "name")
	var synced []string
	hear := make(chan string, 16)
	Watch(func(name string) { hear <- name })
	t.Cleanup(func() { Watch(nil) })
	if err := Place(along, []byte("{}\n")); err != nil {
		t.Fatal(err)
	}
	if len(hear) != 0 {
		t.Errorf("Place waits for %q", <-hear)
	}
	if first, err := Publish(name, []byte("{}\n"), along, filepath.Join(dir, "missing")); !first || err != nil {
		t.Errorf("Publish = %v, %v", first, err)
	}
	Watch(nil)
	close(hear)
	for s := range hear {
		synced = append(synced, s)
	}
	if len(synced) != 3 || !slices.Contains(synced[:2], along) || synced[2] != dir {
		t.Errorf("synced %q; want a temporary file and %s, and then %s", synced, along, dir)
	}
}
