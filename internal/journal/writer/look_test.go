package writer

import (
	"testing"

	"paddock/internal/journal"
)

// Who has looked where the journal ends adds after what others added meanwhile, and
// makes nothing by looking.
func TestLook(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open := func() *Writer {
		w, err := Open(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := w.Close(); err != nil {
				t.Error(err)
			}
		})
		return w
	}
	entries := func() (all []journal.Entry) {
		segments, err := journal.Segments(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range segments {
			if err := journal.ScanSegment(s, func(l journal.Line) error {
				e, err := l.Entry()
				all = append(all, e)
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
		return all
	}
	first, other := open(), open()
	first.Look(t.Context())
	if segments, err := journal.Segments(dir); err != nil || len(segments) != 0 {
		t.Fatalf("%v, %v: a look made a segment", segments, err)
	}
	add := func(w *Writer) {
		if err := w.Append(t.Context(), journal.Entry{Kind: journal.Abandoned, Run: "r", Abandoned: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	add(other)
	first.Look(t.Context())
	before := first.end
	add(first)
	if before == nil || first.end != before {
		t.Error("what was looked up isn't used")
	}
	other.Look(t.Context())
	add(first)
	add(other)
	all := entries()
	for i, e := range all {
		if e.Seq != int64(i+1) || i > 0 && e.Prev != all[i-1].Digest {
			t.Errorf("entry %d is %d, after %s, and not after %s", i, e.Seq, e.Prev, all[i-1].Digest)
		}
	}
	if len(all) != 5 { // with the beginning
		t.Errorf("%d entries, want 5", len(all))
	}
}
