//go:build linux

package deposit

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"paddock"
	"paddock/internal/artifact"
	"paddock/internal/policy"
	"paddock/internal/rundir"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

var host = paddock.Principal{Kind: paddock.Host, ID: "host"}

// A journal is what is told; each step can fail.
type journal struct {
	told          []string
	start         error
	silent        bool // the end is lost, as by a crash
	beforePublish func()
	state         *rundir.State
}

func (j *journal) Prepare(ctx context.Context, state *rundir.State, id paddock.RunID, rec rundir.Intent) (*rundir.Dir, error) {
	if j.start != nil {
		return nil, j.start
	}
	j.told = append(j.told, "start")
	dir, err := state.Prepare(ctx, id, rec)
	if j.beforePublish != nil {
		j.beforePublish()
	}
	return dir, err
}

func (j *journal) Abandoned(context.Context, paddock.RunID, error) {
	j.told = append(j.told, "abandoned")
}

func (j *journal) Ended(dir *rundir.Dir) error {
	if j.silent {
		return nil
	}
	j.told = append(j.told, "end")
	return dir.MarkNoted(0)
}

func desk(t *testing.T, j *journal) (Desk, string) {
	t.Helper()
	path, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	path += "/state"
	j.state, err = rundir.Open(path)
	must(t, err)
	t.Cleanup(func() { must(t, j.state.Close()) })
	rules, err := policy.Load("policy.yaml", []byte("version: 1\nroots: [{path: /srv/x}]\nexecutables: []\nlimits: {output: 1KiB}\ncontainment: {require: off}\n"))
	must(t, err)
	return Desk{State: j.state, Notes: j, Policy: func() (*policy.Policy, error) { return rules, nil }, Now: time.Now}, path
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func nothing(t *testing.T, state string) {
	t.Helper()
	for _, pattern := range []string{"/runs/*/*", "/tmp/*", "/active/*", "/unseen/*/*"} {
		if left, err := filepath.Glob(state + pattern); len(left) > 0 || err != nil {
			t.Errorf("left: %v, %v", left, err)
		}
	}
}

func TestBank(t *testing.T) {
	t.Parallel()
	j := &journal{}
	d, state := desk(t, j)
	run, err := d.Bank(t.Context(), host, paddock.DoorGo, "label", []byte("pay\x00load"))
	must(t, err)
	if run.State != paddock.Banked || run.Label != "label" || run.Stdout.Bytes != 8 || run.Stderr.Bytes != 0 || run.Dir != "/srv/x" || run.Principal != host || run.Outcome.Reason.By != "host" {
		t.Errorf("%+v", run)
	}
	dir, err := j.state.Run(run.ID)
	must(t, err)
	must(t, artifact.Open(dir.Path()).Verify(paddock.Stdout, run.Stdout))
	if running, finished, err := j.state.Unseen(host); running+finished != 0 || err != nil {
		t.Errorf("%d and %d, %v", running, finished, err)
	}
	if len(j.told) != 2 || j.told[1] != "end" {
		t.Errorf("told: %q", j.told)
	}
	if left, err := filepath.Glob(state + "/tmp/*"); len(left) > 0 || err != nil {
		t.Errorf("left: %v, %v", left, err)
	}
}

// What can't be told, written or counted isn't there at all.
func TestWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	t.Run("untold", func(t *testing.T) {
		t.Parallel()
		j := &journal{start: errors.New("the disk is full")}
		d, state := desk(t, j)
		_, err := d.Bank(t.Context(), host, paddock.DoorGo, "label", []byte("x"))
		if r, ok := errors.AsType[*paddock.Refusal](err); !ok || r.Code != paddock.Unrecordable {
			t.Errorf("%v", err)
		}
		nothing(t, state)
	})
	t.Run("canceled", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		j := &journal{beforePublish: cancel}
		d, state := desk(t, j)
		if _, err := d.Bank(ctx, host, paddock.DoorGo, "label", []byte("x")); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		if len(j.told) != 2 || j.told[1] != "abandoned" {
			t.Errorf("told: %q", j.told)
		}
		nothing(t, state)
	})
	t.Run("unwritable", func(t *testing.T) {
		t.Parallel()
		j := &journal{}
		d, state := desk(t, j)
		j.beforePublish = func() { // something is in the way of the output
			dirs, err := filepath.Glob(state + "/tmp/*")
			must(t, err)
			must(t, os.WriteFile(dirs[0]+"/stdout", nil, 0o600))
		}
		_, err := d.Bank(t.Context(), host, paddock.DoorGo, "label", []byte("x"))
		if r, ok := errors.AsType[*paddock.Refusal](err); !ok || r.Code != paddock.Unrecordable {
			t.Errorf("%v", err)
		}
		nothing(t, state)
	})
}

// After a crash before the end was told, whoever reconciles tells it.
func TestAnUntoldEndIsToldLater(t *testing.T) {
	t.Parallel()
	j := &journal{silent: true}
	d, _ := desk(t, j)
	run, err := d.Bank(t.Context(), host, paddock.DoorGo, "label", []byte("x"))
	must(t, err)
	var ended []paddock.RunID
	j.state.OnEnd(func(dir *rundir.Dir) error { ended = append(ended, dir.ID()); return nil })
	_, err = j.state.Reconcile(t.Context(), time.Now)
	must(t, err)
	if len(ended) != 1 || ended[0] != run.ID {
		t.Errorf("told by reconciling: %v", ended)
	}
	if active, err := j.state.ListActive(); len(active) != 0 || err != nil {
		t.Errorf("%v, %v", active, err)
	}
}

// What is given is held to the quotas of output, and counts as no run.
func TestQuotas(t *testing.T) {
	t.Parallel()
	j := &journal{}
	d, _ := desk(t, j)
	p, err := policy.Load("policy.yaml", []byte("version: 1\nroots: [{path: /srv/a}]\nexecutables: []\nquotas: {principal: {kept: 10, runs_per_hour: 1}}\n"))
	must(t, err)
	d.Policy = func() (*policy.Policy, error) { return p, nil }
	for range 2 {
		_, err = d.Bank(t.Context(), host, paddock.DoorGo, "label", []byte("12345"))
		must(t, err)
	}
	for _, payload := range []string{"1", "123456"} {
		_, err = d.Bank(t.Context(), host, paddock.DoorGo, "label", []byte(payload))
		if r, ok := errors.AsType[*paddock.Refusal](err); !ok || r.Code != paddock.QuotaExceeded {
			t.Errorf("%v", err)
		}
	}
}
