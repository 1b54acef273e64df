package executor

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"paddock"
)

// Who wants to write to a pinned executable after it was judged, and before it is started, keeps
// it from being started: that the kernel breaks the lease is asked for at the last moment.
func TestPinnedIsToBeRewrittenBeforeItsStart(t *testing.T) {
	t.Parallel()
	asEach(t, func(t *testing.T) {
		for _, level := range levels {
			for _, writes := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s, writes %t", level, writes), func(t *testing.T) {
					a, path := (&theater{}).act(t, level, "", "root"), bin(t)+"/tool"
					a.pin(t, "tool", path, program(t, path, "good"), "")
					var st unix.Stat_t
					must(t, unix.Stat(path, &st))
					meddle := ""
					if writes {
						meddle = fmt.Sprintf("dd if=/dev/null of='%s' count=0 conv=notrunc oflag=nonblock 2>/dev/null && exit 1\n", path)
					}
					// A supervisor that is started when the lease is there, and somebody has wanted to write.
					stage := filepath.Join(bin(t), "stage")
					must(t, os.WriteFile(stage, []byte(fmt.Sprintf("#!/bin/sh\nn=0\nuntil grep -q 'LEASE .*:%d ' /proc/locks || [ $n = 2000 ]; do n=$((n+1)); done\n%sexec '%s' \"$@\"\n",
						st.Ino, meddle, os.Getenv(stageVariable))), 0o755))
					f := open(t, func(c *Config) { c.Policy, c.Stage = PolicyText("policy.yaml", []byte(a.policy)), stage })
					a.e = f.e
					run, out := a.run(t, "root", "tool", "-c", "echo ran")
					switch {
					case writes && run.State == paddock.FailedToStart && run.Outcome.Reason.Step == "the pinned executable is being written to" && out == "":
					case !writes && run.State == paddock.Exited && out == "ran\n":
					default:
						t.Errorf("%s %+v %q", run.State, run.Outcome.Reason, out)
					}
				})
			}
		}
	})
}
