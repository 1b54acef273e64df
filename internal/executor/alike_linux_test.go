package executor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/contain/owner"
	"paddock/internal/rundir/record"
	"paddock/internal/testproc"
)

// A run whose supervisor had everything ready before its job was there sees what one sees
// whose supervisor had nothing: of files, mounts, processes, descriptors, environment,
// rights, limits and namespaces, from inside and from outside, as root, as an account that
// root names, and as an ordinary user.
func TestRunsMadeAheadAreLikeOthers(t *testing.T) {
	t.Parallel()
	asEach(t, tryAlike)
}

// asEach has a test try something as root and as an ordinary user, each in a process that does
// nothing else.
func asEach(t *testing.T, try func(*testing.T)) {
	t.Helper()
	if os.Getenv(stageVariable) != "" {
		try(t)
		return
	}
	testproc.Helper(t, "inventory") // by the processes below
	base := elsewhere(t)
	for _, uid := range []int{os.Geteuid(), testproc.Nobody} {
		if uid != os.Geteuid() && os.Geteuid() != 0 {
			continue
		}
		t.Run("uid "+strconv.Itoa(uid), func(t *testing.T) {
			t.Parallel()
			home := filepath.Join(base, strconv.Itoa(uid))
			tmp := filepath.Join(home, "tmp")
			must(t, os.MkdirAll(tmp, 0o711))
			must(t, errors.Join(os.Chmod(home, 0o711), os.Chmod(tmp, 0o711)))
			if os.Geteuid() == 0 {
				must(t, errors.Join(os.Chown(home, uid, uid), os.Chown(tmp, uid, uid)))
			}
			test, _, _ := strings.Cut(t.Name(), "/")
			cmd := testproc.Self(t, "-test.run=^"+test+"$", "-test.timeout=20m", fmt.Sprint("-test.v=", testing.Verbose()))
			testproc.AsUser(t, cmd, uid)
			cmd.Dir = tmp
			cmd.Env = append(cmd.Env, "TMPDIR="+tmp, "HOME="+home, stageVariable+"="+testproc.Build(t, "paddock/cmd/paddock-stage"))
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			} else if testing.Verbose() {
				t.Logf("%s", out)
			}
		})
	}
}

// tryAlike compares at every level that this user's runs have.
func tryAlike(t *testing.T) {
	type held struct {
		level paddock.Level
		more  string
	}
	all := []held{{paddock.Full, ""}, {paddock.Standard, ""}, {paddock.Off, ""}}
	if os.Geteuid() == 0 {
		all = []held{{paddock.Full, ""}, {paddock.Off, ""}, {paddock.Full, ", run_as: '12345'"}, {paddock.Standard, ", run_as: '12345'"}, {paddock.Off, ", run_as: '12345'"}}
	}
	for _, h := range all {
		t.Run(string(h.level)+h.more, func(t *testing.T) { // one after the other: supervisors are told apart by whose they are
			a := (&theater{}).act(t, h.level, h.more, "root")
			root := filepath.Join(a.dir, "root")
			// In the workspace: where a program lies elsewhere than the system's do, less is made ahead.
			program, err := os.ReadFile(testproc.Program(t, "inventory"))
			must(t, err)
			must(t, os.WriteFile(root+"/inventory", program, 0o755))
			for dir := a.dir; len(dir) > 1 && os.Geteuid() == 0; dir = filepath.Dir(dir) { // what run_as needs to get there
				must(t, os.Chmod(dir, 0o755))
			}
			must(t, errors.Join(unix.Mkfifo(root+"/gate", 0o666), os.Chmod(root+"/gate", 0o666), os.Chmod(root, 0o777)))
			for _, warm := range []string{"0", "1"} { // both are seen by either
				must(t, os.Mkdir(filepath.Join(a.dir, "state"+warm), 0o700))
			}
			cold := filepath.Join(a.dir, "cold")
			must(t, os.WriteFile(cold, []byte("#!/bin/sh\nexec '"+os.Getenv(stageVariable)+"'\n"), 0o755)) // without the word to make anything
			want := a.inventory(t, cold, 0)
			got := a.inventory(t, os.Getenv(stageVariable), 1)
			if !strings.Contains(want, "\nend\n") {
				t.Fatalf("it didn't come to its end:\n%s", want)
			}
			compare(t, want, got)
			if testing.Verbose() {
				t.Logf("%d lines", strings.Count(want, "\n"))
			}
		})
	}
}

// compare reports the lines of either that the other doesn't have.
func compare(t *testing.T, want, got string) {
	t.Helper()
	count := map[string]int{}
	for line := range strings.Lines(want) {
		count[line]--
	}
	for line := range strings.Lines(got) {
		count[line]++
	}
	for _, line := range slices.Sorted(maps.Keys(count)) {
		switch n := count[line]; {
		case n > 0:
			t.Errorf("made ahead: %s", line)
		case n < 0:
			t.Errorf("without:    %s", line)
		}
	}
}

// inventory runs that program by the supervisor at stage, and returns what is seen of it from
// inside and from outside. With warm it is one that was there before its job, and had forked
// what holds the run.
func (a *act) inventory(t *testing.T, stage string, warm int) string {
	t.Helper()
	f := open(t, func(c *Config) {
		c.Policy, c.Stage, c.Warm, c.State = PolicyText("policy.yaml", []byte(a.policy)), stage, warm, filepath.Join(a.dir, "state"+strconv.Itoa(warm))
	})
	a.e = f.e
	used := map[int]bool{} // supervisors that have a run, or had one
	if warm > 0 {
		first, out := a.run(t, "root", "sh", "-c", "true") // from here on they are made for runs of this kind
		if out != "" {
			t.Fatal(out)
		}
		used[a.started(t, first).Supervisor.PID] = true
	}
	var run paddock.Run
	var page, outside string
	// Whoever mounts something on this machine meanwhile has one not be made ahead.
	for tries, found := 0, false; !found; tries++ {
		before := map[int]bool{}
		if warm > 0 {
			before = forkedAhead(t, a.level, used)
		}
		req := a.request("root", "sh", "-c", "exec ./inventory "+string(a.level)+" '"+a.dir+"'")
		req.Tied = os.Geteuid() != 0 // or it had to leave our cgroup, which an ordinary user's can't
		var err error
		run, err = a.e.Start(t.Context(), req)
		must(t, err)
		page = a.until(t, run, "\nend\n")
		started := a.started(t, run)
		used[started.Supervisor.PID] = true
		leader, holder := started.LeaderPID, parent(t, started.LeaderPID)
		found = warm == 0 || before[holder]
		outside = a.outside(t, leader)
		gate, err := os.OpenFile(filepath.Join(a.dir, "root/gate"), os.O_WRONLY, 0)
		must(t, err)
		must(t, gate.Close())
		run, _ = a.ended(t, run)
		if tries == 20 && !found {
			t.Fatalf("it is held by %d, which wasn't forked ahead: %v", holder, before)
		}
	}
	if run.State != paddock.Exited || run.Containment != a.level {
		t.Fatalf("%s at %s: %+v\n%s", run.State, run.Containment, run.Outcome, page)
	}
	if e := run.Enforced; e.Identity != nil && e.Identity.UID >= owner.Reserved { // drawn for each
		e.Identity = nil
	}
	enforced, err := json.MarshalIndent(run.Enforced, "", " ")
	must(t, err)
	text := page + outside + string(enforced) + "\n" + fmt.Sprint(run.Outcome.Survivors, run.Outcome.Leftovers, run.Isolation) + "\n"
	text = strings.NewReplacer(string(run.ID), "RUN", "state0", "STATE", "state1", "STATE").Replace(text)
	return ordered(text)
}

// Numbers that are drawn, counted or handed out anew each time.
var drawn = []struct {
	what *regexp.Regexp
	as   string
}{
	{regexp.MustCompile(`(?m)(mountinfo\t)\d+ \d+ 0:\d+ `), "${1}0:0 "}, // no disk
	{regexp.MustCompile(`(?m)(mountinfo\t)\d+ \d+ `), "${1}"},
	{regexp.MustCompile(`\b(shared|master|propagate_from):\d+`), "$1"},
	{regexp.MustCompile(`/proc/\d+/`), "/proc/N/"},
	// Any thread of the program may be the one that looks; only init has the first number.
	{regexp.MustCompile(`(?m)(status\t(?:NSpid|Pid):\t)(?:[2-9]|\d\d+)$`), "${1}N"},
	{regexp.MustCompile(`\b1[89]\d{8}\b`), "ACCOUNT"}, // one of those that are kept for runs
}

func ordered(text string) string {
	for _, d := range drawn {
		text = d.what.ReplaceAllString(text, d.as)
	}
	return text
}

// until waits until the run has printed text, and returns all of its output.
func (a *act) until(t *testing.T, run paddock.Run, text string) string {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		dir, err := a.e.state.Run(run.ID)
		must(t, err)
		settled, err := record.Settled(dir.Path())
		must(t, err)
		b, err := os.ReadFile(filepath.Join(dir.Path(), "stdout"))
		if page := string(b); strings.Contains(page, text) {
			return page
		}
		if settled {
			run, all := a.ended(t, run)
			t.Fatalf("%s %+v, %v\n%s", run.State, run.Outcome.Reason, err, all)
		}
		<-tick.C
	}
}

// started is what its supervisor wrote of the run's start.
func (a *act) started(t *testing.T, run paddock.Run) *record.Started {
	t.Helper()
	dir, err := a.e.state.Run(run.ID)
	must(t, err)
	started, err := dir.Started()
	must(t, err)
	return started
}

func parent(t *testing.T, pid int) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	must(t, err)
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	n, err := strconv.Atoi(fields[1])
	must(t, err)
	return n
}

// forkedAhead waits until a supervisor that waits, so isn't among used, has forked what
// holds a run, and returns what it has forked; nothing where that one is for runs of another
// kind.
func forkedAhead(t *testing.T, level paddock.Level, used map[int]bool) map[int]bool {
	t.Helper()
	want := map[paddock.Level]string{paddock.Full: "ahead", paddock.Standard: "hedge", paddock.Off: "between"}[level]
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for late := time.After(time.Minute); ; {
		for _, stage := range childrenOf(os.Getpid()) {
			b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", stage)) // it may be gone
			name, argument, _ := strings.Cut(string(b), "\x00")
			argument = strings.TrimSuffix(argument, "\x00")
			forked := childrenOf(stage)
			enough := 1
			if level == paddock.Full && os.Geteuid() == 0 { // and what makes a workspace the run's own
				enough = 2
			}
			if name != "paddock-stage" || used[stage] {
				continue
			}
			if argument != want && argument != "ground" && argument != "" || argument == "ground" && level != paddock.Full {
				return nil // it was on its way before anybody knew what runs there are to be
			}
			if argument != "" && len(forked) >= enough {
				all := map[int]bool{}
				for _, pid := range forked {
					all[pid] = true
				}
				return all
			}
		}
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("nothing was forked ahead")
		}
	}
}

// childrenOf lists the children of all threads of pid.
func childrenOf(pid int) (children []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		b, _ := os.ReadFile(list) // a thread may be gone
		for word := range strings.FieldsSeq(string(b)) {
			if n, err := strconv.Atoi(word); err == nil {
				children = append(children, n)
			}
		}
	}
	return children
}

// outside says what is to be seen of a process from where we are.
func (a *act) outside(t *testing.T, pid int) string {
	t.Helper()
	var out strings.Builder
	for _, name := range []string{"mnt", "pid", "pid_for_children", "net", "ipc", "uts", "user", "cgroup", "time", "time_for_children"} {
		theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", pid, name))
		ours, _ := os.Readlink("/proc/self/ns/" + name)
		fmt.Fprintln(&out, "outside: namespace", name, "is ours:", theirs == ours, errors.Unwrap(err))
	}
	for _, name := range []string{"cgroup", "limits", "oom_score_adj", "uid_map", "gid_map", "autogroup"} {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
		text := string(b)
		if name == "autogroup" {
			text = text[strings.Index(text, " ")+1:] // its number is drawn
		}
		fmt.Fprintln(&out, "outside:", name, text, errors.Unwrap(err))
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	must(t, err)
	for line := range strings.Lines(string(b)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		for _, controller := range strings.Split(parts[1], ",") {
			for _, name := range []string{"memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "memory.swappiness", "memory.max", "memory.swap.max", "memory.oom.group", "pids.max", "cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us", "cpu.shares"} {
				if b, err := os.ReadFile(filepath.Join("/sys/fs/cgroup", controller, parts[2], name)); err == nil && strings.HasPrefix(name, strings.TrimSuffix(controller, "acct")) {
					fmt.Fprintln(&out, "outside:", controller, name, strings.TrimSpace(string(b)))
				}
			}
		}
	}
	return out.String()
}
