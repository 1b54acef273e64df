package frames

import (
	"bytes"
	"encoding/hex"
	"io/fs"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// A disk is a file in memory.
type disk struct{ data []byte }

func (d *disk) WriteAt(p []byte, off int64) (int, error) {
	if end := int(off) + len(p); end > len(d.data) {
		d.data = append(d.data, make([]byte, end-len(d.data))...)
	}
	return copy(d.data[off:], p), nil
}

func (d *disk) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(d.data).ReadAt(p, off)
}
func (d *disk) Close() error               { return nil }
func (d *disk) Stat() (fs.FileInfo, error) { return d, nil }
func (d *disk) Size() int64                { return int64(len(d.data)) }
func (d *disk) Name() string               { return Name }
func (d *disk) Mode() fs.FileMode          { return 0 }
func (d *disk) ModTime() time.Time         { return time.Time{} }
func (d *disk) IsDir() bool                { return false }
func (d *disk) Sys() any                   { return nil }

// Files of this version exist: their bytes never change meaning.
func TestFormat(t *testing.T) {
	t.Parallel()
	d := &disk{}
	w, err := Create(d)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		stream    int
		size, now int64
	}{{0, 3, 1_000_000_000}, {0, 5, 1_000_000_001}, {1, 0x0102, 1_000_000_002}} {
		if waiting, err := w.Grow(step.stream, step.size, step.now); waiting || err != nil {
			t.Fatal(waiting, err)
		}
	}
	want := hex.EncodeToString([]byte("paddock frames\n\x00")) + "01000000200000000000000000000000" +
		"00ca9a3b00000000" + "0000000000000000" + "0000000000000000" + "05000000" + "01000000" +
		"02ca9a3b00000000" + "0500000000000000" + "0000000000000000" + "02010000" + "02000000"
	if got := hex.EncodeToString(d.data); got != want {
		t.Fatalf("got  %s\nwant %s", got, want)
	}
}

// What a Writer was told in its free part, an Index finds: by any range and time.
func TestIndexFindsWhatWasWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := &disk{}
		w, err := Create(d)
		if err != nil {
			t.Fatal(err)
		}
		var order []int // the stream of each byte
		var when []int64
		var size [2]int64
		now := int64(1)
		for range rapid.IntRange(0, 200).Draw(t, "steps") {
			s, n := rapid.IntRange(0, 1).Draw(t, "stream"), rapid.IntRange(1, 5).Draw(t, "bytes")
			now += int64(Coalesce) // nothing joins
			size[s] += int64(n)
			if waiting, err := w.Grow(s, size[s], now); waiting || err != nil {
				t.Fatal(waiting, err)
			}
			for range n {
				order, when = append(order, s), append(when, now)
			}
		}
		x, err := Open(d)
		if err != nil || x.Covered() != size {
			t.Fatal(x.Covered(), size, err)
		}
		if len(order) == 0 {
			return
		}
		from := rapid.IntRange(0, len(order)-1).Draw(t, "from")
		to := rapid.IntRange(from, len(order)).Draw(t, "to")
		list, err := x.Pieces(int64(from), to-from)
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, p := range list {
			for range p.Length {
				if when[from+len(got)] != p.At {
					t.Fatalf("byte %d at %d, arrived at %d", from+len(got), p.At, when[from+len(got)])
				}
				got = append(got, p.Stream)
			}
		}
		if diff := cmp.Diff(order[from:to], got); from < to && diff != "" {
			t.Fatal(diff)
		}
		pos, some, err := x.Since(when[from])
		if first := pos[0] + pos[1]; err != nil || !some || when[first] != when[from] || first > 0 && when[first-1] == when[from] {
			t.Fatal(pos, some, err)
		}
	})
}
