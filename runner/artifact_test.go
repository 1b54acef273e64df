//go:build linux

package runner

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"paddock"
	"paddock/internal/app/retention"
	"paddock/internal/rundir"
)

// What a host gives is kept, byte for byte, and read in pages as output is.
func TestArtifacts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, strings.Replace(permissive, "10MiB", "64KiB", 1))
	payload := []byte(strings.Repeat("zeile ä\n", 5000) + "\x00\xff end")
	a, err := w.r.BankArtifact(t.Context(), "report of w1", payload)
	must(t, err)
	if a.Label != "report of w1" || a.Bytes != int64(len(payload)) || len(a.Digest) != 71 || !strings.HasPrefix(a.Preview, "zeile ä\n") || len(a.Preview) > 1000 {
		t.Errorf("%+v", a)
	}
	var got []byte
	for offset := int64(0); ; {
		page, err := w.r.ReadArtifact(t.Context(), a.ID, PageRequest{Offset: offset, Limit: 7000})
		must(t, err)
		part := []byte(page.Content)
		if page.Encoding == "base64" {
			part, err = base64.StdEncoding.DecodeString(page.Content)
			must(t, err)
		}
		got = append(got, part...)
		if offset = page.NextOffset; page.EOF {
			break
		}
	}
	if !bytes.Equal(got, payload) {
		t.Errorf("%d bytes came back of %d", len(got), len(payload))
	}
	run, err := w.r.Status(t.Context(), a.ID)
	must(t, err)
	if run.State != Banked || !run.State.Settled() || run.Outcome.Reason.Kind != paddock.ReasonBanked || run.StartedAt != nil || len(run.Argv) != 0 {
		t.Errorf("%+v", run)
	}

	// What a command printed is read by the same name, and an empty artifact is one.
	printed := w.done("echo hello; echo there >&2")
	for stream, want := range map[paddock.Stream]string{Stdout: "hello\n", Stderr: "there\n"} {
		page, err := w.r.ReadArtifact(t.Context(), printed.ID, PageRequest{Stream: stream})
		must(t, err)
		if page.Content != want {
			t.Errorf("%s is %q", stream, page.Content)
		}
	}
	empty, err := w.r.BankArtifact(t.Context(), "nothing", nil)
	must(t, err)
	if page, err := w.r.ReadArtifact(t.Context(), empty.ID, PageRequest{}); err != nil || page.Content != "" || !page.EOF {
		t.Errorf("%+v, %v", page, err)
	}
}

func TestArtifactsAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, strings.Replace(permissive, "10MiB", "1KiB", 1))
	_, err := w.r.BankArtifact(t.Context(), "exactly", make([]byte, 1024))
	must(t, err)
	_, err = w.r.BankArtifact(t.Context(), "too large", make([]byte, 1025))
	refused(t, err, paddock.LimitExceeded)
	for _, label := range []string{"", "two\nlines", strings.Repeat("l", 201), "\xff"} {
		_, err = w.r.BankArtifact(t.Context(), label, []byte("x"))
		refused(t, err, paddock.InvalidRequest)
	}
	must(t, os.Remove(w.policy)) // a broken change would leave the one before in force
	_, err = w.r.BankArtifact(t.Context(), "x", []byte("x"))
	refused(t, err, paddock.NoPolicy)
	if left, err := filepath.Glob(w.state + "/tmp/*"); len(left) > 0 || err != nil {
		t.Errorf("left: %v, %v", left, err)
	}
}

// What is banked for a delegate is the delegate's, and only who it works for may.
func TestArtifactsForDelegates(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive)
	d := Delegate{Principal: w.r.principal, Provider: "worker", ID: "d01kb5m0e4n8xjq2c6z7w3v9tya"}
	a, err := w.r.BankArtifactFor(t.Context(), d, "for you", []byte("yours"))
	must(t, err)
	_, err = w.r.ReadArtifact(t.Context(), a.ID, PageRequest{})
	refused(t, err, paddock.NotFound)
	page, err := w.r.app.Artifact(t.Context(), d.Session(), a.ID, PageRequest{})
	if err != nil || page.Content != "yours" {
		t.Errorf("%+v, %v", page, err)
	}
	other := w.open(func(o *Options) { o.Principal = "another" })
	for _, foreign := range []Delegate{d, {}, {Principal: w.r.principal, Provider: "a/b", ID: "x"}} {
		_, err = other.BankArtifactFor(t.Context(), foreign, "x", []byte("x"))
		refused(t, err, paddock.Forbidden)
	}
	_, err = w.r.app.Bank(t.Context(), d.Session(), w.r.principal, paddock.DoorMCP, "x", []byte("x"))
	refused(t, err, paddock.Forbidden)
}

// Artifacts of others and those that never were can't be told apart.
func TestArtifactsOfOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive)
	a, err := w.r.BankArtifact(t.Context(), "mine", []byte("mine"))
	must(t, err)
	other := w.open(func(o *Options) { o.Principal = "another" })
	_, foreign := other.ReadArtifact(t.Context(), a.ID, PageRequest{})
	_, unknown := other.ReadArtifact(t.Context(), "r00000000000000000000000000", PageRequest{})
	_, nonsense := other.ReadArtifact(t.Context(), "../../etc/passwd", PageRequest{})
	for _, err := range []error{foreign, unknown, nonsense} {
		refused(t, err, paddock.NotFound)
		if err.Error() != foreign.Error() {
			t.Errorf("%v and %v differ", err, foreign)
		}
	}
	// They are there for whoever is the same principal next.
	again := w.open()
	if page, err := again.ReadArtifact(t.Context(), a.ID, PageRequest{}); err != nil || page.Content != "mine" {
		t.Errorf("%+v, %v", page, err)
	}
}

// Artifacts are kept and pruned as the output of runs is.
func TestArtifactsArePruned(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive)
	first, err := w.r.BankArtifact(t.Context(), "first", []byte("first"))
	must(t, err)
	second, err := w.r.BankArtifact(t.Context(), "second", []byte("second"))
	must(t, err)
	third, err := w.r.BankArtifact(t.Context(), "third", []byte("third"))
	must(t, err)
	r, err := retention.Open(t.Context(), paddock.Principal{Kind: paddock.Operator, ID: "o"}, w.state, time.Now, w.warnings.add)
	must(t, err)
	defer func() { must(t, r.Close()) }()
	_, err = r.Keep(t.Context(), first.ID)
	must(t, err)
	var gone []paddock.RunID
	prune := func(l retention.Limits) {
		must(t, r.Prune(t.Context(), l, false, func(i retention.Item) error { gone = append(gone, i.Run); return nil }))
	}
	prune(retention.Limits{Runs: 1})
	if !slices.Equal(gone, []paddock.RunID{second.ID}) {
		t.Errorf("pruned are %v; want %s of %s, %s, %s", gone, second.ID, first.ID, second.ID, third.ID)
	}
	_, err = w.r.ReadArtifact(t.Context(), second.ID, PageRequest{})
	refused(t, err, paddock.Pruned)
	for _, a := range []Artifact{first, third} {
		if page, err := w.r.ReadArtifact(t.Context(), a.ID, PageRequest{}); err != nil || page.Content != a.Label {
			t.Errorf("%+v, %v", page, err)
		}
	}
	prune(retention.Limits{Size: 1})
	if !slices.Equal(gone, []paddock.RunID{second.ID, third.ID}) {
		t.Errorf("pruned are %v", gone)
	}
	state, err := rundir.Open(w.state)
	must(t, err)
	defer func() { must(t, state.Close()) }()
	if active, err := state.ListActive(); len(active) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("active: %v, %v", active, err)
	}
}
