package executor

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/contain/escape"
	"paddock/internal/testproc"
)

func init() { programs["escapist"], programs["waits"] = escapist, waits }

// escapist is the program that tries to get out. Its argument is a file with an
// escape.Aim and the names of the attempts, below its directory.
func escapist() int {
	var order struct {
		Aim   escape.Aim
		Names []string
	}
	b, err := os.ReadFile(os.Args[1])
	if err == nil {
		err = json.Unmarshal(b, &order)
	}
	var found map[string]string
	if err == nil {
		found, err = escape.Try(order.Aim, order.Names)
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

// A promise is what the table says of a guarantee at a level.
type promise byte

const (
	held    promise = 'h' // the attempt must fail
	open_   promise = 'o' // it must succeed: here the guarantee isn't given, or the thing is needed
	unsaid  promise = '-' // it depends on the machine and is nobody's promise
	untried promise = 'x' // it isn't even tried: without containment it would do harm
)

// A row is one line of the table *guarantee × level*: what may be expected of
// the attempt of that name at full, standard and off.
type row struct {
	name string
	at   string // three promises
}

func (r row) of(level paddock.Level) promise {
	return promise(r.at[slices.Index([]paddock.Level{paddock.Full, paddock.Standard, paddock.Off}, level)])
}

// levels are those of the table. At standard root's runs are another account's or
// none, which TestIdentity tries; that account's own runs are tried as its user.
var levels = func() []paddock.Level {
	if os.Geteuid() == 0 {
		return []paddock.Level{paddock.Full, paddock.Off}
	}
	return []paddock.Level{paddock.Full, paddock.Standard, paddock.Off}
}()

// escapes is the table. Every attempt of package escape is in it.
var escapes = []row{
	{"find a descriptor that leaked", "hhh"}, // before others open any
	{"read a private key in the home", "hho"},
	{"read the policy", "hho"},
	{"read another workspace", "hho"},
	{"read an earlier run's output", "hho"},
	{"read through a parent of the root", "hho"},
	{"read through a link", "hho"},
	{"list the home", "hho"},
	{"list the root directory's secrets", "hho"},
	{"see that a file exists", "hoo"},
	{"read a file in /tmp", "hoo"},
	{"read a file in /dev/shm", "hho"},
	{"read /etc/shadow", "h--"}, // at standard and off by the file's mode alone
	{"list the machine's private keys", "h--"},
	{"see the machine's users", "hoo"},
	{"write a file outside", "hho"},
	{"create a file outside", "hho"},
	{"truncate a file outside", "hho"},
	{"remove a file outside", "hho"},
	{"chmod outside", "hoo"},
	{"chown outside", "hoo"},
	{"set times outside", "hoo"},
	{"set an extended attribute outside", "hoo"},
	{"link a file from outside", "hho"},
	{"move a file in from outside", "hho"},
	{"make a file that belongs to whoever owns it", "hho"},
	{"race a link against the boundary", "hho"},
	{"replace its own executable", "h-o"}, // at standard the answer tells nothing; see the line about programs,
	{"write to /usr/bin", "hh-"},
	{"write to /etc", "hh-"},
	{"write to /proc/sys", "hh-"},
	{"write to /proc/sysrq-trigger", "hh-"},
	{"write to /sys", "hh-"},
	{"write to a cgroup", "hh-"},

	{"see a process outside", "h--"}, // below full only where there is a PID namespace
	{"read the environment of a process outside", "hh-"},
	{"read the root of a process outside", "hh-"},
	{"signal a process outside", "hh-"},
	{"see more processes than its own", "h--"},
	{"read the memory of the holder", "hh-"},
	{"read the environment of the holder", "hh-"},
	{"open a descriptor of the holder", "hh-"},
	{"enter the root of the holder", "hh-"},
	{"enter the directory of the holder", "hh-"},
	{"read the executable of the holder", "hh-"},
	{"read the holder by process_vm_readv", "hh-"},
	{"trace the holder", "hhx"},
	{"take a descriptor of the holder", "hh-"},
	{"end the holder", "hhx"},

	{"mount", "hhx"},
	{"unmount", "hhx"},
	{"bind a directory", "hhx"},
	{"remount writable", "hhx"},
	{"pivot_root", "hhx"},
	{"chroot", "hhx"},
	{"enter a namespace", "hhx"},
	{"make a new user namespace", "hh-"},
	{"make a new mount namespace", "hh-"},
	{"make a new network namespace", "hh-"},
	{"make a new PID namespace", "hh-"},
	{"make a new IPC namespace", "hh-"},
	{"make a new UTS namespace", "hh-"},
	{"make a new cgroup namespace", "hh-"},
	{"use a key ring", "hh-"},
	{"search a key ring", "hh-"},
	{"load a module", "hhx"},
	{"load a module's file", "hhx"},
	{"load another kernel", "hhx"},
	{"load a BPF program", "hh-"},
	{"open io_uring", "hh-"},
	{"open userfaultfd", "hh-"},
	{"count with perf", "hh-"},
	{"open by handle", "hh-"},
	{"read the kernel's log", "hh-"},
	{"set the clock", "hhx"},
	{"make a device", "hh-"},
	{"have a terminal that was there", "hhh"},
	{"type into a terminal", "hh-"},
	{"paste into a console", "hhx"},
	{"leave a core dump", "hh-"},
	{"open /dev/mem", "hh-"},
	{"open /dev/kmsg", "hh-"},
	{"open /dev/port", "hh-"},
	{"open /dev/vda", "hh-"},
	{"open /dev/sda", "hh-"},
	{"open /dev/nvme0n1", "hh-"},
	{"open /dev/kvm", "hh-"},
	{"open /dev/fuse", "hh-"},
	{"open /dev/net/tun", "hh-"},
	{"open /dev/loop-control", "hh-"},

	{"open a raw socket", "hh-"},
	{"open a raw IPv6 socket", "hh-"},
	{"open a ping socket", "hh-"},
	{"open a packet socket", "hh-"},
	{"open a socket to the hypervisor", "hh-"},
	{"open a socket of the kernel's ciphers", "hh-"},
	{"open an audit socket", "hh-"},
	{"open a firewall socket", "hh-"},
	{"open a multipath socket", "hh-"},
	{"open an SCTP socket", "hh-"},
	{"open a Bluetooth socket", "hh-"},
	{"reach a TCP service of the machine", "hho"},
	{"reach it by another loopback address", "hh-"},
	{"reach it by an IPv4 address written as v6", "hho"},
	{"reach it by the address 0", "hho"},
	{"reach it by TCP Fast Open", "hh-"},
	{"reach an IPv6 service of the machine", "hh-"}, // where there is IPv6
	{"reach a UDP service of the machine", "hho"},
	{"reach the metadata address", "hhx"},
	{"reach an address outside", "hhx"},
	{"send a DNS question outside", "hhx"},
	{"reach an abstract socket of the machine", "hho"},
	{"reach a socket outside of the root", "hho"},
	{"reach a socket inside of the root", "oho"}, // who puts a socket there hands it out
	{"reach it by a datagram pair", "hh-"},
	{"have another way than loopback", "h--"},
	{"find shared memory of the machine", "h-o"},

	{"start somewhere else", "hhh"},
	{"keep capabilities", "hh-"},
	{"gain privileges by executing", "hho"},
	{"make files that others can write", "hhh"},
	{"see the machine's name", "hoo"},
	{"have more than 1 GiB of /tmp", "h--"},
	{"read what the kernel tells of the machine", "h--"},

	{"use loopback inside", "oho"},
	{"use a socket inside", "oho"},
	{"read its own executable", "ooo"},
	{"write to /tmp", "ooo"},
	{"write to /var/tmp", "ooo"},
	{"write to /dev/shm", "oho"},
	{"write to the root", "ooo"},
	{"write to /dev/null", "ooo"},
	{"lock a file", "ooo"},
	{"have a terminal of its own", "o-o"},
	{"move between directories", "ooo"},
	{"make an executable file in memory", "ooo"}, // held where exec is listed
	{"make a pipe in a directory", "ooo"},
}

// lines is more of the table, tried by lines of shell: exit status 0 means that
// they succeeded. Each has a repository of its own as its workspace.
var lines = []struct {
	row
	line string
}{
	{row{"git: make a missing hook", "hoo"}, "echo x > .git/hooks/pre-commit"},
	{row{"git: change its configuration", "hoo"}, "echo x >> .git/config"},
	{row{"git: change its configuration by git", "hoo"}, "git config core.pager evil"},
	{row{"git: replace its configuration", "hoo"}, "echo x > n && mv -T n .git/config"},
	{row{"git: remove its configuration", "hoo"}, "rm .git/config"},
	{row{"git: change its configuration by a link", "hoo"}, "ln .git/config n && echo x >> n"},
	{row{"git: move the hooks away", "hoo"}, "mv .git/hooks .git/old"},
	{row{"git: remove the hooks", "hoo"}, "rmdir .git/hooks"},
	{row{"git: move the repository away", "hoo"}, "mv .git old"},
	{row{"git: exchange the repository", "hoo"}, "mkdir n && mv -T .git o && mv -T n .git"},
	{row{"git: point to another configuration", "hoo"}, "echo ../evil > .git/commondir"},
	{row{"git: say where modules come from", "hoo"}, "echo x > .gitmodules"},
	// Deeper places can't be kept: they are for an overlay, or to be found afterwards.
	{row{"git: make a repository further down", "ooo"}, "mkdir n && cd n && git init -q && echo x > .git/hooks/pre-commit"},
	{row{"git: make a hook of a module", "ooo"}, "mkdir -p .git/modules/m/hooks && echo x > .git/modules/m/hooks/post-checkout"},
	{row{"git: plan a rebase that executes", "ooo"}, "mkdir .git/rebase-merge && echo exec x > .git/rebase-merge/git-rebase-todo"},
	{row{"make settings further down", "ooo"}, "mkdir n && echo {} > n/.mcp.json"},
	{row{"make a missing .mcp.json", "hoo"}, "echo {} > .mcp.json"},
	{row{"make a missing .mcp.json in the place of what is there", "hoo"}, "{ rm -rf .mcp.json || mv .mcp.json n; }; echo {} > .mcp.json"},
	{row{"make a missing .mcp.json by moving", "hoo"}, "echo {} > n && mv -T n .mcp.json"},
	{row{"make a missing .mcp.json as a link", "hoo"}, "echo {} > n && ln -s n .mcp.json && cat .mcp.json"},
	{row{"make a missing .envrc", "hoo"}, "echo x > .envrc"},
	{row{"make a missing directory of settings", "hoo"}, "mkdir -p .vscode && echo x > .vscode/tasks.json"},
	{row{"change settings that are there", "hoo"}, "echo x >> .claude/settings.json"},
	{row{"add to settings that are there", "hoo"}, "echo x > .claude/settings.local.json"},
	{row{"change settings by a link made before", "hoo"}, "echo x >> earlier"},
	{row{"move settings away", "hoo"}, "mv .claude n"},
	{row{"give settings other rights", "hoo"}, "chmod 777 .claude"},
	{row{"write to a program of the policy", "hh-"}, ": >> PROGRAM"},
	{row{"make a user namespace by a tool", "hh-"}, "unshare -U true"},
	{row{"make a user and a network namespace by a tool", "hh-"}, "unshare -Urn true"},
	{row{"raise the limit of core dumps", "hh-"}, "ulimit -c 1"},
	{row{"become root by a program that is", "hh-"}, `[ "$(./setuid -u)" = 0 ] && [ "$(id -u)" != 0 ]`},
	{row{"leave the home of the account as HOME", "hhh"}, `[ "$HOME" = "$0" ]`},
	{row{"write to HOME", "ooo"}, `echo x > "$HOME/.x"`},
	{row{"know its directory", "ooo"}, `[ "$(pwd -P)" = "$(cd . && pwd)" ] && ls -la . > /dev/null`},
	{row{"use fifos and pipelines", "ooo"}, `mkfifo f && (seq 1000 > f &) && [ "$(sort -n f | uniq | tail -1 | tr -d '\n')" = 1000 ]`},
}

// A theater is what lies outside of the runs and is gone for.
type theater struct {
	base string
	aim  escape.Aim
}

const policyForm = `version: 1
roots: [ROOTS]
executables:
  - {name: sh, path: /bin/sh, args: any, line_breaks: true}
  - {name: escapist, path: PROGRAM, args: any}
limits: {timeout: 2m, output: 10MiB, concurrent: 1000}
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
	a := escape.Aim{
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
func keep(t *testing.T, p promise, hindrance string) {
	t.Helper()
	switch {
	case p == held && hindrance == "":
		t.Error("it succeeded")
	case p == open_ && hindrance != "":
		t.Errorf("it should succeed here: %s", hindrance)
	case hindrance == "":
		t.Log("it succeeds")
	default:
		t.Log(hindrance)
	}
}
