package pages

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"paddock"
)

func TestLogsTornLines(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	var out bytes.Buffer
	s := &stamper{w: &out, only: paddock.Combined}
	at := func(n int) time.Time { return day.Add(time.Duration(n) * time.Second) }
	err := s.page(paddock.Page{Content: "heerrllo\nend", Encoding: "utf-8", Entries: []paddock.Entry{
		{At: at(0), Stream: paddock.Stdout, Length: 2}, {At: at(1), Stream: paddock.Stderr, Length: 3},
		{At: at(2), Stream: paddock.Stdout, Length: 7},
	}})
	if err := errors.Join(err, s.finish()); err != nil {
		t.Fatal(err)
	}
	want := "2026-11-29T12:00:00.000Z stdout hello\n" +
		"2026-11-29T12:00:02.000Z stdout end\n" +
		"2026-11-29T12:00:01.000Z stderr err\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("stamped lines (-want +got):\n%s", diff)
	}
}
