package prompt

import (
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

func FuzzQuestion(f *testing.F) {
	f.Add([]byte("a\x1b[31mb?"))
	f.Fuzz(func(t *testing.T, tail []byte) {
		if Question(tail) && len(tail) == 0 {
			t.Error("nothing asks")
		}
	})
}
