package testproc

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Stop stops a process as SIGSTOP does and returns when every thread of it has
// stopped. The signal alone promises less: until one thread has taken it, the
// others go on, and on a busy machine they can still answer.
func Stop(t testing.TB, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatalf("testproc: stopping %d: %v", pid, err)
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !stopped(t, pid) {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatalf("testproc: %d didn't stop", pid)
		}
	}
}

func stopped(t testing.TB, pid int) bool {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(threads) == 0 {
		t.Fatalf("testproc: %d has no threads: %v", pid, err)
	}
	for _, name := range threads {
		stat, err := os.ReadFile(name)
		if err != nil {
			return false // a thread that ended meanwhile: look again
		}
		// "PID (COMM) STATE …", where COMM may hold anything, ")" too.
		text := string(stat)
		if !strings.HasPrefix(text[strings.LastIndexByte(text, ')')+1:], " T") {
			return false
		}
	}
	return true
}
