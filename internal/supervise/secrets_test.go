//go:build linux

package supervise

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"paddock"
	"paddock/internal/artifact"
	"paddock/internal/egress/credential"
)

const theSecret = "sk-7Qh2vXm9TfLw4RzKc8Ye"

// entrusted gives the run theSecret as TOKEN.
func (f *fixture) entrusted(redact paddock.Redaction) {
	f.t.Helper()
	known, err := credential.SealKnown(credential.Known{Env: []string{"TOKEN=" + theSecret}, Hide: []string{theSecret, "line one\nline two\n"}})
	if err != nil {
		f.t.Fatal(err)
	}
	f.job.HasKnown, f.job.Redact, f.files.Known = true, redact, known
}

// shown is what readers see of the run's standard output.
func (f *fixture) shown() string {
	f.t.Helper()
	var b strings.Builder
	if _, err := artifact.Open(f.dir.Path()).CopySealed(&b, paddock.Stdout, 0); err != nil {
		f.t.Fatal(err)
	}
	return b.String()
}

const leaking = `echo "it is $TOKEN"; printf %s "$TOKEN" | base64; printf 'line one\nline two\n'; printf %s "sk-7Qh2v"`

func leaked() (raw, hidden string) {
	coded := base64.StdEncoding.EncodeToString([]byte(theSecret))
	raw = "it is " + theSecret + "\n" + coded + "\nline one\nline two\nsk-7Qh2v"
	stars := strings.Repeat("*", len(theSecret))
	// The last character before the padding depends on what follows.
	return raw, "it is " + stars + "\n" + strings.Repeat("*", 30) + coded[30:] + "\n********\n********\nsk-7Qh2v"
}

// What is kept is what was printed, and what is shown has nothing of a secret.
func TestSecretsAreHiddenWhenShown(t *testing.T) {
	t.Parallel()
	f := newFixture(t, leaking)
	f.entrusted("")
	got := f.run()
	raw, hidden := leaked()
	if f.stdout() != raw || f.shown() != hidden {
		t.Errorf("kept %q, shown %q", f.stdout(), f.shown())
	}
	if want := int64(strings.Count(hidden, "*")); got.Stdout.Masked != want+1 || got.Stderr.Masked != 0 { // and a line end
		t.Errorf("%d and %d bytes are masked, want %d", got.Stdout.Masked, got.Stderr.Masked, want)
	}
	f.nowhere("stdout")
}

func TestSecretsAreHiddenBeforeTheyAreStored(t *testing.T) {
	t.Parallel()
	f := newFixture(t, leaking)
	f.entrusted(paddock.RedactStored)
	got := f.run()
	if _, hidden := leaked(); f.stdout() != hidden || f.shown() != hidden || got.Stdout.Masked == 0 {
		t.Errorf("kept %q, shown %q, %+v", f.stdout(), f.shown(), got.Stdout)
	}
	if _, err := os.Stat(filepath.Join(f.dir.Path(), "stdout.masks")); err == nil {
		t.Error("there are masks of what isn't kept")
	}
	f.nowhere()
}

// nowhere looks for theSecret in the run's directory, but for some files.
func (f *fixture) nowhere(but ...string) {
	f.t.Helper()
	entries, err := os.ReadDir(f.dir.Path())
	if err != nil {
		f.t.Fatal(err)
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || len(but) > 0 && e.Name() == but[0] {
			continue
		}
		b, err := os.ReadFile(filepath.Join(f.dir.Path(), e.Name()))
		if err != nil || strings.Contains(string(b), theSecret) {
			f.t.Errorf("%s holds the secret, or can't be read: %v", e.Name(), err)
		}
	}
}

// A secret that the cap cuts is hidden as far as it is kept.
func TestASecretAtTheCap(t *testing.T) {
	t.Parallel()
	for _, redact := range []paddock.Redaction{paddock.RedactShown, paddock.RedactStored} {
		f := newFixture(t, `printf %s "12345$TOKEN$TOKEN"`)
		f.entrusted(redact)
		f.job.OutputCap = 15
		got := f.run()
		if got.State != paddock.OutputLimit || f.shown() != "12345**********" || got.Stdout.Masked != 10 || got.Stdout.Dropped != int64(2*len(theSecret)-10) {
			t.Errorf("%s: %q, %+v", redact, f.shown(), got)
		}
	}
}

// Where what hides secrets can't be made, no program runs.
func TestWithoutMasksNothingRuns(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "echo ran")
	f.entrusted("")
	if err := os.WriteFile(filepath.Join(f.dir.Path(), "stdout.masks"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f.mayFail = true
	if got := f.run(); got.State != paddock.FailedToStart || got.Reason.Step != "secrets" || f.stdout() != "" {
		t.Errorf("%+v, %q", got, f.stdout())
	}
}

// A secret that is printed piece by piece is never seen in part while more of it
// may come.
func TestASecretInPieces(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `printf 'begin sk-7Qh2vXm'; while [ ! -e go ]; do sleep 0.01; done; printf '9TfLw4RzKc8Ye end'; while [ ! -e end ]; do sleep 0.01; done`)
	f.entrusted("")
	touch := func(name string) func() {
		return func() {
			if err := os.WriteFile(filepath.Join(f.job.Dir, name), nil, 0o600); err != nil {
				t.Error(err)
			}
		}
	}
	f.run(f.printed("begin "), func() {
		if got := f.stdout(); got != "begin " {
			t.Errorf("%q is kept already", got)
		}
	}, touch("go"), f.printed(" end"), touch("end"))
	if got := f.shown(); got != "begin "+strings.Repeat("*", len(theSecret))+" end" {
		t.Errorf("%q", got)
	}
}
