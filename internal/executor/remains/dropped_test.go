package remains

import (
	"os"
	"path/filepath"
	"testing"

	"paddock"
	"paddock/internal/artifact"
	"paddock/internal/rundir/record/durable/losses"
)

// Of a run that was lost its frames may know more than was noted: that is noted.
func TestDroppedIsNotedFromFrames(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		noted, want []paddock.Loss
	}{
		"nothing was": {nil, []paddock.Loss{{Stream: paddock.Stdout, Offset: 3, Bytes: 9}, {Stream: paddock.Stderr, Bytes: 1}}},
		"less was": {
			[]paddock.Loss{{Stream: paddock.Stdout, Offset: 3, Bytes: 4, Cause: paddock.ReasonQuota}, {Stream: paddock.Stderr, Bytes: 1}},
			[]paddock.Loss{{Stream: paddock.Stdout, Offset: 3, Bytes: 9, Cause: paddock.ReasonQuota}, {Stream: paddock.Stderr, Bytes: 1}},
		},
		"more was": {
			[]paddock.Loss{{Stream: paddock.Stdout, Offset: 3, Bytes: 10}, {Stream: paddock.Stderr, Bytes: 2}},
			[]paddock.Loss{{Stream: paddock.Stdout, Offset: 3, Bytes: 10}, {Stream: paddock.Stderr, Bytes: 2}},
		},
	} {
		dir := t.TempDir()
		b, err := artifact.Create(dir, artifact.Options{Cap: 3})
		must(t, err)
		if kept, over, err := b.Append(paddock.Stdout, []byte("123456")); kept != 3 || !over || err != nil {
			t.Fatal(kept, over, err)
		}
		b.Drop(paddock.Stdout, 9)
		b.Drop(paddock.Stderr, 1)
		must(t, b.Close()) // as if its process were ended
		if c.noted != nil {
			must(t, losses.Note(dir, c.noted))
		}
		must(t, dropped(dir))
		got, err := losses.Read(dir)
		must(t, err)
		if len(got) != len(c.want) {
			t.Fatalf("%s: %+v", name, got)
		}
		for i, want := range c.want {
			g := got[i]
			if g.Stream != want.Stream || g.Offset != want.Offset || g.Bytes != want.Bytes || g.Cause != want.Cause {
				t.Errorf("%s: %+v, want %+v", name, g, want)
			}
		}
	}
}

// Nothing is noted of output that lost nothing, or that can't be read.
func TestNothingDroppedIsNoted(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"none": "", "of another kind": "something else", "NUL": "\x00"} {
		dir := t.TempDir()
		for _, file := range []string{"stdout", "stderr"} {
			must(t, os.WriteFile(filepath.Join(dir, file), nil, 0o600))
		}
		must(t, os.WriteFile(filepath.Join(dir, "frames"), []byte(text), 0o600))
		must(t, dropped(dir))
		if got, err := losses.Read(dir); err != nil || got != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	must(t, dropped(t.TempDir()))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
