//go:build linux

package supervise

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"paddock"
	"paddock/internal/contain/lifecycle"
	"paddock/internal/control"
	"paddock/internal/control/handover"
	"paddock/internal/rundir"
	"paddock/internal/spawn"
	"paddock/internal/testproc"
)

// A victim is a run whose supervisor is going to be killed.
type victim struct {
	Dir   string `json:"dir"`
	Stage int    `json:"stage"`
}

// hostile keeps two processes that are detached twice and ignore every request;
// each carries the marker in its arguments.
const hostile = `
	(trap '' TERM HUP INT; setsid sh -c 'trap "" TERM HUP INT; echo up; while :; do sleep 1; done' %[1]s &)
	trap '' TERM HUP INT; while :; do sleep 1; done`

// starterMain starts a run as whoever it is run as, tells about it on its
// standard output, and lives until its standard input ends.
func starterMain() int {
	state, stage, marker, isolation := os.Args[2], os.Args[3], os.Args[4], paddock.Isolation(os.Args[5])
	v, conn, err := startVictim(state, stage, isolation, marker, os.Args[6])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer conn.Close()
	if err := json.NewEncoder(os.Stdout).Encode(v); err != nil {
		return 1
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

func startVictim(path, stage string, isolation paddock.Isolation, marker, ready string) (victim, io.Closer, error) {
	ctx := context.Background()
	state, err := rundir.Open(path)
	if err != nil {
		return victim{}, nil, err
	}
	id, err := paddock.NewRunID(time.Now(), nil)
	if err != nil {
		return victim{}, nil, err
	}
	argv := []string{"sh", "-c", fmt.Sprintf(hostile, marker), marker}
	req := paddock.Request{Principal: paddock.Principal{Kind: paddock.Host, ID: "test"}, Door: paddock.DoorGo, Command: paddock.Command{Argv: argv}}
	dir, err := state.Prepare(ctx, id, rundir.Intent{
		Request: req, CreatedAt: time.Now(),
		Decision: paddock.Decision{Effect: paddock.Allow, RequestDigest: req.Digest(), Granted: paddock.Gives(&paddock.Grant{})},
	})
	if err != nil {
		return victim{}, nil, err
	}
	if err := state.Claim(ctx, func(c *rundir.Claim) error { return c.Publish(dir, "") }); err != nil {
		return victim{}, nil, err
	}
	s, err := spawn.StartStage(stage, nil, ready)
	if err != nil {
		return victim{}, nil, err
	}
	holder, err := forkedBy(s.PID(), ready)
	if err != nil {
		return victim{}, nil, err
	}
	where, err := os.Open("/")
	if err != nil {
		return victim{}, nil, err
	}
	shell, err := os.Open("/bin/sh")
	if err != nil {
		return victim{}, nil, err
	}
	job, err := json.Marshal(Job{
		Version: handover.JobVersion, RunDir: dir.Path(), RunID: id, Argv: argv, Env: []string{"PATH=/usr/bin:/bin"}, Path: "/bin/sh",
		Timeout: paddock.Duration(time.Hour), OutputCap: 1 << 20, Isolation: []paddock.Isolation{isolation},
		Contain: paddock.ContainAs{Level: paddock.Off, Network: "host"}, Dir: "/", Root: "/", Programs: []string{"/bin/sh"},
	})
	if err != nil {
		return victim{}, nil, err
	}
	if err := control.SendJob(s.Conn(), job, []*os.File{dir.Lock(), where, shell}); err != nil {
		return victim{}, nil, err
	}
	if err := control.SendJob(s.Conn(), []byte(`{"written":true}`), nil); err != nil {
		return victim{}, nil, err
	}
	if err := dir.ReleaseLock(); err != nil {
		return victim{}, nil, err
	}
	events, err := control.NewClient(s.Conn()).Subscribe(ctx)
	if err != nil {
		return victim{}, nil, err
	}
	for event := range events {
		if event.Kind == "settled" {
			return victim{}, nil, fmt.Errorf("settled: %+v", event.Outcome)
		}
		if event.Stdout > 0 {
			if holder != 0 && lifecycle.FirstChild(holder) == 0 {
				return victim{}, nil, fmt.Errorf("the run isn't held by %d, which was forked ahead", holder)
			}
			return victim{dir.Path(), s.PID()}, s.Conn(), nil
		}
	}
	return victim{}, nil, fmt.Errorf("the supervisor ended")
}

// forkedBy waits for what a supervisor forks ahead of a run below full, where it does so.
func forkedBy(pid int, ready string) (holder int, err error) {
	for deadline := time.Now().Add(2 * time.Minute); ready == "between"; {
		if found := lifecycle.Descendants(pid); len(found) > 0 {
			return found[0], nil
		}
		if time.Now().After(deadline) {
			return 0, errors.New("nothing is forked ahead")
		}
		<-time.After(time.Millisecond)
	}
	return 0, nil
}

// carriers returns the processes that have the marker among their arguments.
func carriers(t *testing.T, marker string) []int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err == nil && bytes.HasSuffix(b, []byte("\x00"+marker+"\x00")) {
			pid, err := strconv.Atoi(strings.Split(file, "/")[2])
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, pid)
		}
	}
	return pids
}

// Whoever runs it, by whichever means the kernel holds the tree: a supervisor
// killed with -9 takes its whole run along, and the next user of the state
// directory says that it was lost.
func TestNothingOutlivesAKilledSupervisor(t *testing.T) {
	type user struct {
		name string
		uid  int
		by   []paddock.Isolation
	}
	users := []user{
		{"root", 0, []paddock.Isolation{paddock.PIDNamespace, paddock.UserPIDNamespace, paddock.CgroupKill, paddock.Guardian}},
		{"ordinary user", testproc.Nobody, []paddock.Isolation{paddock.UserPIDNamespace, paddock.Guardian}},
	}
	stage := testproc.Build(t, "paddock/cmd/paddock-stage")
	for _, u := range users {
		if os.Geteuid() != 0 && u.uid == 0 {
			continue // an ordinary user's run of the suite covers the other
		}
		for _, isolation := range u.by {
			t.Run(u.name+" "+string(isolation), func(t *testing.T) {
				killSupervisor(t, stage, u.uid, isolation, "ground")
			})
		}
		t.Run(u.name+" ahead", func(t *testing.T) { killSupervisor(t, stage, u.uid, u.by[0], "between") })
	}
}

func killSupervisor(t *testing.T, stage string, uid int, isolation paddock.Isolation, ready string) {
	home := t.TempDir()
	if os.Geteuid() == 0 {
		openTo(t, home, uid)
	}
	marker := fmt.Sprintf("paddock-victim-%d-%d-%s-%s", os.Getpid(), uid, isolation, ready)
	cmd := testproc.Command(t, testproc.Program(t, "starter"), "starter", filepath.Join(home, "state"), stage, marker, string(isolation), ready)
	if uid != 0 {
		testproc.AsUser(t, cmd, uid)
	}
	cmd.Dir = "/"
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
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
	defer func() { stdin.Close(); _ = cmd.Wait() }()
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	var v victim
	if err == nil {
		err = json.Unmarshal(line, &v)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.Bytes())
	}
	if len(carriers(t, marker)) < 2 {
		t.Fatal("the run doesn't have the processes that are to be ended")
	}
	if err := syscall.Kill(v.Stage, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(2 * time.Minute); ; {
		left := carriers(t, marker)
		if len(left) == 0 {
			break
		}
		if time.Now().After(deadline) {
			for _, pid := range left {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			t.Fatalf("%d processes outlived their supervisor", len(left))
		}
		<-time.After(time.Millisecond)
	}
	checkLost(t, v.Dir)
}

func openTo(t *testing.T, dir string, uid int) {
	t.Helper()
	if err := os.Chown(dir, uid, uid); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
}

func checkLost(t *testing.T, path string) {
	t.Helper()
	if os.Geteuid() == 0 { // a state directory is only opened by its owner
		root := filepath.Join(path, "../../../..")
		err := filepath.WalkDir(root, func(name string, _ os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return os.Lchown(name, 0, 0)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	state, err := rundir.Open(filepath.Dir(filepath.Dir(filepath.Dir(path))))
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	// The kernel ends the run when the supervisor's thread dies and frees the
	// lock when the last of its threads does.
	for deadline := time.Now().Add(2 * time.Minute); ; {
		lost, err := state.Reconcile(t.Context(), time.Now)
		if err == nil && len(lost) == 1 {
			if err := lifecycle.EndCgroup(string(lost[0])); err != nil {
				t.Error(err)
			}
			break
		}
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("lost %v, %v", lost, err)
		}
		<-time.After(5 * time.Millisecond)
	}
	dir, err := rundir.OpenRun(path)
	if err != nil {
		t.Fatal(err)
	}
	outcome, err := dir.Outcome()
	if err != nil || outcome == nil || outcome.State != paddock.Lost || outcome.Reason.Kind != paddock.ReasonLost {
		t.Fatalf("outcome %+v, %v", outcome, err)
	}
	if e := outcome.Reason.Evidence; e == nil || e.Supervisor == nil || e.SupervisorAlive || e.BootIDNow == "" {
		t.Errorf("evidence %+v", e)
	}
}

func TestAStageThatIsNotNeededEnds(t *testing.T) {
	s, err := spawn.StartStage(testproc.Build(t, "paddock/cmd/paddock-stage"), nil, "ground")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Conn().Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(); err != nil {
		t.Error(err)
	}
}

// To move between cgroups takes the kernel longer than all the rest of a start.
func TestAStageIsBornWhereItWouldMoveTo(t *testing.T) {
	cgroup, err := lifecycle.Supervisors()
	if err != nil {
		testproc.Skip(t, "no cgroup is ours to write: "+err.Error())
	}
	defer cgroup.Close()
	s, err := spawn.StartStage(testproc.Build(t, "paddock/cmd/paddock-stage"), cgroup, "ground")
	if err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", s.PID())); err != nil || !strings.Contains(string(b), "/paddock/supervisors\n") {
		t.Errorf("it was born in %q, %v", b, err)
	}
	if err := errors.Join(s.Conn().Close(), s.Wait()); err != nil {
		t.Error(err)
	}
}

// A cgroup that can't be had is no reason not to start.
func TestAStageStartsWithoutItsCgroup(t *testing.T) {
	notOne, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer notOne.Close()
	s, err := spawn.StartStage(testproc.Build(t, "paddock/cmd/paddock-stage"), notOne, "ground")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Conn().Close(), s.Wait()); err != nil {
		t.Error(err)
	}
}
