//go:build linux

package chaos_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"paddock"
	"paddock/internal/lease/order"
	"paddock/internal/testproc"
)

// patience is how long what is ending may take, on a machine that does more.
const patience = 5 * time.Minute

// list asks a new process, which reconciles first, for all runs.
func (f *field) list(args ...string) []paddock.Run {
	f.t.Helper()
	var all []paddock.Run
	for before := ""; ; {
		more := append([]string{"ps", "--json", "--limit", "1000"}, args...)
		if before != "" {
			more = append(more, "--before", before)
		}
		cmd := f.paddock(more...)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil || errs.Len() > 0 {
			f.t.Fatalf("ps: %v: %s", err, errs.Bytes())
		}
		var page struct {
			Runs []paddock.Run `json:"runs"`
			Next string        `json:"next"`
		}
		must(f.t, json.Unmarshal(out, &page))
		all = append(all, page.Runs...)
		if before = page.Next; before == "" {
			return all
		}
	}
}

// over starts a run and returns when nobody has anything to do with it any more: its
// supervisor keeps its lock until it has told the journal of the end.
func (f *field) over(script string) (id string) {
	f.t.Helper()
	f.overs++
	out, err := f.paddock("run", "-d", "--key", fmt.Sprint("over-", f.overs), "--", "sh", "-c", script).Output()
	must(f.t, err)
	id = strings.TrimSpace(string(out))
	must(f.t, f.paddock("wait", id).Run())
	must(f.t, testproc.Unlocked(filepath.Join(f.state, "runs", "*", id, "lock")))
	must(f.t, f.paddock("ps").Run()) // whoever comes next takes it from what goes on
	return id
}

// settle waits until no run goes on.
func (f *field) settle() {
	f.t.Helper()
	f.until("every run is settled", func() string {
		if going := f.list(); len(going) > 0 {
			return fmt.Sprintf("%d go on, as %s, %s: %.200s", len(going), going[0].ID, going[0].State, going[0].Argv)
		}
		return ""
	})
}

// until waits for found to find nothing more.
func (f *field) until(what string, found func() string) {
	f.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	over := time.NewTimer(patience)
	defer over.Stop()
	for {
		left := found()
		if left == "" {
			return
		}
		select {
		case <-tick.C:
		case <-over.C:
			f.t.Errorf("not so: %s: %s", what, left)
			return
		}
	}
}

// check holds what happened against what was asked.
func (f *field) check() {
	f.t.Helper()
	byID, byShot := map[string]paddock.Run{}, map[int][]paddock.Run{}
	for _, run := range f.list("--all") {
		byID[string(run.ID)] = run
		n, ok := f.shotOf(run)
		if !ok {
			f.t.Errorf("run %s is of no shot: %.200q", run.ID, run.Argv)
			continue
		}
		byShot[n] = append(byShot[n], run)
		f.tally["state: "+string(run.State)]++
		if run.Outcome != nil {
			f.tally["reason: "+string(run.Outcome.Reason.Kind)]++
		}
	}
	if entries, err := filepath.Glob(filepath.Join(f.state, "runs/*/*")); err != nil || len(entries) != len(byID) {
		f.t.Errorf("%d directories of runs, %d runs are listed, %v", len(entries), len(byID), err)
	}
	for _, s := range f.shots {
		f.checkShot(s, byID, byShot[s.n])
	}
	if out, err := f.paddock("audit", "verify").CombinedOutput(); err != nil {
		f.t.Errorf("audit verify: %v\n%s", err, out)
	}
	f.verify(byID)
}

// shotOf says of which shot a run is.
func (f *field) shotOf(run paddock.Run) (n int, ok bool) {
	_, rest, found := strings.Cut(strings.Join(run.Argv, " "), "shot-"+f.mark+"-")
	digits, _, _ := strings.Cut(rest, ";")
	n, err := strconv.Atoi(digits)
	return n, found && err == nil
}

func (f *field) checkShot(s *shot, byID map[string]paddock.Run, runs []paddock.Run) {
	f.t.Helper()
	for _, id := range s.accepted {
		if _, there := byID[id]; there == s.never {
			f.t.Errorf("%s was accepted and is lost without a trace, or never began and has one\n%v", id, s)
		}
	}
	most := s.twins
	if s.key != "" {
		most = 1
	}
	if len(runs) > most {
		f.t.Errorf("%d runs where %d were asked for\n%v", len(runs), most, s)
	}
	if s.attack == "none" && len(runs) != most {
		f.t.Errorf("%d runs where %d were asked for and nothing was attacked\n%v", len(runs), most, s)
	}
	starts, err := os.ReadFile(filepath.Join(f.root, "starts", strconv.Itoa(s.n)))
	if err != nil && !os.IsNotExist(err) {
		f.t.Error(err)
	}
	if n := bytes.Count(starts, []byte("\n")); n > len(runs) {
		f.t.Errorf("the program was started %d times by %d runs\n%v", n, len(runs), s)
	}
	for _, run := range runs {
		f.checkRun(s, run)
	}
}

func (f *field) checkRun(s *shot, run paddock.Run) {
	f.t.Helper()
	if run.Outcome == nil || !run.State.Settled() || run.State != run.Outcome.State {
		f.t.Errorf("%s is %s with outcome %+v\n%v", run.ID, run.State, run.Outcome, s)
		return
	}
	if s.attack == "none" && run.State == paddock.Lost && f.struck[s.bin] < s.n {
		f.t.Errorf("%s is lost, and nothing was attacked: %+v\n%v", run.ID, run.Outcome.Reason, s)
	}
	dir := filepath.Dir(f.file(run, "outcome.json"))
	for _, h := range s.heard {
		if kept, err := os.ReadFile(filepath.Join(dir, "stdout")); h.run == string(run.ID) && (err != nil && !os.IsNotExist(err) || !bytes.Equal(kept, h.stdout)) {
			f.t.Errorf("a reader by tools was told %d bytes of %s, and %d are kept, %v\n%v", len(h.stdout), run.ID, len(kept), err, s)
		}
	}
	stdout, stderr := s.printed()
	for name, c := range map[string]struct {
		want []byte
		sum  paddock.StreamSummary
	}{"stdout": {stdout, run.Outcome.Stdout}, "stderr": {stderr, run.Outcome.Stderr}} {
		kept, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil && !os.IsNotExist(err) {
			f.t.Error(err)
		}
		switch digest := paddock.DigestOf(sha256.Sum256(kept)); {
		case !bytes.HasPrefix(c.want, kept):
			f.t.Errorf("%s of %s is %d bytes, and not the first that were printed\n%v", name, run.ID, len(kept), s)
		case c.sum.Bytes != int64(len(kept)), c.sum.Digest != digest && c.sum.Digest != "":
			f.t.Errorf("%s of %s is %d bytes with digest %s; its record says %+v\n%v", name, run.ID, len(kept), digest, c.sum, s)
		case run.State == paddock.Exited && len(kept) != len(c.want) && len(s.killed) == 0:
			f.t.Errorf("%s of %s exited by itself with %d of %d bytes\n%v", name, run.ID, len(kept), len(c.want), s)
		case c.sum.Digest == "" && run.Outcome.Reason.Detail == "":
			f.t.Errorf("%s of %s has no digest, and nothing says why\n%v", name, run.ID, s)
		}
	}
	text, err := f.paddock("output", string(run.ID), "--raw", "--limit", "100000").Output()
	if err != nil || !bytes.HasPrefix(stdout, text) {
		f.t.Errorf("output of %s: %v, %d bytes\n%v", run.ID, err, len(text), s)
	}
}

func (f *field) file(run paddock.Run, name string) string {
	return filepath.Join(f.state, "runs", run.ID.Time().Format("20060102"), string(run.ID), name)
}

// verify has each run verified by a process of its own.
func (f *field) verify(runs map[string]paddock.Run) {
	f.t.Helper()
	var all sync.WaitGroup
	turn := make(chan struct{}, workers)
	for id := range runs {
		turn <- struct{}{}
		all.Go(func() {
			defer func() { <-turn }()
			if out, err := f.paddock("verify", id).CombinedOutput(); err != nil {
				f.t.Errorf("verify %s: %v\n%s", id, err, out)
			}
		})
	}
	all.Wait()
}

// nothingLeft looks for what a run that is over must not leave.
func (f *field) nothingLeft() {
	f.t.Helper()
	ours := filepath.Dir(testproc.BuildTo(f.t, "failing", "paddock/cmd/paddock-stage", "failpoints")) // of what we asked ourselves
	f.until("no process is left", func() string {
		for _, p := range processes() {
			if text := p.file + " " + strings.Join(p.words, " "); strings.Contains(text, f.dir) || strings.HasPrefix(text, ours) || strings.Contains(text, f.mark) {
				return fmt.Sprintf("%d: %.300s", p.pid, text)
			}
		}
		return ""
	})
	f.until("no mount is left", func() string {
		mounts, err := os.ReadFile("/proc/self/mountinfo")
		must(f.t, err)
		for line := range strings.Lines(string(mounts)) {
			if strings.Contains(line, f.root) || strings.Contains(line, f.state+"/") {
				return line
			}
		}
		return ""
	})
	ids := map[string]bool{}
	for _, run := range f.list("--all") {
		ids[string(run.ID)] = true
	}
	f.until("no cgroup is left", func() (left string) {
		_ = filepath.WalkDir("/sys/fs/cgroup", func(name string, d fs.DirEntry, err error) error {
			for id := range ids {
				if err == nil && d.IsDir() && strings.Contains(d.Name(), id) {
					left = name
				}
			}
			return nil // what goes while we look is gone
		})
		return left
	})
	f.age()
	f.noFiles()
	f.noLocks()
}

// age makes files that were about to be placed in the state directory older than
// anybody waits, and has the next one come by.
func (f *field) age() {
	f.t.Helper()
	for _, where := range []string{".new-*", "nonces/.new-*"} {
		made, err := filepath.Glob(filepath.Join(f.state, where))
		must(f.t, err)
		for _, name := range made {
			must(f.t, os.Chtimes(name, time.Unix(0, 0), time.Unix(0, 0)))
		}
	}
	f.list()
	nonces, err := order.NoncesIn(f.state) // as a server does that works for a while
	must(f.t, err)
	must(f.t, nonces.Forget(time.Now()))
}

// noFiles looks for files that were to be there for a moment.
func (f *field) noFiles() {
	f.t.Helper()
	must(f.t, filepath.WalkDir(f.state, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		place, _ := filepath.Rel(f.state, name)
		base, top := d.Name(), strings.Split(place, "/")[0]
		if strings.HasPrefix(base, ".new-") || base == "reserve" || base == "control" || (top == "tmp" || top == "active") && place != top {
			f.t.Errorf("left: %s", place)
		}
		return nil
	}))
	entries, err := os.ReadDir(f.root)
	must(f.t, err)
	for _, e := range entries {
		if e.Name() != "starts" {
			info, err := e.Info()
			f.t.Errorf("left in the workspace: %s, %v, %v", e.Name(), info, err)
		}
	}
}

// noLocks takes every lock that there is.
func (f *field) noLocks() {
	f.t.Helper()
	locks, err := filepath.Glob(filepath.Join(f.state, "runs/*/*/lock"))
	must(f.t, err)
	others, err := filepath.Glob(filepath.Join(f.state, "*.lock"))
	must(f.t, err)
	if !slices.Contains(others, filepath.Join(f.state, "claim.lock")) {
		f.t.Errorf("there are only the locks %q", others)
	}
	for _, name := range append(append(locks, others...), filepath.Join(f.state, "journal", "lock")) {
		lock, err := os.Open(name)
		must(f.t, err)
		if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			f.t.Errorf("%s: %v", name, err)
		}
		must(f.t, lock.Close())
	}
}
