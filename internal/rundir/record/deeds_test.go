//go:build linux

package record

import (
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"paddock"
)

// Deeds come back in order, and what a crash left of one is none and is no
// obstacle for the next.
func TestDeeds(t *testing.T) {
	t.Parallel()
	d := &Dir{path: t.TempDir()}
	if got, err := d.Deeds(); got != nil || err != nil {
		t.Fatal(got, err)
	}
	at := time.Unix(1, 0).UTC()
	want := []paddock.Deed{
		{Kind: paddock.DeedApplying, At: at, By: "a", Paths: []string{"x\n", "y"}, More: 3},
		{Kind: paddock.DeedApplied, At: at, By: "a"},
	}
	for i, deed := range want {
		if err := d.AddDeed(deed); err != nil {
			t.Fatal(err)
		}
		if half := paddock.HalfApplied(want[:i+1]); half != (i == 0) {
			t.Errorf("after %d: half applied %v", i, half)
		}
		f, err := os.OpenFile(d.file("deeds.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.WriteString(`{"version":1,"deed":{"kind":"dis`)
		if err != nil || f.Close() != nil {
			t.Fatal(err)
		}
	}
	got, err := d.Deeds()
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for _, text := range []string{"{}\n", `{"version":2,"deed":{}}` + "\n", "[]\n", `{"version":1,"version":1}` + "\n", "\n"} {
		if err := os.WriteFile(d.file("deeds.jsonl"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := d.Deeds(); err == nil {
			t.Errorf("%q was read as %v", text, got)
		}
	}
}
