package artifact

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"paddock"
	"paddock/internal/artifact/pages/moment/frames"
	"paddock/internal/artifact/pages/moment/lines"
)

// A found line is what a search should say of it.
type foundLine struct {
	paddock.Line
	text string
}

// grep is what req finds in all, as one reads it off.
func grep(all []byte, req paddock.PageRequest) (found []foundLine, matches int64) {
	var list []foundLine
	var hit []bool
	word := req.Grep
	for l := range bytes.Lines(all) {
		text := string(l)
		if req.GrepIgnoreCase {
			text, word = strings.ToLower(text), strings.ToLower(word)
		}
		hit = append(hit, strings.Contains(text, word) != req.GrepInvert)
		n := len(list)
		line := paddock.Line{Number: int64(n + 1), Length: int64(len(l))}
		if n > 0 {
			line.Offset = list[n-1].Offset + list[n-1].Length
		}
		list = append(list, foundLine{line, string(l)})
	}
	for i, l := range list {
		near := false
		for j := max(0, i-req.GrepAfter); j <= min(i+req.GrepBefore, len(list)-1); j++ {
			near = near || hit[j]
		}
		if hit[i] {
			matches++
		}
		if near {
			l.Context = !hit[i]
			found = append(found, l)
		}
	}
	return found, matches
}

// turn reads page after page until there is nothing more now, and returns the
// request for what comes then.
func turn(t *rapid.T, r *Reader, req paddock.PageRequest, sealed bool) (found []foundLine, matches int64, next paddock.PageRequest) {
	for {
		p, err := r.Page(req, sealed)
		if err != nil {
			t.Fatalf("%+v: %v", req, err)
		}
		data := content(t, p, req, sealed)
		for _, l := range p.Lines {
			if l.Length > int64(len(data)) {
				t.Fatalf("lines are longer than their page: %+v", p)
			}
			found = append(found, foundLine{l, string(data[:l.Length])})
			data = data[l.Length:]
		}
		if len(data) > 0 {
			t.Fatalf("%q is of no line: %+v", data, p)
		}
		matches += p.Matches
		stop := p.NextOffset == req.Offset
		req.Offset, req.GrepOwed = p.NextOffset, p.GrepOwed
		if p.EOF || stop {
			return found, matches, req
		}
	}
}

// A search finds every line that it should, with its context, once and in
// order, whatever the sizes of pages, also while the stream grows.
func TestSearchFindsEveryLine(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	line := rapid.SampledFrom([]string{"keep\n", "KEEP this\r\n", "drop\n", "\n", "kéep\n", "\xe9 keep\n", "keep", "🐎 keep 🐎\n", "no\n", "x\ny\nz\n"})
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
		r := Open(dir)
		req := paddock.PageRequest{
			Stream: rapid.SampledFrom(everyStream).Draw(t, "stream"), Grep: "keep",
			GrepFixed: rapid.Bool().Draw(t, "fixed"), GrepIgnoreCase: rapid.Bool().Draw(t, "fold"), GrepInvert: rapid.Bool().Draw(t, "invert"),
			GrepBefore: rapid.IntRange(0, 3).Draw(t, "before"), GrepAfter: rapid.IntRange(0, 3).Draw(t, "after"),
		}
		counter := req
		counter.GrepCount = true
		var all []byte
		var found []foundLine
		var matches, count int64
		look := func(sealed bool) {
			req.Limit = rapid.IntRange(80, 200).Draw(t, "limit") // more than four of any line here
			more, n, next := turn(t, r, req, sealed)
			found, matches, req = append(found, more...), matches+n, next
			none, n, next := turn(t, r, counter, sealed)
			if len(none) > 0 {
				t.Fatalf("counting shows %v", none)
			}
			count, counter = count+n, next
		}
		for range rapid.IntRange(0, 30).Draw(t, "steps") {
			p := []byte(line.Draw(t, "line"))
			s := everyStream[rapid.IntRange(0, 1).Draw(t, "to")]
			if _, _, err := b.Append(s, p); err != nil {
				t.Fatalf("%v", err)
			}
			if s == req.Stream || req.Stream == paddock.Combined {
				all = append(all, p...)
			}
			if rapid.IntRange(0, 2).Draw(t, "look") == 0 {
				look(false)
			}
		}
		if _, _, err := b.Seal(); err != nil {
			t.Fatalf("%v", err)
		}
		look(true)
		want, n := grep(all, req)
		if fmt.Sprintf("%+v", found) != fmt.Sprintf("%+v", want) || matches != n || count != n {
			t.Fatalf("%+v\nin %q: %d, %d of %d matches\ngot  %+v\nwant %+v", req, all, matches, count, n, found, want)
		}
	})
}

// Where nothing can match, lines go by without being looked at; the numbers and
// the context stay right, also across the blocks that are read at once.
func TestSearchSkips(t *testing.T) {
	t.Parallel()
	b, dir := create(t, Options{})
	var all bytes.Buffer
	for i := range 120_000 {
		word := "nothing"
		if i%9_973 == 0 || i%9_973 == 2 {
			word = "needle"
		}
		fmt.Fprintf(&all, "%06d %s\n", i, word)
	}
	long := strings.Repeat("x", 3*lines.Block)
	all.WriteString(long + "needle\n" + "the needle\n")
	put(t, b, paddock.Stderr, all.String())
	seal(t, b)
	r := Open(dir)
	for _, pattern := range []string{"needle", `(ne{2}dle)$`, "[n]eedle"} {
		req := paddock.PageRequest{Stream: paddock.Stderr, Grep: pattern, GrepBefore: 2, GrepAfter: 1, Limit: paddock.MaxPage}
		p, err := r.Page(req, true)
		if err != nil {
			t.Fatal(err)
		}
		want, n := grep(all.Bytes()[:all.Len()-len(long+"needle\nthe needle\n")], paddock.PageRequest{Grep: "needle", GrepBefore: 2, GrepAfter: 1})
		// Before the last match is a line of which only the beginning is looked at.
		if len(p.Lines) < len(want) || p.Matches != n+1 || !p.EOF {
			t.Fatalf("%s: %d lines, %d matches of %d", pattern, len(p.Lines), p.Matches, n+1)
		}
		for i, l := range want {
			if p.Lines[i] != l.Line {
				t.Fatalf("%s: line %d is %+v, want %+v", pattern, i, p.Lines[i], l.Line)
			}
		}
		last := p.Lines[len(p.Lines)-1]
		if last.Number != 120_002 || last.Offset != int64(all.Len()-len("the needle\n")) || !p.Lines[len(p.Lines)-2].Cut {
			t.Fatalf("%s: %+v", pattern, p.Lines[len(p.Lines)-2:])
		}
	}
}

// What doesn't fit a page with its context is cut, each line to its share.
func TestSearchCutsContext(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 500)
	b, r := bank(t, "a"+long+"\nb"+long+"\nhit"+long+"\nc\n")
	seal(t, b)
	req := paddock.PageRequest{Grep: "hit", GrepBefore: 2, GrepAfter: 2, Limit: 60}
	p := wantPage(t, r, req, true, strings.Repeat("a"+strings.Repeat("é", 11)+"… [cut]\n", 1)+"b"+strings.Repeat("é", 11)+"… [cut]\nhit"+strings.Repeat("é", 9)+"… [cut]\n")
	if p.GrepOwed != 2 || p.Matches != 1 || utf8.RuneCountInString(p.Content) != 60 {
		t.Fatalf("%+v", p)
	}
	req.Offset, req.GrepOwed = p.NextOffset, p.GrepOwed
	if p = wantPage(t, r, req, true, "c\n"); !p.EOF || p.GrepOwed != 1 || p.Matches != 0 || !p.Lines[0].Context || p.Lines[0].Number != 4 {
		t.Fatalf("%+v", p)
	}
}

func TestSearchRefusesNonsense(t *testing.T) {
	t.Parallel()
	b, r := bank(t, strings.Repeat("line\n", 10))
	seal(t, b)
	for _, c := range []struct {
		req  paddock.PageRequest
		says string
	}{
		{paddock.PageRequest{GrepIgnoreCase: true}, "grep is empty"},
		{paddock.PageRequest{GrepInvert: true}, "grep is empty"},
		{paddock.PageRequest{GrepCount: true}, "grep is empty"},
		{paddock.PageRequest{GrepAfter: 1}, "grep is empty"},
		{paddock.PageRequest{Grep: "x", GrepBefore: -1}, "grep_before is -1"},
		{paddock.PageRequest{Grep: "x", GrepAfter: 51}, "from 0 to 50"},
		{paddock.PageRequest{Grep: "x", GrepOwed: 1 << 40}, "grep_owed"},
		{paddock.PageRequest{Grep: "x", GrepBefore: 9, Limit: 159}, "at least 160"},
		{paddock.PageRequest{Grep: strings.Repeat("(a{1,1000}", 3) + ")))", GrepIgnoreCase: true}, "6005 steps"},
		{paddock.PageRequest{Grep: strings.Repeat("x", 1001), GrepFixed: true, GrepIgnoreCase: true}, "1001 bytes"},
		{paddock.PageRequest{Grep: `(\1)`}, "RE2"},
		{paddock.PageRequest{Grep: `(?=x)`, GrepIgnoreCase: true}, "RE2"},
		{paddock.PageRequest{Grep: "\xff", GrepIgnoreCase: true, GrepFixed: true}, "UTF-8"},
	} {
		_, err := r.Page(c.req, true)
		wantRefusal(t, err, c.says)
	}
}

// A few very long lines before each match must not be looked at for ever.
func TestSearchGetsOn(t *testing.T) {
	t.Parallel()
	b, dir := create(t, Options{})
	for range 100 {
		put(t, b, frames.Streams[0], strings.Repeat("y", 200<<10)+"\n")
	}
	put(t, b, paddock.Stdout, "hit\n")
	seal(t, b)
	r := Open(dir)
	req := paddock.PageRequest{Grep: strings.Repeat("(h|i|t){9}z", 60) + "|hit", GrepBefore: 50, Limit: paddock.MaxPage}
	for rounds := 0; ; rounds++ {
		p, err := r.Page(req, true)
		if err != nil {
			t.Fatal(err)
		}
		if p.EOF {
			if p.Matches != 1 || p.Lines[len(p.Lines)-1].Number != 101 {
				t.Fatalf("%d matches, %+v", p.Matches, p.Lines)
			}
			return
		}
		if p.NextOffset <= req.Offset || rounds > 1000 {
			t.Fatalf("from %d to %d", req.Offset, p.NextOffset)
		}
		req.Offset = p.NextOffset
	}
}
