package testproc

import (
	"strings"
	"testing"
	"time"
)

// patience is how long a leak check waits for what is on its way out: for longer than any
// machine is busy, since only a leak is waited for in vain. Tests of leaks shorten it.
var patience = time.Minute

// Leaks fails the test at its end if it leaves a child process behind, dead or
// alive, or a descriptor that wasn't open before. It must not be used in
// parallel tests, whose neighbours open and start things of their own; there,
// [Main] checks the whole run.
func Leaks(t testing.TB) {
	t.Helper()
	// Setenv is refused in parallel tests: that is all it is here for.
	t.Setenv("PADDOCK_TESTPROC_LEAKS", "1")
	fds, kids := descriptors(), children()
	t.Cleanup(func() {
		for _, leak := range settle(func() []string { return leaks(fds, kids) }) {
			t.Error("testproc: ", leak)
		}
	})
}

// leaks says what is there now that wasn't in the given sets.
func leaks(fds, kids map[string]bool) []string {
	var found []string
	for fd := range descriptors() {
		if !fds[fd] {
			found = append(found, "descriptor left open: "+fd)
		}
	}
	for kid := range children() {
		if !kids[kid] {
			found = append(found, "child process left: "+kid)
		}
	}
	return found
}

// settle looks until there is nothing to be found or patience is over.
func settle(look func() []string) []string {
	deadline := time.After(patience)
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		found := look()
		if len(found) == 0 {
			return nil
		}
		select {
		case <-deadline:
			return found
		case <-again.C:
		}
	}
}

// runtimeOwn reports whether the Go runtime keeps this descriptor for itself:
// it makes its poller when it first needs one and never closes it.
func runtimeOwn(target string) bool {
	return strings.HasPrefix(target, "anon_inode:[eventpoll]") || strings.HasPrefix(target, "anon_inode:[eventfd]")
}
