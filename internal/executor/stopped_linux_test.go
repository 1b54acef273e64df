package executor

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/testproc"
)

// A supervisor that somebody stops before it has written down that it is one can be ended by
// who started it, by KILL, as one can that has: and with it goes its run, which never started.
func TestStoppedBeforeTheStartCanBeEnded(t *testing.T) {
	t.Parallel()
	stopped, pid := filepath.Join(t.TempDir(), "stage"), filepath.Join(t.TempDir(), "pid")
	must(t, os.WriteFile(stopped, []byte("#!/bin/sh\necho $$ > "+pid+"\nkill -STOP $$\nexec '"+testproc.Build(t, "paddock/cmd/paddock-stage")+"' \"$@\"\n"), 0o755))
	f := open(t, func(c *Config) { c.Stage, c.Grace = stopped, time.Millisecond })
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	proof := filepath.Join(f.dir, "proof")
	began := make(chan paddock.Run, 1)
	go func() {
		run, err := f.e.Start(t.Context(), request("echo ran > "+proof))
		if err != nil {
			t.Error(err)
		}
		began <- run
	}()
	var id paddock.RunID
	for id == "" {
		<-tick.C
		runs, err := f.e.state.ListActive()
		must(t, err)
		if len(runs) > 0 {
			id = runs[0]
		}
	}
	run, err := f.e.Kill(t.Context(), id, Ending{Signal: "KILL"})
	if err == nil {
		run, err = f.e.Wait(t.Context(), id)
	}
	if err != nil || run.State != paddock.Lost {
		t.Errorf("%s, %v", run.State, err)
		text, _ := os.ReadFile(pid)
		if stage, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil { // else the start waits for ever
			must(t, unix.Kill(stage, unix.SIGKILL))
		}
	}
	if run := <-began; run.ID != id || run.State != paddock.Lost {
		t.Errorf("its start says %s of %s", run.State, run.ID)
	}
	if _, err := os.Lstat(proof); err == nil {
		t.Error("the program ran")
	}
}
