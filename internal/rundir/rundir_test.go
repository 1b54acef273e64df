//go:build linux

package rundir

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"paddock"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) {
	testproc.Main(m, map[string]func() int{
		"crasher": crasher, "racer": racer, "reconciler": reconciler, "holder": holder, "tenant": tenant,
		"remover": remover,
	})
}

var (
	alice = paddock.Principal{Kind: paddock.Agent, ID: "alice"}
	bob   = paddock.Principal{Kind: paddock.Agent, ID: "bob"}
	// epoch is when the runs of these tests are made.
	epoch = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
)

func clock() time.Time { return epoch.Add(time.Hour) }

func open(t testing.TB) *State {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "state"))
}

func openAt(t testing.TB, path string) *State {
	t.Helper()
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// newID is an id made n milliseconds after epoch.
func newID(t testing.TB, n int) paddock.RunID {
	t.Helper()
	id, err := paddock.NewRunID(epoch.Add(time.Duration(n)*time.Millisecond), nil)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func intent(p paddock.Principal, argv ...string) Intent {
	if len(argv) == 0 {
		argv = []string{"go", "vet", "./..."}
	}
	return granted(paddock.Request{Principal: p, Door: paddock.DoorMCP, Command: paddock.Command{Argv: argv}, IdempotencyKey: "key"})
}

// granted is the intent of a request that was allowed; what a grant says is the
// matter of package record.
func granted(req paddock.Request) Intent {
	return Intent{Request: req, CreatedAt: epoch, Decision: paddock.Decision{
		Effect: paddock.Allow, RequestDigest: req.Digest(), Granted: paddock.Gives(&paddock.Grant{Argv: req.Command.Argv, Dir: "/srv/checkout"}),
	}}
}

func prepare(t testing.TB, s *State, id paddock.RunID, rec Intent) *Dir {
	t.Helper()
	d, err := s.Prepare(t.Context(), id, rec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.ReleaseLock() })
	return d
}

func claim(t testing.TB, s *State, fn func(*Claim) error) {
	t.Helper()
	if err := s.Claim(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

func publish(t testing.TB, s *State, d *Dir, key string) {
	t.Helper()
	claim(t, s, func(c *Claim) error { return c.Publish(d, key) })
}

// start publishes a run whose lock is held by the test until it ends.
func start(t testing.TB, s *State, n int, p paddock.Principal) *Dir {
	t.Helper()
	d := prepare(t, s, newID(t, n), intent(p))
	publish(t, s, d, "")
	return d
}

// orphan publishes a run that nobody looks after.
func orphan(t testing.TB, s *State, n int, p paddock.Principal) *Dir {
	t.Helper()
	d := start(t, s, n, p)
	if err := testproc.Alone(d.ReleaseLock); err != nil {
		t.Fatal(err)
	}
	return d
}

func exited() paddock.Outcome {
	return paddock.Outcome{State: paddock.Exited, Reason: paddock.Reason{Kind: paddock.ReasonExit}, EndedAt: epoch.Add(3 * time.Second)}
}

func settle(t testing.TB, d *Dir) {
	t.Helper()
	if first, err := d.PublishOutcome(exited()); err != nil || !first {
		t.Fatalf("PublishOutcome = %v, %v", first, err)
	}
}

func active(t testing.TB, s *State, p paddock.Principal) int {
	t.Helper()
	var n int
	claim(t, s, func(c *Claim) (err error) {
		n, err = c.Active(p)
		return err
	})
	return n
}

func reconcile(t testing.TB, s *State) []paddock.RunID {
	t.Helper()
	lost, err := s.Reconcile(t.Context(), clock)
	if err != nil {
		t.Fatal(err)
	}
	return lost
}

// file is a file of a run's directory.
func file(d *Dir, name string) string { return filepath.Join(d.Path(), name) }

func names(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// write replaces a file of a run, as a crash or a meddler would.
func write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.Remove(name); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// fail is how a helper process ends when it couldn't do its part.
func fail(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// output runs a helper to its end and returns what it printed.
func output(t testing.TB, args ...string) string {
	t.Helper()
	b, err := testproc.Self(t, args...).CombinedOutput()
	if err != nil {
		t.Errorf("%v: %v\n%s", args, err, b)
	}
	return strings.TrimSpace(string(b))
}

// crasher prepares and publishes a run and dies after the step that it is told.
func crasher() int {
	path, id, last := os.Args[1], paddock.RunID(os.Args[2]), os.Args[3]
	s, err := Open(path)
	if err != nil {
		return fail(err)
	}
	s.step = func(step string) {
		if step == last {
			os.Exit(0)
		}
	}
	ctx := context.Background()
	d, err := s.Prepare(ctx, id, intent(alice))
	if err != nil {
		return fail(err)
	}
	if last == "prepared" {
		return 0
	}
	if err := s.Claim(ctx, func(c *Claim) error { return c.Publish(d, "key") }); err != nil {
		return fail(err)
	}
	return fail(fmt.Errorf("step %q never came", last))
}

// racer asks for a run under a key, as an executor does.
func racer() int {
	s, err := Open(os.Args[1])
	if err != nil {
		return fail(err)
	}
	// The signal that all racers are there.
	if _, err := io.ReadAll(os.Stdin); err != nil {
		return fail(err)
	}
	ctx := context.Background()
	id, err := paddock.NewRunID(epoch, nil)
	if err != nil {
		return fail(err)
	}
	d, err := s.Prepare(ctx, id, intent(alice))
	if err != nil {
		return fail(err)
	}
	won := false
	err = s.Claim(ctx, func(c *Claim) error {
		there, _, found, err := c.Key(alice, "key")
		if err != nil || found {
			id = there
			return err
		}
		won = true
		return c.Publish(d, "key")
	})
	if err != nil {
		return fail(err)
	}
	if err := d.Abandon(); err != nil {
		return fail(err)
	}
	fmt.Println(won, id)
	return 0
}

// reconciler settles what it can and names it.
func reconciler() int {
	s, err := Open(os.Args[1])
	if err != nil {
		return fail(err)
	}
	if _, err := io.ReadAll(os.Stdin); err != nil {
		return fail(err)
	}
	lost, err := s.Reconcile(context.Background(), clock)
	if err != nil {
		return fail(err)
	}
	for _, id := range lost {
		fmt.Println(id)
	}
	return 0
}

// holder has inherited a run's lock, as a supervisor does, until its input ends.
func holder() int {
	fmt.Println("ready")
	if _, err := io.ReadAll(os.Stdin); err != nil {
		return fail(err)
	}
	return 0
}

// tenant opens a directory as whoever it is run as.
func tenant() int {
	s, err := Open(os.Args[1])
	if err != nil {
		fmt.Println("refused:", err)
		return 0
	}
	fmt.Println("opened", s.Path())
	if err := s.Close(); err != nil {
		return fail(err)
	}
	return 0
}

// together starts helpers that wait for each other and returns their lines.
func together(t *testing.T, n int, args ...string) []string {
	t.Helper()
	gate, release, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer gate.Close()
	type result struct {
		out []byte
		err error
	}
	results := make(chan result, n)
	for range n {
		cmd := testproc.Self(t, args...)
		cmd.Stdin = gate
		go func() {
			out, err := cmd.CombinedOutput()
			results <- result{out, err}
		}()
	}
	if err := release.Close(); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for range n {
		res := <-results
		if res.err != nil {
			t.Errorf("%v: %v\n%s", args, res.err, res.out)
		}
		for sc := bufio.NewScanner(strings.NewReader(string(res.out))); sc.Scan(); {
			lines = append(lines, sc.Text())
		}
	}
	return lines
}

// Whoever is to look after a run gets its lock before anything is written, and what never
// changes of its record is read once by who asks for that.
func TestLockedFirstAndRemembered(t *testing.T) {
	t.Parallel()
	s := open(t)
	in, names := intent(alice), ""
	in.Locked = func(lock *os.File) {
		entries, err := os.ReadDir(filepath.Dir(lock.Name()))
		if err != nil {
			t.Error(err)
		}
		for _, e := range entries {
			names += e.Name()
		}
	}
	d := prepare(t, s, newID(t, 0), in)
	if names != "lock" {
		t.Errorf("the directory had %q when the lock was given away", names)
	}
	publish(t, s, d, "")
	if d.Path() != s.PathOf(d.ID()) {
		t.Errorf("it is at %s and not at %s", d.Path(), s.PathOf(d.ID()))
	}
	before, err := d.Record(time.Now())
	if err != nil || d.Remember() != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"request.json", "decision.json"} {
		if err := os.Remove(filepath.Join(d.Path(), name)); err != nil {
			t.Fatal(err)
		}
	}
	now := before.CreatedAt
	after, err := d.Record(now)
	if before.Silent, after.Silent = 0, 0; err != nil || !cmp.Equal(before, after) {
		t.Errorf("%v: %s", err, cmp.Diff(before, after))
	}
	if p, err := d.Principal(); p != alice || err != nil {
		t.Errorf("%v, %v", p, err)
	}
	other, err := s.Run(d.ID())
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Remember(); err == nil {
		t.Error("what isn't there was read")
	}
	if _, err := other.Principal(); err == nil {
		t.Error("what couldn't be read is remembered")
	}
	bad := intent(alice)
	bad.Decision.Effect = paddock.Deny
	if _, err := s.Prepare(t.Context(), newID(t, 1), bad); err == nil {
		t.Error("what was refused became a run")
	}
	if left, err := os.ReadDir(filepath.Join(s.Path(), tmpDir)); err != nil || len(left) > 0 {
		t.Errorf("left of what can't be a run: %v, %v", left, err)
	}
}
