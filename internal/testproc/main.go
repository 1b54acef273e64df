package testproc

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// marker is the variable that tells a test binary which helper it is.
const marker = "PADDOCK_TESTPROC"

// A troupe is the helpers of a test binary and which of them tests have used.
// The zero troupe is that of a binary without Main: it has none.
type troupe struct {
	helpers map[string]func() int
	// dir is where programs are made; Main removes it.
	dir string

	mu   sync.Mutex
	used map[string]bool
}

// ours is set by Main before any test runs.
var ours = &troupe{}

// A helper is its process's first thread, as a program in C is: what /proc/self says is
// said of that one, and some of it (its timer slack) to no other.
func init() { runtime.LockOSThread() }

// Main runs the tests and exits, or plays the helper that this process was
// started as. Call it from TestMain. After a run of all tests it fails if a
// helper was never used; after any run that passed it fails if goroutines,
// children or descriptors are left.
func Main(m *testing.M, helpers map[string]func() int) {
	if name := played(helpers); name != "" {
		exit(helpers[name]())
	}
	runtime.UnlockOSThread() // tests are none
	dir, err := os.MkdirTemp("", "paddock-test-")
	if err == nil {
		err = os.Chmod(dir, 0o755) // so that other users can run what is in it
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "testproc:", err)
		exit(2)
	}
	heed()
	ours = &troupe{helpers: helpers, dir: dir, used: map[string]bool{}}
	before := descriptors()
	code := m.Run()
	complaints := end()
	if code == 0 {
		complaints = append(complaints, leftBehind(before)...)
		if wholeRun() {
			complaints = append(complaints, ours.unused()...)
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		complaints = append(complaints, err.Error())
	}
	for _, c := range complaints {
		fmt.Fprintln(os.Stderr, "FAIL: testproc:", c)
		code = 1
	}
	exit(code)
}

// heed has what tests start hear signals that this process was told to ignore, as a
// shell tells what it starts in the background: who is asked to end would go on forever.
// What is caught here is as usual again in whatever is started.
func heed() {
	for _, sig := range []os.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
}

// played returns which helper this process is: by the marker, or by the name of
// the file it was started as.
func played(helpers map[string]func() int) string {
	if name, ok := os.LookupEnv(marker); ok {
		if _, known := helpers[name]; !known {
			fmt.Fprintf(os.Stderr, "testproc: no helper is called %q\n", name)
			exit(2)
		}
		if len(os.Args) > 1 && os.Args[1] == name {
			os.Args = os.Args[1:]
		}
		return name
	}
	if name := filepath.Base(os.Args[0]); helpers[name] != nil {
		return name
	}
	return ""
}

var endings struct {
	sync.Mutex
	do []func() error
}

// AtEnd has something done after the last test, before [Main] looks for what is
// left: the end of a program that all tests share. The last is done first.
func AtEnd(do func() error) {
	endings.Lock()
	defer endings.Unlock()
	endings.do = append(endings.do, do)
}

func end() (complaints []string) {
	endings.Lock()
	defer endings.Unlock()
	for _, do := range slices.Backward(endings.do) {
		if err := do(); err != nil {
			complaints = append(complaints, err.Error())
		}
	}
	return complaints
}

func leftBehind(before map[string]bool) []string {
	return settle(func() []string {
		found := leaks(before, nil)
		if err := goleak.Find(); err != nil { // which itself waits for less than a second
			found = append(found, err.Error())
		}
		return found
	})
}

// wholeRun reports whether all tests were run, so that it can be told what none
// of them used.
func wholeRun() bool {
	for _, name := range []string{"test.run", "test.skip", "test.list", "test.fuzz"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" {
			return false
		}
	}
	return !testing.Short()
}

func (tr *troupe) unused() []string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	var names []string
	for name := range tr.helpers {
		if !tr.used[name] {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return []string{"no test uses the helper " + strings.Join(names, ", ") + "; delete it"}
}

// use notes that a helper is used and reports whether there is one.
func (tr *troupe) use(name string) bool {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if tr.helpers[name] == nil {
		return false
	}
	tr.used[name] = true
	return true
}

func mustUse(t testing.TB, name string) {
	t.Helper()
	if !ours.use(name) {
		t.Fatalf("testproc: no helper is called %q; give it to testproc.Main in TestMain", name)
	}
}

// scratch returns the directory for programs, which Main removes.
func scratch(t testing.TB) string {
	t.Helper()
	if ours.dir == "" {
		t.Fatal("testproc: call testproc.Main in TestMain; it removes what is built")
	}
	return ours.dir
}

// clone makes to the same executable as from: a second name, or a copy where
// that can't be, so that the file name alone says which helper it is.
func clone(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	return copyExecutable(from, to)
}

func copyExecutable(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	return err
}
