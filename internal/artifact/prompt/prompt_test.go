package prompt

import (
	"bytes"
	"regexp"
	"testing"
	"time"

	"paddock"
	"paddock/internal/artifact"
)

func TestQuestion(t *testing.T) {
	t.Parallel()
	for tail, want := range map[string]bool{
		"":                                      false,
		"\n":                                    false,
		"done\n":                                false,
		"compiling":                             false,
		"42 %":                                  false,
		"Password: ":                            true,
		"Username for 'https://x.example':":     true,
		"Proceed? ":                             true,
		"Proceed?\n":                            false,
		"Do you want to continue? [Y/n] ":       true,
		"Do you want to continue? [Y/n]\n":      true,
		"Overwrite (yes/no)?\n":                 true,
		"Are you sure (yes/no/[fingerprint])? ": true,
		"Press any key to continue . . .\n":     true,
		">>> ":                                  true,
		"> ":                                    true,
		"\x1b[1m? \x1b[0mName \x1b[2m›\x1b[0m (app) ": true,
		"first\rName: ":                true,
		"Error: no such file\n":        false,
		"see https://x.example/?q=1\n": false,
		"listening on :8080":           false,
		"\xff\xfe?":                    true,
	} {
		if got := Question([]byte(tail)); got != want {
			t.Errorf("%q: %v", tail, got)
		}
	}
}

func TestAsked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bank, err := artifact.Create(dir, artifact.Options{Cap: 1 << 20, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer bank.Close()
	reader := artifact.Open(dir)
	for _, step := range []struct {
		stream paddock.Stream
		text   string
		want   bool
	}{
		{paddock.Stdout, "working\n", false},
		{paddock.Stderr, "Go on? ", true},
		{paddock.Stdout, "yes\n", false},
	} {
		if _, _, err := bank.Append(step.stream, []byte(step.text)); err != nil {
			t.Fatal(err)
		}
		if got := Asked(reader); got != step.want {
			t.Errorf("after %q: %v", step.text, got)
		}
	}
	if Asked(artifact.Open(t.TempDir())) {
		t.Error("no output asks something")
	}
}

// What is looked for, as expressions.
var (
	escapes  = regexp.MustCompile(`\x1b\[[0-?]*[ -/]*[@-~]`)
	unended  = regexp.MustCompile(`(\?|:|>|❯|»|[\])]\??:?)\s*$`)
	distinct = regexp.MustCompile(`(?i)[\[(](y/n|yes/no|y/n/[a-z]|yes/no/[\[\]a-z]+)[\])]|press (any key|enter|return)|hit (enter|return)`)
)

// FuzzQuestion holds what is written out against the same as expressions.
func FuzzQuestion(f *testing.F) {
	for _, tail := range []string{
		"a\x1b[31mb?", "\x1b[1;2 m?", "\x1b[1\x1b[m]", "\x1b[é:", "[Y/n]x", "(y/n/a) -", "(y/n/é) -", "(y/n/) -", "[yes/no/[a]b -", "(yes/no/a) -",
		"(yes/no/] -", "(yes/no/]] -", "(yes/no/) -", "HIT return", "press any  key", "x]\v", "x) \f\t", "❯", "\xe2\x9d", "((y/n]",
	} {
		f.Add([]byte(tail))
	}
	f.Fuzz(func(t *testing.T, tail []byte) {
		if bytes.ContainsAny(tail, "\u017f\u212a") {
			return // an s and a K of other alphabets, which expressions take for ours
		}
		if got, want := uncoloured(tail), escapes.ReplaceAll(tail, nil); !bytes.Equal(got, want) {
			t.Errorf("uncoloured %q: %q, as an expression %q", tail, got, want)
		}
		if got, want := choice(tail), distinct.Match(tail); got != want {
			t.Errorf("choice %q: %v, as an expression %v", tail, got, want)
		}
		if got, want := marked(tail), unended.Match(tail); got != want {
			t.Errorf("marked %q: %v, as an expression %v", tail, got, want)
		}
		if Question(tail) && len(tail) == 0 {
			t.Error("nothing asks")
		}
	})
}
