package wellformed

import (
	"strings"
	"testing"

	"paddock"
)

func TestRequest(t *testing.T) {
	good := paddock.Request{Principal: paddock.Principal{Kind: paddock.Host, ID: "x"}}
	for name, test := range map[string]struct {
		change func(*paddock.Request)
		want   string
	}{
		"good": {func(*paddock.Request) {}, ""},
		"longest": {func(r *paddock.Request) {
			r.Command.Label, r.IdempotencyKey = strings.Repeat("é", 100), strings.Repeat("k", 200)
		}, ""},
		"nobody":        {func(r *paddock.Request) { *r = paddock.Request{} }, "who asks"},
		"unknown kind":  {func(r *paddock.Request) { r.Principal.Kind = "Operator" }, "kind"},
		"long label":    {func(r *paddock.Request) { r.Command.Label = strings.Repeat("é", 101) }, "202 bytes"},
		"escape":        {func(r *paddock.Request) { r.Command.Label = "\x1b[2J" }, "one line"},
		"bad UTF-8 key": {func(r *paddock.Request) { r.IdempotencyKey = "\xc3" }, "UTF-8"},
	} {
		r := good
		test.change(&r)
		if got := Request(&r); !strings.Contains(got, test.want) || (test.want == "") != (got == "") {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestWord(t *testing.T) {
	for _, test := range []struct {
		index  int
		word   string
		breaks bool
		want   paddock.Code
	}{
		{0, "go", false, ""}, {1, "", false, ""}, {1, "a\nb", true, ""}, {1, "1234567890", false, ""},
		{0, "", false, paddock.ArgvInvalid}, {1, "\xff", false, paddock.ArgvInvalid}, {1, "\x00", true, paddock.ArgvNUL},
		{1, "a\r", false, paddock.ArgvLineBreak}, {1, "12345678901", false, paddock.ArgvTooLong},
	} {
		code, problem := Word(test.index, test.word, 10, test.breaks)
		if code != test.want || (code == "") != (problem == "") {
			t.Errorf("%q: %s %q, want %s", test.word, code, problem, test.want)
		}
	}
}

func TestStdin(t *testing.T) {
	text, run := "x", paddock.RunID("r0000000000000000000000000a")
	for _, s := range []paddock.Stdin{{}, {Text: &text}, {File: "f"}, {Run: run}, {Run: run, Stream: paddock.Stderr}} {
		if got := Stdin(&paddock.Command{Stdin: s}); got != "" {
			t.Errorf("%+v: %s", s, got)
		}
	}
	for _, s := range []paddock.Stdin{
		{Text: &text, File: "f"}, {Text: &text, Run: run}, {File: "f", Run: run}, {Stream: paddock.Stdout}, {Run: run, Stream: "both"}, {Run: "x"},
		{File: "a\x00"}, {File: "\xff"}, {File: strings.Repeat("f", 4097)},
	} {
		if Stdin(&paddock.Command{Stdin: s}) == "" {
			t.Errorf("%+v is taken", s)
		}
	}
}
