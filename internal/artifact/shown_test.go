package artifact

import (
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"paddock"
	"paddock/internal/clean"
)

// turnShown reads a view to its end.
func turnShown(t *rapid.T, r *Reader, req paddock.PageRequest, limit *rapid.Generator[int], sealed bool) (string, int64) {
	var all strings.Builder
	for {
		req.Limit = limit.Draw(t, "limit")
		p, err := r.Page(req, sealed)
		if err != nil {
			t.Fatalf("%+v: %v", req, err)
		}
		var texts string
		for _, e := range p.Entries {
			texts += e.Text
		}
		switch {
		case p.Encoding != "utf-8" || !utf8.ValidString(p.Content) || p.View != req.View:
			t.Fatalf("%+v", p)
		case utf8.RuneCountInString(p.Content) > req.Limit && p.NextOffset-p.Offset > utf8.UTFMax:
			t.Fatalf("%d characters with limit %d: %q", utf8.RuneCountInString(p.Content), req.Limit, p.Content)
		case req.Stream == paddock.Combined && texts != p.Content:
			t.Fatalf("entries say %q, content is %q", texts, p.Content)
		case p.Offset != req.Offset || p.NextOffset < p.Offset || p.NextOffset > p.Total:
			t.Fatalf("asked for %d: %+v", req.Offset, p)
		}
		all.WriteString(p.Content)
		if p.EOF || p.NextOffset == req.Offset {
			if sealed && !p.EOF {
				t.Fatalf("a sealed stream stops at %d of %d", p.NextOffset, p.Total)
			}
			return all.String(), p.NextOffset
		}
		req.Offset = p.NextOffset
	}
}

// A view gets to the end whatever the sizes of pages are, and is the view of the
// whole where pages have room for lines.
func TestViewsReassemble(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	part := rapid.SampledFrom([]string{
		"line\n", "10%\r20%\r", "\x1b[31mred\x1b[0m\n", "\x1b]0;title\x07", "\x1b", "[2K", "é", "\xe2\x80", "\xae", "\x00", "\n", "\u202e", "\x1b]0;never ended",
	})
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(root, "")
		if err != nil {
			t.Fatalf("%v", err)
		}
		defer os.RemoveAll(dir)
		b, err := Create(dir, Options{Cap: 1 << 30})
		if err != nil {
			t.Fatalf("%v", err)
		}
		defer b.Close()
		var all string
		both := rapid.Bool().Draw(t, "both")
		for range rapid.IntRange(0, 30).Draw(t, "parts") {
			p := part.Draw(t, "part")
			s := paddock.Stdout
			if both && rapid.Bool().Draw(t, "stderr") {
				s = paddock.Stderr
			}
			if _, _, err := b.Append(s, []byte(p)); err != nil {
				t.Fatalf("%v", err)
			}
			if s == paddock.Stdout {
				all += p
			}
		}
		r := Open(dir)
		small, large := rapid.IntRange(1, 20), rapid.IntRange(5000, 6000)
		view := rapid.SampledFrom([]paddock.View{paddock.ViewClean, paddock.ViewColor}).Draw(t, "view")
		sealed := rapid.Bool().Draw(t, "sealed")
		if sealed {
			if _, _, err := b.Seal(); err != nil {
				t.Fatalf("%v", err)
			}
		}
		for _, s := range everyStream {
			turnShown(t, r, paddock.PageRequest{Stream: s, View: view}, small, sealed)
		}
		got, end := turnShown(t, r, paddock.PageRequest{View: paddock.ViewClean}, large, sealed)
		if want := string(clean.Bytes([]byte(all[:end]), clean.Text)); got != want {
			t.Fatalf("%q up to %d shows as %q, want %q", all, end, got, want)
		}
	})
}

// What isn't a character yet isn't shown as none, however often it is asked for, also
// after what is none already.
func TestViewWaitsForACharacter(t *testing.T) {
	t.Parallel()
	b, r := bank(t, "10%\r20%\r\xe2\x80\xe2\x80")
	p, err := r.Page(paddock.PageRequest{View: paddock.ViewClean}, false)
	if err != nil || p.Content != "20%" || p.NextOffset != 8 {
		t.Fatalf("%+v, %v", p, err)
	}
	if p, err = r.Page(paddock.PageRequest{View: paddock.ViewClean, Offset: 8}, false); err != nil || p.Content != "" || p.NextOffset != 8 {
		t.Fatalf("%+v, %v", p, err)
	}
	if _, _, err := b.Append(paddock.Stdout, []byte("\xa6\n")); err != nil {
		t.Fatal(err)
	}
	if p, err = r.Page(paddock.PageRequest{View: paddock.ViewClean}, false); err != nil || p.Content != "\ufffd\ufffd\u2026\n" {
		t.Fatalf("%+v, %v", p, err)
	}
	seal(t, b)
}

// What is looked for in a view is looked for in what is shown.
func TestSearchInAView(t *testing.T) {
	t.Parallel()
	b, r := bank(t, "\x1b[1mFA\x1b[0mIL one\n10%\r20%\r100%\nFAIL\x07 two\nFA\u200bIL\n")
	seal(t, b)
	req := paddock.PageRequest{View: paddock.ViewClean, Grep: "^FAIL", GrepAfter: 1}
	p, err := r.Page(req, true)
	if err != nil || p.Content != "FAIL one\n100%\nFAIL two\nFA\\u200bIL\n" || p.Matches != 2 {
		t.Fatalf("%+v, %v", p, err)
	}
	req.View = ""
	if p, err = r.Page(req, true); err != nil || p.Matches != 1 || p.Lines[0].Number != 3 {
		t.Fatalf("%+v, %v", p, err)
	}
	req.Stream, req.View = paddock.Combined, paddock.ViewColor
	if p, err = r.Page(req, true); err != nil || len(p.Entries) == 0 || p.Entries[0].Text != "" || p.Lines[0].Length != int64(len("\x1b[0;1mFA\x1b[0mIL one\n")) {
		t.Fatalf("%+v, %v", p, err)
	}
	_, err = r.Page(paddock.PageRequest{View: paddock.ViewClean, Raw: true}, true)
	wantRefusal(t, err, "only one of them")
	_, err = r.Page(paddock.PageRequest{View: "html"}, true)
	wantRefusal(t, err, "clean or color")
}

// A sequence that isn't complete is left to the next page, and one that never
// will be doesn't hold up the reader.
func TestViewOfASequenceInParts(t *testing.T) {
	t.Parallel()
	b, r := bank(t, "a\x1b[3")
	req := paddock.PageRequest{View: paddock.ViewClean}
	if p, err := r.Page(req, false); err != nil || p.Content != "a" || p.NextOffset != 1 {
		t.Fatalf("%+v, %v", p, err)
	}
	put(t, b, paddock.Stdout, "1mb")
	req.Offset = 1
	if p, err := r.Page(req, false); err != nil || p.Content != "b" || p.NextOffset != 7 {
		t.Fatalf("%+v, %v", p, err)
	}
	put(t, b, paddock.Stdout, "\x1b]0;"+strings.Repeat("x", 5000))
	req.Offset = 7
	if p, err := r.Page(req, false); err != nil || p.Content != "" || p.NextOffset != p.Total {
		t.Fatalf("%+v, %v", p, err)
	}
}
