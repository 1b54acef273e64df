//go:build linux

package census

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/app/evidence"
	"paddock/internal/app/evidence/census/finding"
	"paddock/internal/artifact"
	"paddock/internal/executor/notes"
	"paddock/internal/journal/writer"
	"paddock/internal/rundir"
	"paddock/internal/rundir/record/durable/links"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

var (
	alice    = paddock.Principal{Kind: paddock.Agent, ID: "alice"}
	bob      = paddock.Principal{Kind: paddock.Agent, ID: "bob"}
	operator = paddock.Principal{Kind: paddock.Operator, ID: "operator:uid=0"}
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A world is a state directory with runs that were really told and kept.
type world struct {
	t     testing.TB
	path  string
	state *rundir.State
	notes *notes.Notes
	open  []*rundir.Dir
	n     int
	drop  int64 // bytes of what a run prints to stderr that aren't kept
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, path: filepath.Join(t.TempDir(), "state")}
	var err error
	w.state, err = rundir.Open(w.path)
	must(t, err)
	w.notes, err = notes.Open(t.Context(), w.state, time.Now, func(err error) { t.Error(err) }, writer.Options{})
	must(t, err)
	t.Cleanup(func() {
		for _, d := range w.open {
			must(t, d.ReleaseLock())
		}
		must(t, errors.Join(w.notes.Close(), w.state.Close()))
	})
	return w
}

// start makes a run that goes on, under a key unless that is empty.
func (w *world) start(p paddock.Principal, key string) *rundir.Dir {
	w.t.Helper()
	id, err := paddock.NewRunID(time.Now().Add(time.Duration(w.n)*time.Millisecond), nil)
	must(w.t, err)
	w.n++
	req := paddock.Request{Principal: p, Door: paddock.DoorMCP, IdempotencyKey: key, Command: paddock.Command{Argv: []string{"seq", "9"}}}
	text := "given"
	req.Command.Stdin.Text = &text
	d, err := w.notes.Prepare(w.t.Context(), w.state, id, rundir.Intent{Request: req, CreatedAt: time.Now(), Decision: paddock.Decision{
		Effect: paddock.Allow, RequestDigest: req.Digest(), Granted: paddock.Gives(&paddock.Grant{Argv: req.Command.Argv, Dir: "/srv"}),
	}})
	must(w.t, err)
	must(w.t, w.state.Claim(w.t.Context(), func(c *rundir.Claim) error { return c.Publish(d, key) }))
	return d
}

// settle ends a run with kept output, and has that told.
func (w *world) settle(d *rundir.Dir) *rundir.Dir {
	w.t.Helper()
	bank, err := artifact.Create(d.Path(), artifact.Options{Cap: 1 << 20})
	must(w.t, err)
	for stream, text := range map[paddock.Stream]string{paddock.Stdout: strings.Repeat("a line of it\n", 30_000), paddock.Stderr: "a word"} {
		_, _, err := bank.Append(stream, []byte(text))
		must(w.t, err)
	}
	if w.drop > 0 {
		bank.Lose(paddock.Stderr, w.drop, paddock.ReasonOutputLimit)
	}
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

// full is a world with a run of each kind.
func full(t testing.TB) (w *world, read, unread, open *rundir.Dir) {
	w = newWorld(t)
	read = w.settle(w.start(alice, "first"))
	must(t, w.state.MarkSeen(alice, read.ID()))
	unread = w.settle(w.start(bob, "first"))
	open = w.start(alice, "second")
	w.open = append(w.open, open)
	return w, read, unread, open
}

// Everywhere in the state directory something that others can get at is told of, and
// something that is another user's, and a pipe where there are only files; what is in a
// HOME is its runs' own.
func TestModesAndOwnersEverywhere(t *testing.T) {
	t.Parallel()
	w, read, _, _ := full(t)
	must(t, os.MkdirAll(filepath.Join(w.path, "homes", strings.Repeat("a", 64), "own"), 0o700))
	must(t, os.WriteFile(filepath.Join(w.path, "homes", strings.Repeat("a", 64), "own", "file"), nil, 0o644))
	if found := w.check(); len(found) > 0 {
		t.Fatalf("%+v", found)
	}
	files := []string{"journal/000001.jsonl", "journal/lock", "policies/" + strings.Repeat("b", 64), "stage/digest/paddock-stage", "approvals/a1/matter.json", "approvals/a1/votes/1",
		"keys/" + strings.Repeat("c", 64), "active/" + string(w.open[0].ID()), "usage/total.json", "usage/lock", "tasks/list.json", "delegates/lock", "roots/" + strings.Repeat("d", 64),
		"tmp/" + string(read.ID()) + "/request.json", "format", "claim.lock", "runs/" + filepath.Base(filepath.Dir(read.Path())) + "/" + string(read.ID()) + "/noted"}
	dirs := []string{"journal", "journal/policy", "stage", "stage/digest", "approvals/a1", "approvals/a1/votes", "homes", "homes/" + strings.Repeat("a", 64), "keys", "active", "unseen", "usage", "tasks", "delegates", "roots", "tmp", "runs"}
	all := append(slices.Clone(files), dirs...)
	at := func(rel string) string { return filepath.Join(w.path, rel) }
	for i, rel := range all {
		must(t, os.MkdirAll(filepath.Dir(at(rel)), 0o700))
		if _, err := os.Lstat(at(rel)); err != nil && i < len(files) {
			must(t, os.WriteFile(at(rel), nil, 0o600))
		}
		if i >= len(files) {
			must(t, os.MkdirAll(at(rel), 0o700))
		}
	}
	told := func(kind finding.Kind, of []string, why string) {
		t.Helper()
		found := w.check()
		for _, rel := range all {
			is := slices.ContainsFunc(found, func(f Finding) bool { return f.Kind == kind && f.Path == rel })
			if want := slices.Contains(of, rel); is != want {
				t.Errorf("%s: %s is told of: %v, want %v", why, rel, is, want)
			}
		}
	}
	chmod := func(open os.FileMode) {
		for i, rel := range all {
			mode := os.FileMode(0o600)
			if i >= len(files) {
				mode = 0o700
			}
			must(t, os.Chmod(at(rel), mode|open))
		}
	}
	told(finding.Mode, nil, "as it is to be")
	chmod(0o040)
	told(finding.Mode, all, "others can read it")
	chmod(0o002)
	told(finding.Mode, all, "others can write it")
	chmod(0)
	if os.Getuid() == 0 {
		for _, rel := range all {
			must(t, os.Chown(at(rel), 12345, 12345))
		}
		told(finding.Mode, all, "it is another user's")
		for _, rel := range all {
			must(t, os.Chown(at(rel), 0, 0))
		}
	}
	var pipes []string
	for _, rel := range files {
		if top := strings.SplitN(rel, "/", 2)[0]; top != rel && top != "journal" && top != "active" && top != "keys" { // the journal isn't read then, and entries are told of as such
			pipes = append(pipes, rel)
			must(t, os.Rename(at(rel), at(rel)+".away"))
			must(t, unix.Mkfifo(at(rel), 0o600))
		}
	}
	told(finding.Hostile, pipes, "it is a pipe")
}

// A HOME of runs that are another account's belongs to that account, and to no other;
// others may pass through homes, and read a public key.
func TestWhatMayBeOpen(t *testing.T) {
	t.Parallel()
	w, _, _, _ := full(t)
	must(t, os.Chmod(w.path, 0o755))
	must(t, os.MkdirAll(filepath.Join(w.path, "approvals"), 0o700))
	must(t, os.WriteFile(filepath.Join(w.path, "approvals", "key.pub"), nil, 0o600))
	must(t, os.Chmod(filepath.Join(w.path, "approvals", "key.pub"), 0o644))
	must(t, os.MkdirAll(filepath.Join(w.path, "homes"), 0o700))
	must(t, os.Chmod(filepath.Join(w.path, "homes"), 0o711))
	if found := w.check(); len(found) > 0 {
		t.Fatalf("%+v", found)
	}
	if os.Getuid() != 0 {
		return
	}
	for account, fine := range map[string]bool{"12345": true, "12346": false, "x": false, "-1": false, "99999999999999": false} {
		home := filepath.Join(w.path, "homes", strings.Repeat("e", 64)+"."+account)
		must(t, os.Mkdir(home, 0o700))
		must(t, os.Chown(home, 12345, 12345))
		if found := w.check(); fine != (len(found) == 0) || !fine && found[0].Kind != finding.Mode {
			t.Errorf("%s: %+v", account, found)
		}
		must(t, os.Remove(home))
	}
}

// What the frames say was dropped is compared with the record; frames of a version
// that says nothing are as they were.
func TestMarkersOfDroppedOutput(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.drop = 7
	d := w.settle(w.start(alice, ""))
	if found := w.check(); len(found) > 0 {
		t.Fatalf("%+v", found)
	}
	order := filepath.Join(d.Path(), "frames")
	was, err := os.ReadFile(order)
	must(t, err)
	changed(t, filepath.Join(d.Path(), "outcome.json"), `"dropped":7`, `"dropped":8`)
	wanted := func(why string) {
		t.Helper()
		if found := w.check(); len(found) != 1 || found[0].Kind != finding.Output || !strings.HasSuffix(found[0].Path, "frames") || !strings.Contains(found[0].Detail, why) {
			t.Fatalf("%+v", found)
		}
	}
	wanted("7 bytes of stderr were dropped, and 8 were recorded")
	changed(t, filepath.Join(d.Path(), "outcome.json"), `"dropped":8`, `"dropped":7`)
	changed(t, filepath.Join(d.Path(), "outcome.json"), `"offset":6`, `"offset":5`)
	wanted("after byte 6, and that isn't where they were")
	changed(t, filepath.Join(d.Path(), "outcome.json"), `"offset":5`, `"offset":6`)
	must(t, os.WriteFile(order, was[:len(was)-32], 0o600)) // the marker alone is missing
	wanted("0 bytes of stderr were dropped, and 7 were recorded")
	was[16] = 1 // of the version before
	must(t, os.WriteFile(order, was[:len(was)-32], 0o600))
	if found := w.check(); len(found) > 0 {
		t.Fatalf("%+v", found)
	}
}

// census is of an hour later, so that nothing here counts as just being made.
func (w *world) census() *Census { return w.censusAt(time.Hour) }

func (w *world) censusAt(later time.Duration) *Census {
	w.t.Helper()
	e, err := evidence.Open(operator, w.path, func() time.Time { return time.Now().Add(later) })
	must(w.t, err)
	w.t.Cleanup(func() { must(w.t, e.Close()) })
	return Of(e)
}

func (w *world) check() []Finding {
	w.t.Helper()
	var all []Finding
	report, err := w.census().Check(w.t.Context(), Options{Digests: true}, func(f Finding) error { all = append(all, f); return nil })
	must(w.t, err)
	if report.Findings != len(all) {
		w.t.Errorf("%d findings are counted, %d told", report.Findings, len(all))
	}
	return all
}

func (w *world) rebuild() Rebuilt {
	w.t.Helper()
	r, err := w.census().Rebuild(w.t.Context(), func(ch Change) error {
		if ch.Fault != "" {
			w.t.Log(ch)
		}
		return nil
	})
	must(w.t, err)
	return r
}

// entries is everything that the index says.
func (w *world) entries() string {
	w.t.Helper()
	var all []string
	for _, dir := range []string{links.ActiveDir, links.UnseenDir, links.KeysDir, "runs"} {
		err := filepath.WalkDir(filepath.Join(w.path, dir), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || dir == "runs" && filepath.Ext(path) != ".lines" {
				return err
			}
			text, err := os.ReadFile(path)
			all = append(all, fmt.Sprintf("%s %q", path, text))
			return err
		})
		must(w.t, err)
	}
	return strings.Join(all, "\n")
}

func TestNothingIsWrong(t *testing.T) {
	t.Parallel()
	w, _, _, _ := full(t)
	if found := w.check(); len(found) > 0 {
		t.Errorf("found %+v", found)
	}
	before := w.entries()
	if r := w.rebuild(); r.Changes != 0 || r.Faults != 0 || r.Runs != 3 {
		t.Errorf("rebuilding what is right: %+v", r)
	}
	if after := w.entries(); after != before {
		t.Errorf("it changed:\n%s\nto\n%s", before, after)
	}
	if found := newWorld(t).check(); len(found) > 0 {
		t.Errorf("in an empty one: %+v", found)
	}
}

// Deleting what isn't a run's loses nothing.
func TestDeletedIndexIsMadeAgain(t *testing.T) {
	t.Parallel()
	for _, what := range []string{links.ActiveDir, links.UnseenDir, links.KeysDir, "runs/*/*/stdout.lines", "runs/*/*/" + links.Claim, "*seen*", ""} {
		t.Run(strings.ReplaceAll(what, "/", " "), func(t *testing.T) {
			t.Parallel()
			w, read, unread, open := full(t)
			before := w.entries()
			gone := []string{filepath.Join(w.path, what)}
			if strings.Contains(what, "*") {
				var err error
				gone, err = filepath.Glob(gone[0])
				must(t, err)
			}
			if what == "" {
				gone = []string{filepath.Join(w.path, links.ActiveDir), filepath.Join(w.path, links.UnseenDir), filepath.Join(w.path, links.KeysDir)}
			}
			for _, path := range gone {
				must(t, os.RemoveAll(path))
			}
			for _, f := range w.check() {
				if f.Mend != finding.ByRebuild {
					t.Errorf("found %+v", f)
				}
			}
			if r := w.rebuild(); r.Changes == 0 || r.Faults > 0 {
				t.Errorf("%+v", r)
			}
			if after := w.entries(); after != before {
				t.Errorf("it was\n%s\nand is\n%s", before, after)
			}
			if found := w.check(); len(found) > 0 {
				t.Errorf("found after that: %+v", found)
			}
			running, finished, err := w.state.Unseen(alice)
			if running != 1 || finished != 0 || err != nil {
				t.Errorf("alice's: %d, %d, %v", running, finished, err)
			}
			must(t, w.state.Claim(t.Context(), func(c *rundir.Claim) error {
				for _, want := range []struct {
					p   paddock.Principal
					key string
					d   *rundir.Dir
				}{{alice, "first", read}, {bob, "first", unread}, {alice, "second", open}} {
					if id, _, found, err := c.Key(want.p, want.key); id != want.d.ID() || !found || err != nil {
						t.Errorf("%s's key %s is of %s, %v, %v", want.p.ID, want.key, id, found, err)
					}
				}
				return nil
			}))
		})
	}
}

// That an end was read while the index was away isn't forgotten.
func TestReadWhileTheIndexWasAway(t *testing.T) {
	t.Parallel()
	w, _, unread, _ := full(t)
	must(t, os.RemoveAll(filepath.Join(w.path, links.UnseenDir)))
	must(t, w.state.MarkSeen(alice, unread.ID())) // not hers
	must(t, w.state.MarkSeen(bob, unread.ID()))
	w.rebuild()
	if _, finished, err := w.state.Unseen(bob); finished != 0 || err != nil {
		t.Errorf("bob's: %d, %v", finished, err)
	}
}

// Two runs that got one key while the index was away can't both have it.
func TestOneKeyOfTwoRuns(t *testing.T) {
	t.Parallel()
	w, read, _, _ := full(t)
	must(t, os.RemoveAll(filepath.Join(w.path, links.KeysDir)))
	must(t, os.Mkdir(filepath.Join(w.path, links.KeysDir), 0o700))
	second := w.settle(w.start(alice, "first"))
	if r := w.rebuild(); r.Faults != 1 {
		t.Errorf("%+v", r)
	}
	must(t, w.state.Claim(t.Context(), func(c *rundir.Claim) error {
		if id, _, _, err := c.Key(alice, "first"); id != second.ID() || err != nil {
			t.Errorf("the key is of %s, %v", id, err)
		}
		return nil
	}))
	if found := w.check(); len(found) != 1 || found[0].Kind != finding.Index || found[0].Run != read.ID() {
		t.Errorf("found %+v", found)
	}
}

// Each thing that can be wrong is found, as what it is, and alone.
func TestFindings(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	swap := func(name, text string) func(t *testing.T, w *world, d *rundir.Dir) {
		return func(t *testing.T, _ *world, d *rundir.Dir) {
			must(t, os.Remove(filepath.Join(d.Path(), name)))
			must(t, os.WriteFile(filepath.Join(d.Path(), name), []byte(text), 0o600))
		}
	}
	link := func(name string) func(t *testing.T, w *world, d *rundir.Dir) {
		return func(t *testing.T, _ *world, d *rundir.Dir) {
			must(t, os.Remove(filepath.Join(d.Path(), name)))
			must(t, os.Symlink("/dev/zero", filepath.Join(d.Path(), name)))
		}
	}
	pipe := func(name string) func(t *testing.T, w *world, d *rundir.Dir) {
		return func(t *testing.T, _ *world, d *rundir.Dir) {
			must(t, os.Remove(filepath.Join(d.Path(), name)))
			must(t, unix.Mkfifo(filepath.Join(d.Path(), name), 0o600))
		}
	}
	place := func(path, text string) func(t *testing.T, w *world, d *rundir.Dir) {
		return func(t *testing.T, w *world, _ *rundir.Dir) {
			must(t, os.WriteFile(filepath.Join(w.path, path), []byte(text), 0o600))
		}
	}
	for name, c := range map[string]struct {
		harm func(t *testing.T, w *world, d *rundir.Dir)
		want string // the kinds, sorted
		mend finding.Mend
	}{
		"no request": {func(t *testing.T, _ *world, d *rundir.Dir) {
			must(t, os.Remove(filepath.Join(d.Path(), "request.json")))
		}, "record", ""},
		"a torn decision":        {swap("decision.json", `{"version":1,"decis`), "record", ""},
		"a request of NULs":      {swap("request.json", "\x00\x00\x00"), "record", ""},
		"a doubled key":          {swap("claim.json", `{"version":1,"version":1}`), "record", ""},
		"a newer record":         {swap("request.json", `{"version":99}`), "record", ""},
		"bad UTF-8":              {swap("outcome.json", "{\"version\":1,\"outcome\":{\"state\":\"\xff\"}}"), "record", ""},
		"another type":           {swap("outcome.json", `[]`), "record", ""},
		"a long one":             {swap("outcome.json", long), "record", ""},
		"a link for the request": {link("request.json"), "hostile record", ""},
		"a link for the output":  {link("stdout"), "hostile", ""},
		"a pipe for the output":  {pipe("stdout"), "hostile", ""},
		"a pipe for the outcome": {pipe("outcome.json"), "hostile record", ""},
		"a pipe for the claim":   {pipe("claim.json"), "hostile record", ""},
		"a link for the marks":   {link("stdout.lines"), "hostile marks", finding.ByRebuild},
		"other marks":            {swap("stdout.lines", "no marks"), "marks", finding.ByRebuild},
		"other output, as long":  {func(t *testing.T, w *world, d *rundir.Dir) { swap("stderr", "b word")(t, w, d) }, "output", ""},
		"less output":            {swap("stderr", "a"), "output", ""},
		"no output":              {func(t *testing.T, _ *world, d *rundir.Dir) { must(t, os.Remove(filepath.Join(d.Path(), "stdout"))) }, "output", ""},
		"other input":            {swap("stdin", "taken"), "output", ""},
		"a stranger":             {swap("seen", ""), "", ""},
		"open to others": {func(t *testing.T, _ *world, d *rundir.Dir) {
			must(t, os.Chmod(filepath.Join(d.Path(), "stdout"), 0o644))
		}, "mode", ""},
		"what a crash left": {swap("noted", ""), "", ""},
		"half an outcome": {func(t *testing.T, _ *world, d *rundir.Dir) {
			must(t, os.WriteFile(filepath.Join(d.Path(), ".new-00"), nil, 0o600))
		}, "leftover", finding.ByUse},
		"a file of its own": {func(t *testing.T, _ *world, d *rundir.Dir) {
			must(t, os.WriteFile(filepath.Join(d.Path(), "core"), nil, 0o600))
		}, "stranger", ""},
		"an unknown name":         {place("notes.txt", ""), "stranger", ""},
		"half a file":             {place(".new-0011", ""), "leftover", finding.ByUse},
		"an entry that is empty":  {place("active/r0000000000000000000000000a", ""), "index", finding.ByRebuild},
		"a key that is text":      {place("keys/"+strings.Repeat("0", 64), long), "index", finding.ByRebuild},
		"an owner that is a file": {place("unseen/x", ""), "index", finding.ByRebuild},
		"a day that is a file":    {place("runs/20260101", ""), "hostile", ""},
		"a run that is a file": {func(t *testing.T, w *world, d *rundir.Dir) {
			place("runs/"+filepath.Base(filepath.Dir(d.Path()))+"/x", "")(t, w, d)
		}, "stranger", ""},
		"another outcome": {func(t *testing.T, w *world, d *rundir.Dir) {
			changed(t, filepath.Join(d.Path(), "outcome.json"), `"exited"`, `"killed"`)
		}, "disagrees", ""},
		"another request": {func(t *testing.T, w *world, d *rundir.Dir) {
			other(t, d)
		}, "record", ""},
		"taken away": {func(t *testing.T, _ *world, d *rundir.Dir) { must(t, os.RemoveAll(d.Path())) }, "disagrees index", ""},
		"no journal": {func(t *testing.T, w *world, _ *rundir.Dir) { must(t, os.RemoveAll(filepath.Join(w.path, "journal"))) }, "journal", ""},
		"a changed journal": {func(t *testing.T, w *world, _ *rundir.Dir) {
			changed(t, filepath.Join(w.path, "journal", "000001.jsonl"), "alice", "alicf")
		}, "journal", ""},
		"a run begun and left":  {func(t *testing.T, w *world, _ *rundir.Dir) { left(t, w) }, "leftover", finding.ByUse},
		"nobody looks after it": {func(t *testing.T, w *world, _ *rundir.Dir) { must(t, w.open[0].ReleaseLock()) }, "unsettled", finding.ByUse},
		"a run in another day":  {func(t *testing.T, w *world, d *rundir.Dir) { moved(t, w, d) }, "disagrees index record", ""},
		"a link to a run": {func(t *testing.T, w *world, d *rundir.Dir) {
			must(t, os.Symlink(d.Path(), filepath.Join(filepath.Dir(d.Path()), "r01m8kjt9g0zqy4w8mezs077e23")))
		}, "record", ""},
		"an entry that is a link": {func(t *testing.T, w *world, d *rundir.Dir) {
			must(t, os.Symlink("/dev/zero", filepath.Join(w.path, "active", string(d.ID()))))
		}, "index", finding.ByRebuild},
		"an entry that is a pipe": {func(t *testing.T, w *world, d *rundir.Dir) {
			must(t, unix.Mkfifo(filepath.Join(w.path, "active", string(d.ID())), 0o600))
		}, "index", finding.ByRebuild},
		"an entry of another's": {func(t *testing.T, w *world, d *rundir.Dir) {
			must(t, os.Link(filepath.Join(d.Path(), links.Claim), filepath.Join(w.path, "active", "r0000000000000000000000000a")))
		}, "index", finding.ByRebuild},
		"a key of another request": {func(t *testing.T, w *world, d *rundir.Dir) {
			must(t, os.Link(filepath.Join(d.Path(), links.Claim), filepath.Join(w.path, "keys", strings.Repeat("a", 64))))
		}, "index", finding.ByRebuild},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, read, _, _ := full(t)
			c.harm(t, w, read)
			found := w.check()
			var kinds []string
			mended := true
			for _, f := range found {
				kinds = append(kinds, string(f.Kind))
				mended = mended && f.Mend == finding.ByRebuild
				if strings.Contains(f.Detail, "xxxx") || f.Detail == "" || len(f.Detail) > 1000 {
					t.Errorf("the finding says %.300q", f.Detail)
				}
			}
			slices.Sort(kinds)
			if got := strings.Join(kinds, " "); got != c.want {
				t.Fatalf("found %q, want %q: %+v", got, c.want, found)
			}
			if len(found) > 0 && c.mend != "" && !slices.ContainsFunc(found, func(f Finding) bool { return f.Mend == c.mend }) {
				t.Errorf("nothing is mended by %s: %+v", c.mend, found)
			}
			if c.mend == finding.ByRebuild && mended {
				if r := w.rebuild(); r.Faults > 0 {
					t.Errorf("%+v", r)
				}
			}
			if c.mend == finding.ByUse {
				_, err := w.state.Reconcile(t.Context(), time.Now)
				must(t, err)
			}
			if c.mend != "" && name != "half a file" && name != "half an outcome" { // these are taken away after a minute, or with the next run
				if found := w.check(); len(found) > 0 {
					t.Errorf("found after it was mended: %+v", found)
				}
			}
		})
	}
}

func changed(t *testing.T, path, from, to string) {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	after := strings.Replace(string(text), from, to, 1)
	if after == string(text) {
		t.Fatalf("%q isn't in %s", from, text)
	}
	must(t, os.WriteFile(path, []byte(after), 0o600))
}

func other(t *testing.T, d *rundir.Dir) {
	t.Helper()
	sealed, err := d.Sealed()
	must(t, err)
	changed(t, filepath.Join(d.Path(), "decision.json"), string(sealed.RequestDigest), string(paddock.DigestOf([32]byte{})))
}

// left leaves a run that was being made.
func left(t *testing.T, w *world) {
	t.Helper()
	id, err := paddock.NewRunID(time.Now(), nil)
	must(t, err)
	must(t, os.Mkdir(filepath.Join(w.path, "tmp", string(id)), 0o700))
	must(t, os.WriteFile(filepath.Join(w.path, "tmp", string(id), "lock"), nil, 0o600))
}

func moved(t *testing.T, w *world, d *rundir.Dir) {
	t.Helper()
	must(t, os.Mkdir(filepath.Join(w.path, "runs", "20010101"), 0o700))
	must(t, os.Rename(d.Path(), filepath.Join(w.path, "runs", "20010101", string(d.ID()))))
}

// While others start and end runs, nothing looks wrong, and making the index again
// takes nothing from them.
func TestWhileOthersUseIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	done := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		defer close(done)
		for i := range 25 {
			w.settle(w.start(alice, fmt.Sprint("key ", i)))
		}
	})
	c := w.censusAt(0)
	for going := true; going; {
		select {
		case <-done:
			going = false
		default:
		}
		_, err := c.Check(t.Context(), Options{Digests: true}, func(f Finding) error {
			t.Errorf("found %+v", f)
			return nil
		})
		must(t, err)
		r, err := c.Rebuild(t.Context(), func(ch Change) error { return nil })
		if err != nil || r.Faults > 0 {
			t.Errorf("%+v, %v", r, err)
		}
	}
	all.Wait()
	if found := w.check(); len(found) > 0 {
		t.Errorf("found %+v", found)
	}
	if _, finished, err := w.state.Unseen(alice); finished != 25 || err != nil {
		t.Errorf("%d, %v", finished, err)
	}
}

func TestOnlyAnOperatorLooks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, err := evidence.Open(alice, w.path, time.Now); err == nil {
		t.Error("an agent may look at everybody's runs")
	}
}
