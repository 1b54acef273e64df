package probe

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"paddock"
	"paddock/internal/contain/probe/attempt"
	"paddock/internal/contain/probe/attempt/rough"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) {
	testproc.Main(m, map[string]func() int{"attempt": attempts})
}

// attempts plays the program that attempts.
func attempts() int {
	var targets Targets
	if err := json.NewDecoder(os.Stdin).Decode(&targets); err != nil {
		return 2
	}
	results, err := Run(targets)
	if err != nil {
		return 3
	}
	if err := json.NewEncoder(os.Stdout).Encode(results); err != nil {
		return 4
	}
	return 0
}

func run(t *testing.T, targets Targets, uid int) []Result {
	t.Helper()
	cmd := testproc.Self(t, "attempt")
	testproc.AsUser(t, cmd, uid)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		err := errors.Join(json.NewEncoder(in).Encode(targets), in.Close())
		if err != nil {
			t.Error(err)
		}
	}()
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var results []Result
	if err := json.Unmarshal(out, &results); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return results
}

// An attempt that can't succeed where nothing holds it proves nothing where
// something does. What is attempted stays as it was.
func TestUncontainedAttemptsSucceed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"root/.git/hooks", "outside", "journal"} {
		must(t, os.MkdirAll(at(name), 0o700))
	}
	const text = "as it was"
	for _, name := range []string{"root/.git/config", "file", "outside/secret", "outside/victim", "outside/removable", "outside/movable"} {
		must(t, os.WriteFile(at(name), []byte(text), 0o600))
	}
	var port int
	for _, where := range [][2]string{{"unix", at("outside/socket")}, {"unix", at("root/socket")}, {"unix", "@paddock-probe-" + filepath.Base(filepath.Dir(dir))}, {"tcp4", "127.0.0.1:0"}} {
		l, err := net.Listen(where[0], where[1])
		must(t, err)
		go answer(l)
		t.Cleanup(func() { _ = l.Close() })
		if a, ok := l.Addr().(*net.TCPAddr); ok {
			port = a.Port
		}
	}
	file := at("file")
	own, err := os.Readlink("/proc/self/ns/pid")
	must(t, err)
	targets := Targets{
		Level: paddock.Off, Root: at("root"), Outside: at("outside"), Key: file, Neighbor: file, State: file, Journal: at("journal"), Policy: file, Tmp: file, Shm: file, Etc: file,
		PID: os.Getpid(), PIDNamespace: own, Abstract: "paddock-probe-" + filepath.Base(filepath.Dir(dir)), TCP4: port, OpenFiles: 1,
	}
	results := run(t, targets, os.Geteuid())
	open := []string{
		"read_outside", "link_from_outside", "stat_outside", "write_outside", "attributes_outside", "state", "policy_and_keys", "other_root", "protected",
		"tmp", "shm", "etc", "proc", "signals", "tcp", "unix_socket", "abstract_socket", "open_files",
	}
	if os.Geteuid() == 0 {
		open = append(open, "capabilities", "identity")
	}
	for _, c := range Table {
		i := slices.IndexFunc(results, func(r Result) bool { return r.Check == c.ID })
		if (i < 0) != c.Beside {
			t.Errorf("%s: result %d", c.ID, i)
			continue
		}
		if slices.Contains(open, c.ID) && (results[i].Held || !results[i].Tried) {
			t.Errorf("%s: held by nothing: %+v", c.ID, results[i])
		}
	}
	if _, err := os.Stat(at("outside/" + Made)); err != nil {
		t.Errorf("a file could not be made: %v", err)
	}
	for _, name := range []string{"file", "root/.git/config", "outside/secret"} {
		if got, err := os.ReadFile(at(name)); err != nil || string(got) != text {
			t.Errorf("%s says %q, %v", name, got, err)
		}
	}
	if entries, err := os.ReadDir(at("root/.git/hooks")); err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// answer sends a byte to whoever connects.
func answer(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = conn.Write([]byte("x"))
		_ = conn.Close()
	}
}

// Without targets nothing is claimed to be held that was not attempted.
func TestWithoutTargetsNothingIsHeld(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, r := range run(t, Targets{Level: paddock.Off, Root: root}, os.Geteuid()) {
		if r.Held && !r.Tried || r.Detail == "" {
			t.Errorf("%+v", r)
		}
		if r.Check == "read_outside" && r.Tried {
			t.Errorf("what was read? %+v", r)
		}
	}
}

// An ordinary user's own rights hold a few things: those are held.
func TestOrdinaryUser(t *testing.T) {
	t.Parallel()
	for _, r := range run(t, Targets{Level: paddock.Off, Root: os.TempDir()}, testproc.Nobody) {
		if slices.Contains([]string{"capabilities", "identity", "mounts", "write_system"}, r.Check) && !r.Held {
			t.Errorf("%+v", r)
		}
	}
}

// Attempts that are rough are in the list for tests and never the doctor's.
func TestRoughAttemptsAreNotTheDoctors(t *testing.T) {
	t.Parallel()
	tried, roughly := map[string]bool{}, rough.Deeds()
	for _, a := range attempt.List {
		if (roughly[a.Name] != nil) != a.Rough {
			t.Errorf("%s: rough is %t", a.Name, a.Rough)
		}
		tried[a.Name] = true
		if !a.Rough {
			continue
		}
		if _, err := Try(Targets{}, []string{a.Name}, nil); err == nil {
			t.Errorf("%s is shipped", a.Name)
		}
	}
	for name := range roughly {
		if !tried[name] {
			t.Errorf("%s isn't in the list", name)
		}
	}
}
