package screen

import (
	"testing"
	"time"

	"paddock"
)

func TestWords(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ got, want string }{
		{Quote("plain-word_1.go"), "plain-word_1.go"},
		{Quote(""), "''"},
		{Quote("a b"), "'a b'"},
		{Quote("it's"), `'it'\''s'`},
		{Quote("a\nb"), `$'a\nb'`},
		{Quote("\\'\x1b"), `$'\\\'\x1b'`},
		{Plain("grüße 漢"), "grüße 漢"},
		{Plain("\x1b[2J\u202e\xff"), `\x1b[2J\u202e\xff`},
		{Size(0), "0 B"}, {Size(1023), "1023 B"}, {Size(1024), "1 KiB"}, {Size(1536), "1.5 KiB"},
		{Size(10 << 20), "10 MiB"}, {Size(1<<63 - 1), "8 EiB"},
		{Span(-1), "0s"}, {Span(1500 * time.Microsecond), "2ms"}, {Span(90 * time.Second), "1m30s"}, {Span(10 * time.Minute), "10m"},
		{Span(3 * time.Hour), "3h"}, {Span(30 * time.Hour), "30h"}, {Span(72 * time.Hour), "3d"}, {Span(630 * time.Second), "10m30s"},
		{shorten("abcdef", 4), "abc…"}, {shorten("äöü", 3), "äöü"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %s, want %s", tt.got, tt.want)
		}
	}
}

func TestContained(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]paddock.ContainAs{
		"contained: full, no network":                {Level: paddock.Full, Network: "none"},
		"contained: standard, the machine's network": {Level: paddock.Standard, Network: "host"},
		"contained: full, listed hosts only":         {Level: paddock.Full, Network: "allowlist"},
		"uncontained, with your rights":              {Level: paddock.Off, Network: "host"},
	} {
		if got := Contained(c); got != want {
			t.Errorf("%+v is %q, want %q", c, got, want)
		}
	}
}
