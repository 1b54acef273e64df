package executor

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/testproc"
)

func init() { programs["resumes"] = resumes }

// resumes looks for what was approved with ever more descriptors to be had, from none
// on, and prints how the run stands then.
func resumes() int {
	state, policy, id := os.Args[1], os.Args[2], paddock.RunID(os.Args[3])
	e, err := Open(context.Background(), Config{State: state, Policy: PolicyFile(policy), Tick: make(chan time.Time), Warn: func(error) {}})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	e.Resume(context.Background()) // what the runtime opens once is open now
	first, err := os.Open(os.DevNull)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	n := uint64(first.Fd())
	_ = first.Close()
	for end := n + 12; n < end; n++ {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: n, Max: end + 100}); err != nil {
			fmt.Println(err)
			return 1
		}
		e.Resume(context.Background())
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: n + 100, Max: n + 100}); err != nil {
		fmt.Println(err)
		return 1
	}
	run, err := e.Run(context.Background(), id)
	fmt.Println(run.State, run.Outcome, err)
	if err := e.Close(); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// Who has no descriptors left settles nothing that waits.
func TestLastsWhereNoDescriptorsAreLeft(t *testing.T) {
	t.Parallel()
	a, file := openLasting(t)
	run := a.left(t)
	out, err := testproc.Self(t, "resumes", a.cfg.State, file, string(run.ID)).CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), string(paddock.Waiting)+" <nil> <nil>") {
		t.Errorf("%v\n%s", err, out)
	}
}
