//go:build linux

package backup_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"paddock"
	"paddock/internal/app/evidence"
	"paddock/internal/app/evidence/census"
	"paddock/internal/app/evidence/census/names/backup"
	"paddock/internal/app/evidence/census/names/backup/restore"
	"paddock/internal/executor/notes"
	"paddock/internal/journal/writer"
	"paddock/internal/rundir"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

var operator = paddock.Principal{Kind: paddock.Operator, ID: "operator:uid=0"}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A house is a state directory with its journal.
type house struct {
	t     *testing.T
	e     *evidence.Evidence
	notes *notes.Notes
	made  int
}

func newHouse(t *testing.T) *house {
	t.Helper()
	e, err := evidence.Open(operator, filepath.Join(t.TempDir(), "state"), time.Now)
	must(t, err)
	n, err := notes.Open(t.Context(), e.State(), time.Now, func(err error) { t.Error(err) }, writer.Options{})
	must(t, err)
	t.Cleanup(func() { must(t, errors.Join(n.Close(), e.Close())) })
	return &house{t: t, e: e, notes: n}
}

// start makes a run whose supervisor is this test.
func (h *house) start() *rundir.Dir {
	h.t.Helper()
	id, err := paddock.NewRunID(time.Now().Add(time.Duration(h.made)*time.Millisecond), nil)
	must(h.t, err)
	h.made++
	req := paddock.Request{Principal: paddock.Principal{Kind: paddock.Agent, ID: "alice"}, Door: paddock.DoorMCP, Command: paddock.Command{Argv: []string{"seq"}}}
	d, err := h.notes.Prepare(h.t.Context(), h.e.State(), id, rundir.Intent{Request: req, CreatedAt: time.Now(), Decision: paddock.Decision{
		Effect: paddock.Allow, RequestDigest: req.Digest(), PolicyDigest: paddock.DigestOf([32]byte{1}), Granted: paddock.Gives(&paddock.Grant{Argv: req.Command.Argv, Dir: "/srv"}),
	}})
	must(h.t, err)
	h.t.Cleanup(func() { _ = d.ReleaseLock() })
	must(h.t, h.e.State().Claim(h.t.Context(), func(c *rundir.Claim) error { return c.Publish(d, "") }))
	for _, name := range []string{"stdout", "stderr", "frames"} {
		f, err := os.OpenFile(filepath.Join(d.Path(), name), os.O_CREATE|os.O_WRONLY, 0o600)
		must(h.t, err)
		must(h.t, f.Close())
	}
	return d
}

// settle writes how it ended, and lets the journal know if told.
func (h *house) settle(d *rundir.Dir, told bool) {
	h.t.Helper()
	empty := paddock.StreamSummary{Digest: "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}
	code := 0
	_, err := d.PublishOutcome(paddock.Outcome{State: paddock.Exited, Reason: paddock.Reason{Kind: paddock.ReasonExit, ExitCode: &code}, EndedAt: time.Now(), SettledAt: time.Now(), Stdout: empty, Stderr: empty})
	must(h.t, err)
	if told {
		must(h.t, h.notes.Ended(d))
	}
	must(h.t, d.ReleaseLock())
}

func (h *house) write(to io.Writer) backup.Summary {
	h.t.Helper()
	s, err := backup.Write(h.t.Context(), h.e.State(), to, backup.Options{
		Database: func(_ context.Context, from, to string) error {
			text, err := os.ReadFile(from)
			return errors.Join(err, os.WriteFile(to, text, 0o600))
		},
		Room: h.t.TempDir(), By: "test", Now: time.Now,
	})
	must(h.t, err)
	return s
}

func again(t *testing.T, from io.Reader, dir string) (restore.Restored, error) {
	t.Helper()
	return restore.Into(t.Context(), from, dir, restore.Options{As: operator, Now: time.Now, Database: func(_ context.Context, from, to string) error {
		return os.Link(from, to) // looked at by the store's own tests
	}})
}

// Whatever happens while it is written, what is restored fits together.
func TestWhileOthersWork(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	over, untold, open := h.start(), h.start(), h.start()
	h.settle(over, true)
	h.settle(untold, false)
	must(t, os.WriteFile(filepath.Join(h.e.State().Path(), "server.key"), []byte("key"), 0o600))
	// As soon as something of the journal is written, one run more ends and another begins:
	// before its segments are, which know of that, and after them.
	if _, _, err := h.e.Key(""); err != nil {
		t.Fatal(err)
	}
	var whole bytes.Buffer
	late := onWrite{to: &whole, when: []byte("journal/0"), do: func() {
		h.settle(open, true)
		h.settle(h.start(), true)
	}}
	early := onWrite{to: &late, when: []byte("journal/key"), do: func() { h.settle(h.start(), true) }}
	s := h.write(&early)
	if early.do != nil || late.do != nil || s.Runs != 4 || s.Open != 0 {
		t.Fatalf("%+v", s)
	}
	dir := filepath.Join(t.TempDir(), "a", "state")
	r, err := again(t, &whole, dir)
	must(t, err)
	if len(r.Lost) != 0 || r.SHA256 != s.SHA256 {
		t.Errorf("%+v", r)
	}
	e, err := evidence.Open(operator, dir, time.Now)
	must(t, err)
	defer e.Close()
	report, err := census.Of(e).Check(t.Context(), census.Options{Digests: true}, func(f census.Finding) error {
		t.Errorf("%+v", f)
		return nil
	})
	if err != nil || report.Runs != 4 || report.Open != 0 {
		t.Errorf("%+v, %v", report, err)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(dir), "*"))
	if err != nil || !slices.Equal(left, []string{dir}) {
		t.Errorf("beside it: %v, %v", left, err)
	}
	if _, err := again(t, &whole, dir); !errors.Is(err, restore.ErrInTheWay) {
		t.Error(err)
	}
}

// An onWrite does something once, when something was written.
type onWrite struct {
	to   io.Writer
	when []byte
	do   func()
}

func (w *onWrite) Write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	if do := w.do; do != nil && bytes.Contains(p, w.when) {
		w.do = nil
		do()
	}
	return n, err
}

// Of what isn't a whole backup nothing is restored, whatever it says.
func TestHostile(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.settle(h.start(), true)
	must(t, os.WriteFile(filepath.Join(h.e.State().Path(), "server.db"), []byte("database"), 0o600))
	var buffer bytes.Buffer
	if s := h.write(&buffer); !s.Database {
		t.Errorf("%+v", s)
	}
	whole := buffer.Bytes()
	entries := read(t, whole)
	if _, err := again(t, bytes.NewReader(pack(t, entries)), filepath.Join(t.TempDir(), "fine")); err != nil {
		t.Error("written again:", err)
	}
	with := func(e entry) []byte { return pack(t, append([]entry{e}, entries...)) }
	run := "runs/20260101/r00000000000000000000000000/"
	for what, text := range map[string][]byte{
		"nothing":         nil,
		"a text":          []byte(strings.Repeat("text ", 1000)),
		"cut short":       whole[:len(whole)/2],
		"without its end": pack(t, entries[:len(entries)-1]),
		"with more":       with(entry{tar.Header{Typeflag: tar.TypeReg, Name: "approvals/x/more", Size: 1}, []byte("x")}),
		"something twice": with(entries[0]),
		"out of it":       with(entry{tar.Header{Typeflag: tar.TypeReg, Name: "journal/../../x"}, nil}),
		"absolute":        with(entry{tar.Header{Typeflag: tar.TypeReg, Name: "/etc/x"}, nil}),
		"a link":          with(entry{tar.Header{Typeflag: tar.TypeSymlink, Name: "journal/x", Linkname: "/etc"}, nil}),
		"a hard link":     with(entry{tar.Header{Typeflag: tar.TypeLink, Name: "journal/x", Linkname: "../../etc/passwd"}, nil}),
		"a device":        with(entry{tar.Header{Typeflag: tar.TypeChar, Name: "journal/x"}, nil}),
		"a strange file":  with(entry{tar.Header{Typeflag: tar.TypeReg, Name: "homes/x"}, nil}),
		"of no run":       with(entry{tar.Header{Typeflag: tar.TypeReg, Name: run + "stdout"}, nil}),
		"a control":       with(entry{tar.Header{Typeflag: tar.TypeReg, Name: "journal/\x01"}, nil}),
		"another version": pack(t, replaced(entries, `"version":1`, `"version":7`)),
		"another digest":  pack(t, replaced(entries, `"sha256":"`, `"sha256":"0`)),
	} {
		dir := t.TempDir()
		if _, err := again(t, bytes.NewReader(text), filepath.Join(dir, "state")); err == nil {
			t.Errorf("%s: restored", what)
		} else if what != "another version" && !errors.Is(err, restore.ErrNotWhole) {
			t.Errorf("%s: %v", what, err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%s: left %v, %v", what, left, err)
		}
	}
}

type entry struct {
	tar.Header
	text []byte
}

func read(t *testing.T, whole []byte) (all []entry) {
	t.Helper()
	r := tar.NewReader(bytes.NewReader(whole))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		must(t, err)
		text, err := io.ReadAll(r)
		must(t, err)
		all = append(all, entry{*h, text})
	}
}

func pack(t *testing.T, entries []entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		h := e.Header
		must(t, w.WriteHeader(&h))
		_, err := w.Write(e.text)
		must(t, err)
	}
	must(t, w.Close())
	return b.Bytes()
}

// replaced is the entries with something else in the last one.
func replaced(entries []entry, from, to string) []entry {
	all := slices.Clone(entries)
	last := &all[len(all)-1]
	last.text = bytes.Replace(last.text, []byte(from), []byte(to), 1)
	last.Size = int64(len(last.text))
	return all
}
