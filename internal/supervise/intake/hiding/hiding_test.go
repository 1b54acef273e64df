//go:build linux

package hiding

import (
	"os"
	"path/filepath"
	"testing"

	"paddock"
	"paddock/internal/artifact"
	"paddock/internal/control/handover"
	"paddock/internal/egress/credential"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

const secret = "hunter22-hunter22"

func opened(t *testing.T, dir string, redact paddock.Redaction, values ...string) *Hiding {
	t.Helper()
	known, err := credential.SealKnown(credential.Known{Env: []string{"A=" + secret}, Hide: values})
	if err != nil {
		t.Fatal(err)
	}
	h, err := Open(handover.Job{RunDir: dir, OutputCap: 1000, Redact: redact}, known, nil)
	if err != nil {
		t.Fatal(err)
	}
	if known.Fd() != ^uintptr(0) {
		t.Error("what was known is still open")
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// Without anything to hide everything passes.
func TestNothingToHide(t *testing.T) {
	t.Parallel()
	h, err := Open(handover.Job{}, nil, nil)
	if h != nil || err != nil {
		t.Fatal(h, err)
	}
	dir := t.TempDir()
	for _, h := range []*Hiding{nil, opened(t, dir, "")} {
		if got, err := h.Pass(paddock.Stdout, []byte(secret)); string(got) != secret || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		if got, err := h.Rest(paddock.Stdout); len(got) > 0 || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		if (h != nil) != (len(h.Env()) == 1) || h.Masked(paddock.Stdout) != 0 {
			t.Errorf("%q, %d", h.Env(), h.Masked(paddock.Stdout))
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
}

// The streams have nothing to do with each other, and what is written down is what
// readers go by.
func TestPass(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h := opened(t, dir, "", secret)
	var kept [2]string
	for i, s := range []paddock.Stream{paddock.Stdout, paddock.Stderr} {
		for _, piece := range []string{"a hunter2", "2-hunt", "er22 b hun"} {
			got, err := h.Pass(s, []byte(piece))
			if err != nil {
				t.Fatal(err)
			}
			kept[i] += string(got)
		}
		got, err := h.Rest(s)
		if err != nil {
			t.Fatal(err)
		}
		kept[i] += string(got)
		path := filepath.Join(dir, string(s))
		if err := os.WriteFile(path, []byte(kept[i]), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		src, err := artifact.Masked(f, path)
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		p := make([]byte, len(kept[i]))
		if _, err := src.ReadAt(p, 0); err != nil || string(p) != "a ***************** b hun" {
			t.Errorf("%q is shown as %q, %v", kept[i], p, err)
		}
	}
	denied := h.Denials([]paddock.Denial{{Call: "network", Arguments: secret + ".example.org:443", Text: "no way to " + secret + "."}})
	if denied[0].Arguments != "*****************.example.org:443" || denied[0].Text != "no way to *****************." {
		t.Errorf("%+v", denied)
	}
}

// What can't be written down isn't to be banked, and neither is what comes later.
func TestMasksThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	h := opened(t, t.TempDir(), "", secret)
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text string
		ok   bool
	}{{"harmless ", true}, {secret, false}, {"harmless", false}} {
		if _, err := h.Pass(paddock.Stdout, []byte(c.text)); (err == nil) != c.ok {
			t.Errorf("%q: %v", c.text, err)
		}
	}
	if got, err := h.Pass(paddock.Stderr, []byte("other")); string(got) != "other" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}
