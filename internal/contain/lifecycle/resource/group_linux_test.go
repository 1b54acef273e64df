package resource

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"paddock/internal/contain/lifecycle/resource/counts"
	"paddock/internal/contain/lifecycle/resource/hierarchy"
	"paddock/internal/kernfs"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) {
	testproc.Main(m, map[string]func() int{"hog": hogMain, "patient": patientMain, "spin": spinMain, "filler": fillerMain, "limited": limitedMain, "early": earlyMain})
}

// joined puts this helper into the groups whose files it was given.
func joined() bool {
	for fd := uintptr(3); fd < 8; fd++ {
		f := os.NewFile(fd, "cgroup.procs")
		if _, err := f.WriteString("0"); err != nil {
			return fd > 3 && errors.Is(err, syscall.EBADF)
		}
	}
	return true
}

// hogMain uses memory up to 512 MiB.
func hogMain() int {
	if !joined() {
		return 3
	}
	var kept [][]byte
	for range 64 {
		kept = append(kept, bytes.Repeat([]byte{1}, 8<<20))
	}
	return len(kept) - 64
}

// patientMain says that it is there and waits for its input to end.
func patientMain() int {
	if !joined() {
		return 3
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

// spinMain keeps two processors busy until it has had a fifth of a second of them, and prints
// how long that was, and what it got meanwhile.
func spinMain() int {
	if !joined() {
		return 3
	}
	start, before := time.Now(), took()
	spin := func() {
		for took()-before < 200*time.Millisecond {
		}
	}
	go spin()
	spin()
	fmt.Println(int64(time.Since(start)), int64(took()-before))
	return 0
}

// took is how much time of processors this process has had.
func took() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// group makes a group with limits, which is removed at the end.
func group(t *testing.T, l Limits) *Group {
	t.Helper()
	if os.Geteuid() != 0 {
		testproc.Skip(t, "cgroups are root's here, or somebody else's to delegate")
	}
	p, err := Probe().Plan(l)
	if err != nil {
		testproc.Skip(t, err.Error())
	}
	g, err := p.Make(nameFor(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := end(g); err != nil {
			t.Error(err)
		}
		if err := g.Remove(); err != nil {
			t.Error(err)
		}
	})
	return g
}

func nameFor(t *testing.T) string {
	return fmt.Sprintf("test-%d-%s", os.Getpid(), strings.ReplaceAll(t.Name(), "/", "-"))
}

// end kills all members, as supervisors do.
func end(g *Group) error {
	for range 12_000 { // two minutes, if they don't end
		if f := g.KillFile(); f != nil {
			if _, err := f.WriteString("1"); err != nil {
				return err
			}
		}
		pids, err := g.Members()
		if err != nil || len(pids) == 0 {
			return err
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may be gone
		}
		<-time.After(10 * time.Millisecond)
	}
	return errors.New("the group doesn't end")
}

func usage(t *testing.T, g *Group) Usage {
	t.Helper()
	u, err := g.Usage()
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func start(t *testing.T, g *Group, helper string) (*testproc.Cmd, io.WriteCloser) {
	t.Helper()
	cmd := testproc.Self(t, helper)
	cmd.ExtraFiles = g.Join()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stdin.Close() })
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if helper == "patient" {
		var word string
		if _, err := fmt.Fscan(stdout, &word); err != nil {
			t.Fatalf("the helper couldn't join: %v", err)
		}
	}
	return cmd, stdin
}

func signal(err error) syscall.Signal {
	var exit *testproc.ExitError
	if !errors.As(err, &exit) {
		return 0
	}
	return exit.Sys().(syscall.WaitStatus).Signal()
}

func TestMemoryHogIsTold(t *testing.T) {
	t.Parallel()
	g := group(t, Limits{Memory: 96 << 20})
	cmd, _ := start(t, g, "hog")
	if err := cmd.Wait(); signal(err) != syscall.SIGKILL {
		t.Errorf("got %v, want it killed", err)
	}
	u := usage(t, g)
	if u.OOMKills < 1 || u.MemoryPeak < 64<<20 || u.MemoryPeak > 97<<20 {
		t.Errorf("got %+v, want an out-of-memory kill at 96 MiB", u)
	}
}

func TestKillIsNoMemoryHog(t *testing.T) {
	t.Parallel()
	g := group(t, Limits{Memory: 256 << 20, Processes: 64})
	cmd, _ := start(t, g, "patient")
	if got, err := g.Members(); err != nil || !slices.Equal(got, []int{cmd.Process.Pid}) {
		t.Errorf("members %v, %v; want %d", got, err, cmd.Process.Pid)
	}
	if err := end(g); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); signal(err) != syscall.SIGKILL {
		t.Errorf("got %v, want it killed", err)
	}
	if u := usage(t, g); u.OOMKills != 0 || u.ProcessLimitHits != 0 || u.MemoryPeak == 0 || u.ProcessesPeak == 0 {
		t.Errorf("got %+v, want no limit met and something used", u)
	}
}

// The bomb would make some 500 processes; it makes none if it couldn't join.
const bomb = `for fd in $1; do eval "echo 0 >&$fd" || exit 9; done
f() { [ $1 -gt 0 ] || exec sleep 60; f $(($1-1)) & f $(($1-1)) & wait; }
f 8`

func TestForkBombMeetsItsLimit(t *testing.T) {
	t.Parallel()
	const limit = 48
	g := group(t, Limits{Processes: limit})
	fds := []string{"3", "4", "5"}[:len(g.Join())]
	cmd := testproc.Command(t, "/bin/sh", "-c", bomb, "sh", strings.Join(fds, " "))
	cmd.ExtraFiles = g.Join()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(2 * time.Minute); ; <-time.After(5 * time.Millisecond) {
		u := usage(t, g)
		if u.ProcessLimitHits > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v: the limit isn't met", u)
		}
	}
	if pids, err := g.Members(); err != nil || len(pids) > limit {
		t.Errorf("%d members, %v; want at most %d", len(pids), err, limit)
	}
	if err := end(g); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // killed, or it gave up when it couldn't fork
	if u := usage(t, g); u.ProcessesPeak < limit/2 || u.ProcessesPeak > limit {
		t.Errorf("got %+v, want a peak near %d", u, limit)
	}
}

func TestCPUHogGetsItsShare(t *testing.T) {
	t.Parallel()
	g := group(t, Limits{CPUs: 0.2})
	cmd := testproc.Self(t, "spin")
	cmd.ExtraFiles = g.Join()
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var lasted, got time.Duration
	if _, err := fmt.Sscan(string(out), &lasted, &got); err != nil {
		t.Fatalf("%q: %v", out, err)
	}
	// A busy machine gives it less.
	if ratio := float64(got) / float64(lasted); ratio > 0.3 {
		t.Errorf("it got %v in %v: %.2f processors, want 0.2", got, lasted, ratio)
	}
	used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if u := usage(t, g); Probe().V2.Folder != "" && (u.CPU < used/4 || u.CPU > 2*used) {
		t.Errorf("counted %v, want about %v", u.CPU, used)
	}
}

// left returns what of the test's groups is in our folders.
func left(t *testing.T) []string {
	t.Helper()
	h := Probe()
	folders := []string{h.V2.Folder}
	for _, folder := range h.V1 {
		folders = append(folders, folder)
	}
	var found []string
	for _, folder := range folders {
		entries, err := os.ReadDir(folder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), nameFor(t)) {
				found = append(found, path.Join(folder, e.Name()))
			}
		}
	}
	return found
}

var everything = Limits{Memory: 1 << 30, Processes: 64, CPUs: 1}

func TestFiftyGroupsLeaveNothing(t *testing.T) {
	g := group(t, everything)
	testproc.Leaks(t)
	p, err := Probe().Plan(everything)
	if err != nil {
		t.Fatal(err)
	}
	var made []*Group
	for i := range 50 {
		g, err := p.Make(fmt.Sprintf("%s-%d", nameFor(t), i))
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, g)
	}
	if got, want := len(left(t)), 51*len(g.directories); got != want {
		t.Errorf("%d directories, want %d", got, want)
	}
	for _, g := range made {
		if err := g.Remove(); err != nil {
			t.Error(err)
		}
	}
	if got := left(t); len(got) != len(g.directories) {
		t.Errorf("left behind: %q", got)
	}
}

func TestFailureHalfwayLeavesNothing(t *testing.T) {
	group(t, everything) // or skip
	testproc.Leaks(t)
	p, err := Probe().Plan(everything)
	if err != nil {
		t.Fatal(err)
	}
	last := &p.Directories[len(p.Directories)-1]
	files := last.Files
	for name, bad := range map[string]File{
		"no such file": {Name: "no.such", Value: "1"},
		"a bad value":  {Name: files[0].Name, Value: "many"},
	} {
		last.Files = append(slices.Clone(files), bad)
		if g, err := p.Make(nameFor(t) + "-x"); err == nil || g != nil || !strings.Contains(err.Error(), bad.Name) {
			t.Errorf("%s: got %v, want an error that names the file", name, err)
		}
		if got := left(t); len(got) != len(p.Directories) {
			t.Errorf("%s: left behind: %q", name, got)
		}
	}
	last.Files = files
	if _, err := p.Make(nameFor(t)); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second group of that name: %v", err)
	}
	if got := left(t); len(got) != len(p.Directories) {
		t.Errorf("the first group of that name is damaged: %q", got)
	}
}

func TestNamesAreChecked(t *testing.T) {
	t.Parallel()
	p := Plan{Directories: []Directory{{Kind: CgroupV2, Folder: t.TempDir()}}}
	for _, name := range []string{"", ".", "..", "a/b", "../x", "a\nb", "a\x00b", Supervisors} {
		if _, err := p.Make(name); err == nil || !strings.Contains(err.Error(), "can't be the name") {
			t.Errorf("%q: got %v, want it refused", name, err)
		}
	}
}

func TestAnAncestorsLowerShareHolds(t *testing.T) {
	t.Parallel()
	group(t, Limits{CPUs: 1}) // or skip
	h := Probe()
	if h.V1["cpu"] == "" {
		t.Skip("only cgroup v1 refuses a share above an ancestor's")
	}
	outer := path.Join(h.V1["cpu"], nameFor(t)+"-outer")
	if err := os.Mkdir(outer, 0o755); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(outer)
	if err := kernfs.Write(path.Join(outer, "cpu.cfs_quota_us"), "10000"); err != nil {
		t.Fatal(err)
	}
	p, err := Host{V1: map[string]string{"cpu": path.Join(outer, "in")}}.Plan(Limits{CPUs: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(path.Join(outer, "in"))
	g, err := p.Make("x")
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Remove(); err != nil {
		t.Error(err)
	}
}

func TestSweep(t *testing.T) {
	t.Parallel()
	busy := group(t, everything)
	cmd, stdin := start(t, busy, "patient")
	h := Probe()
	p, err := h.Plan(everything)
	if err != nil {
		t.Fatal(err)
	}
	active, err := p.Make(nameFor(t) + "-active")
	if err != nil {
		t.Fatal(err)
	}
	gone, err := p.Make(nameFor(t) + "-gone")
	if err != nil {
		t.Fatal(err)
	}
	sweep := func() []string {
		t.Helper()
		names, err := h.Sweep(nameFor(t), func(name string) bool { return name == nameFor(t)+"-active" })
		if err != nil {
			t.Error(err)
		}
		return names
	}
	if got := sweep(); !slices.Equal(got, []string{nameFor(t)}) {
		t.Errorf("busy: %q", got)
	}
	if got := left(t); len(got) != 2*len(p.Directories) {
		t.Errorf("left: %q, want the busy and the active one", got)
	}
	if err := errors.Join(active.Remove(), gone.Remove(), stdin.Close(), cmd.Wait()); err != nil {
		t.Error(err)
	}
}

func TestSweepWhereNothingIs(t *testing.T) {
	t.Parallel()
	h := Host{V1: map[string]string{"pids": path.Join(t.TempDir(), "none")}}
	if busy, err := h.Sweep("x", func(string) bool { return false }); busy != nil || err != nil {
		t.Errorf("got %q, %v", busy, err)
	}
}

func TestRlimitsOnly(t *testing.T) {
	t.Parallel()
	g, err := Plan{}.Make("x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Members(); !errors.Is(err, errNoCgroup) {
		t.Errorf("members: got %v, want that nobody knows", err)
	}
	if u, err := g.Usage(); u != (Usage{}) || err != nil || g.KillFile() != nil || g.Join() != nil {
		t.Errorf("got %+v, %v, want nothing", u, err)
	}
	if err := g.Remove(); err != nil {
		t.Error(err)
	}
}

func TestOrdinaryUserFallsBackAndSaysSo(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		cmd := testproc.Self(t, "-test.run=^TestOrdinaryUser")
		testproc.AsUser(t, cmd, testproc.Nobody)
		cmd.Dir = "/"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	h := Probe()
	if h.V2.Folder != "" || len(h.V1) > 0 {
		t.Skipf("cgroups are delegated to this user: %+v", h)
	}
	l := Limits{Memory: 1 << 30, Processes: 64, CPUs: 1, OpenFiles: 64}
	_, err := h.Plan(l)
	var refused *Unenforceable
	if !errors.As(err, &refused) || !slices.Equal(refused.Limits, []string{CPUs, Memory, Processes}) || !strings.Contains(err.Error(), "ours to write") {
		t.Errorf("got %v, want the three limits named and why", err)
	}
	l.Accept = Accept{AddressSpace: true, UserNamespace: true, Unenforced: []string{CPUs}}
	p, err := h.Plan(l)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Means{Memory: RlimitAddressSpace, Processes: RlimitProcesses, CPUs: None, OpenFiles: RlimitProcess}, p.Means); diff != "" {
		t.Error(diff)
	}
	forced := Plan{Directories: []Directory{{Kind: CgroupV2, Folder: "/sys/fs/cgroup/paddock"}}}
	if g, err := forced.Make("x"); err == nil {
		t.Errorf("made %+v, which isn't theirs", g)
	}
}

// limitedMain sets the rlimits of a plan and tries them.
func limitedMain() int {
	p, err := Host{}.Plan(Limits{OpenFiles: 32, FileSize: 4096, CPUTime: time.Minute, Memory: 8 << 30, Accept: Accept{AddressSpace: true}})
	if err != nil {
		return 1
	}
	for _, r := range p.Rlimits {
		if r.Resource == rlimitAS {
			continue // the race detector reserves more than anything
		}
		if err := unix.Setrlimit(r.Resource, &unix.Rlimit{Cur: r.Soft, Max: r.Hard}); err != nil {
			fmt.Println(r.Name, err)
			return 2
		}
	}
	f, err := os.CreateTemp("", "limited-")
	if err != nil {
		fmt.Println(err)
		return 3
	}
	defer os.Remove(f.Name())
	if _, err := f.Write(make([]byte, 8192)); !errors.Is(err, syscall.EFBIG) {
		fmt.Println("a file grew past its limit:", err)
		return 4
	}
	for n := 0; ; n++ {
		if _, err := os.Open(os.DevNull); errors.Is(err, syscall.EMFILE) && n < 32 {
			return 0
		} else if err != nil || n > 32 {
			fmt.Println(n, "files:", err)
			return 5
		}
	}
}

func TestRlimitsHold(t *testing.T) {
	t.Parallel()
	if out, err := testproc.Self(t, "limited").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// fillerMain writes 4 MiB to the file named, waits, and is told to go.
func fillerMain() int {
	f, err := os.OpenFile(os.Args[1], os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_, err = f.Write(make([]byte, 4<<20))
	}
	if err = errors.Join(err, f.Sync()); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

func TestWritten(t *testing.T) {
	dir := t.TempDir()
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil || s.Type == unix.TMPFS_MAGIC {
		testproc.Skip(t, "the directory for temporary files is no disk")
	}
	before, err := counts.Written([]int{os.Getpid()})
	if err != nil {
		t.Fatal(err)
	}
	cmd := testproc.Self(t, "filler", path.Join(dir, "f"))
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var word string
	if _, err := fmt.Fscan(stdout, &word); err != nil {
		t.Fatal(err)
	}
	if got, err := counts.Written([]int{cmd.Process.Pid, 1 << 30}); err != nil || got < 4<<20 || got > 8<<20 {
		t.Errorf("%q: got %d bytes, %v, want 4 MiB", word, got, err)
	}
	if err := errors.Join(stdin.Close(), cmd.Wait()); err != nil {
		t.Fatal(err)
	}
	if got, err := counts.Written([]int{os.Getpid()}); err != nil || got-before < 4<<20 {
		t.Errorf("after it was waited for: got %d more bytes, %v, want 4 MiB", got-before, err)
	}
}

// plant makes a directory that looks like a cgroup.
func plant(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(path.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestUsageOfV2(t *testing.T) {
	t.Parallel()
	g := &Group{directories: []made{{CgroupV2, plant(t, map[string]string{
		"memory.peak": "1048576\n", "memory.events": "low 0\nhigh 0\nmax 12\noom 2\noom_kill 1\noom_group_kill 1\n",
		"pids.peak": "9\n", "pids.events": "max 3\n", "cpu.stat": "usage_usec 1500\nuser_usec 1000\n",
	}), []File{{Name: "memory.max"}, {Name: "pids.max"}}}}}
	want := Usage{MemoryPeak: 1 << 20, CPU: 1500 * time.Microsecond, ProcessesPeak: 9, OOMKills: 1, ProcessLimitHits: 3}
	if got := usage(t, g); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	kills, err := g.OOMKills()
	hits, err2 := g.ProcessLimitHits()
	if kills != 1 || hits != 3 || err != nil || err2 != nil {
		t.Errorf("%d kills, %d hits, %v, %v", kills, hits, err, err2)
	}
	g.directories[0].set = nil // then nothing there is asked
	if kills, err := g.OOMKills(); kills != 0 || err != nil {
		t.Errorf("%d kills where nothing holds the memory, %v", kills, err)
	}
	g.directories[0].path = plant(t, map[string]string{"memory.peak": "much\n"})
	if _, err := g.Usage(); err == nil || !strings.Contains(err.Error(), `"much" isn't a number`) {
		t.Errorf("got %v, want what can't be read", err)
	}
}

func TestMembersRefuseWhatIsNoProcess(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"0\n", "-1\n", "1 x\n"} {
		g := &Group{directories: []made{{kind: CgroupV2, path: plant(t, map[string]string{"cgroup.procs": text})}}}
		if pids, err := g.Members(); err == nil {
			t.Errorf("%q: got %v, and whoever kills them kills somebody else", text, pids)
		}
	}
}

// The folder's own controllers are what its parent hands down to it.
func TestControllersAreEnabledOnce(t *testing.T) {
	t.Parallel()
	top := plant(t, map[string]string{"cgroup.subtree_control": ""})
	folder := path.Join(top, "paddock")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"cgroup.controllers": "pids\n", "cgroup.subtree_control": ""} {
		if err := os.WriteFile(path.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := prepare(Directory{Kind: CgroupV2, Folder: folder, Enable: []string{"pids", "memory"}}); err != nil {
		t.Fatal(err)
	}
	if got := hierarchy.Words(path.Join(top, "cgroup.subtree_control")); !slices.Equal(got, []string{"+memory"}) {
		t.Errorf("the parent was told %q, want only what it doesn't hand down", got)
	}
	err := prepare(Directory{Kind: CgroupV2, Folder: path.Join(top, "missing", "paddock")})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want that there is no such place", err)
	}
}

func TestCounts(t *testing.T) {
	t.Parallel()
	got := counts.Parse("oom_kill 1\nwrite_bytes: 4096\nlow\nmany max\na 1 2\nhuge 9223372036854775808\noom_kill 2\n\n")
	if diff := cmp.Diff(map[string]int64{"oom_kill": 2, "write_bytes": 4096}, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzCounts(f *testing.F) {
	f.Add("oom_kill 1\nmax 3\n")
	f.Add("write_bytes: 4096\n\x00 9\n-9223372036854775809 x\n a  b\n")
	f.Fuzz(func(t *testing.T, text string) {
		for name, n := range counts.Parse(text) {
			if strings.ContainsAny(name, " \n") || !strings.Contains(text, name) {
				t.Errorf("%q %d isn't in the text", name, n)
			}
		}
	})
}

func BenchmarkProbe(b *testing.B) {
	for b.Loop() {
		Probe()
	}
}

func BenchmarkMakeAndRemove(b *testing.B) {
	p, err := Probe().Plan(everything)
	if err != nil {
		testproc.Skip(b, err.Error())
	}
	for b.Loop() {
		g, err := p.Make(fmt.Sprintf("bench-%d", os.Getpid()))
		if err != nil {
			b.Fatal(err)
		}
		if err := g.Remove(); err != nil {
			b.Fatal(err)
		}
	}
}
