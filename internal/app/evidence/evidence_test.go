//go:build linux

package evidence

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"paddock"
	"paddock/internal/artifact"
	"paddock/internal/executor/notes"
	"paddock/internal/executor/signing"
	"paddock/internal/journal"
	"paddock/internal/journal/sign"
	"paddock/internal/journal/writer"
	"paddock/internal/rundir"
	"paddock/internal/rundir/record/durable/prune"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

var (
	alice    = paddock.Principal{Kind: paddock.Agent, ID: "alice"}
	operator = paddock.Principal{Kind: paddock.Operator, ID: "operator:uid=0"}
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type world struct {
	*Evidence
	t     *testing.T
	notes *notes.Notes
	n     int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state")
	e, err := Open(operator, path, time.Now)
	must(t, err)
	w := &world{Evidence: e, t: t}
	w.notes, err = notes.Open(t.Context(), e.state, time.Now, func(err error) { t.Error(err) }, writer.Options{})
	must(t, err)
	t.Cleanup(func() { must(t, errors.Join(w.notes.Close(), e.Close())) })
	return w
}

// start makes a run that goes on until the test is over.
func (w *world) start(words ...string) *rundir.Dir {
	w.t.Helper()
	id, err := paddock.NewRunID(time.Now().Add(time.Duration(w.n)*time.Millisecond), nil)
	must(w.t, err)
	w.n++
	req := paddock.Request{Principal: alice, Door: paddock.DoorMCP, Command: paddock.Command{Argv: append([]string{"seq"}, words...)}}
	d, err := w.notes.Prepare(w.t.Context(), w.state, id, rundir.Intent{Request: req, CreatedAt: time.Now(), Decision: paddock.Decision{
		Effect: paddock.Allow, RequestDigest: req.Digest(), PolicyDigest: paddock.DigestOf([32]byte{1}), Granted: paddock.Gives(&paddock.Grant{Argv: req.Command.Argv, Dir: "/srv"}),
	}})
	must(w.t, err)
	w.t.Cleanup(func() { _ = d.ReleaseLock() })
	must(w.t, w.state.Claim(w.t.Context(), func(c *rundir.Claim) error { return c.Publish(d, "") }))
	return d
}

// run is a run that is over, of which everything was told.
func (w *world) run(words ...string) *rundir.Dir {
	w.t.Helper()
	d := w.start(words...)
	bank, err := artifact.Create(d.Path(), artifact.Options{Cap: 1 << 20})
	must(w.t, err)
	_, _, err = bank.Append(paddock.Stdout, []byte("1\n2\n"))
	must(w.t, err)
	zero := 0
	o := paddock.Outcome{State: paddock.Exited, Reason: paddock.Reason{Kind: paddock.ReasonExit, ExitCode: &zero}, EndedAt: time.Now(), SettledAt: time.Now()}
	o.Stdout, o.Stderr, err = bank.Seal()
	must(w.t, errors.Join(err, bank.Close()))
	_, err = d.PublishOutcome(o)
	must(w.t, errors.Join(err, d.ReleaseLock()))
	_, err = w.state.Reconcile(w.t.Context(), time.Now)
	must(w.t, err)
	return d
}

// wrong returns what a run's report calls wrong.
func wrongOf(r *RunReport) (names []string) {
	for _, c := range r.Checks {
		if !c.OK {
			names = append(names, c.What)
		}
	}
	return names
}

func refused(t *testing.T, err error, code paddock.Code) {
	t.Helper()
	var r *paddock.Refusal
	if !errors.As(err, &r) || r.Code != code {
		t.Errorf("error %v, want %s", err, code)
	}
}

func TestOperatorsOnly(t *testing.T) {
	t.Parallel()
	for _, p := range []paddock.Principal{{}, alice, {Kind: paddock.Host, ID: "h"}, {Kind: paddock.Operator}} {
		path := filepath.Join(t.TempDir(), "state")
		_, err := Open(p, path, time.Now)
		refused(t, err, paddock.Forbidden)
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%+v has made a state directory", p)
		}
	}
}

func TestNothingYet(t *testing.T) {
	t.Parallel()
	e, err := Open(operator, filepath.Join(t.TempDir(), "state"), time.Now)
	must(t, err)
	defer e.Close()
	for name, err := range map[string]error{
		"List":     second(e.List(t.Context(), Filter{}, nil)),
		"Verify":   second(e.Verify(t.Context(), Against{})),
		"Head":     second(e.Head(t.Context())),
		"Schedule": second(e.SetSchedule(t.Context(), &signing.Schedule{Entries: 10})),
	} {
		t.Run(name, func(t *testing.T) { refused(t, err, paddock.NotFound) })
	}
	_, _, err = e.Key("")
	refused(t, err, paddock.NotFound)
	_, err = e.VerifyRun(t.Context(), "r01m8kjt9g0zqy4w8mezs077e23", Against{})
	refused(t, err, paddock.NotFound)
}

func second[T any](_ T, err error) error { return err }

func TestList(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two := w.run("1"), w.run("2")
	list := func(f Filter) (kinds []string) {
		t.Helper()
		broken, err := w.List(t.Context(), f, func(e journal.Entry, line []byte) error {
			if again, err := journal.Parse(line); err != nil || again.Seq != e.Seq {
				t.Errorf("the line %s isn't that of entry %d: %v", line, e.Seq, err)
			}
			kinds = append(kinds, string(e.Kind))
			return nil
		})
		if err != nil || broken != 0 {
			t.Errorf("List(%+v) = %d, %v", f, broken, err)
		}
		return kinds
	}
	for _, c := range []struct {
		f    Filter
		want string
	}{
		{Filter{}, "begin policy start end start end"},
		{Filter{Run: one.ID()}, "start end"},
		{Filter{Kind: journal.End}, "end end"},
		{Filter{Run: two.ID(), Kind: journal.Start}, "start"},
		{Filter{Since: time.Now().Add(time.Hour)}, ""},
		{Filter{Kind: "unheard-of"}, ""},
	} {
		if got := strings.Join(list(c.f), " "); got != c.want {
			t.Errorf("%+v lists %q, want %q", c.f, got, c.want)
		}
	}
	stop := errors.New("enough")
	if _, err := w.List(t.Context(), Filter{}, func(journal.Entry, []byte) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("an error of who is told: %v", err)
	}
	change(t, filepath.Join(w.dir, journal.Name(1)), "alice", "alicf")
	if broken, err := w.List(t.Context(), Filter{}, func(journal.Entry, []byte) error { return nil }); broken != 1 || err != nil {
		t.Errorf("with a changed line: %d, %v", broken, err)
	}
}

func change(t *testing.T, path, from, to string) {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	if !strings.Contains(string(text), from) {
		t.Fatalf("%q isn't in %s", from, text)
	}
	must(t, os.WriteFile(path, []byte(strings.Replace(string(text), from, to, 1)), 0o600))
}

// What was saved elsewhere proves what is before it, also by keys that came later.
func TestHeadsAndCheckpoints(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run("1")
	head, err := w.Head(t.Context())
	must(t, err)
	key, made, err := w.Key("")
	if err != nil || !made {
		t.Fatal(made, err)
	}
	if _, made, err := w.Key(""); made || err != nil {
		t.Errorf("made again: %v, %v", made, err)
	}
	info, err := os.Stat(filepath.Join(w.dir, "key"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key is %v, %v", info.Mode(), err)
	}
	note, err := w.Checkpoint(t.Context(), key)
	must(t, err)
	w.run("2")
	other, _, err := w.Key(filepath.Join(t.TempDir(), "other"))
	must(t, err)
	later, err := w.Checkpoint(t.Context(), other)
	must(t, err)
	for _, c := range []struct {
		name                      string
		a                         Against
		checkpoints, saved, alien int
		whole                     bool
	}{
		{"the key beside", Against{}, 1, 0, 1, true},
		{"a head", Against{Heads: []journal.Head{head}}, 1, 1, 1, true},
		{"both keys", Against{Keys: []*sign.Public{&key.Public, &other.Public}, Checkpoints: []string{note}}, 2, 2, 0, true},
		{"one of two keys", Against{Keys: []*sign.Public{&other.Public}}, 1, 1, 0, false},
		{"a forged note", Against{Keys: []*sign.Public{&key.Public, &other.Public}, Checkpoints: []string{strings.Replace(later, "\n", "0\n", 1)}}, 2, 1, 0, false},
		{"another head", Against{Heads: []journal.Head{{Journal: head.Journal, Seq: head.Seq, Digest: paddock.DigestOf([32]byte{})}}}, 1, 0, 1, false},
		{"a head of later", Against{Heads: []journal.Head{{Journal: head.Journal, Seq: 1000, Digest: head.Digest}}}, 1, 0, 1, false},
	} {
		r, err := w.Verify(t.Context(), c.a)
		must(t, err)
		if r.Whole() != c.whole || r.Checkpoints != c.checkpoints || r.Saved != c.saved || r.Unsigned != c.alien {
			t.Errorf("%s: whole %v, %d checkpoints, %d saved, %d by strangers: %v", c.name, r.Whole(), r.Checkpoints, r.Saved, r.Unsigned, r.Faults)
		}
	}
	change(t, filepath.Join(w.dir, journal.Name(1)), "alice", "alicf")
	if _, err := w.Head(t.Context()); !errors.Is(err, signing.ErrNotWhole) {
		t.Errorf("Head of a changed journal: %v", err)
	}
	if _, err := w.Checkpoint(t.Context(), key); !errors.Is(err, signing.ErrNotWhole) {
		t.Errorf("Checkpoint of a changed journal: %v", err)
	}
}

func TestSetSchedule(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run("1")
	_, err := w.SetSchedule(t.Context(), &signing.Schedule{Entries: 1})
	refused(t, err, paddock.InvalidRequest)
	if s, err := w.Schedule(); s != nil || err != nil {
		t.Errorf("a schedule that makes no sense was taken: %v, %v", s, err)
	}
	plan := signing.Schedule{Every: time.Hour, Key: filepath.Join(t.TempDir(), "key")}
	if made, err := w.SetSchedule(t.Context(), &plan); !made || err != nil {
		t.Errorf("SetSchedule = %v, %v", made, err)
	}
	if s, err := w.Schedule(); err != nil || s == nil || *s != plan {
		t.Errorf("Schedule = %v, %v", s, err)
	}
	if note, err := sign.Newest(w.dir); err != nil || note == "" {
		t.Errorf("nothing was signed at once: %v", err)
	}
	change(t, filepath.Join(w.dir, journal.Name(1)), "alice", "alicf")
	if _, err := w.SetSchedule(t.Context(), &signing.Schedule{Entries: 10}); !errors.Is(err, signing.ErrNotWhole) {
		t.Errorf("of a changed journal: %v", err)
	}
	if s, err := w.Schedule(); err != nil || *s != plan {
		t.Errorf("one that doesn't work was taken: %v, %v", s, err)
	}
	_, err = w.SetSchedule(t.Context(), nil)
	must(t, err)
}

// Each thing that can differ between record, output and journal is told of.
func TestVerifyRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		harm func(t *testing.T, w *world, d *rundir.Dir)
		want string
	}{
		"nothing":        {func(*testing.T, *world, *rundir.Dir) {}, ""},
		"another output": {func(t *testing.T, _ *world, d *rundir.Dir) { change(t, filepath.Join(d.Path(), "stdout"), "1", "3") }, "stdout file"},
		"no output":      {func(t *testing.T, _ *world, d *rundir.Dir) { must(t, os.Remove(filepath.Join(d.Path(), "stdout"))) }, "stdout file"},
		"a link for output": {func(t *testing.T, _ *world, d *rundir.Dir) {
			must(t, errors.Join(os.Remove(filepath.Join(d.Path(), "stdout")), os.Symlink("/dev/zero", filepath.Join(d.Path(), "stdout"))))
		}, "stdout file"},
		"another state": {func(t *testing.T, _ *world, d *rundir.Dir) {
			change(t, filepath.Join(d.Path(), "outcome.json"), `"exited"`, `"killed"`)
		}, "state"},
		"another status": {func(t *testing.T, _ *world, d *rundir.Dir) {
			change(t, filepath.Join(d.Path(), "outcome.json"), `"exit_code":0`, `"exit_code":1`)
		}, "status"},
		"another command": {func(t *testing.T, _ *world, d *rundir.Dir) {
			change(t, filepath.Join(d.Path(), "request.json"), `"seq","1"`, `"seq","2"`)
		}, "request,command"},
		"another directory": {func(t *testing.T, _ *world, d *rundir.Dir) {
			change(t, filepath.Join(d.Path(), "decision.json"), `"/srv"`, `"/etc"`)
		}, "directory"},
		"another principal": {func(t *testing.T, _ *world, d *rundir.Dir) {
			change(t, filepath.Join(d.Path(), "request.json"), `"alice"`, `"alicf"`)
		}, "request,principal"},
		"no record": {func(t *testing.T, _ *world, d *rundir.Dir) {
			must(t, os.Remove(filepath.Join(d.Path(), "request.json")))
		}, "record"},
		"a torn outcome": {func(t *testing.T, _ *world, d *rundir.Dir) {
			must(t, os.WriteFile(filepath.Join(d.Path(), "outcome.json"), []byte("{"), 0o600))
		}, "record"},
		"a changed journal": {func(t *testing.T, w *world, _ *rundir.Dir) {
			change(t, filepath.Join(w.dir, journal.Name(1)), `"exited"`, `"killed"`)
		}, "journal,end"},
		"markers of something dropped": {func(t *testing.T, _ *world, d *rundir.Dir) { mark(t, d) }, "frames"},
		"told twice":                   {func(t *testing.T, w *world, d *rundir.Dir) { tellAgain(t, w, d) }, "end"},
		"pruned and told":              {func(t *testing.T, w *world, d *rundir.Dir) { pruned(t, w, d, true) }, ""},
		"pruned and untold":            {func(t *testing.T, w *world, d *rundir.Dir) { pruned(t, w, d, false) }, "output"},
		"an untold addendum": {func(t *testing.T, _ *world, d *rundir.Dir) {
			_, err := d.AddAddendum(paddock.Addendum{Outcome: paddock.Outcome{State: paddock.Killed}})
			must(t, err)
		}, "addenda"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			d := w.run("1")
			c.harm(t, w, d)
			r, err := w.VerifyRun(t.Context(), d.ID(), Against{})
			must(t, err)
			if got := strings.Join(wrongOf(r), ","); got != c.want {
				t.Errorf("wrong are %q, want %q: %+v", got, c.want, r.Checks)
			}
			if r.Whole() != (c.want == "") {
				t.Errorf("Whole = %v", r.Whole())
			}
			key, _, err := w.Key("")
			must(t, err)
			if _, err := w.Attest(t.Context(), d.ID(), key); (err == nil) != (c.want == "") {
				t.Errorf("Attest = %v", err)
			}
		})
	}
}

// mark puts a marker into the frames of a run that dropped nothing.
func mark(t *testing.T, d *rundir.Dir) {
	t.Helper()
	dir := t.TempDir()
	b, err := artifact.Create(dir, artifact.Options{Cap: 10})
	must(t, err)
	_, _, err = b.Append(paddock.Stdout, []byte("1\n"))
	must(t, err)
	b.Drop(paddock.Stdout, 4)
	must(t, b.Close())
	text, err := os.ReadFile(filepath.Join(dir, "frames"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(d.Path(), "frames"), text, 0o600))
}

func tellAgain(t *testing.T, w *world, d *rundir.Dir) {
	t.Helper()
	o, err := d.Outcome()
	must(t, err)
	must(t, w.notes.Prune(t.Context(), journal.EndOf(d.ID(), *o, nil, "", "")))
}

func pruned(t *testing.T, w *world, d *rundir.Dir, told bool) {
	t.Helper()
	if told {
		must(t, w.notes.Prune(t.Context(), journal.PruneOf(d.ID(), paddock.PruneAge, "policy", 4, false)))
	}
	must(t, errors.Join(prune.Mark(d.Path(), paddock.Pruning{Reason: paddock.PruneAge, By: "policy", Bytes: 4}), prune.Remove(d.Path(), func(string) {})))
}

func TestARunThatGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := w.start("1")
	r, err := w.VerifyRun(t.Context(), d.ID(), Against{})
	must(t, err)
	if r.Settled || !r.Whole() {
		t.Errorf("settled %v, wrong %v", r.Settled, wrongOf(r))
	}
	key, _, err := w.Key("")
	must(t, err)
	_, err = w.Attest(t.Context(), d.ID(), key)
	refused(t, err, paddock.Conflict)
}

// A statement says what the records say, and whoever has the public key can tell.
func TestAttest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := w.run("1")
	key, _, err := w.Key("")
	must(t, err)
	envelope, err := w.Attest(t.Context(), d.ID(), key)
	must(t, err)
	text, err := json.Marshal(envelope)
	must(t, err)
	raw, err := key.OpenEnvelope(text)
	must(t, err)
	var s Statement
	must(t, json.Unmarshal(raw, &s))
	o, err := d.Outcome()
	must(t, err)
	if s.Type != StatementType || s.PredicateType != PredicateType || s.Predicate.Run != d.ID() || !slices.Equal(s.Predicate.Argv, []string{"seq", "1"}) {
		t.Errorf("the statement is %s", raw)
	}
	if len(s.Subject) != 2 || s.Subject[0].Name != "stdout" || s.Subject[0].Digest["sha256"] != o.Stdout.Digest.Hex() {
		t.Errorf("its subjects are %+v", s.Subject)
	}
	if s.Predicate.Evidence != "same-uid" || s.Predicate.Journal.Start == "" || s.Predicate.Journal.End == "" {
		t.Errorf("its predicate is %+v", s.Predicate)
	}
	stranger, err := sign.Create(filepath.Join(t.TempDir(), "key"))
	must(t, err)
	if _, err := stranger.OpenEnvelope(text); err == nil {
		t.Error("another key opens it")
	}
	if _, err := key.OpenEnvelope([]byte(strings.Replace(string(text), `"payload":"`, `"payload":"AA`, 1))); err == nil {
		t.Error("a changed one opens")
	}
}

// An older segment that was moved away can be named.
func TestArchive(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	many, err := writer.Open(w.dir, writer.Options{SegmentSize: 1 << 10})
	must(t, err)
	d := w.run("1")
	for i := range 20 {
		must(t, many.Append(t.Context(), journal.AbandonedOf("r01m8kjt9g0zqy4w8mezs077e23", fmt.Errorf("%d", i))))
	}
	must(t, many.Close())
	archive := t.TempDir()
	must(t, os.Rename(filepath.Join(w.dir, journal.Name(1)), filepath.Join(archive, journal.Name(1))))
	r, err := w.VerifyRun(t.Context(), d.ID(), Against{})
	must(t, err)
	if got := wrongOf(r); !slices.Contains(got, "journal") {
		t.Errorf("without it wrong are %v", got)
	}
	r, err = w.VerifyRun(t.Context(), d.ID(), Against{Archive: []string{archive}})
	must(t, err)
	if !r.Whole() {
		t.Errorf("with it wrong are %v", wrongOf(r))
	}
	n := 0
	_, err = w.List(t.Context(), Filter{Run: d.ID(), Archive: []string{archive}}, func(journal.Entry, []byte) error { n++; return nil })
	if err != nil || n != 2 {
		t.Errorf("List found %d, %v", n, err)
	}
}
