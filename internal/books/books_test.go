//go:build linux

package books

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"paddock"
	"paddock/internal/policy/known/usage"
	"paddock/internal/rundir"
	"paddock/internal/rundir/record"
	"paddock/internal/rundir/record/durable/prune"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, map[string]func() int{"user": user}) }

var (
	alice = paddock.Principal{Kind: paddock.Agent, ID: "alice"}
	bob   = paddock.Principal{Kind: paddock.Agent, ID: "bob"}
	epoch = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
)

type tb interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

func must(t tb, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A world is a state directory with books and a clock.
type world struct {
	t     tb
	state *rundir.State
	books *Books
	now   time.Time
	open  []*rundir.Dir
	over  []*rundir.Dir
	// crash is after how many steps a process is ended; zero is never.
	crash int
}

type crashed struct{ at string }

func newWorld(t tb, dir string) *world {
	state, err := rundir.Open(dir)
	must(t, err)
	w := &world{t: t, state: state, now: epoch}
	w.books = &Books{State: state, At: func(step string) {
		if w.crash--; w.crash == 0 {
			panic(crashed{step})
		}
	}}
	return w
}

// try does what may be ended by a crash.
func (w *world) try(do func() error) (done bool) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(crashed); !ok {
				panic(r)
			}
			done = false
		}
		w.crash = 0
	}()
	must(w.t, do())
	return true
}

func (w *world) claim(do func(c *rundir.Claim) error) error {
	return w.state.Claim(context.Background(), do)
}

func (w *world) look(p paddock.Principal) (f usage.Facts) {
	w.t.Helper()
	must(w.t, w.claim(func(c *rundir.Claim) (err error) {
		f, err = w.books.Look(context.Background(), c, p, w.now)
		return err
	}))
	return f
}

// begin makes a run of p that may print 2*most bytes.
func (w *world) begin(p paddock.Principal, most int64) {
	w.t.Helper()
	id, err := paddock.NewRunID(w.now, nil)
	must(w.t, err)
	req := paddock.Request{Principal: p, Door: paddock.DoorMCP, Command: paddock.Command{Argv: []string{"true"}}}
	d, err := w.state.Prepare(context.Background(), id, rundir.Intent{Request: req, CreatedAt: w.now, Decision: paddock.Decision{
		Effect: paddock.Allow, RequestDigest: req.Digest(), Granted: paddock.Gives(&paddock.Grant{Argv: req.Command.Argv, Limits: paddock.Limits{Output: most}}),
	}})
	must(w.t, err)
	done := w.try(func() error {
		return w.claim(func(c *rundir.Claim) error {
			if err := w.books.Note(context.Background(), c, p.Root(), id, w.now, 1, Reserve(most)); err != nil {
				return err
			}
			return c.Publish(d, "")
		})
	})
	if done {
		w.open = append(w.open, d)
	} else {
		must(w.t, errors.Join(d.Abandon(), testproc.Alone(d.ReleaseLock)))
	}
}

func (w *world) end(i int, stdout, stderr int64, cpu time.Duration) *rundir.Dir {
	w.t.Helper()
	d := w.open[i]
	_, err := d.PublishOutcome(paddock.Outcome{
		State: paddock.Exited, Reason: paddock.Reason{Kind: paddock.ReasonExit}, EndedAt: w.now, SettledAt: w.now, CPU: paddock.Duration(cpu),
		Stdout: paddock.StreamSummary{Bytes: stdout}, Stderr: paddock.StreamSummary{Bytes: stderr},
	})
	must(w.t, errors.Join(err, testproc.Alone(d.ReleaseLock)))
	w.open = append(w.open[:i], w.open[i+1:]...)
	w.over = append(w.over, d)
	return d
}

func (w *world) prune(d *rundir.Dir) {
	w.t.Helper()
	if _, pruned, err := prune.Of(d.Path()); err != nil || pruned != nil {
		must(w.t, err)
		return
	}
	w.try(func() error {
		return w.books.Removing(context.Background(), d, func() error {
			return prune.Mark(d.Path(), paddock.Pruning{At: w.now, Reason: paddock.PruneRequest, By: "op"})
		})
	})
}

func (w *world) remove(i int) {
	w.t.Helper()
	d := w.over[i]
	p, err := d.Principal()
	must(w.t, err)
	gone := false
	w.try(func() error {
		return w.books.Removing(context.Background(), d, func() error {
			gone = true
			return w.state.Remove(context.Background(), d, p, "")
		})
	})
	if gone {
		w.over = append(w.over[:i], w.over[i+1:]...)
	}
}

// agrees compares what is noted with what the runs say.
func (w *world) agrees(removed bool) {
	w.t.Helper()
	for _, p := range []paddock.Principal{alice, bob} {
		f := w.look(p)
		all, err := w.books.Recount(context.Background(), w.now)
		must(w.t, err)
		want := all[record.Hash(p)]
		if want == nil {
			want = &usage.Usage{}
		}
		for _, pair := range []struct {
			name      string
			got, want usage.Usage
		}{{p.ID, f.Principal, *want}, {"all", f.Total, *all[total]}} {
			g, n := pair.got, pair.want
			if g.Kept != n.Kept || len(g.Open) != len(n.Open) || len(g.Open) > 0 && !reflect.DeepEqual(g.Open, n.Open) {
				w.t.Fatalf("%s: noted %+v, counted %+v", pair.name, g, n)
			}
			if !removed && (len(g.Steps) != len(n.Steps) || len(g.Steps) > 0 && !reflect.DeepEqual(g.Steps, n.Steps)) {
				w.t.Fatalf("%s: noted %+v, counted %+v", pair.name, g.Steps, n.Steps)
			}
		}
	}
}

// Whatever happens in whatever order, and whoever is ended in between, what is noted
// is what a count of all runs gives.
func TestNotedIsCounted(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		if n++; n > 30 && os.Getenv("PADDOCK_LONG") == "" {
			return
		}
		w := newWorld(rt, filepath.Join(base, fmt.Sprint(n)))
		defer w.state.Close()
		removed := false
		w.look(alice)
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			w.now = w.now.Add(time.Duration(rapid.IntRange(0, 200).Draw(rt, "minutes")) * time.Minute)
			if rapid.IntRange(0, 4).Draw(rt, "later") == 0 {
				w.now = w.now.Add(50 * time.Hour) // what was there is summed when it is counted next
			}
			w.crash = rapid.IntRange(0, 9).Draw(rt, "crash")
			p := rapid.SampledFrom([]paddock.Principal{alice, bob}).Draw(rt, "who")
			switch rapid.IntRange(0, 6).Draw(rt, "what") {
			case 0, 1:
				w.begin(p, rapid.Int64Range(1, 1000).Draw(rt, "most"))
			case 2:
				if len(w.open) > 0 {
					w.end(0, rapid.Int64Range(0, 100).Draw(rt, "stdout"), rapid.Int64Range(0, 100).Draw(rt, "stderr"), time.Duration(rapid.IntRange(0, 5000).Draw(rt, "cpu"))*time.Millisecond)
				}
			case 3:
				if len(w.over) > 0 {
					w.prune(w.over[0])
				}
			case 4:
				if len(w.over) > 0 {
					w.remove(len(w.over) - 1)
					removed = true
				}
			case 5:
				w.try(func() error {
					return w.claim(func(c *rundir.Claim) error {
						_, err := w.books.Look(context.Background(), c, p, w.now)
						return err
					})
				})
			case 6:
				must(rt, os.RemoveAll(w.books.path(rapid.SampledFrom([]string{total, record.Hash(p)}).Draw(rt, "lost"))))
			}
			w.crash = 0
		}
		for _, d := range w.open {
			must(rt, testproc.Alone(d.ReleaseLock))
		}
		w.agrees(removed)
	})
}

// What runs may print is reserved as long as they go on, and what they printed is
// counted instead, once.
func TestLife(t *testing.T) {
	t.Parallel()
	w := newWorld(t, filepath.Join(t.TempDir(), "state"))
	defer w.state.Close()
	w.look(alice)
	w.begin(alice, 50)
	w.begin(bob, 500)
	f := w.look(alice)
	if f.Principal.Reserved() != 100 || f.Total.Reserved() != 1100 {
		t.Errorf("%+v", f)
	}
	d := w.end(0, 30, 4, 1500*time.Millisecond)
	for range 2 {
		f = w.look(alice)
		want := []usage.Used{{At: usage.Begin(epoch), Runs: 1, Output: 34, CPU: paddock.Duration(1500 * time.Millisecond)}}
		if f.Principal.Reserved() != 0 || f.Principal.Kept != 34 || !reflect.DeepEqual(f.Principal.Steps, want) || f.Total.Kept != 34 || f.Total.Reserved() != 1000 {
			t.Fatalf("%+v", f)
		}
	}
	w.prune(d)
	if f = w.look(alice); f.Principal.Kept != 0 || f.Total.Kept != 0 || f.Principal.Steps[0].Output != 34 {
		t.Errorf("%+v", f)
	}
	w.now = w.now.Add(24*time.Hour + usage.Step)
	if f = w.look(alice); len(f.Principal.Steps) != 0 {
		t.Errorf("%+v", f)
	}
	must(t, testproc.Alone(w.open[0].ReleaseLock))
}

// Where no policy ever had quotas, nothing is written.
func TestNobodyAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, filepath.Join(t.TempDir(), "state"))
	defer w.state.Close()
	w.begin(alice, 50)
	w.prune(w.end(0, 1, 0, 0))
	if _, err := os.Lstat(filepath.Join(w.state.Path(), Dir)); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if f := w.look(alice); f.Principal.Steps[0].Runs != 1 || f.Principal.Steps[0].Output != 1 || f.Principal.Kept != 0 {
		t.Errorf("%+v", f)
	}
}

// Files that can't be are made again from the runs, and so are those of an earlier
// start of the machine.
func TestHostileFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t, filepath.Join(t.TempDir(), "state"))
	defer w.state.Close()
	w.begin(alice, 50)
	w.end(0, 30, 4, 0)
	w.look(alice)
	good, err := os.ReadFile(w.books.path(total))
	must(t, err)
	change := func(old, new string) string { return strings.Replace(string(good), old, new, 1) }
	for name, text := range map[string]string{
		"empty": "", "torn": string(good[:len(good)/2]), "another value": "[]", "NUL": "\x00" + string(good),
		"another boot": change(`"boot":"`, `"boot":"x`), "newer": change(`"version":1`, `"version":2`),
		"unknown key": change(`"boot"`, `"more":1,"boot"`), "doubled key": change(`"kept":34`, `"kept":34,"kept":35`),
		"below zero": change(`"kept":34`, `"kept":-34`), "too much": change(`"kept":34`, `"kept":9223372036854775807`),
		"no step": change(`"at":`, `"at":1`), "a text": change(`"kept":34`, `"kept":"34"`), "bad UTF-8": change(`"made":"`, "\"made\":\"\xff"),
		"no run": change(`"kept":34`, `"kept":34,"open":{"../x":{"at":0,"reserved":1}}`), "long": string(good) + strings.Repeat(" ", 20<<20),
		"leaving": change(`"kept":34`, `"kept":34,"leaving":{"..":1}`), "made apart": change(`"made":"`, `"made":"0`),
	} {
		if text == string(good) {
			t.Errorf("%s: nothing is changed", name)
		}
		for _, file := range []string{total, record.Hash(alice)} {
			must(t, os.WriteFile(w.books.path(file), []byte(text), 0o600))
			f := w.look(alice)
			if f.Principal.Kept != 34 || f.Total.Kept != 34 || len(f.Total.Steps) != 1 {
				t.Errorf("%s: %+v", name, f)
			}
		}
	}
	// A link isn't followed, and a directory isn't read.
	must(t, os.Remove(w.books.path(total)))
	must(t, os.Symlink(filepath.Join(t.TempDir(), "elsewhere"), w.books.path(total)))
	if f := w.look(alice); f.Total.Kept != 34 {
		t.Errorf("%+v", f)
	}
}

// A check finds what doesn't fit the runs, and nothing where all of it does.
func TestWrong(t *testing.T) {
	t.Parallel()
	w := newWorld(t, filepath.Join(t.TempDir(), "state"))
	defer w.state.Close()
	w.begin(alice, 50)
	w.end(0, 30, 4, time.Second)
	w.look(alice)
	w.begin(alice, 50)
	defer func() { must(t, w.open[0].ReleaseLock()) }()
	wrong := func() (found []string) {
		t.Helper()
		must(t, w.claim(func(c *rundir.Claim) error {
			return w.books.Wrong(t.Context(), c, w.now, func(path, why string, _ bool) error {
				found = append(found, filepath.Base(path)+": "+why)
				return nil
			})
		}))
		return found
	}
	if found := wrong(); found != nil {
		t.Fatalf("found %q", found)
	}
	name := record.Hash(alice) + ".json"
	good, err := os.ReadFile(filepath.Join(w.state.Path(), Dir, name))
	must(t, err)
	for _, c := range []struct{ old, new, want string }{
		{`"kept":34`, `"kept":35`, "35 bytes of output are noted as kept, and 34 are"},
		{`"output":34`, `"output":33`, "less is noted than runs used"},
		{`"runs":2`, `"runs":1`, "less is noted than runs used"},
		{string(good), "{}", "it can't be read"},
		{`"made":"`, `"made":"x`, "made at another time"},
	} {
		must(t, os.WriteFile(filepath.Join(w.state.Path(), Dir, name), []byte(strings.Replace(string(good), c.old, c.new, 1)), 0o600))
		if found := wrong(); len(found) != 1 || !strings.HasPrefix(found[0], name+": ") || !strings.Contains(found[0], c.want) {
			t.Errorf("%s: found %q", c.new, found)
		}
	}
	must(t, os.Remove(filepath.Join(w.state.Path(), Dir, name)))
	must(t, os.WriteFile(filepath.Join(w.state.Path(), Dir, "notes.txt"), nil, 0o600))
	if found := wrong(); len(found) != 2 || !strings.HasSuffix(found[0], ": it is missing") || found[1] != "notes.txt: "+strange {
		t.Errorf("found %q", found)
	}
	must(t, w.claim(func(c *rundir.Claim) error { return w.books.Make(t.Context(), c, w.now) }))
	if found := wrong(); len(found) != 1 {
		t.Errorf("found %q", found)
	}
}

// Principals whose records are all gone don't have everything made again.
func TestPrincipalsWithoutRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, filepath.Join(t.TempDir(), "state"))
	defer w.state.Close()
	for _, p := range []paddock.Principal{alice, bob} {
		w.begin(p, 50)
		w.end(0, 1, 0, 0)
		w.remove(0)
	}
	w.look(alice)
	w.look(bob)
	before, err := w.books.load(total)
	must(t, err)
	for range 2 {
		w.look(alice)
		w.look(bob)
	}
	if after, err := w.books.load(total); err != nil || after.Made != before.Made {
		t.Errorf("made again: %v, %v", after, err)
	}
}
