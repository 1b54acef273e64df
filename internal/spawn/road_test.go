//go:build linux

package spawn

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"paddock"
	"paddock/internal/contain"
	"paddock/internal/contain/lifecycle"
	"paddock/internal/testproc"
)

// trueSpec is /bin/true, by plan or uncontained.
func trueSpec(t testing.TB, isolation paddock.Isolation, plan *contain.Plan, name string) (spec Spec, done func()) {
	t.Helper()
	null, err1 := os.OpenFile("/dev/null", os.O_RDWR, 0)
	exe, err2 := os.Open("/usr/bin/true")
	dir, err3 := os.Open("/")
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Error(err)
	}
	if plan == nil {
		plan = off(t, dir)
	}
	spec = Spec{
		Argv: []string{"true"}, Exec: exe, Stdin: null, Stdout: null, Stderr: null, Plan: plan, Plain: plainRoad,
		Isolation: []paddock.Isolation{isolation}, Name: fmt.Sprintf("%s-%d", name, os.Getpid()),
	}
	return spec, func() {
		for _, f := range []*os.File{null, exe, dir} {
			f.Close()
		}
	}
}

// contained plans level full, with everything a plan can have but a way out.
func contained(t testing.TB) *contain.Plan {
	t.Helper()
	host := contain.Probe()
	if err := host.Can(paddock.Full); err != nil {
		testproc.Skip(t, err.Error())
	}
	root := t.TempDir()
	dir, err1 := os.Open(root)
	exe, err2 := os.Open("/usr/bin/true")
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	defer exe.Close()
	start, err1 := contain.IdentityOf(dir)
	program, err2 := contain.IdentityOf(exe)
	plan, err3 := contain.NewPlan(contain.Wish{
		Level: paddock.Full, Network: "none", Root: root, Dir: root, Programs: []string{"/usr/bin/true"}, OpenFiles: 256, Start: start, Exec: program,
	}, host)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	return plan
}

// Whichever call of a plan fails, the start fails at that step, with the
// kernel's answer, and leaves nothing.
func TestEveryStepCanFail(t *testing.T) {
	plan := contained(t)
	before := openDescriptors(t)
	fail := func(call int, step string, ops func(*launch) []op) {
		t.Helper()
		spec, done := trueSpec(t, paddock.UserPIDNamespace, plan, "step")
		defer done()
		spec.tamper = func(l *launch) { ops(l)[call].nr, ops(l)[call].accept = 1<<20, nil }
		_, err := Start(spec)
		var failed *StartError
		if !errors.As(err, &failed) || !errors.Is(err, syscall.ENOSYS) || !strings.HasSuffix(err.Error(), (&StartError{step, syscall.ENOSYS}).Error()) {
			t.Errorf("call %d, %s: got %v", call, step, err)
		}
	}
	stride := 1
	if testing.Short() && os.Getenv("PADDOCK_LONG") == "" {
		stride = 7 // no common divisor with the number of calls of a mount
	}
	for i := 0; i < len(plan.Setup); i += stride {
		fail(i, plan.Setup[i].Step, func(l *launch) []op { return l.setup })
	}
	for i := 0; i < len(plan.Become); i += stride {
		fail(i, plan.Become[i].Step, func(l *launch) []op { return l.become })
	}
	for step, tamper := range map[int]func(*launch){
		stepDescriptors:   func(l *launch) { l.fds[slotExec] = 1 << 20 },
		stepUserNamespace: func(l *launch) { l.uidMap.size = 0 },
		stepExec:          func(l *launch) { l.argv = 1 },
	} {
		spec, done := trueSpec(t, paddock.UserPIDNamespace, plan, "step")
		spec.tamper = tamper
		_, err := Start(spec)
		if err == nil || !strings.Contains(err.Error(), stepNames[step]+": ") {
			t.Errorf("%s: got %v", stepNames[step], err)
		}
		done()
	}
	if now := openDescriptors(t); now != before {
		t.Errorf("%d descriptors are open, %d were", now, before)
	}
	if left := lifecycle.Descendants(os.Getpid()); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
	spec, done := trueSpec(t, paddock.UserPIDNamespace, plan, "step")
	defer done()
	p, err := Start(spec)
	if err != nil {
		t.Fatalf("with nothing broken: %v", err)
	}
	<-p.Done()
}

func openDescriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// A process in between that ends before it begins has started nothing, and is
// tried again by the plain road.
func TestPlainRoadIsTakenWhenTheOtherEndsNowhere(t *testing.T) {
	if plainRoad {
		return // nothing is tried after it
	}
	forEach(t, func(t *testing.T, isolation paddock.Isolation) {
		spec, done := trueSpec(t, isolation, nil, "silent-"+string(isolation))
		defer done()
		tries := 0
		spec.tamper = func(l *launch) {
			tries++
			l.begin = 0 // where nothing is
		}
		p, err := Start(spec)
		if err != nil {
			t.Fatal(err)
		}
		<-p.Done()
		if exit := <-p.Exited(); exit.Status.ExitStatus() != 0 || tries != 2 {
			t.Errorf("status %v after %d tries", exit.Status, tries)
		}
	})
}

// Where clone3 isn't to be had, the older call makes the same.
func TestOlderClone(t *testing.T) {
	if plainRoad || !ownStacks {
		return // it makes neither
	}
	forEach(t, func(t *testing.T, isolation paddock.Isolation) {
		spec, done := trueSpec(t, isolation, nil, "older-"+string(isolation))
		defer done()
		tries := 0
		spec.tamper = func(l *launch) {
			tries++
			l.clone.flags = 1 << 63 // no kernel knows it
		}
		p, err := Start(spec)
		if err != nil {
			t.Fatal(err)
		}
		<-p.Done()
		if exit := <-p.Exited(); exit.Status.ExitStatus() != 0 || tries != 1 {
			t.Errorf("status %v after %d tries", exit.Status, tries)
		}
	})
}

// The process in between has nothing of ours in its memory.
func TestProcessInBetweenHasLittleMemory(t *testing.T) {
	if os.Geteuid() != 0 || plainRoad || !ownStacks {
		return // only root may look, and runs this
	}
	secret := []byte("the supervisor's own " + t.Name())
	forEach(t, func(t *testing.T, isolation paddock.Isolation) {
		r := sh(t, isolation, `echo up; read go`)
		r.line(t)
		maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", r.holder))
		if err != nil {
			t.Fatal(err)
		}
		memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", r.holder))
		if err != nil {
			t.Fatal(err)
		}
		defer memory.Close()
		if _, err := memory.ReadAt(make([]byte, 1), int64(uintptr(unsafe.Pointer(unsafe.SliceData(secret))))); err == nil {
			t.Errorf("%q can be read there", secret)
		}
		for line := range bytes.Lines(maps) {
			if fields := bytes.Fields(line); len(fields) == 6 && bytes.Contains(fields[1], []byte("w")) {
				t.Errorf("it has %s", line)
			}
		}
	})
}

// Starting while the collector runs over a heap that isn't small, other threads
// start programs and signals come is what the code in the child must survive.
func TestStressUnderCollector(t *testing.T) {
	n := 240
	switch {
	case os.Getenv("PADDOCK_LONG") != "":
		n = 8000
	case testing.Short():
		n = 40
	}
	heap := make([]*[512]byte, 1<<16)
	for i := range heap {
		heap[i] = new([512]byte)
	}
	stop := make(chan struct{})
	var others sync.WaitGroup
	for _, annoy := range []func(){runtime.GC, func() { _ = syscall.Kill(os.Getpid(), syscall.SIGURG) }} {
		others.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					annoy()
				}
			}
		})
	}
	var starters sync.WaitGroup
	for worker := range 8 {
		starters.Go(func() {
			for i := range n / 8 {
				isolation := isolations(t)[(worker+i)%len(isolations(t))]
				spec, done := trueSpec(t, isolation, nil, fmt.Sprintf("stress-%d-%d", worker, i))
				p, err := Start(spec)
				if err != nil {
					t.Errorf("%s: %v", isolation, err)
				} else {
					<-p.Done()
					if exit := <-p.Exited(); exit.Status.ExitStatus() != 0 {
						t.Errorf("%s: status %v", isolation, exit.Status)
					}
				}
				done()
			}
		})
	}
	starters.Wait()
	close(stop)
	others.Wait()
	runtime.KeepAlive(heap)
}
