package probe

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"paddock/internal/testproc"
)

func TestMain(m *testing.M) {
	testproc.Main(m, map[string]func() int{"attempt": attempt})
}

// attempt plays the program that attempts.
func attempt() int {
	var targets Targets
	if err := json.NewDecoder(os.Stdin).Decode(&targets); err != nil {
		return 2
	}
	if err := json.NewEncoder(os.Stdout).Encode(Run(targets)); err != nil {
		return 3
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
	if err := os.MkdirAll(at("root/.git/hooks"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"root/.git/config", "file"} {
		if err := os.WriteFile(at(name), []byte("as it was"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	reach := func(network, address string) string {
		l, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		return l.Addr().String()
	}
	file := at("file")
	targets := Targets{
		Root: at("root"), Secret: file, Writable: file, Key: file, Other: file, State: file, Policy: file, Tmp: file, Shm: file, Etc: file,
		PID: os.Getpid(), Socket: reach("unix", at("s")), Abstract: reach("unix", "@paddock-probe-"+filepath.Base(filepath.Dir(dir))),
		TCP: reach("tcp4", "127.0.0.1:0"), OpenFiles: 1,
	}
	results := run(t, targets, os.Geteuid())
	if len(results) != len(Table) {
		t.Errorf("%d results of %d attempts", len(results), len(Table))
	}
	must := []string{
		"read_outside", "link_from_outside", "stat_outside", "attributes_outside", "state", "policy_and_keys", "other_root", "protected",
		"tmp", "shm", "etc", "proc", "signals", "tcp", "unix_socket", "abstract_socket", "open_files",
	}
	if os.Geteuid() == 0 {
		must = append(must, "capabilities", "identity")
	}
	for _, r := range results {
		if slices.Contains(must, r.Check) && (r.Held || !r.Tried) {
			t.Errorf("%s: held by nothing: %+v", r.Check, r)
		}
	}
	if _, err := os.Stat(file + Made); err != nil {
		t.Errorf("a file could not be made: %v", err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "as it was" {
		t.Errorf("the file says %q, %v", text, err)
	}
	if entries, err := os.ReadDir(at("root/.git/hooks")); err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// Without targets nothing is claimed to be held that was not attempted.
func TestWithoutTargetsNothingIsHeld(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, r := range run(t, Targets{Root: root}, os.Geteuid()) {
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
	for _, r := range run(t, Targets{Root: os.TempDir()}, testproc.Nobody) {
		if slices.Contains([]string{"capabilities", "identity", "mounts", "write_system"}, r.Check) && !r.Held {
			t.Errorf("%+v", r)
		}
	}
}

func TestOnlyRefusalsAreRefusals(t *testing.T) {
	t.Parallel()
	for _, err := range []error{os.ErrInvalid, nil, net.ErrClosed} {
		if got := refused(err); got != nil {
			t.Errorf("%v is taken for a refusal: %v", err, got)
		}
	}
	for _, err := range []error{unix.EPERM, unix.EACCES, unix.ENOSYS} {
		if refused(err) == nil {
			t.Errorf("%v isn't taken for a refusal", err)
		}
	}
}
