package executor

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"paddock"
)

// Nobody of the same account looks into what looks after a run, a program of another run least
// of all: neither into its supervisor, nor into what holds it, nor into its proxy. What /proc has
// of a process that can be looked into is its user's, and else root's.
func TestNobodyLooksIntoWhatLooksAfterARun(t *testing.T) {
	t.Parallel()
	asEach(t, func(t *testing.T) {
		all := []struct {
			level     paddock.Level
			more      string
			processes int // with its supervisor, at least
		}{{paddock.Full, "", 2}, {paddock.Full, ", network: allowlist", 3}, {paddock.Standard, "", 2}, {paddock.Off, "", 2}}
		if os.Geteuid() == 0 { // of whom nothing is hidden; what holds another's run is that one's
			all = all[:2]
		}
		for _, tc := range all {
			for _, warm := range []int{0, 1} {
				t.Run(fmt.Sprintf("%s%s, warm %d", tc.level, tc.more, warm), func(t *testing.T) {
					a := (&theater{}).act(t, tc.level, tc.more, "root")
					f := open(t, func(c *Config) {
						c.Policy, c.Warm, c.Stage = PolicyText("policy.yaml", []byte(a.policy)), warm, os.Getenv(stageVariable)
					})
					a.e = f.e
					if warm > 0 {
						a.run(t, "root", "sh", "-c", ":") // the first has what nothing was known of
					}
					run, err := a.e.Start(t.Context(), a.request("root", "sh", "-c", "exec sleep 98761"))
					must(t, err)
					// What it starts closes itself as the first that it does.
					eventually(t, func() string { return lookable(run.Supervisor.PID, tc.processes) })
					_, err = a.e.Kill(t.Context(), run.ID, Ending{Signal: "KILL"})
					must(t, err)
				})
			}
		}
	})
}

// eventually waits until there is nothing more to be said.
func eventually(t *testing.T, complaint func() string) {
	t.Helper()
	tick, late := time.NewTicker(10*time.Millisecond), time.After(2*time.Minute)
	defer tick.Stop()
	for complaint() != "" {
		select {
		case <-tick.C:
		case <-late:
			t.Error(complaint())
			return
		}
	}
}

// lookable says which of the supervisor and its children can be looked into, or that there are
// fewer than there should be.
func lookable(supervisor, least int) (complaint string) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	seen := 0
	for _, name := range stats {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		pid := filepath.Base(filepath.Dir(name))
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		if pid != strconv.Itoa(supervisor) && fields[1] != strconv.Itoa(supervisor) {
			continue
		}
		var st unix.Stat_t
		if err := unix.Stat(filepath.Dir(name)+"/environ", &st); err != nil {
			continue
		}
		if seen++; st.Uid != 0 {
			complaint += fmt.Sprintf("process %s, %.40q, can be looked into; ", pid, text)
		}
	}
	if seen < least {
		complaint += fmt.Sprintf("there are %d processes", seen)
	}
	return complaint
}
