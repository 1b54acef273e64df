//go:build linux

package lifecycle

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"paddock"
	"paddock/internal/contain/lifecycle/resource"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) {
	testproc.Main(m, map[string]func() int{"parent": parentMain, "mover": moverMain})
}

func TestStrongestMeansComeFirst(t *testing.T) {
	t.Parallel()
	for _, euid := range []int{0, 1000} {
		means := Isolations(euid)
		if means[len(means)-1] != paddock.Guardian || slices.Index(means, paddock.Guardian) != len(means)-1 {
			t.Errorf("uid %d: %v: best effort isn't the last resort", euid, means)
		}
	}
	if slices.Contains(Isolations(1000), paddock.PIDNamespace) {
		t.Error("an ordinary user is promised a namespace that only root gets")
	}
}

// parentMain starts two sleepers, one below the other, and tells when it has.
func parentMain() int {
	fmt.Println(os.Getpid())
	var b [1]byte
	_, _ = os.Stdin.Read(b[:])
	return 0
}

func TestDescendantsAreFound(t *testing.T) {
	t.Parallel()
	cmd := testproc.Self(t, "parent")
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
	var pid int
	if _, err := fmt.Fscan(stdout, &pid); err != nil || pid != cmd.Process.Pid {
		t.Errorf("child %d, %v", pid, err)
	}
	if got := Descendants(os.Getpid()); !slices.Contains(got, pid) {
		t.Errorf("%v doesn't have the child %d", got, pid)
	}
	if got := FirstChild(pid); got != 0 {
		t.Errorf("a process without children has %d", got)
	}
	stdin.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if got := Descendants(pid); len(got) != 0 {
		t.Errorf("a process that is gone has %v", got)
	}
}

func newCgroup(t *testing.T, name string) *Cgroup {
	t.Helper()
	c, err := NewCgroup(fmt.Sprintf("%s-%d", name, os.Getpid()))
	if err != nil {
		testproc.Skip(t, "no cgroup can be made: "+err.Error())
	}
	return c
}

func TestCgroupHoldsKillsAndGoes(t *testing.T) {
	c := newCgroup(t, "contain")
	cmd := testproc.Self(t, "parent")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprint(c.Procs, cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Members(); err != nil || !slices.Equal(got, []int{cmd.Process.Pid}) {
		t.Errorf("members %v, %v", got, err)
	}
	if _, err := c.Kill.WriteString("1"); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the member ended well")
	}
	if err := c.Remove(); err != nil {
		t.Error(err)
	}
	left, err := filepath.Glob(filepath.Join(resource.Probe().V2.Folder, fmt.Sprintf("contain-%d", os.Getpid())))
	if err != nil || left != nil {
		t.Errorf("the cgroup is still there: %q, %v", left, err)
	}
}

// moverMain leaves its caller's cgroup and says where it went.
func moverMain() int {
	to, err := LeaveCaller()
	own, ownErr := os.ReadFile("/proc/self/cgroup")
	if err != nil || ownErr != nil || !strings.Contains("\n"+string(own), "\n0::"+to+"\n") {
		fmt.Println(err, ownErr, string(own), to)
		return 1
	}
	return 0
}

func TestASupervisorLeavesItsCallersCgroup(t *testing.T) {
	c := newCgroup(t, "caller")
	defer func() {
		if err := c.Remove(); err != nil {
			t.Error(err)
		}
	}()
	if out, err := testproc.Self(t, "mover").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func TestAnOrdinaryUserIsToldThatNothingIsTheirs(t *testing.T) {
	if os.Geteuid() == 0 {
		cmd := testproc.Self(t, "-test.run=^TestAnOrdinaryUser")
		testproc.AsUser(t, cmd, testproc.Nobody)
		cmd.Dir = "/"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	if folder := resource.Probe().V2.Folder; folder != "" {
		t.Skipf("a subtree is delegated to this user: %s", filepath.Dir(folder))
	}
	if _, err := LeaveCaller(); err == nil {
		t.Error("it moved to a cgroup that isn't its own")
	}
	if _, err := NewCgroup("x"); err == nil {
		t.Error("it made a cgroup that isn't its own")
	}
}
