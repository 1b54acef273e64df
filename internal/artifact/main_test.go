package artifact

import (
	"bytes"
	"encoding/base64"
	"errors"
	"testing"
	"time"
	"unicode/utf8"

	"paddock"
	"paddock/internal/testproc"
)

// TestMain fails when a goroutine, a descriptor or a process is left behind.
func TestMain(m *testing.M) { testproc.Main(m, helpers) }

// A clock gives times that a test chooses.
type clock struct{ t time.Time }

func (c *clock) now() time.Time { return c.t }

var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func create(t testing.TB, opt Options) (*Bank, string) {
	t.Helper()
	dir := t.TempDir()
	if opt.Cap == 0 {
		opt.Cap = 1 << 40
	}
	b, err := Create(dir, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b, dir
}

func put(t testing.TB, b *Bank, s paddock.Stream, text string) {
	t.Helper()
	kept, over, err := b.Append(s, []byte(text))
	if kept != len(text) || over || err != nil {
		t.Fatalf("Append = %d, %v, %v; want %d, false, nil", kept, over, err, len(text))
	}
}

func seal(t testing.TB, b *Bank) (stdout, stderr paddock.StreamSummary) {
	t.Helper()
	stdout, stderr, err := b.Seal()
	if err != nil {
		t.Fatal(err)
	}
	return stdout, stderr
}

// fatal is what both *testing.T and *rapid.T have.
type fatal interface {
	Helper()
	Fatalf(format string, args ...any)
}

// content returns the bytes of a page, and holds the page to what every page
// must be.
func content(t fatal, p paddock.Page, req paddock.PageRequest, sealed bool) []byte {
	t.Helper()
	data := []byte(p.Content)
	switch p.Encoding {
	case "utf-8":
		if !utf8.Valid(data) {
			t.Fatalf("a utf-8 page isn't: %q", data)
		}
	case "base64":
		var err error
		if data, err = base64.StdEncoding.DecodeString(p.Content); err != nil {
			t.Fatalf("%v", err)
		}
	default:
		t.Fatalf("encoding %q", p.Encoding)
	}
	limit := req.Limit
	if limit == 0 {
		limit = paddock.DefaultPage
	}
	if n := utf8.RuneCount(data); req.Raw && len(data) > limit || n > limit {
		t.Fatalf("a page of %d characters, %d bytes with limit %d", n, len(data), limit)
	}
	if p.NextOffset < p.Offset || p.NextOffset > p.Total {
		t.Fatalf("offset %d, next %d, total %d", p.Offset, p.NextOffset, p.Total)
	}
	if p.EOF != (sealed && p.NextOffset == p.Total) {
		t.Fatalf("eof %v at %d of %d, sealed %v", p.EOF, p.NextOffset, p.Total, sealed)
	}
	if req.Grep == "" && p.NextOffset-p.Offset != int64(len(data)) {
		t.Fatalf("%d bytes from %d to %d", len(data), p.Offset, p.NextOffset)
	}
	if p.Stream == paddock.Combined {
		var sum int64
		var text string
		for _, e := range p.Entries {
			sum += e.Length
			text += e.Text
			if !utf8.ValidString(e.Text) {
				t.Fatalf("an entry isn't text: %q", e.Text)
			}
		}
		if req.Grep == "" && sum != int64(len(data)) {
			t.Fatalf("entries of %d bytes, content of %d", sum, len(data))
		}
		if p.Encoding == "utf-8" && text != p.Content {
			t.Fatalf("entries say %q, content is %q", text, p.Content)
		}
	} else if p.Entries != nil {
		t.Fatalf("entries in a page of %s", p.Stream)
	}
	return data
}

// drain reads page after page until there is nothing more.
func drain(t fatal, r *Reader, req paddock.PageRequest, sealed bool) ([]byte, int64) {
	t.Helper()
	var all []byte
	for {
		p, err := r.Page(req, sealed)
		if err != nil {
			t.Fatalf("%+v: %v", req, err)
		}
		all = append(all, content(t, p, req, sealed)...)
		if p.EOF || p.NextOffset == p.Offset {
			if sealed && !p.EOF {
				t.Fatalf("a sealed stream stops at %d of %d", p.NextOffset, p.Total)
			}
			return all, p.NextOffset
		}
		req.Offset, req.Line, req.Tail = p.NextOffset, 0, 0
	}
}

func wantPage(t *testing.T, r *Reader, req paddock.PageRequest, sealed bool, want string) paddock.Page {
	t.Helper()
	p, err := r.Page(req, sealed)
	if err != nil {
		t.Fatalf("%+v: %v", req, err)
	}
	if got := content(t, p, req, sealed); string(got) != want {
		t.Fatalf("%+v: got %.200q, want %.200q", req, got, want)
	}
	return p
}

func wantRefusal(t *testing.T, err error, says string) {
	t.Helper()
	var refusal *paddock.Refusal
	if !errors.As(err, &refusal) || refusal.Code != paddock.InvalidRequest || !bytes.Contains([]byte(refusal.Message), []byte(says)) {
		t.Fatalf("got %v, want invalid_request that says %q", err, says)
	}
}

func wantFailure(t *testing.T, err error) {
	t.Helper()
	var refusal *paddock.Refusal
	if err == nil || errors.As(err, &refusal) {
		t.Fatalf("got %v, want a failure", err)
	}
}

func wantRefusalOfAnyKind(t *testing.T, err error) {
	t.Helper()
	var refusal *paddock.Refusal
	if !errors.As(err, &refusal) || refusal.Code != paddock.InvalidRequest || refusal.Message == "" || !utf8.ValidString(refusal.Message) {
		t.Fatalf("got %v, want a refusal", err)
	}
}
