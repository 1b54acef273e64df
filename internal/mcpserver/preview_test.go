package mcpserver

import (
	"strings"
	"testing"
	"unicode/utf8"

	"paddock/internal/mcpserver/answer"
	"paddock/internal/mcpserver/answer/preview"
)

func TestTailPreview(t *testing.T) {
	t.Parallel()
	digits := func(n int) string { return strings.Repeat("0123456789", n/10) }
	wide := func(n int) string { return strings.Repeat("😀", n) }
	tests := []struct {
		name           string
		stdout, stderr string
		want           string
	}{
		{name: "stdout only", stdout: "a\nb\n", want: "a\nb\n"},
		{name: "stderr only", stderr: "oops\n", want: "oops\n"},
		{name: "both", stdout: "a\n", stderr: "oops\n", want: "[stdout tail]\na\n\n[stderr tail]\noops\n"},
		{name: "long stdout", stdout: digits(9000), want: digits(2000)},
		{name: "long wide stdout", stdout: wide(9000), want: wide(2000)},
		{name: "exactly full", stdout: digits(2000), want: digits(2000)},
		{name: "both long", stdout: "x" + digits(3000), stderr: "y" + digits(3000),
			want: "[stdout tail]\n" + digits(3000)[3000-985:] + "\n[stderr tail]\n" + digits(3000)[3000-986:]},
		{name: "one long", stdout: "short", stderr: digits(3000), want: "[stdout tail]\nshort\n[stderr tail]\n" + digits(1000)},
		{name: "binary", stdout: "a\xff\xfeb", want: "a\uFFFDb"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := &fake{}
			c := connect(t, Config{App: f})
			id := f.add(me, "x")
			f.change(id, func(r *fakeRun) { r.stdout, r.stderr = []byte(test.stdout), []byte(test.stderr); r.exit(0) })
			got := ok[answer.Status](c, "command_status", taskArgs(id, "")).TailPreview
			if n := utf8.RuneCountInString(got); n > preview.Most {
				t.Errorf("%d characters", n)
			}
			if got != test.want {
				t.Errorf("got  %.100q (%d)\nwant %.100q (%d)", got, len(got), test.want, len(test.want))
			}
		})
	}
}

// While a run prints, half a character at the end isn't shown as a broken one.
func TestTailPreviewOfHalfACharacter(t *testing.T) {
	t.Parallel()
	f := &fake{}
	c := connect(t, Config{App: f})
	id := f.add(me, "x")
	f.change(id, func(r *fakeRun) { r.stdout = []byte("漢字")[:4] })
	if got := ok[answer.Status](c, "command_status", taskArgs(id, "")).TailPreview; got != "漢" {
		t.Errorf("running: %q", got)
	}
	f.change(id, func(r *fakeRun) { r.exit(0) })
	if got := ok[answer.Status](c, "command_status", taskArgs(id, "")).TailPreview; got != "漢\uFFFD" {
		t.Errorf("settled: %q", got)
	}
	if got := ok[answer.Status](c, "command_status", taskArgs(id, "")); got.StdoutBytes != 4 {
		t.Errorf("bytes: %d", got.StdoutBytes)
	}
}
