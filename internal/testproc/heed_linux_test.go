package testproc

import (
	"errors"
	"os"
	"syscall"
	"testing"
)

// A shell has what it starts in the background ignore SIGINT, and so has all that is
// started from there, but for what tests start.
func TestIgnoredSignalsAreHeard(t *testing.T) {
	t.Parallel()
	if os.Getenv("TESTPROC_IGNORES") == "" {
		self := Self(t, "-test.run=^TestIgnoredSignalsAreHeard$", "-test.v")
		cmd := Command(t, "/bin/sh", append([]string{"-c", `trap '' INT HUP QUIT; exec "$@"`, "sh", self.Path}, self.Args[1:]...)...)
		cmd.Env = append(self.Env, "TESTPROC_IGNORES=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	for name, sig := range map[string]syscall.Signal{"INT": syscall.SIGINT, "HUP": syscall.SIGHUP, "QUIT": syscall.SIGQUIT} {
		var exit *ExitError
		err := Command(t, "/bin/sh", "-c", "ulimit -c 0; kill -"+name+" $$").Run()
		if !errors.As(err, &exit) {
			t.Errorf("%v was ignored: %v", sig, err)
			continue
		}
		if status, ok := exit.Sys().(syscall.WaitStatus); !ok || status.Signal() != sig {
			t.Errorf("%v: %v", sig, err)
		}
	}
}
