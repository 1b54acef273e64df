//go:build unix

package audit

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"paddock/internal/journal"
	"paddock/internal/journal/sign"
	"paddock/internal/journal/writer"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// journalOf makes a journal of some entries beside its first, in segments of a
// size.
func journalOf(t testing.TB, size int64, count int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "journal")
	w, err := writer.Open(dir, writer.Options{SegmentSize: size})
	must(t, err)
	for i := range count {
		must(t, w.Append(t.Context(), journal.Entry{Kind: journal.Abandoned, Abandoned: strconv.Itoa(i)}))
	}
	must(t, w.Close())
	return dir
}

func run(t testing.TB, dir string, opt Options) *Report {
	t.Helper()
	r, err := Run(t.Context(), dir, opt)
	must(t, err)
	return r
}

// text returns the first segment, and rewrite puts another in its place.
func text(t testing.TB, dir string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, journal.Name(1)))
	must(t, err)
	return b
}

func rewrite(t testing.TB, dir string, b []byte) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(dir, journal.Name(1)), b, 0o600))
}

func lines(b []byte) [][]byte { return slices.Collect(bytes.Lines(b)) }

func join(all ...[]byte) []byte { return bytes.Join(all, nil) }

func TestEveryFlippedBitIsFound(t *testing.T) {
	t.Parallel()
	dir := journalOf(t, 0, 3)
	// A torn line and what closed it are covered, too.
	rewrite(t, dir, append(text(t, dir), `{"seq":5,"torn`...))
	w, err := writer.Open(dir, writer.Options{})
	must(t, err)
	must(t, errors.Join(w.Append(t.Context(), journal.Entry{Kind: journal.Abandoned, Abandoned: "last"}), w.Close()))
	good := text(t, dir)
	if r := run(t, dir, Options{}); !r.Whole() || r.Recovered != 1 || r.Entries != 6 {
		t.Fatalf("%+v", r)
	}
	name := filepath.Join(dir, journal.Name(1))
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	must(t, err)
	defer f.Close()
	for i := range good {
		for bit := range 8 {
			_, err := f.WriteAt([]byte{good[i] ^ 1<<bit}, int64(i))
			must(t, err)
			if r := run(t, dir, Options{}); r.Whole() {
				t.Fatalf("bit %d of byte %d (%q) is missed", bit, i, good[i])
			}
		}
		_, err := f.WriteAt(good[i:i+1], int64(i))
		must(t, err)
	}
	if r := run(t, dir, Options{}); !r.Whole() {
		t.Error("the journal isn't what it was")
	}
}

func TestChangedLines(t *testing.T) {
	t.Parallel()
	other := lines(text(t, journalOf(t, 0, 6)))
	for name, c := range map[string]struct {
		change func(l [][]byte) []byte
		want   string
	}{
		"dropped":         {func(l [][]byte) []byte { return join(join(l[:3]...), join(l[4:]...)) }, "000001.jsonl:4: entry 5 follows entry 3: 1 are missing between them"},
		"the first":       {func(l [][]byte) []byte { return join(l[1:]...) }, "000001.jsonl:1: entry 2 follows entry 0: 1 are missing between them"},
		"repeated":        {func(l [][]byte) []byte { return join(join(l[:4]...), l[3], join(l[4:]...)) }, "000001.jsonl:5: entry 4 comes again after entry 4"},
		"reordered":       {func(l [][]byte) []byte { return join(l[0], l[2], l[1], join(l[3:]...)) }, "000001.jsonl:3: entry 2 comes again after entry 3"},
		"the last two":    {func(l [][]byte) []byte { return join(join(l[:5]...), l[6], l[5]) }, "000001.jsonl:6: entry 7 follows entry 5"},
		"inserted":        {func(l [][]byte) []byte { return join(join(l[:4]...), []byte("{}\n"), join(l[4:]...)) }, "000001.jsonl:5: it isn't a whole entry"},
		"of another":      {func(l [][]byte) []byte { return join(join(l[:4]...), other[4], join(l[5:]...)) }, "000001.jsonl:5: entry 5 follows"},
		"truncated":       {func(l [][]byte) []byte { b := join(l...); return b[:len(b)-5] }, "000001.jsonl:7: it is torn"},
		"damaged":         {func(l [][]byte) []byte { b := bytes.Clone(join(l...)); b[len(l[0])+9]++; return b }, "000001.jsonl:2: its content has the digest"},
		"joined":          {func(l [][]byte) []byte { return join(l[0], bytes.TrimSuffix(l[1], []byte("\n")), join(l[2:]...)) }, "000001.jsonl:2: its content has"},
		"an endless line": {func(l [][]byte) []byte { return join(join(l...), bytes.Repeat([]byte("x"), 10<<20), []byte("\n")) }, "000001.jsonl:8: it is longer than 65536 bytes"},
		"NULs":            {func(l [][]byte) []byte { return join(l[0], make([]byte, 1000), join(l[1:]...)) }, "000001.jsonl:2: it"},
		"bad UTF-8":       {func(l [][]byte) []byte { return join(l[0], []byte("\xff\xfe\n"), join(l[1:]...)) }, "000001.jsonl:2: it isn't a whole entry"},
		"nothing":         {func([][]byte) []byte { return nil }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := journalOf(t, 0, 6)
			good := run(t, dir, Options{})
			rewrite(t, dir, c.change(lines(text(t, dir))))
			r := run(t, dir, Options{})
			if c.want != "" && !slices.ContainsFunc(r.Faults, func(f Fault) bool { return strings.Contains(f.String(), c.want) }) {
				t.Errorf("faults %v, want %q", r.Faults, c.want)
			}
			if _, ok := r.Statement(); ok && c.want != "" {
				t.Error("a statement is made of what is wrong")
			}
			if name == "truncated" || name == "nothing" || name == "the last two" {
				return
			}
			// What is wrong before the head is wrong with it, too.
			if r := run(t, dir, Options{Heads: []journal.Head{good.Head}}); r.Whole() {
				t.Error("with the head nothing is wrong")
			}
		})
	}
}

func TestACutTailIsFoundByWhatWasSaved(t *testing.T) {
	t.Parallel()
	key, err := sign.Create(filepath.Join(t.TempDir(), "key"))
	must(t, err)
	dir := journalOf(t, 1<<10, 9)
	a := New(dir, Options{})
	must(t, a.Read(t.Context()))
	r := a.Finish()
	s, ok := r.Statement()
	if !ok || s.Size != r.Head.Seq {
		t.Fatalf("%+v of %+v", s, r)
	}
	note, err := key.Checkpoint(s)
	must(t, err)
	saved := Options{Heads: []journal.Head{r.Head}, Checkpoints: []string{note}, OpenNote: key.Open}
	if r := run(t, dir, saved); !r.Whole() || r.Saved != 2 {
		t.Fatalf("%+v", r)
	}
	segments, err := journal.Segments(dir)
	must(t, err)
	last := segments[len(segments)-1]
	must(t, os.Remove(last.Path))
	if r := run(t, dir, Options{}); !r.Whole() {
		t.Fatalf("without anything saved: %v", r.Faults)
	}
	r = run(t, dir, saved)
	if len(r.Faults) != 2 || !strings.Contains(r.Faults[0].Message, "was cut off") || !strings.Contains(r.Faults[1].Message, "was cut off") {
		t.Errorf("%v", r.Faults)
	}
	// The same if somebody writes on.
	w, err := writer.Open(dir, writer.Options{})
	must(t, err)
	for range 10 {
		must(t, w.Append(t.Context(), journal.Entry{Kind: journal.Abandoned, Abandoned: "instead"}))
	}
	must(t, w.Close())
	r = run(t, dir, saved)
	if len(r.Faults) != 2 || !strings.Contains(r.Faults[0].Message, "the saved head says") || !strings.Contains(r.Faults[1].Message, "the saved checkpoint of") {
		t.Errorf("%v", r.Faults)
	}
	for _, opt := range []Options{
		{Checkpoints: []string{note}},
		{Checkpoints: []string{note[:len(note)-2]}, OpenNote: key.Open},
		{Heads: []journal.Head{{Journal: strings.Repeat("0", 32), Seq: 3, Digest: saved.Heads[0].Digest}}},
	} {
		if r := run(t, dir, opt); r.Whole() {
			t.Errorf("%+v fits", opt)
		}
	}
}

// checkpointed makes a journal with a checkpoint by key in it.
func checkpointed(t *testing.T, key *sign.Key, change func(*journal.Statement)) string {
	t.Helper()
	dir := journalOf(t, 0, 3)
	s, ok := run(t, dir, Options{}).Statement()
	if !ok {
		t.Fatal("no statement")
	}
	change(&s)
	note, err := key.Checkpoint(s)
	must(t, err)
	w, err := writer.Open(dir, writer.Options{})
	must(t, err)
	must(t, errors.Join(w.Append(t.Context(), journal.Entry{Kind: journal.Checkpoint, Checkpoint: note}), w.Close()))
	return dir
}

func TestCheckpointsInTheJournal(t *testing.T) {
	t.Parallel()
	key, err := sign.Create(filepath.Join(t.TempDir(), "key"))
	must(t, err)
	forger, err := sign.Create(filepath.Join(t.TempDir(), "key"))
	must(t, err)
	good := checkpointed(t, key, func(*journal.Statement) {})
	if r := run(t, good, Options{OpenNote: key.Open}); !r.Whole() || r.Checkpoints != 1 {
		t.Errorf("%+v", r)
	}
	if r := run(t, good, Options{}); !r.Whole() || r.Checkpoints != 0 || r.Unsigned != 1 {
		t.Errorf("without a key: %+v", r)
	}
	for name, dir := range map[string]string{
		"no known key signed it": checkpointed(t, forger, func(*journal.Statement) {}),
		"it says of fewer":       checkpointed(t, key, func(s *journal.Statement) { s.Size-- }),
		"another hash":           checkpointed(t, key, func(s *journal.Statement) { s.Hash[0]++ }),
		"of another journal":     checkpointed(t, key, func(s *journal.Statement) { s.Journal = strings.Repeat("0", 32) }),
	} {
		if r := run(t, dir, Options{OpenNote: key.Open}); len(r.Faults) != 1 || r.Faults[0].Line != 5 {
			t.Errorf("%s: %v", name, r.Faults)
		}
	}
}

func TestSegmentsElsewhere(t *testing.T) {
	t.Parallel()
	dir := journalOf(t, 1<<10, 30)
	whole := run(t, dir, Options{})
	if !whole.Whole() || whole.Segments < 5 {
		t.Fatalf("%+v", whole)
	}
	s, _ := whole.Statement()
	archive := t.TempDir()
	for _, n := range []int{1, 2, 4} {
		must(t, os.Rename(filepath.Join(dir, journal.Name(n)), filepath.Join(archive, journal.Name(n))))
	}
	r := run(t, dir, Options{Heads: []journal.Head{whole.Head}})
	if !r.Whole() || len(r.Missing) != 2 || r.Missing[0].LastSegment != 2 || r.Missing[1].FirstSegment != 4 || r.Saved != 1 {
		t.Errorf("%+v", r)
	}
	// The tree goes on over what is missing.
	if got, ok := r.Statement(); !ok || got != s {
		t.Errorf("%+v, want %+v", got, s)
	}
	inside := whole.Head
	inside.Seq = 2
	if r := run(t, dir, Options{Heads: []journal.Head{inside}}); len(r.Faults) != 1 || !strings.Contains(r.Faults[0].Message, "isn't here") {
		t.Errorf("%v", r.Faults)
	}
	if r := run(t, dir, Options{Archive: []string{archive}}); !r.Whole() || len(r.Missing) != 0 || r.Entries != whole.Entries {
		t.Errorf("%+v", r)
	}
	// A segment in another's place isn't missing but wrong.
	must(t, os.Rename(filepath.Join(dir, journal.Name(5)), filepath.Join(dir, journal.Name(4))))
	if r := run(t, dir, Options{Archive: []string{archive}}); r.Whole() {
		t.Error("a renamed segment is missed")
	}
}

// What is read in two parts, while others add, is read as in one.
func TestReadingOn(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		must(t, err)
		w, err := writer.Open(filepath.Join(dir, "journal"), writer.Options{SegmentSize: rapid.Int64Range(300, 3000).Draw(rt, "size")})
		must(t, err)
		a := New(filepath.Join(dir, "journal"), Options{})
		for range rapid.IntRange(1, 4).Draw(rt, "parts") {
			for range rapid.IntRange(0, 6).Draw(rt, "entries") {
				must(t, w.Append(t.Context(), journal.Entry{Kind: journal.Abandoned, Abandoned: "x"}))
			}
			must(t, a.Read(t.Context()))
		}
		must(t, w.Close())
		want, err := Run(t.Context(), filepath.Join(dir, "journal"), Options{})
		must(t, err)
		got := a.Finish()
		one, ok := want.Statement()
		other, also := got.Statement()
		if ok != also || one != other || got.Entries != want.Entries || got.Segments != want.Segments || len(got.Faults) != len(want.Faults) {
			rt.Errorf("%+v, want %+v", got, want)
		}
	})
}

// A journal's length doesn't show in what checking it takes.
func TestCheckingTakesLittleMemory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "journal")
	w, err := writer.Open(dir, writer.Options{})
	must(t, err)
	entries := make([]journal.Entry, 60)
	for i := range entries {
		entries[i] = journal.Entry{Kind: journal.Abandoned, Abandoned: strings.Repeat("x", 500)}
	}
	for range 170 {
		must(t, w.Append(t.Context(), entries...))
	}
	must(t, w.Close())
	var peak uint64
	count := 0
	r := run(t, dir, Options{Each: func(journal.Entry) error {
		if count++; count%500 == 0 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapAlloc)
		}
		return nil
	}})
	if !r.Whole() || r.Entries < 10_000 {
		t.Errorf("%+v", r)
	}
	if peak > 16<<20 {
		t.Errorf("%d bytes of memory for %d entries", peak, r.Entries)
	}
}
