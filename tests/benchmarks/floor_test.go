//go:build linux

package benchmarks_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/contain"
	"paddock/internal/contain/lifecycle"
	"paddock/internal/contain/owner"
	"paddock/internal/spawn"
	"paddock/internal/testproc"
)

// What is promised can't be had for nothing. The floors are what it costs by the
// barest means: the same namespaces, mounts, rules and filter by a plan that was
// made before the clock runs, and the same files, links and renames with nothing
// in them that had to be worked out. What can be made before the run is known is made
// ahead in one of them, and in the last nothing holds the program at all. A number that
// this one misses as well is out of reach on this machine, by whatever road.

// A bareRun is a run of true that is ready to start.
type bareRun struct {
	level paddock.Level
	root  string
	spec  spawn.Spec
	files []*os.File
}

// prepareBare makes the plan, for one start. With ahead it also forks the process in
// between, with all of the tree that can be made before the run is known.
func prepareBare(level paddock.Level, root string, ahead bool) (b *bareRun, err error) {
	b = &bareRun{level: level, root: root}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.close())
		}
	}()
	for _, name := range []string{"/bin/true", root, os.DevNull} {
		mode := os.O_RDONLY
		if name == os.DevNull {
			mode = os.O_RDWR
		}
		f, err := os.OpenFile(name, mode, 0)
		if err != nil {
			return b, err
		}
		b.files = append(b.files, f)
	}
	wish := contain.Wish{Level: level, Network: "none", Root: root, Dir: root, Programs: []string{"/bin/true"}, OpenFiles: 256}
	if level == paddock.Off {
		wish.Network = "host"
	}
	if wish.Exec, err = contain.IdentityOf(b.files[0]); err != nil {
		return b, err
	}
	if wish.Start, err = contain.IdentityOf(b.files[1]); err != nil {
		return b, err
	}
	host := contain.Probe()
	var ready *spawn.Ahead
	if ahead {
		var ground *contain.Ground
		if os.Geteuid() == 0 { // only root's runs have one
			if err := b.show(&wish); err != nil {
				return b, err
			}
			ground = contain.NewGround(host, *wish.Account)
		}
		if ready, err = spawn.ForkAhead(ground); err != nil {
			return b, err
		}
	}
	plan, err := contain.NewPlan(wish, host)
	if err != nil {
		ready.Close()
		return b, err
	}
	b.spec = spawn.Spec{
		Ahead: ready,
		Argv:  []string{"true"}, Env: []string{"PATH=/usr/bin:/bin"}, Exec: b.files[0], Plan: plan,
		Stdin: b.files[2], Stdout: b.files[2], Stderr: b.files[2], Isolation: lifecycle.Isolations(os.Geteuid()), Name: "floor",
	}
	return b, nil
}

// show makes the run another account's, as those of root are, and its workspace too.
func (b *bareRun) show(w *contain.Wish) error {
	w.Account = &paddock.Account{UID: owner.Reserved, GID: owner.Reserved}
	shower := owner.As(*w.Account, spawn.UserNamespace)
	shown, err := shower.Show(w.Root, true)
	if err == nil {
		b.files = append(b.files, shown)
		w.Shown = map[string]*os.File{w.Root: shown}
	}
	return errors.Join(err, shower.Close())
}

func (b *bareRun) close() (err error) {
	for _, f := range b.files {
		err = errors.Join(err, f.Close())
	}
	return err
}

// run starts the program and waits until its tree is gone.
func (b *bareRun) run() error {
	p, err := spawn.Start(b.spec)
	if err != nil {
		return err
	}
	exit := <-p.Exited()
	<-p.Done()
	for _, f := range append(p.Routes(), p.Listener(), p.Socket()) {
		_ = f.Close() // nil, too
	}
	if exit.Status != 0 {
		return fmt.Errorf("true ended with %d", exit.Status)
	}
	return b.close()
}

// floors returns the barest starts. Those that this machine can't give are missing.
func (f *furniture) floors() []contender {
	empty := installed(f.t, testproc.Build(f.t, "./testdata/empty"), f.t.TempDir())
	started := func() { must(f.t, testproc.Command(f.t, empty).Run()) }
	all := []contender{{goEmpty, "", func() time.Duration { return took(started) }}}
	all = append(all, contender{floorOff, f.place, newKeeper(f.t, string(paddock.Off), f.root, filepath.Join(f.work, "floor-off")).run})
	told := newKeeper(f.t, nothing, f.root, filepath.Join(f.work, "floor-bare"))
	all = append(all, contender{floorBare, f.place, func() time.Duration {
		return told.run() + took(func() { must(f.t, testproc.Command(f.t, "/bin/true").Run()) })
	}})
	if err := contain.Probe().Can(paddock.Full); err != nil {
		for _, what := range []string{floorWalls, floorFull, floorCLI, floorTold, floorOurs, floorAhead, floorKept} {
			f.sheet.Missing[what] = err.Error()
		}
		return all
	}
	walls := func(ahead bool) *bareRun {
		b, err := prepareBare(paddock.Full, f.root, ahead)
		must(f.t, err)
		return b
	}
	full := func(dir string) *keeper {
		return newKeeper(f.t, string(paddock.Full), f.root, filepath.Join(f.work, dir))
	}
	twice := func(starts func(), dir string) func() time.Duration {
		kept := full(dir)
		return func() time.Duration { return took(starts) + kept.run() }
	}
	return append(all,
		contender{floorFull, f.place, full("floor-full").run},
		contender{floorKept, f.place, newKeeper(f.t, ready, f.root, filepath.Join(f.work, "floor-kept")).run},
		contender{floorWalls, "", func() time.Duration {
			b := walls(false)
			return took(func() { must(f.t, b.run()) })
		}},
		contender{floorAhead, "", func() time.Duration {
			b := walls(true)
			rest() // until it is made
			return took(func() { must(f.t, b.run()) })
		}},
		contender{floorCLI, "", func() time.Duration {
			b := walls(false)
			return took(func() {
				started()
				started()
				must(f.t, b.run())
			})
		}},
		contender{floorTold, f.place, twice(func() { started(); started() }, "floor-two")},
		contender{floorOurs, f.place, twice(func() { f.ends("paddock", "status", "x"); f.ends("paddock-stage") }, "floor-ours")})
}

// A keeper is a process that waits, as a supervisor does, to start a program and to
// write down what became of it; and its other half, which writes down before.
type keeper struct {
	t    *testing.T
	dir  string
	conn net.Conn
	n    int
}

// How a keeper starts the program, beside the levels: at full with what can be made ahead
// of it, and not at all.
const (
	ready   = "ahead"
	nothing = "nothing"
)

func newKeeper(t *testing.T, how, root, dir string) *keeper {
	t.Helper()
	for _, sub := range []string{"", "tmp", "runs", "active", "unseen", "journal"} {
		must(t, os.Mkdir(filepath.Join(dir, sub), 0o700))
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	must(t, err)
	ours, theirs := os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs")
	cmd := testproc.Self(t, "keeper", how, root, dir)
	cmd.ExtraFiles, cmd.Stderr = []*os.File{theirs}, os.Stderr
	must(t, cmd.Start())
	conn, err := net.FileConn(ours)
	must(t, errors.Join(err, ours.Close(), theirs.Close()))
	t.Cleanup(func() {
		must(t, conn.Close())
		_ = cmd.Wait() // it was killed when the test ended, or ends now
	})
	return &keeper{t: t, dir: dir, conn: conn}
}

// filling is about as much as is in one file of a record.
var filling = bytes.Repeat([]byte("x"), 900)

// makeFile writes one file of a record.
func makeFile(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(filling)
	return errors.Join(err, f.Close())
}

// tell appends a line to what stands for the journal.
func tell(dir string) error {
	lock, err := os.OpenFile(filepath.Join(dir, "journal", "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, "journal", "lines"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(filling)
	return errors.Join(err, f.Close())
}

// run writes the intent down, has the keeper start the program, and finds the
// outcome.
func (k *keeper) run() time.Duration {
	k.n++
	name := fmt.Sprint("run", k.n)
	coming, there := filepath.Join(k.dir, "tmp", name), filepath.Join(k.dir, "runs", name)
	var end [256]byte
	took := took(func() {
		must(k.t, os.Mkdir(coming, 0o700))
		lock, err := os.OpenFile(filepath.Join(coming, "lock"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		must(k.t, err)
		defer lock.Close()
		must(k.t, unix.Flock(int(lock.Fd()), unix.LOCK_EX))
		for _, file := range []string{"request.json", "decision.json", "claim.json", "token"} {
			must(k.t, makeFile(filepath.Join(coming, file)))
		}
		must(k.t, tell(k.dir))
		for _, dir := range []string{"active", "unseen"} {
			must(k.t, os.Link(filepath.Join(coming, "claim.json"), filepath.Join(k.dir, dir, name)))
		}
		must(k.t, os.Rename(coming, there))
		_, err = k.conn.Write([]byte(there))
		must(k.t, err)
		_, err = k.conn.Read(end[:1])
		must(k.t, err)
		must(k.t, os.Remove(filepath.Join(k.dir, "active", name)))
	})
	if end[0] != 'k' {
		n, err := k.conn.Read(end[:])
		k.t.Fatalf("the keeper says %s, %v", end[:n], err)
	}
	if _, err := os.Stat(filepath.Join(there, "outcome.json")); err != nil {
		k.t.Fatal(err)
	}
	return took
}

// keeperMain is the process that waits.
func keeperMain() int {
	f := os.NewFile(3, "starter")
	conn, err := net.FileConn(f)
	if err != nil || f.Close() != nil || len(os.Args) < 4 {
		return 2
	}
	for {
		var run *bareRun
		switch os.Args[1] {
		case nothing:
		case ready:
			run, err = prepareBare(paddock.Full, os.Args[2], true)
		default:
			run, err = prepareBare(paddock.Level(os.Args[1]), os.Args[2], false)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 3
		}
		var dir [4096]byte
		n, err := conn.Read(dir[:])
		if n == 0 || errors.Is(err, io.EOF) {
			if run != nil {
				run.spec.Ahead.Close()
			}
			return 0
		}
		if err == nil {
			err = keep(run, string(dir[:n]), os.Args[3])
		}
		answer := [][]byte{[]byte("k")}
		if err != nil {
			answer = [][]byte{[]byte("n"), []byte(err.Error())}
		}
		for _, part := range answer {
			if _, err := conn.Write(part); err != nil {
				return 4
			}
		}
	}
}

// keep is the life of one run in dir, of a program that is started elsewhere if run is nil.
func keep(run *bareRun, dir, state string) error {
	var kept []*os.File
	for _, name := range []string{"stdout", "stderr", "frames"} {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		kept = append(kept, f)
	}
	var pipes []*os.File
	for range 2 {
		ours, theirs, err := spawn.OutputPipe()
		if err != nil {
			return err
		}
		pipes = append(pipes, ours, theirs)
	}
	listener, err := net.Listen("unix", filepath.Join(dir, "control"))
	if err != nil {
		return err
	}
	if run != nil {
		run.spec.Stdout, run.spec.Stderr = pipes[1], pipes[3]
		err = run.run()
	}
	if err := errors.Join(err, pipes[1].Close(), pipes[3].Close()); err != nil {
		return err
	}
	for i, pipe := range []*os.File{pipes[0], pipes[2]} {
		if n, err := io.Copy(kept[i], pipe); n != 0 || err != nil {
			return fmt.Errorf("true printed %d bytes, %w", n, err)
		}
	}
	fresh, started, outcome := filepath.Join(dir, ".new"), filepath.Join(dir, "started.json"), filepath.Join(dir, "outcome.json")
	err = errors.Join(makeFile(fresh), os.Rename(fresh, started), makeFile(fresh), os.Link(fresh, outcome), os.Remove(fresh), tell(state))
	for _, f := range slices.Concat(kept, []*os.File{pipes[0], pipes[2]}) {
		err = errors.Join(err, f.Close())
	}
	return errors.Join(err, listener.Close())
}

// A mover moves what is in a pipe to a file, once; nothing moved is the end.
type mover func(from, to int, buffer []byte) (int, error)

// barest are the ways in which output can come into a file by way of a pipe, with nothing kept
// of it but the bytes.
func (f *furniture) barest() map[string]mover {
	// While the kernel copies from a pipe nobody can write to it: so what came is moved to another first.
	out, in, err := spawn.OutputPipe()
	must(f.t, err)
	f.t.Cleanup(func() { must(f.t, errors.Join(out.Close(), in.Close())) })
	return map[string]mover{
		toRead: func(from, to int, buffer []byte) (int, error) {
			n, err := unix.Read(from, buffer)
			if n > 0 {
				_, err = unix.Write(to, buffer[:n])
			}
			return n, err
		},
		toSplice: func(from, to int, _ []byte) (int, error) {
			n, err := unix.Splice(from, nil, int(in.Fd()), nil, 1<<20, 0)
			for left := n; left > 0 && err == nil; {
				var m int64
				m, err = unix.Splice(int(out.Fd()), nil, to, nil, int(left), 0)
				left -= m
			}
			return int(n), err
		},
	}
}

// throughPipe measures one of them.
func (f *furniture) throughPipe(what string, move mover, speed func(string, time.Duration)) {
	name, buffer := filepath.Join(f.work, "file"), make([]byte, 128<<10)
	speed(what, took(func() {
		out, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		must(f.t, err)
		defer out.Close()
		ours, theirs, err := spawn.OutputPipe()
		must(f.t, err)
		defer ours.Close()
		must(f.t, unix.SetNonblock(int(ours.Fd()), false))
		cmd := testproc.Command(f.t, testproc.Program(f.t, "writer"), strconv.FormatInt(*size, 10))
		cmd.Stdout = theirs
		must(f.t, errors.Join(cmd.Start(), theirs.Close()))
		for n := 1; n > 0; {
			n, err = move(int(ours.Fd()), int(out.Fd()), buffer)
			must(f.t, err)
		}
		must(f.t, cmd.Wait())
	}))
	must(f.t, os.Remove(name))
}
