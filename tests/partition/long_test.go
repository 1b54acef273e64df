//go:build linux

package partition_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"paddock"
)

// A fault is something that happens to some of them, for a while.
type fault struct {
	what string
	// lasts is how long at least; begin returns what ends it.
	lasts time.Duration
	begin func() (end func())
}

// faults are all that happen, but for the failover, which happens once.
func (l *load) faults() []fault {
	f := l.f
	var all []fault
	add := func(what string, lasts time.Duration, begin func() func()) {
		all = append(all, fault{what, lasts, begin})
	}
	for _, name := range []string{"w1", "w3", "s1", "s2", "db"} {
		cut := func() func() { f.net.cut(f.place(name)); at := f.place(name); return func() { f.net.join(at) } }
		deaf := func() func() { f.net.deafen(f.place(name)); at := f.place(name); return func() { f.net.hear(at) } }
		add("cut off: "+name, 3*time.Second, cut)
		add("hears nobody: "+name, 4*time.Second, deaf)
	}
	add("cut off until its runs are lost: w2", 20*time.Second, func() func() { f.net.cut("w2"); return func() { f.net.join("w2") } })
	add("hears nobody until its runs are lost: w4", 20*time.Second, func() func() { f.net.deafen("w4"); return func() { f.net.hear("w4") } })
	for _, name := range []string{"w1", "w2", "w3", "w4"} {
		add("killed: "+name, time.Second, func() func() { f.all[name].kill(); return func() { f.all[name].start() } })
	}
	for _, name := range []string{"s1", "s2"} {
		add("killed: "+name, time.Second, func() func() { f.all[name].kill(); return func() { f.all[name].serve() } })
	}
	add("killed: some supervisors", 0, func() func() {
		for _, name := range []string{"w1", "w2", "w3", "w4"} {
			if pids := f.all[name].supervisors(); len(pids) > 0 {
				_ = syscall.Kill(pids[len(pids)/2], syscall.SIGKILL) // it may have ended
			}
		}
		return func() {}
	})
	add("stopped at once: the database", 2*time.Second, func() func() { f.db.stop(); return f.db.start })
	add("stands still: the database", 5*time.Second, func() func() { f.db.signal(syscall.SIGSTOP); return func() { f.db.signal(syscall.SIGCONT) } })
	for _, name := range []string{"w3", "db", "s2"} {
		add("slow: "+name, 5*time.Second, func() func() {
			at := f.place(name)
			if l.slow = f.net.slow(at); l.slow == "" {
				return func() {}
			}
			return func() { f.net.fast(at) }
		})
	}
	add("ten minutes ahead: s1", 2*time.Second, func() func() { f.clock("10m"); return func() { f.clock("90s") } })
	add("ten minutes behind: s1", 2*time.Second, func() func() { f.clock("-10m"); return func() { f.clock("-90s") } })
	return all
}

// place is where a machine is: the database moves.
func (f *field) place(name string) string {
	if name == "db" {
		return f.db.at
	}
	return name
}

// clock restarts the first server with another clock.
func (f *field) clock(wrong string) {
	f.t.Helper()
	m := f.all["s1"]
	m.kill()
	must(f.t, os.WriteFile(filepath.Join(m.bin, "paddock-server.clock"), []byte(wrong), 0o600))
	m.serve()
}

// TestPartitions has everything happen that can, in an order that a seed says.
func TestPartitions(t *testing.T) {
	if os.Getenv("PADDOCK_LONG") == "" {
		t.Skip("some minutes: make partitions")
	}
	seed := uint64(time.Now().UnixNano())
	if said, err := strconv.ParseUint(os.Getenv("PADDOCK_SEED"), 10, 64); err == nil {
		seed = said
	}
	rounds := 0
	if said, err := strconv.Atoi(os.Getenv("PADDOCK_ROUNDS")); err == nil {
		rounds = said
	}
	t.Log("seed ", seed)
	within(t, quickly, func(f *field) { everything(f, seed, rounds) })
}

func everything(f *field, seed uint64, rounds int) {
	t := f.t
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	l := &load{f: f, seed: seed, bad: map[int]int{}}
	begun := time.Now()
	canceled := l.canceled()
	second := f.db.follow()
	all := l.faults()
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	if rounds > 0 {
		for len(all) < rounds {
			all = append(all, all[r.IntN(len(all))])
		}
		all = all[:rounds]
	}
	counts := map[string]int{}
	for i, one := range all {
		t.Logf("%v: %s", time.Since(begun).Round(time.Second), one.what)
		counts[one.what]++
		l.some(r, 3)
		end := one.begin()
		l.some(r, 3)
		hold(one.lasts + time.Duration(r.IntN(2000))*time.Millisecond)
		end()
		l.some(r, 2)
		hold(time.Duration(500+r.IntN(1500)) * time.Millisecond)
		if i == len(all)/2 {
			t.Logf("%v: failover", time.Since(begun).Round(time.Second))
			counts["failover to another address"]++
			f.db.takeOver(second)
		}
	}
	t.Logf("%v: all has happened", time.Since(begun).Round(time.Second))
	l.check()
	took := time.Since(begun).Round(time.Second)
	t.Log(l.tally())
	f.end()
	l.report(seed, took, canceled, counts)
}

// hold lets time pass in which others do something.
func hold(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
}

// some has some runs asked for, of which one or the other needs a certain worker.
func (l *load) some(r *rand.Rand, n int) {
	for range n {
		needs := ""
		if r.IntN(3) == 0 {
			needs = []string{"w1", "w2", "w3", "w4"}[r.IntN(4)]
		}
		l.add(5+r.IntN(120), needs, []string{"", "", "", "; exit 3"}[r.IntN(4)])
	}
}

// canceled measures how long the end of a run on another machine takes, from the question
// at a server that only queues.
func (l *load) canceled() (slowest time.Duration) {
	t := l.f.t
	t.Helper()
	for range 5 {
		s := l.add(3, "w4", "; exec sleep 600")
		l.until(s, "s1", paddock.Running)
		begun := time.Now()
		l.f.ask("s1", http.MethodPost, "/api/v1/runs/"+string(s.id)+"/kill", `{"reason":"enough"}`, http.StatusOK, &s.end)
		took := time.Since(begun)
		if s.end.State != paddock.Killed {
			t.Errorf("run %s is %s after its end was asked for", s.id, s.end.State)
		}
		slowest = max(slowest, took)
	}
	t.Logf("the end of a run elsewhere took %v at most", slowest)
	return slowest
}

// report writes what happened into the file that PADDOCK_PARTITIONS_REPORT names.
func (l *load) report(seed uint64, took, canceled time.Duration, counts map[string]int) {
	to := os.Getenv("PADDOCK_PARTITIONS_REPORT")
	if to == "" || l.f.t.Failed() {
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, `# Partitions

Written by `+"`make partitions`"+`, seed %d, %s: two servers (one that only queues and whose clock is wrong, one with a worker of its own), four workers, each with a boot clock of its own, and one PostgreSQL with a synchronous standby, each in a network namespace, joined by a bridge. Times of leases: %s. Meanwhile runs were asked for by two clients each with one key, at both servers, and each was followed by two readers over server-sent events, who went to the other server whenever a connection broke or said nothing for four seconds.

No check failed: every accepted run reached one end, of which both servers and all readers were told the same; no key became two runs; no run was started twice, and none that says it never started was; every reader got exactly the bytes that the run's machine has kept, which are what the run printed up to where it ended; a fault of the network or the database was never answered as one of ours (500); no process, lock or active run was left, and all journals verify.

%s. A run on another machine that a server was asked to end had ended %v later at most, of 5.

A slow network was %s.

| what happened | how often |
|---|--:|
`, seed, took, quickly, l.tally(), canceled.Round(time.Millisecond), l.slow)
	names := make([]string, 0, len(counts))
	for name := range counts {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, "| %s | %d |\n", name, counts[name])
	}
	must(l.f.t, os.WriteFile(to, []byte(b.String()), 0o644))
}
