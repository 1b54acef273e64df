//go:build linux

package feed

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"paddock/internal/artifact/masks"
	"paddock/internal/artifact/packed"
	"paddock/internal/redact"
	"paddock/internal/rundir"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

// What a program is fed with is what readers are shown, packed or not.
func TestShown(t *testing.T) {
	t.Parallel()
	state, err := rundir.Open(filepath.Join(t.TempDir(), "state"))
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	text := strings.Repeat("plain secret\n", 5000)
	for _, c := range []struct{ isPacked, isMasked bool }{{false, false}, {false, true}, {true, false}, {true, true}} {
		path, want := filepath.Join(t.TempDir(), "stdout"), text
		name := path
		if c.isPacked {
			name += packed.Suffix
		}
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil && c.isPacked {
			_, err = packed.Pack(t.Context(), f, strings.NewReader(text))
		} else if err == nil {
			_, err = f.WriteString(text)
		}
		if err == nil {
			_, err = f.Seek(0, io.SeekStart)
		}
		if err != nil {
			t.Fatal(err)
		}
		if c.isMasked {
			w, err := masks.Create(path, 0)
			if err == nil {
				err = w.Add([]redact.Span{{Offset: 6, Length: 6}, {Offset: 13, Length: 5}})
			}
			if err == nil {
				err = w.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
			want = "plain ******\n*****" + text[18:]
		}
		if size, err := Size(f); err != nil || size != int64(len(text)) {
			t.Errorf("%+v: %d bytes, %v", c, size, err)
		}
		shown, err := Shown(t.Context(), state, f)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(shown)
		if err != nil || string(got) != want {
			t.Errorf("%+v: %d bytes, %v: %.40q", c, len(got), err, got)
		}
		if (shown == f) != (!c.isPacked && !c.isMasked) {
			t.Errorf("%+v: the file itself: %t", c, shown == f)
		}
		if err := shown.Close(); err != nil {
			t.Error(err)
		}
	}
	if left, err := filepath.Glob(filepath.Join(state.Path(), ".*")); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}
