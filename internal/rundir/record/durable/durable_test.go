package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

type note struct {
	Version int    `json:"version"`
	Text    string `json:"text"`
}

func (n *note) FileVersion() int { return n.Version }

func TestPublishAndPlace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "f")
	for i, want := range []bool{true, false} {
		first, err := Publish(name, []byte{byte('a' + i)})
		if first != want || err != nil {
			t.Errorf("Publish %d = %v, %v", i, first, err)
		}
	}
	if b, err := Read(name, 1); string(b) != "a" || err != nil {
		t.Errorf("Read = %q, %v", b, err)
	}
	if err := Create(name, nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Create of what is there: %v", err)
	}
	if err := Place(name, []byte("ccc")); err != nil {
		t.Error(err)
	}
	if b, err := Read(name, 2); err == nil {
		t.Errorf("Read of more than its bound = %q", b)
	}
	if err := Place(filepath.Join(dir, "d", "f"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Replace nowhere: %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "dir"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Place(filepath.Join(dir, "dir"), nil); err == nil {
		t.Error("a directory was replaced")
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestEncodeJSON(t *testing.T) {
	t.Parallel()
	if _, err := EncodeJSON(note{1, "\xff"}, true); err == nil {
		t.Error("bad UTF-8 was encoded as if it were exact")
	}
	if b, err := EncodeJSON(note{1, "<\xff>"}, false); string(b) != "{\"version\":1,\"text\":\"<\uFFFD>\"}\n" || err != nil {
		t.Errorf("EncodeJSON = %s, %v", b, err)
	}
	if _, err := EncodeJSON(note{1, strings.Repeat("x", MaxJSON)}, false); err == nil {
		t.Error("what couldn't be read again was encoded")
	}
	var n note
	if err := DecodeJSON([]byte(`{"version":3,"text":7}`), &n); err == nil || !strings.Contains(err.Error(), "use a newer one") {
		t.Errorf("a newer version: %v", err)
	}
}
