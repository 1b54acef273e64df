package artifact

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"paddock"
	"paddock/internal/artifact/pages"
	"paddock/internal/artifact/pages/moment/frames"
	"paddock/internal/artifact/pages/moment/lines"
)

// bank keeps the given texts of stdout, each in an Append of its own.
func bank(t testing.TB, texts ...string) (*Bank, *Reader) {
	t.Helper()
	b, dir := create(t, Options{})
	for _, text := range texts {
		put(t, b, paddock.Stdout, text)
	}
	return b, Open(dir)
}

func TestOutputOfEveryKind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, encoding string }{
		{"plain", "one\ntwo\n", "utf-8"},
		{"empty", "", "utf-8"},
		{"no line end", "one\ntwo", "utf-8"},
		{"progress", "10%\r20%\r\x1b[2K100%\r\n", "utf-8"},
		{"NUL", "a\x00b\x00", "utf-8"},
		{"real U+FFFD", "a\ufffdb", "utf-8"},
		{"four bytes each", "🐎🐎🐎", "utf-8"},
		{"byte order mark", "\ufeffx", "utf-8"},
		{"Latin-1", "caf\xe9\n", "base64"},
		{"surrogate halves", "\xed\xa0\xbd", "base64"},
		{"overlong", "\xc0\xaf", "base64"},
		{"cut at the end", "caf\xc3", "base64"},
		{"binary", string([]byte{0, 1, 2, 0xff, 0xfe, 0x80}), "base64"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for cut := 0; cut <= len(c.text); cut++ { // every boundary between Appends
				b, r := bank(t, c.text[:cut], c.text[cut:])
				seal(t, b)
				for _, s := range []paddock.Stream{paddock.Stdout, paddock.Combined} {
					p := wantPage(t, r, paddock.PageRequest{Stream: s}, true, c.text)
					if p.Encoding != c.encoding || !p.EOF {
						t.Fatalf("%s: %s, EOF %v", s, p.Encoding, p.EOF)
					}
					for limit := 1; limit <= len(c.text); limit++ {
						for _, raw := range []bool{false, true} {
							if got, _ := drain(t, r, paddock.PageRequest{Stream: s, Limit: limit, Raw: raw}, true); string(got) != c.text {
								t.Fatalf("limit %d, raw %v: %q", limit, raw, got)
							}
						}
					}
				}
			}
		})
	}
}

func TestCharacterHeldBack(t *testing.T) {
	t.Parallel()
	for _, s := range []paddock.Stream{paddock.Stdout, paddock.Combined} {
		b, r := bank(t, "ab\xf0\x9f")
		p := wantPage(t, r, paddock.PageRequest{Stream: s}, false, "ab")
		if p.NextOffset != 2 || p.Total != 4 || p.EOF {
			t.Fatalf("%+v", p)
		}
		p = wantPage(t, r, paddock.PageRequest{Stream: s, Offset: 2}, false, "")
		if p.NextOffset != 2 || p.Encoding != "utf-8" {
			t.Fatalf("%+v", p)
		}
		// Raw pages hold nothing back.
		wantPage(t, r, paddock.PageRequest{Stream: s, Offset: 2, Raw: true}, false, "\xf0\x9f")
		put(t, b, paddock.Stdout, "\x90\x8e!")
		wantPage(t, r, paddock.PageRequest{Stream: s, Offset: 2, Limit: 1}, false, "🐎")
		put(t, b, paddock.Stdout, "\xe6")
		seal(t, b)
		wantPage(t, r, paddock.PageRequest{Stream: s, Offset: 7}, true, "\xe6")
	}
}

func TestCombined(t *testing.T) {
	t.Parallel()
	c := &clock{epoch}
	b, dir := create(t, Options{Now: c.now})
	add := func(s paddock.Stream, text string) {
		put(t, b, s, text)
		c.t = c.t.Add(time.Second)
	}
	add(paddock.Stdout, "out 1\n")
	add(paddock.Stderr, "err 1\n")
	add(paddock.Stdout, "caf\xc3") // a character in two frames of one stream
	add(paddock.Stdout, "\xa9\n")
	add(paddock.Stderr, "\xc3") // and in two with another between
	add(paddock.Stdout, "x")
	add(paddock.Stderr, "\xa9")
	seal(t, b)
	r := Open(dir)
	at := func(s int) time.Time { return epoch.Add(time.Duration(s) * time.Second) }
	p := wantPage(t, r, paddock.PageRequest{Stream: paddock.Combined, Limit: 17}, true, "out 1\nerr 1\ncafé\n")
	want := []paddock.Entry{
		{At: at(0), Stream: paddock.Stdout, Offset: 0, Length: 6, Text: "out 1\n"},
		{At: at(1), Stream: paddock.Stderr, Offset: 0, Length: 6, Text: "err 1\n"},
		{At: at(2), Stream: paddock.Stdout, Offset: 6, Length: 5, Text: "café"},
		{At: at(3), Stream: paddock.Stdout, Offset: 11, Length: 1, Text: "\n"},
	}
	if diff := cmp.Diff(want, p.Entries); diff != "" {
		t.Fatal(diff)
	}
	p = wantPage(t, r, paddock.PageRequest{Stream: paddock.Combined, Offset: p.NextOffset}, true, "\xc3x\xa9")
	want = []paddock.Entry{
		{At: at(4), Stream: paddock.Stderr, Offset: 6, Length: 1},
		{At: at(5), Stream: paddock.Stdout, Offset: 12, Length: 1},
		{At: at(6), Stream: paddock.Stderr, Offset: 7, Length: 1},
	}
	if diff := cmp.Diff(want, p.Entries); diff != "" || p.Encoding != "base64" {
		t.Fatal(p.Encoding, diff)
	}
	// Bytes of two streams that look like a character are none.
	b, dir = create(t, Options{Now: c.now})
	put(t, b, paddock.Stdout, "\xc3")
	put(t, b, paddock.Stderr, "\xa9")
	seal(t, b)
	if p := wantPage(t, Open(dir), paddock.PageRequest{Stream: paddock.Combined}, true, "\xc3\xa9"); p.Encoding != "base64" {
		t.Fatalf("%+v", p)
	}
}

func TestEntriesAreBounded(t *testing.T) {
	t.Parallel()
	b, dir := create(t, Options{})
	var want []byte
	for i := range 3 * pages.MaxEntries {
		p := fmt.Sprint(i % 10)
		put(t, b, frames.Streams[i%2], p)
		want = append(want, p...)
	}
	seal(t, b)
	p, err := Open(dir).Page(paddock.PageRequest{Stream: paddock.Combined}, true)
	if err != nil || len(p.Entries) != pages.MaxEntries || p.NextOffset != pages.MaxEntries {
		t.Fatal(len(p.Entries), p.NextOffset, err)
	}
	if got, _ := drain(t, Open(dir), paddock.PageRequest{Stream: paddock.Combined}, true); !bytes.Equal(got, want) {
		t.Fatal("pages cut by entries don't reassemble")
	}
}

func TestLineAndTail(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", lines.Block) // so that blocks end inside, before and after line ends
	for _, text := range []string{"", "\n", "a", "a\n", "a\nb", "a\nb\n", "\n\n\n", "a\n" + long + "\nb\n" + long, long[1:] + "\n" + long + "\n"} {
		b, dir := create(t, Options{})
		put(t, b, paddock.Stdout, text)
		seal(t, b)
		r := Open(dir)
		lines := strings.SplitAfter(text, "\n")
		if lines[len(lines)-1] == "" {
			lines = lines[:len(lines)-1]
		}
		complete := strings.Count(text, "\n")
		for _, s := range []paddock.Stream{paddock.Stdout, paddock.Combined} {
			for n := 1; n <= complete+1; n++ {
				req := paddock.PageRequest{Stream: s, Line: int64(n), Limit: paddock.MaxPage}
				want := strings.Join(lines[min(n-1, len(lines)):], "")
				if got, _ := drain(t, r, req, true); string(got) != want {
					t.Fatalf("line %d of %.20q: %.20q, want %.20q", n, text, got, want)
				}
			}
			_, err := r.Page(paddock.PageRequest{Stream: s, Line: int64(complete + 2)}, true)
			wantRefusal(t, err, fmt.Sprintf("%d complete lines", complete))
			for n := 1; n <= len(lines)+2; n++ {
				want := strings.Join(lines[max(0, len(lines)-n):], "")
				if got, _ := drain(t, r, paddock.PageRequest{Stream: s, Tail: int64(n), Limit: paddock.MaxPage}, true); string(got) != want {
					t.Fatalf("tail %d of %.20q: %.20q, want %.20q", n, text, got, want)
				}
			}
		}
	}
}

func TestSince(t *testing.T) {
	t.Parallel()
	c := &clock{epoch}
	b, dir := create(t, Options{Now: c.now})
	for i := range 300 { // more than one block of records
		c.t = epoch.Add(time.Duration(i) * time.Second)
		put(t, b, frames.Streams[i%2], fmt.Sprintf("%03d\n", i))
	}
	r := Open(dir)
	for _, q := range []struct {
		name string
		req  paddock.PageRequest
		at   time.Duration
		want string
	}{
		{"exact, same stream", paddock.PageRequest{}, 200 * time.Second, "200\n"},
		{"exact, other stream", paddock.PageRequest{}, 201 * time.Second, "202\n"},
		{"between", paddock.PageRequest{Stream: paddock.Stderr}, 100*time.Second + 1, "101\n"},
		{"combined", paddock.PageRequest{Stream: paddock.Combined}, 63*time.Second + 1, "064\n"},
		{"before all", paddock.PageRequest{}, -time.Hour, "000\n"},
		{"long before all", paddock.PageRequest{}, -1 << 62, "000\n"},
		{"after all", paddock.PageRequest{}, time.Hour, ""},
		{"after all, combined", paddock.PageRequest{Stream: paddock.Combined}, time.Hour, ""},
		{"long after all", paddock.PageRequest{}, 1<<63 - 1, ""},
		{"a later offset wins", paddock.PageRequest{Offset: 404}, 200 * time.Second, "202\n"},
		{"an earlier line loses", paddock.PageRequest{Line: 2}, 200 * time.Second, "200\n"},
		{"a filter", paddock.PageRequest{Stream: paddock.Combined, Grep: "^2.7$", Limit: 16}, 220 * time.Second, "227\n237\n247\n257\n"},
	} {
		t.Run(q.name, func(t *testing.T) {
			at := epoch.Add(q.at)
			q.req.Since = &at
			if q.req.Limit == 0 {
				q.req.Limit = 4
			}
			wantPage(t, r, q.req, false, q.want)
		})
	}
}

func TestFilter(t *testing.T) {
	t.Parallel()
	b, dir := create(t, Options{})
	text := "ok one\nFAIL two\nok three\r\nFAIL four"
	put(t, b, paddock.Stdout, text)
	r := Open(dir)
	p := wantPage(t, r, paddock.PageRequest{Grep: "^FAIL"}, false, "FAIL two\n")
	if p.Matches != 1 || p.NextOffset != 26 { // the last line isn't complete
		t.Fatalf("%+v", p)
	}
	seal(t, b)
	for _, c := range []struct {
		req  paddock.PageRequest
		want string
		next int64
	}{
		{paddock.PageRequest{Grep: "^FAIL"}, "FAIL two\nFAIL four", 35},
		{paddock.PageRequest{Grep: "three$"}, "ok three\r\n", 35},
		{paddock.PageRequest{Grep: "."}, text, 35},
		{paddock.PageRequest{Grep: ".", GrepFixed: true}, "", 35},
		{paddock.PageRequest{Grep: "(?i)fail", Limit: 16}, "FAIL two\n", 26},
		{paddock.PageRequest{Grep: "o", Limit: 16}, "ok one\nFAIL two\n", 16},
		{paddock.PageRequest{Grep: "wo", Offset: 9}, "IL two\n", 35},
		{paddock.PageRequest{Grep: "ok", Tail: 2}, "ok three\r\n", 35},
		{paddock.PageRequest{Grep: "FAIL", Line: 3}, "FAIL four", 35},
		{paddock.PageRequest{Grep: "o", Raw: true, Limit: 20}, "ok one\nFAIL two\n", 16},
	} {
		for _, s := range []paddock.Stream{paddock.Stdout, paddock.Combined} {
			c.req.Stream = s
			if p := wantPage(t, r, c.req, true, c.want); p.NextOffset != c.next || p.EOF != (c.next == 35) {
				t.Fatalf("%+v: %+v", c.req, p)
			}
		}
	}
}

func TestFilterCutsLongLines(t *testing.T) {
	t.Parallel()
	const size = 40 << 20
	b, dir := create(t, Options{})
	put(t, b, paddock.Stdout, "first\n")
	line := "needle" + strings.Repeat("é", lines.Max) // its end isn't looked at
	put(t, b, paddock.Stdout, line)
	for range size / (1 << 20) {
		put(t, b, paddock.Stdout, strings.Repeat("-", 1<<20))
	}
	r := Open(dir)
	// The beginning of a line so long is enough to decide, before its end is there.
	p := wantPage(t, r, paddock.PageRequest{Grep: "needle|late", Limit: 100}, false, "needle"+strings.Repeat("é", 86)+pages.CutMark)
	if p.NextOffset > 16<<20+lines.Block {
		t.Fatalf("looked at %d bytes", p.NextOffset)
	}
	put(t, b, paddock.Stdout, "late\nlate too\n")
	seal(t, b)
	got, _ := drain(t, r, paddock.PageRequest{Grep: "needle|late"}, true)
	if want := line[:lines.Max] + pages.CutMark + "late too\n"; string(got) != want {
		t.Fatalf("%d bytes: %.40q … %q", len(got), got, got[max(0, len(got)-40):])
	}
	for _, n := range []int{lines.Max - 1, lines.Max, lines.Max + 1} {
		b, r := bank(t, strings.Repeat("x", n)+"\nx\n")
		seal(t, b)
		want := strings.Repeat("x", n) + "\nx\n"
		if n > lines.Max {
			want = strings.Repeat("x", lines.Max) + pages.CutMark + "x\n"
		}
		if got, _ := drain(t, r, paddock.PageRequest{Grep: "x", Limit: paddock.MaxPage, Stream: paddock.Combined}, true); string(got) != want {
			t.Fatalf("a line of %d: %d bytes", n, len(got))
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	b, r := bank(t, "abc\n")
	for _, sealed := range []bool{false, true} {
		for _, c := range []struct {
			name string
			req  paddock.PageRequest
			says string
		}{
			{"stream", paddock.PageRequest{Stream: "stdin"}, "stdin"},
			{"stream in capitals", paddock.PageRequest{Stream: "STDOUT"}, "STDOUT"},
			{"negative offset", paddock.PageRequest{Offset: -1}, "negative"},
			{"negative line", paddock.PageRequest{Line: -1}, "negative"},
			{"negative tail", paddock.PageRequest{Tail: -1 << 63}, "negative"},
			{"negative limit", paddock.PageRequest{Limit: -1}, "200000"},
			{"limit", paddock.PageRequest{Limit: paddock.MaxPage + 1}, "200000"},
			{"beyond", paddock.PageRequest{Offset: 5}, "4 bytes"},
			{"far beyond", paddock.PageRequest{Offset: 1<<63 - 1}, "4 bytes"},
			{"beyond, combined", paddock.PageRequest{Stream: paddock.Combined, Offset: 5}, "4 bytes"},
			{"two starts", paddock.PageRequest{Offset: 1, Tail: 1}, "only one"},
			{"two other starts", paddock.PageRequest{Line: 1, Tail: 1}, "only one"},
			{"expression", paddock.PageRequest{Grep: "("}, "RE2"},
			{"look-ahead", paddock.PageRequest{Grep: "(?=x)"}, "RE2"},
			{"expression too long", paddock.PageRequest{Grep: strings.Repeat("x", 1000+1)}, "1001 bytes"},
			{"expression too complex", paddock.PageRequest{Grep: "((a{10}){10}){10}b{999}c{999}"}, "steps"},
			{"expression not text", paddock.PageRequest{Grep: "\xff", GrepFixed: true}, "UTF-8"},
			{"two lines", paddock.PageRequest{Grep: "a\nb", GrepFixed: true}, "line break"},
			{"fixed nothing", paddock.PageRequest{GrepFixed: true}, "empty"},
			{"no room for lines", paddock.PageRequest{Grep: "x", Limit: 15}, "at least 16"},
		} {
			t.Run(c.name, func(t *testing.T) {
				_, err := r.Page(c.req, sealed)
				wantRefusal(t, err, c.says)
			})
		}
		wantPage(t, r, paddock.PageRequest{Offset: 4}, sealed, "")
		seal(t, b)
	}
	_, err := r.Copy(nil, paddock.Stdout, 5)
	wantRefusal(t, err, "4 bytes")
	_, err = r.Copy(nil, paddock.Stdout, -1)
	wantRefusal(t, err, "negative")
	_, err = r.Size("x")
	wantRefusal(t, err, "stdout, stderr or combined")
	_, err = r.Summary(paddock.Combined)
	wantRefusal(t, err, "combined")
}

// Output that can't be read is an error and never an empty page.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		harm func(dir string) error
	}{
		{"stdout gone", func(dir string) error { return os.Remove(filepath.Join(dir, "stdout")) }},
		{"frames gone", func(dir string) error { return os.Remove(filepath.Join(dir, frames.Name)) }},
		{"all gone", os.RemoveAll},
		{"stdout empty", func(dir string) error { return os.Truncate(filepath.Join(dir, "stdout"), 0) }},
		{"stdout short by one", func(dir string) error { return os.Truncate(filepath.Join(dir, "stdout"), 3) }},
		{"stdout a directory", func(dir string) error {
			return swap(dir, func(path string) error { return os.Mkdir(path, 0o700) })
		}},
		{"stdout a link", func(dir string) error {
			return swap(dir, func(path string) error { return os.Symlink("stderr", path) })
		}},
		{"frames of another kind", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, frames.Name), []byte("hello"), 0o600)
		}},
		{"frames of zeros", func(dir string) error {
			order, err := os.ReadFile(filepath.Join(dir, frames.Name))
			if err != nil {
				return err
			}
			clear(order[frames.RecordSize:])
			return os.WriteFile(filepath.Join(dir, frames.Name), order, 0o600)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b, r := bank(t, "abc\n")
			sum, _ := seal(t, b)
			if err := c.harm(r.dir); err != nil {
				t.Fatal(err)
			}
			for _, sealed := range []bool{false, true} {
				for _, req := range []paddock.PageRequest{{}, {Stream: paddock.Combined}, {Tail: 1}, {Line: 1}, {Grep: "x"}, {Offset: 4}} {
					_, err := r.Page(req, sealed)
					wantFailure(t, err)
				}
			}
			_, err := r.Size(paddock.Stdout)
			wantFailure(t, err)
			_, err = r.Copy(&bytes.Buffer{}, paddock.Combined, 0)
			wantFailure(t, err)
			wantFailure(t, r.Verify(paddock.Stdout, sum))
		})
	}
	t.Run("changed", func(t *testing.T) {
		b, r := bank(t, "abc\n")
		sum, _ := seal(t, b)
		if err := os.WriteFile(filepath.Join(r.dir, "stdout"), []byte("abd\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		wantFailure(t, r.Verify(paddock.Stdout, sum))
		sum.Digest = ""
		wantFailure(t, r.Verify(paddock.Stdout, sum))
	})
	t.Run("longer", func(t *testing.T) {
		b, r := bank(t, "abc\n")
		sum, _ := seal(t, b)
		sum.Bytes--
		wantFailure(t, r.Verify(paddock.Stdout, sum))
	})
}

func swap(dir string, put func(path string) error) error {
	path := filepath.Join(dir, "stdout")
	if err := os.Remove(path); err != nil {
		return err
	}
	return put(path)
}

// counted counts the bytes that a Reader takes from files.
type counted struct {
	frames.Source
	n *atomic.Int64
}

func (c counted) ReadAt(p []byte, off int64) (int, error) {
	c.n.Add(int64(len(p)))
	return c.Source.ReadAt(p, off)
}

func counting(r *Reader) (*Reader, *atomic.Int64) {
	n := new(atomic.Int64)
	return &Reader{dir: r.dir, open: func(path string) (frames.Source, error) {
		src, err := r.open(path)
		if err != nil {
			return nil, err
		}
		return counted{src, n}, nil
	}}, n
}

// What a page costs depends on the page and not on where it is.
func TestPagingIsLinear(t *testing.T) {
	t.Parallel()
	c := &clock{epoch}
	b, dir := create(t, Options{Now: c.now})
	line := strings.Repeat("x", 99) + "\n"
	const size = 8 << 20
	for i := range size / len(line) {
		put(t, b, frames.Streams[i%2], line)
		c.t = c.t.Add(10 * time.Millisecond)
	}
	seal(t, b)
	r, n := counting(Open(dir))
	for _, s := range everyStream {
		total, err := r.Size(s)
		if err != nil {
			t.Fatal(err)
		}
		n.Store(0)
		const limit = 10_000
		drain(t, r, paddock.PageRequest{Stream: s, Limit: limit}, true)
		if got := n.Load(); got > 2*total+(1<<20) {
			t.Errorf("%s: reading %d bytes in pages took %d", s, total, got)
		}
		for _, req := range []paddock.PageRequest{{Offset: 0}, {Offset: total - 2*limit}, {Tail: 10}, {Since: &c.t}} {
			req.Stream, req.Limit = s, limit
			n.Store(0)
			if _, err := r.Page(req, true); err != nil {
				t.Fatal(err)
			}
			if got := n.Load(); got > 2*limit+2*lines.Block {
				t.Errorf("%+v read %d bytes", req, got)
			}
		}
	}
}

// A line of any length costs no memory: 100 MB here, 1 GiB when asked.
func TestOneLongLine(t *testing.T) {
	size := int64(100 << 20)
	if os.Getenv("PADDOCK_LONG") != "" {
		size = 1 << 30
	}
	b, dir := create(t, Options{})
	block := []byte(strings.Repeat("0123456789abcdef", 8<<10))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for n := int64(0); n < size; n += int64(len(block)) {
		if _, _, err := b.Append(paddock.Stdout, block); err != nil {
			t.Fatal(err)
		}
	}
	sum, _ := seal(t, b)
	r := Open(dir)
	if err := r.Verify(paddock.Stdout, sum); err != nil {
		t.Fatal(err)
	}
	for _, s := range []paddock.Stream{paddock.Stdout, paddock.Combined} {
		for _, req := range []paddock.PageRequest{{}, {Offset: size - 5}, {Tail: 1}, {Grep: "xyz"}, {Grep: "abc", Offset: size / 2}} {
			req.Stream = s
			if _, err := r.Page(req, true); err != nil {
				t.Fatal(err)
			}
		}
		_, err := r.Page(paddock.PageRequest{Stream: s, Line: 2}, true)
		wantRefusal(t, err, "0 complete lines")
	}
	runtime.ReadMemStats(&after)
	// All that was ever allocated, freed or not.
	if got := after.TotalAlloc - before.TotalAlloc; got > 64<<20 {
		t.Fatalf("%d MiB allocated", got>>20)
	}
}

func TestBase64IsExact(t *testing.T) {
	t.Parallel()
	b, r := bank(t, "\xff\xfe")
	seal(t, b)
	p, err := r.Page(paddock.PageRequest{}, true)
	if err != nil || p.Content != base64.StdEncoding.EncodeToString([]byte("\xff\xfe")) {
		t.Fatalf("%+v, %v", p, err)
	}
}
