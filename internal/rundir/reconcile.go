package rundir

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"paddock"
	"paddock/internal/rundir/durable"
)

// Reconcile makes the directory agree with the world after crashes: runs that
// nobody looks after any more are settled as lost, with the evidence for it,
// and what was prepared and never published is removed. It returns the runs
// that it settled. Any number of processes may do it at once: each run gets one
// outcome. A run that can't be judged doesn't keep others from it; the error
// tells of each.
func (s *State) Reconcile(ctx context.Context, now func() time.Time) ([]paddock.RunID, error) {
	var lost []paddock.RunID
	var faults []error
	for after := paddock.RunID(""); ; {
		var found []vacancy
		var err error
		found, after, err = s.findVacant(ctx, after)
		if err != nil {
			faults = append(faults, err)
		}
		for i, v := range found {
			first, err := v.settle(ctx, now)
			if err == nil {
				err = durable.Remove(s.activePath(v.dir.id))
			}
			if err = errors.Join(err, v.lock.Close()); err != nil {
				faults = append(faults, fmt.Errorf("run %s: %w", v.dir.id, err))
			}
			if first {
				lost = append(lost, v.dir.id)
			}
			if ctx.Err() != nil {
				for _, rest := range found[i+1:] {
					faults = append(faults, rest.lock.Close())
				}
				return lost, errors.Join(faults...)
			}
		}
		if after == "" {
			break
		}
	}
	return lost, errors.Join(append(faults, s.sweep(ctx))...)
}

// A vacancy is a run that nobody looks after; we hold its lock.
type vacancy struct {
	dir  *Dir
	lock *os.File
}

// findVacant judges active entries of ids larger than after. To hold few
// descriptors at once it may stop early: then last is where to go on.
func (s *State) findVacant(ctx context.Context, after paddock.RunID) (found []vacancy, last paddock.RunID, err error) {
	const most = 32
	ids, err := s.activeNames()
	if err != nil || len(ids) == 0 {
		return nil, "", err // the common case takes no lock
	}
	var faults []error
	err = s.Claim(ctx, func(c *Claim) error {
		for _, id := range ids {
			if id <= after {
				continue
			}
			if len(found) == most {
				last = found[most-1].dir.id
				break
			}
			v, err := c.judge(id)
			if err != nil {
				faults = append(faults, fmt.Errorf("run %s: %w", id, err))
			}
			if v != nil {
				found = append(found, *v)
			}
		}
		return nil
	})
	return found, last, errors.Join(append(faults, err)...)
}

// judge returns the run when it isn't settled and nobody looks after it.
func (c *Claim) judge(id paddock.RunID) (*vacancy, error) {
	entry, err := c.entry(id)
	if err != nil || entry == nil {
		return nil, err
	}
	d, err := c.s.Run(id)
	if err != nil {
		return nil, err
	}
	f, err := c.s.vacant(id)
	if err != nil || f == nil {
		return nil, err
	}
	// Its supervisor may have written the outcome and gone since we looked.
	if settled, err := d.settled(); err != nil || settled {
		return nil, errors.Join(err, f.Close())
	}
	return &vacancy{d, f}, nil
}

// settle publishes that the run is lost, as well as that can be known: a file
// that can't be read is part of the evidence and doesn't leave the run open.
func (v vacancy) settle(ctx context.Context, now func() time.Time) (first bool, err error) {
	seen := now()
	ev := paddock.Evidence{SeenAt: seen, BootIDNow: BootID(), Note: "nobody held the run's lock and there was no outcome"}
	sealed, err := v.dir.Sealed()
	if err != nil {
		ev.Note += "; " + err.Error()
	}
	ev.BootIDThen = sealed.BootID
	started, err := v.dir.Started()
	switch {
	case err != nil:
		ev.Note += "; " + err.Error()
	case started == nil:
		ev.Note += "; the program was never said to have started"
	default:
		ev.Supervisor, ev.SupervisorAlive = &started.Supervisor, Alive(started.Supervisor)
		if started.Supervisor.BootID != "" {
			ev.BootIDThen = started.Supervisor.BootID
		}
	}
	o := paddock.Outcome{State: paddock.Lost, Reason: paddock.Reason{Kind: paddock.ReasonLost, Evidence: &ev}, EndedAt: seen}
	if ev.BootIDThen != "" && ev.BootIDNow != "" && ev.BootIDThen != ev.BootIDNow {
		o.Reason.Kind = paddock.ReasonHost
	}
	o.Stdout, err = summarize(ctx, v.dir.file("stdout"))
	o.Stderr = paddock.StreamSummary{}
	if err == nil {
		o.Stderr, err = summarize(ctx, v.dir.file("stderr"))
	}
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err != nil {
		o.Reason.Detail = "the kept output can't be read: " + err.Error()
	}
	o.SettledAt = now()
	return v.dir.PublishOutcome(o)
}

// summarize reads a kept stream to its end; a missing one is empty.
func summarize(ctx context.Context, name string) (paddock.StreamSummary, error) {
	h := sha256.New()
	var n int64
	f, err := durable.Open(name)
	if err == nil {
		buf := make([]byte, 256<<10)
		n, err = io.CopyBuffer(h, contextReader{ctx, f}, buf)
		err = errors.Join(err, f.Close())
	}
	if err := ignoreMissing(err); err != nil {
		return paddock.StreamSummary{}, err
	}
	return paddock.StreamSummary{Bytes: n, Digest: paddock.DigestOf([32]byte(h.Sum(nil)))}, nil
}

type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// sweep removes temporary directories that nobody has locked. It has the claim,
// so that there is one sweeper at a time.
func (s *State) sweep(ctx context.Context) error {
	tmp := filepath.Join(s.path, tmpDir)
	entries, err := os.ReadDir(tmp)
	if err != nil || len(entries) == 0 {
		return err
	}
	return s.Claim(ctx, func(*Claim) error {
		var faults []error
		for _, e := range entries {
			if err := sweepOne(filepath.Join(tmp, e.Name())); err != nil {
				faults = append(faults, err)
			}
		}
		return errors.Join(faults...)
	})
}

// sweepOne takes the directory's lock and removes it. One without a lock file
// may be just being made: by making the file we take it from its maker, who
// finds it there and begins again (see makeLocked).
func sweepOne(path string) error {
	f, err := os.OpenFile(filepath.Join(path, "lock"), os.O_RDWR|os.O_CREATE|durable.NoFollow|syscall.O_NONBLOCK, 0o600)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil // published or abandoned meanwhile; a stray file is not ours to remove
	}
	if err != nil {
		return err
	}
	got, err := durable.Lock(f)
	if err == nil && got {
		err = os.RemoveAll(path)
	}
	return errors.Join(err, f.Close())
}
