package executor

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/contain/probe"
	"paddock/internal/contain/probe/attempt"
	"paddock/internal/contain/probe/attempt/rough"
	"paddock/internal/testproc"
)

func init() { programs["escapist"], programs["waits"] = escapist, waits }

// escapist is the program that tries to get out. Its argument is a file with the
// targets and the names of the attempts, below its directory.
func escapist() int {
	var order struct {
		Targets attempt.Targets
		Names   []string
	}
	b, err := os.ReadFile(os.Args[1])
	if err == nil {
		err = json.Unmarshal(b, &order)
	}
	var found map[string]attempt.Answer
	if err == nil {
		found, err = probe.Try(order.Targets, order.Names, rough.Deeds())
	}
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(found)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// waits ends well when its standard input does.
func waits() int {
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return 1
	}
	return 0
}

// levels are those of the table. At standard root's runs are another account's or
// none, which TestIdentity tries; that account's own runs are tried as its user.
var levels = func() []paddock.Level {
	if os.Geteuid() == 0 {
		return []paddock.Level{paddock.Full, paddock.Off}
	}
	return []paddock.Level{paddock.Full, paddock.Standard, paddock.Off}
}()

// A theater is what lies outside of the runs and is gone for.
type theater struct {
	base string
	aim  attempt.Targets
}

const policyForm = `version: 1
roots: [ROOTS]
executables:
  - {name: sh, path: /bin/sh, args: any, line_breaks: true}
  - {name: escapist, path: PROGRAM, args: any}
limits: {timeout: 10m, output: 10MiB, concurrent: 1000}
containment: {require: LEVEL MORE}
`

// stageVariable is how the supervisor's path reaches the tests as another user,
// who can't build it.
const stageVariable = "PADDOCK_TEST_STAGE"

// theaters counts them, for names that the whole machine shares.
var theaters atomic.Int32

// newTheater makes what lies outside of all workspaces.
func newTheater(t *testing.T) *theater {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	a := attempt.Targets{
		Outside: base + "/outside", Home: base + "/home", Key: base + "/home/.ssh/id", Policy: base + "/policy.yaml",
		Neighbor: base + "/neighbor/secret", User: "daemon", PID: os.Getpid(),
	}
	for _, dir := range []string{a.Outside, a.Home + "/.ssh", base + "/neighbor"} {
		must(t, os.MkdirAll(dir, 0o755))
	}
	for _, name := range []string{a.Key, a.Policy, a.Neighbor, a.Outside + "/secret", a.Outside + "/victim", a.Outside + "/program", a.Outside + "/removable", a.Outside + "/movable"} {
		must(t, os.WriteFile(name, []byte("secret"), 0o600))
	}
	for _, canary := range []struct {
		dir  string
		path *string
	}{{"/tmp", &a.Tmp}, {"/dev/shm", &a.Shm}} {
		f, err := os.CreateTemp(canary.dir, "paddock-canary-")
		must(t, err)
		_, err = f.WriteString("secret")
		must(t, cmp.Or(err, f.Close()))
		*canary.path = f.Name()
		t.Cleanup(func() { must(t, os.Remove(f.Name())) })
	}
	for _, path := range []string{"/etc/fstab", "/etc/login.defs", "/etc/profile", "/etc/motd"} {
		if _, err := os.Stat(path); err == nil {
			a.Etc = path
		}
	}
	a.Host, err = os.Hostname()
	must(t, err)
	a.PIDNamespace, err = os.Readlink("/proc/self/ns/pid")
	must(t, err)
	n := int(theaters.Add(1))
	a.Abstract = fmt.Sprintf("paddock-canary-%d-%d", os.Getpid(), n)
	answer(t, "unix", "@"+a.Abstract)
	answer(t, "unix", a.Outside+"/socket")
	a.TCP4 = answer(t, "tcp4", "0.0.0.0:0").(*net.TCPAddr).Port
	if addr := answer(t, "tcp6", "[::1]:0"); addr != nil {
		a.TCP6 = addr.(*net.TCPAddr).Port
	}
	a.UDP4 = echo(t, "udp4", "127.0.0.1:0").(*net.UDPAddr).Port
	echo(t, "unixgram", a.Outside+"/datagrams")
	a.SharedMemory = 0x50000000 + os.Getpid()<<4 + n
	id, err := unix.SysvShmGet(a.SharedMemory, 1, unix.IPC_CREAT|0o600)
	must(t, err)
	t.Cleanup(func() { _, err := unix.SysvShmCtl(id, unix.IPC_RMID, nil); must(t, err) })
	return &theater{base, a}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// answer is a service that sends one byte to whoever connects.
func answer(t *testing.T, network, address string) net.Addr {
	t.Helper()
	listener, err := net.Listen(network, address)
	if err != nil && network == "tcp6" {
		return nil // a machine without
	}
	must(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("x")) // whoever left doesn't want it
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { must(t, listener.Close()); <-done })
	return listener.Addr()
}

// echo is a service that answers datagrams.
func echo(t *testing.T, network, address string) net.Addr {
	t.Helper()
	conn, err := net.ListenPacket(network, address)
	must(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		b := make([]byte, 100)
		for {
			n, from, err := conn.ReadFrom(b)
			if err != nil {
				return
			}
			if from != nil {
				_, _ = conn.WriteTo(b[:n], from)
			}
		}
	}()
	t.Cleanup(func() { must(t, conn.Close()); <-done })
	return conn.LocalAddr()
}

// An act is an executor at one level with workspaces below dir.
type act struct {
	*theater
	e      *Executor
	level  paddock.Level
	dir    string
	policy string
}

func (th *theater) act(t *testing.T, level paddock.Level, more string, roots ...string) *act {
	t.Helper()
	var quoted []string
	a := &act{theater: th, level: level}
	f := open(t, func(c *Config) {
		a.dir = filepath.Dir(c.State)
		for _, root := range roots {
			root = filepath.Join(a.dir, root)
			must(t, os.MkdirAll(root, 0o755))
			quoted = append(quoted, "{path: '"+root+"'}")
		}
		a.policy = strings.NewReplacer("ROOTS", strings.Join(quoted, ", "), "PROGRAM", testproc.Program(t, "escapist"),
			"LEVEL", string(level), "MORE", more).Replace(policyForm)
		c.Policy = PolicyText("policy.yaml", []byte(a.policy))
		c.Stage = os.Getenv(stageVariable)
		c.Grace = 1
	})
	a.e = f.e
	return a
}

// run runs argv to its end in the workspace root and returns all it wrote.
func (a *act) run(t *testing.T, root string, argv ...string) (paddock.Run, string) {
	t.Helper()
	run, err := a.e.Start(t.Context(), a.request(root, argv...))
	must(t, err)
	return a.ended(t, run)
}

func (a *act) request(root string, argv ...string) paddock.Request {
	return paddock.Request{
		Principal: paddock.Principal{Kind: paddock.Host, ID: "test"}, Door: paddock.DoorGo,
		Command: paddock.Command{Argv: argv, Dir: filepath.Join(a.dir, root)},
	}
}

// ended waits for the run's end and returns all it wrote.
func (a *act) ended(t *testing.T, run paddock.Run) (paddock.Run, string) {
	t.Helper()
	run, err := a.e.Wait(t.Context(), run.ID)
	must(t, err)
	page, err := a.e.Output(t.Context(), run.ID, paddock.PageRequest{Stream: paddock.Combined, Limit: paddock.MaxPage})
	must(t, err)
	return run, page.Content
}

// reopen opens the executor again, with another policy.
func (a *act) reopen(t *testing.T, policy string) {
	t.Helper()
	f := open(t, func(c *Config) {
		c.Policy, c.Stage = PolicyText("policy.yaml", []byte(policy)), os.Getenv(stageVariable)
	})
	a.e = f.e
}

func (a *act) sh(t *testing.T, root, line string) (status int, out string) {
	t.Helper()
	run, out := a.run(t, root, "sh", "-c", line, a.aim.Home)
	if run.State != paddock.Exited || run.Outcome.Reason.ExitCode == nil {
		t.Fatalf("%q: %s %+v\n%s", line, run.State, run.Outcome.Reason, out)
	}
	if run.Containment != a.level {
		t.Fatalf("it was contained as %q, want %q", run.Containment, a.level)
	}
	return *run.Outcome.Reason.ExitCode, out
}

// keep compares what happened with what was promised.
func keep(t *testing.T, p attempt.Expectation, hindrance string) {
	t.Helper()
	switch {
	case p == attempt.Held && hindrance == "":
		t.Error("it succeeded")
	case p == attempt.Open && hindrance != "":
		t.Errorf("it should succeed here: %s", hindrance)
	case hindrance == "":
		t.Log("it succeeds")
	default:
		t.Log(hindrance)
	}
}
