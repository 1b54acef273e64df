//go:build linux

// Package chaos_test starts runs by every door and ends whatever takes part in
// them by kill -9, or lets their disk fail, at moments chosen by a seed. Then a
// process that saw nothing of it must find every run ended exactly once, every
// byte that it kept where it belongs, the journal whole, and nothing left.
//
// The binaries are built with the tag failpoints: see internal/failpoint.
//
// # Limits
//
// A power cut isn't tried: what is written but not synced is kept by the kernel.
// What happens at one moment can't be repeated by the seed alone, since the
// machine's own pace decides what is going on by then; the log says what was
// tried.
package chaos_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"paddock"
	"paddock/internal/failpoint"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

// workers is how many shots are going on at once.
const workers = 3

// A field is where shots are fired: one state directory and a workspace.
type field struct {
	t        *testing.T
	dir      string
	state    string
	root     string
	policies map[paddock.Level]string
	levels   []paddock.Level
	mark     string // in the arguments of every process that we have started
	seed     uint64
	overs    int // runs by over

	mu    sync.Mutex
	shots []*shot
	tally tally
	// struck is the last shot of a binary's that killed something: what goes on
	// of earlier ones may have been hit, too.
	struck map[string]int
}

func (f *field) strike(s *shot) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.struck[s.bin] = s.n
}

func newField(t *testing.T, seed uint64, state string) *field {
	t.Helper()
	dir := t.TempDir()
	f := &field{
		t: t, dir: dir, state: state, root: filepath.Join(dir, "root"), seed: seed, policies: map[paddock.Level]string{},
		mark: fmt.Sprintf("8%d", 100_000+rand.IntN(900_000)), tally: tally{}, struck: map[string]int{},
	}
	if state == "" {
		f.state = filepath.Join(dir, "state")
	}
	for _, name := range []string{f.root, filepath.Join(f.root, "starts")} { // as root, a run is an ordinary user's
		must(t, os.Mkdir(name, 0o777))
		must(t, os.Chmod(name, 0o777))
	}
	for up := dir; up != os.TempDir() && len(up) > 1; up = filepath.Dir(up) {
		must(t, os.Chmod(up, 0o755)) // such a user must get there
	}
	for _, level := range []paddock.Level{paddock.Off, paddock.Full} {
		text := fmt.Sprintf("version: 1\nroots: [{path: %q}]\nexecutables: [{name: sh, path: /bin/sh, args: any}]\nlimits: {timeout: 1m, output: 64MiB, concurrent: 1000}\ncontainment: {require: %s}\n", f.root, level)
		f.policies[level] = filepath.Join(dir, string(level)+".yaml")
		must(t, os.WriteFile(f.policies[level], []byte(text), 0o600))
	}
	f.levels = []paddock.Level{paddock.Off}
	cmd := testproc.Command(t, f.paddock().Path, "run", "--state", filepath.Join(dir, "first"), "--policy", f.policies[paddock.Full], "--", "sh", "-c", "exit 0")
	cmd.Dir = f.root
	if out, err := cmd.CombinedOutput(); err == nil {
		f.levels = append(f.levels, paddock.Full)
	} else if testproc.MustContain() || cmd.ProcessState.ExitCode() != 126 {
		t.Fatalf("at full: %v\n%s", err, out)
	}
	return f
}

// binaries makes a directory with a paddock that fails as told there.
func (f *field) binaries(name string) string {
	f.t.Helper()
	bin := filepath.Join(f.dir, "bin-"+name)
	must(f.t, os.Mkdir(bin, 0o755))
	for _, pkg := range []string{"paddock", "paddock-stage"} {
		must(f.t, os.Link(testproc.BuildTo(f.t, "failing", "paddock/cmd/"+pkg, "failpoints"), filepath.Join(bin, pkg)))
	}
	return bin
}

// arm tells what shall happen in the next processes of that binary.
func arm(t testing.TB, binary, plan string) {
	t.Helper()
	if plan == "" {
		must(t, remove(binary+failpoint.Suffix))
		return
	}
	must(t, os.WriteFile(binary+failpoint.Suffix, []byte(plan), 0o600))
}

// paddock is the command without anything that fails.
func (f *field) paddock(args ...string) *testproc.Cmd {
	cmd := testproc.Command(f.t, testproc.BuildTo(f.t, "failing", "paddock/cmd/paddock", "failpoints"), append([]string{"--state", f.state, "--policy", f.policies[paddock.Off]}, args...)...)
	cmd.Dir = f.root
	return cmd
}

// fire fires n shots.
func (f *field) fire(n int) {
	f.t.Helper()
	next := make(chan int)
	var all sync.WaitGroup
	for w := range workers {
		bin := f.binaries(strconv.Itoa(w))
		all.Go(func() {
			for i := range next {
				s := newShot(f, i, bin)
				s.fire()
				f.note(s)
			}
			for _, name := range []string{"paddock", "paddock-stage"} {
				hits, err := os.ReadFile(filepath.Join(bin, name+failpoint.HitSuffix))
				if err == nil {
					f.tally.hits(name, string(hits), &f.mu)
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	all.Wait()
}

// fireAll fires n shots, and beside them others at a server that uses the same state
// directory.
func (f *field) fireAll(n, atServer int) {
	f.t.Helper()
	if atServer == 0 {
		f.fire(n)
		return
	}
	m := newMark(f)
	var all sync.WaitGroup
	all.Go(func() { m.fire(atServer) })
	f.fire(n)
	all.Wait()
	m.end()
}

func (f *field) note(s *shot) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.shots = append(f.shots, s)
	f.tally["door: "+s.door]++
	f.tally["program: "+s.kind]++
	f.tally["level: "+string(s.level)]++
	f.tally["attack: "+s.attack]++
	for _, who := range s.killed {
		f.tally["killed: "+who]++
	}
}

func runs(t testing.TB, name string, usual int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	must(t, err)
	return n
}

// TestChaos fires some forty shots, or as many as make chaos asks for.
func TestChaos(t *testing.T) {
	n, seed := runs(t, "PADDOCK_CHAOS_RUNS", 40), uint64(runs(t, "PADDOCK_CHAOS_SEED", int(rand.Uint32())))
	t.Logf("again with PADDOCK_CHAOS_SEED=%d", seed)
	testproc.BuildTo(t, "failing", "paddock/cmd/paddock-stage", "failpoints") // beside the other
	f := newField(t, seed, "")
	atServer := 0
	if os.Getenv("PADDOCK_CHAOS_RUNS") != "" { // its build compiles a database; the short of it is cmd/paddock's TestServerIsKilled
		atServer = n/3 + 1
	}
	start := time.Now()
	f.fireAll(n, atServer)
	fired := time.Since(start)
	start = time.Now()
	f.settle()
	f.again()
	f.check()
	f.nothingLeft()
	f.sound()
	for _, key := range slices.Sorted(maps.Keys(f.tally)) {
		t.Logf("%4d %s", f.tally[key], key)
	}
	if t.Failed() {
		for _, s := range f.shots {
			t.Log(s)
		}
	}
	if name := os.Getenv("PADDOCK_CHAOS_REPORT"); name != "" && !t.Failed() {
		must(t, os.WriteFile(name, f.report(n, atServer, fired, time.Since(start)), 0o644))
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func remove(name string) error {
	if err := os.Remove(name); err != nil && !os.IsNotExist(err) {
		return err
	}
	return nil
}

// A tally counts what happened.
type tally map[string]int

func (c tally) hits(binary, text string, mu *sync.Mutex) {
	mu.Lock()
	defer mu.Unlock()
	for line := range strings.Lines(text) {
		c["point: "+binary+" "+strings.TrimSpace(line)]++
	}
}

// report says what was done and seen.
func (f *field) report(n, atServer int, fired, checked time.Duration) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Chaos\n\nWritten by `make chaos`; %d shots by processes of their own with seed %d, %d at a time, and beside them %d by HTTP, %d at a time, at a `paddock serve` that was ended all the while, all on one state directory. Firing took %s, settling and checking %s. A shot is one request, or several with one key, and at most one attack on it; those by HTTP are asked and followed by clients that go on with the next server. No check failed: every accepted run ended exactly once, no key became two runs, afterwards either, and no run started twice, every kept stream is a prefix of what was printed and has the digest that its record says, every reader, by events over HTTP or by tools over MCP, got exactly what is kept, once, `audit verify` and `verify RUN` agree, `state check --digests` finds nothing but marks of lines that a rebuild makes again, `server.db` is whole and has what was answered, and no process, mount, cgroup, lock or temporary file was left.\n\n| what | how often |\n|---|--:|\n",
		n, f.seed, workers, atServer, atOnce, fired.Round(time.Second/10), checked.Round(time.Second/10))
	for _, key := range slices.Sorted(maps.Keys(f.tally)) {
		fmt.Fprintf(&b, "| %s | %d |\n", key, f.tally[key])
	}
	return b.Bytes()
}
