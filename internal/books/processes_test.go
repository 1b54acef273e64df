//go:build linux

package books

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"paddock"
	"paddock/internal/policy/known/usage"
	"paddock/internal/rundir"
	"paddock/internal/rundir/record"
	"paddock/internal/rundir/record/durable/prune"
	"paddock/internal/testproc"
)

// quotas are those of the processes below: less than they all ask for.
var quotas = paddock.Quotas{
	Principal: paddock.Quota{RunsPerDay: 90, OutputPerDay: 4000},
	Total:     paddock.Quota{RunsPerDay: 160, OutputPerDay: 7000},
}

// user takes from the quotas as requests do: STATE PRINCIPAL SEED COUNT, and with STEP
// N it ends itself behind the nth such step. It prints what it got, before it is there.
func user() int {
	var n [3]int
	for i, at := range []int{3, 4, 6} {
		var err error
		if n[i], err = strconv.Atoi(os.Args[at]); err != nil {
			return 3
		}
	}
	step, left := os.Args[5], n[2]
	at := func(is string) {
		if is == step {
			if left--; left == 0 {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		}
	}
	state, err := rundir.Open(os.Args[1])
	if err != nil {
		return 4
	}
	u := &taker{state, &Books{State: state, At: at}, paddock.Principal{Kind: paddock.Agent, ID: os.Args[2]}, rand.New(rand.NewPCG(uint64(n[0]), 1)), at}
	for range n[1] {
		if err = u.take(); err != nil {
			break
		}
	}
	if err = errors.Join(err, state.Close()); err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		return 5
	}
	return 0
}

type taker struct {
	state *rundir.State
	books *Books
	p     paddock.Principal
	r     *rand.Rand
	at    func(string)
}

// take makes a run if the quotas leave room for it, ends it, and now and then removes
// what it printed, or all of it.
func (u *taker) take() error {
	ctx, most := context.Background(), 1+u.r.Int64N(100)
	id, err := paddock.NewRunID(epoch, nil)
	if err != nil {
		return err
	}
	req := paddock.Request{Principal: u.p, Door: paddock.DoorMCP, Command: paddock.Command{Argv: []string{"true"}}}
	d, err := u.state.Prepare(ctx, id, rundir.Intent{Request: req, CreatedAt: epoch, Decision: paddock.Decision{
		Effect: paddock.Allow, RequestDigest: req.Digest(), Granted: paddock.Gives(&paddock.Grant{Argv: req.Command.Argv, Limits: paddock.Limits{Output: most}}),
	}})
	if err != nil {
		return err
	}
	var room int64
	err = u.state.Claim(ctx, func(c *rundir.Claim) error {
		f, err := u.books.Look(ctx, c, u.p, epoch)
		if err != nil {
			return err
		}
		all := usage.Counters(quotas, f)
		for _, counter := range all {
			if counter.Left() == 0 {
				return nil
			}
		}
		room, _ = usage.Room(all)
		room = min(room, Reserve(most))
		if err := u.books.Note(ctx, c, u.p, id, epoch, 1, room); err != nil {
			return err
		}
		u.at("noted")
		err = c.Publish(d, "")
		u.at("published")
		return err
	})
	if err != nil || room == 0 {
		return errors.Join(err, d.Abandon(), d.ReleaseLock())
	}
	out := u.r.Int64N(room + 1)
	_, err = d.PublishOutcome(paddock.Outcome{
		State: paddock.Exited, Reason: paddock.Reason{Kind: paddock.ReasonExit}, EndedAt: epoch, SettledAt: epoch,
		Stdout: paddock.StreamSummary{Bytes: out / 2}, Stderr: paddock.StreamSummary{Bytes: out - out/2},
	})
	u.at("ended")
	if err = errors.Join(err, d.ReleaseLock()); err != nil || u.r.IntN(4) > 0 {
		return err
	}
	return u.books.Removing(ctx, d, func() error {
		return prune.Mark(d.Path(), paddock.Pruning{At: epoch, Reason: paddock.PruneRequest, By: "op"})
	})
}

// Many processes take from the same quotas at once, and some are killed, behind each
// step there is. Nobody gets more than the quota; what is noted afterwards is what a
// count of all runs gives; and nothing stays reserved for a run that isn't there or is
// over. What isn't used up can be taken by who comes next.
func TestProcessesAreKilled(t *testing.T) {
	t.Parallel()
	steps := []string{"", "noted-principal", "noted-total", "noted", "published", "ended", "counted-principal", "counted-total",
		"leaving", "leaving-principal", "leaving-total", "left", "left-principal", "left-total", "unmade", "made-principal", "made-total"}
	path := filepath.Join(t.TempDir(), "state")
	state, err := rundir.Open(path)
	must(t, err)
	defer state.Close()
	b := &Books{State: state}
	var all sync.WaitGroup
	turn := make(chan struct{}, 6) // so many at once
	var killed sync.Map
	for i, step := range append(steps, steps...) {
		name := []string{"alice", "bob"}[i%2]
		if i == len(steps) { // everybody makes them again
			must(t, os.RemoveAll(b.path(total)))
		}
		cmd := testproc.Self(t, "user", path, name, strconv.Itoa(i), "8", step, strconv.Itoa(1+i%2))
		var errs bytes.Buffer
		cmd.Stderr = &errs
		turn <- struct{}{}
		all.Go(func() {
			defer func() { <-turn }()
			err := cmd.Run()
			if err != nil {
				killed.Store(step, true)
			}
			if step == "" && err != nil || errs.Len() > 0 {
				t.Errorf("%s at %q: %v: %s", name, step, err, errs.Bytes())
			}
		})
	}
	all.Wait()
	n := 0
	killed.Range(func(any, any) bool { n++; return true })
	t.Logf("killed behind %d steps of %d", n, len(steps)-1)
	if n < 5 {
		t.Error("the steps aren't reached")
	}
	within(t, b, path)
	// Runs whose process was killed are settled by who comes next, and then hold nothing.
	_, err = state.Reconcile(t.Context(), func() time.Time { return epoch })
	must(t, err)
	for _, name := range []string{"alice", "bob"} {
		w := &world{t: t, state: state, books: b, now: epoch}
		if f := w.look(paddock.Principal{Kind: paddock.Agent, ID: name}); f.Principal.Reserved() != 0 || f.Total.Reserved() != 0 || len(f.Total.Open) != 0 {
			t.Errorf("%s: reserved are %d, of all %+v", name, f.Principal.Reserved(), f.Total.Open)
		}
		w.agrees(false)
	}
	// The rest is there to be taken, up to the quota and no further.
	for i, name := range []string{"alice", "bob", "alice", "bob"} {
		if out, err := testproc.Self(t, "user", path, name, strconv.Itoa(100+i), "40", "", "1").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	within(t, b, path)
	f := (&world{t: t, state: state, books: b, now: epoch}).look(alice)
	if spent := strings.Join(exhausted(f), " "); spent == "" {
		t.Errorf("after all of it something is left of every quota: %+v", f)
	}
}

func exhausted(f usage.Facts) (names []string) {
	for _, c := range usage.Counters(quotas, f) {
		if c.Left() == 0 {
			names = append(names, c.Name)
		}
	}
	return names
}

// within counts the runs themselves, and holds them to the quotas.
func within(t *testing.T, b *Books, path string) {
	t.Helper()
	runs, err := filepath.Glob(filepath.Join(path, "runs", "*", "*"))
	must(t, err)
	counted, err := b.Recount(t.Context(), epoch)
	must(t, err)
	sum := 0
	for name, u := range counted {
		q := quotas.Principal
		if name == total {
			q = quotas.Total
		}
		for _, s := range u.Steps {
			if s.Runs > q.RunsPerDay || s.Output > q.OutputPerDay {
				t.Errorf("%s got %d runs and %d bytes of %+v", name, s.Runs, s.Output, q)
			}
			if name != total {
				sum += s.Runs
			}
		}
	}
	if sum != len(runs) || counted[record.Hash(alice)] == nil {
		t.Errorf("counted %d runs of %d", sum, len(runs))
	}
}
