package frames

import (
	"bytes"
	"encoding/hex"
	"errors"
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

// Files with markers exist, too: the version changes with the first, and nothing else
// of what was there.
func TestFormatOfMarkers(t *testing.T) {
	t.Parallel()
	d := &disk{}
	w, err := Create(d)
	if err != nil {
		t.Fatal(err)
	}
	if waiting, err := w.Grow(0, 3, 1_000_000_000); waiting || err != nil {
		t.Fatal(waiting, err)
	}
	if waiting, err := w.Drop(0, 7, 1_000_000_001); waiting || err != nil {
		t.Fatal(waiting, err)
	}
	// More of it is said a second later at the latest.
	if waiting, err := w.Drop(0, 0x0a_0000_0000, 1_000_000_002); !waiting || err != nil {
		t.Fatal(waiting, err)
	}
	if waiting, err := w.Grow(1, 0x0102, 1_000_000_003); !waiting || err != nil {
		t.Fatal(waiting, err)
	}
	if err := w.Settle(); err != nil {
		t.Fatal(err)
	}
	want := hex.EncodeToString([]byte("paddock frames\n\x00")) + "02000000200000000000000000000000" +
		"00ca9a3b00000000" + "0000000000000000" + "0000000000000000" + "03000000" + "01000000" +
		"01ca9a3b00000000" + "0300000000000000" + "0300000000000000" + "07000000" + "030a0000" +
		"03ca9a3b00000000" + "0300000000000000" + "0000000000000000" + "02010000" + "02000000"
	if got := hex.EncodeToString(d.data); got != want {
		t.Fatalf("got  %s\nwant %s", got, want)
	}
	x, err := Open(d)
	if err != nil {
		t.Fatal(err)
	}
	lost, marked, err := x.Lost()
	if diff := cmp.Diff([2]Lost{{Bytes: 0x0a_0000_0007, At: 1_000_000_001, Offset: 3, Combined: 3}}, lost); diff != "" || !marked || err != nil {
		t.Fatal(diff, marked, err)
	}
	// A marker in a file of the version without is damage, not a marker.
	d.data[versionAt] = 1
	if x, err = Open(d); err == nil {
		_, err = x.Pieces(0, 4)
	}
	if err == nil {
		t.Fatal("a marker is read in a file of the version that has none")
	}
}

// More is dropped than one marker can say: the next says the rest.
func TestMarkersAddUp(t *testing.T) {
	t.Parallel()
	d := &disk{}
	w, err := Create(d)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := w.Drop(1, maxLost-1, 5); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Settle(); err != nil {
		t.Fatal(err)
	}
	x, err := Open(d)
	if err != nil {
		t.Fatal(err)
	}
	if lost, _, err := x.Lost(); err != nil || lost[1].Bytes != 3*(maxLost-1) || w.Count() != 3 {
		t.Fatal(lost, w.Count(), err)
	}
}

// However long it goes on, what is dropped takes no more of the file than frames do.
func TestMarkersAreBounded(t *testing.T) {
	t.Parallel()
	d := &disk{}
	w, err := Create(d)
	if err != nil {
		t.Fatal(err)
	}
	var lost, size int64
	for i := range int64(200_000) { // of a stream that is kept again and again, which no Bank does
		size++
		if _, err := w.Grow(0, size, i); err != nil {
			t.Fatal(err)
		}
		lost += 3
		if _, err := w.Drop(0, 3, i); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Settle(); err != nil {
		t.Fatal(err)
	}
	if most := Free + size/Share + 4*RecordSize; w.Count()*RecordSize > most {
		t.Fatalf("%d bytes, more than %d", w.Count()*RecordSize, most)
	}
	x, err := Open(d)
	if err != nil {
		t.Fatal(err)
	}
	if got, _, err := x.Lost(); err != nil || got[0].Bytes != lost {
		t.Fatal(got, lost, err)
	}
}

// A write that fails loses no count: the next call says it.
func TestMarkersAfterAFailure(t *testing.T) {
	t.Parallel()
	for fail := range 6 {
		d := &failing{fail: fail}
		w, err := Create(&d.disk)
		if err != nil {
			t.Fatal(err)
		}
		w.w = d
		var told bool
		for i := range int64(4) {
			_, err := w.Drop(int(i%2), 1<<i, 1)
			told = told || err != nil
			_, err = w.Grow(int(1-i%2), 1+i/2, 1)
			told = told || err != nil
		}
		if err := w.Settle(); err != nil && d.fail > 0 {
			t.Fatal(err)
		}
		if err := w.Settle(); err != nil {
			t.Fatal(err)
		}
		if fail < 4 && !told {
			t.Fatalf("nobody was told of write %d", fail)
		}
		x, err := Open(&d.disk)
		if err != nil {
			t.Fatal(err)
		}
		lost, _, err := x.Lost()
		if err != nil || lost[0].Bytes != 5 || lost[1].Bytes != 10 || x.Covered() != [2]int64{2, 2} {
			t.Fatalf("write %d: %+v, %v, %v", fail, lost, x.Covered(), err)
		}
	}
}

// A failing disk fails one write.
type failing struct {
	disk
	fail int
}

func (d *failing) WriteAt(p []byte, off int64) (int, error) {
	if d.fail--; d.fail == -1 {
		return 0, errors.New("no")
	}
	return d.disk.WriteAt(p, off)
}

// Whatever is kept and dropped in whatever order, the markers say exactly how much of
// each stream was dropped and where, at any moment no more than that, and the bytes
// around them are found as without.
func TestMarkersSayWhatWasDropped(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := &disk{}
		w, err := Create(d)
		if err != nil {
			t.Fatal(err)
		}
		var order []int
		var size, lost [2]int64
		var first [2]*Lost
		now := int64(1)
		check := func(exact bool) *Index {
			x, err := Open(d)
			if err != nil {
				t.Fatal(err)
			}
			got, marked, err := x.Lost()
			if err != nil || !marked && exact && lost != [2]int64{} {
				t.Fatal(marked, err)
			}
			for s, g := range got {
				if g.Bytes > lost[s] || exact && g.Bytes != lost[s] || (g.Bytes > 0) != (lost[s] > 0) {
					t.Fatalf("stream %d: %d of %d", s, g.Bytes, lost[s])
				}
				if g.Bytes > 0 && (g.Offset != first[s].Offset || g.Combined != first[s].Combined || g.At != first[s].At) {
					t.Fatalf("stream %d: %+v, not %+v", s, g, first[s])
				}
			}
			return x
		}
		for range rapid.IntRange(0, 80).Draw(t, "steps") {
			s, n := rapid.IntRange(0, 1).Draw(t, "stream"), rapid.Int64Range(1, 5).Draw(t, "bytes")
			now += rapid.SampledFrom([]int64{0, 1, int64(Coalesce), int64(Pause)}).Draw(t, "passes")
			if rapid.Bool().Draw(t, "drop") {
				if first[s] == nil {
					first[s] = &Lost{At: now, Offset: size[s], Combined: size[0] + size[1]}
				}
				lost[s] += n
				_, err = w.Drop(s, n, now)
			} else {
				size[s] += n
				for range n {
					order = append(order, s)
				}
				_, err = w.Grow(s, size[s], now)
			}
			if err != nil {
				t.Fatal(err)
			}
			if rapid.Bool().Draw(t, "look") {
				check(false)
			}
		}
		if err := w.Settle(); err != nil {
			t.Fatal(err)
		}
		x := check(true)
		if x.Covered() != size {
			t.Fatal(x.Covered(), size)
		}
		list, err := x.Pieces(0, len(order))
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, p := range list {
			for range p.Length {
				got = append(got, p.Stream)
			}
		}
		if diff := cmp.Diff(order, got); diff != "" {
			t.Fatal(diff)
		}
		for off := range int64(len(order) + 1) {
			pos, err := x.Place(off)
			if err != nil || pos[0]+pos[1] != off {
				t.Fatal(off, pos, err)
			}
		}
		if pos, some, err := x.Since(now + 1); err != nil || some || pos != size {
			t.Fatal(pos, some, err)
		}
		p, some, err := x.Last(func([2]int64) (bool, error) { return true, nil })
		if err != nil || some != (len(order) > 0) || some && p.Combined+p.Length != int64(len(order)) {
			t.Fatal(p, some, err)
		}
	})
}

// Any bytes are a file of frames or an error, and what is read of them adds up.
func FuzzIndex(f *testing.F) {
	d := &disk{}
	w, err := Create(d)
	if err != nil {
		f.Fatal(err)
	}
	for i := range int64(4) {
		if _, err := w.Grow(int(i%2), i+1, i*int64(Coalesce)); err != nil {
			f.Fatal(err)
		}
		if _, err := w.Drop(int(i%2), 9, i*int64(Coalesce)); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(d.data)
	for i := range d.data {
		p := bytes.Clone(d.data)
		p[i] ^= 0xff
		f.Add(p)
		f.Add(d.data[:i])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		x, err := Open(&disk{data})
		if err != nil {
			return
		}
		if lost, marked, err := x.Lost(); err == nil {
			for _, l := range lost {
				if l.Bytes < 0 || l.Offset < 0 || l.Combined < l.Offset || l != (Lost{}) && (!marked || l.Bytes == 0) {
					t.Fatalf("%+v, %v", lost, marked)
				}
			}
		}
		total := x.Covered()[0] + x.Covered()[1]
		if n := int(min(max(total, 0), 1<<16)); n > 0 {
			list, err := x.Pieces(0, n)
			for _, p := range list {
				n -= p.Length
			}
			if err == nil && n != 0 {
				t.Fatalf("%d bytes are missing of %+v", n, list)
			}
		}
		for _, at := range []int64{0, 1, int64(Pause)} {
			if _, _, err := x.Since(at); err != nil {
				continue
			}
			x.Place(at)
			x.Last(func(p [2]int64) (bool, error) { return p[0] < at, nil })
		}
	})
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
