package census

import (
	"errors"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"paddock"
	"paddock/internal/app/evidence/census/finding"
	"paddock/internal/app/evidence/census/finding/kept"
	"paddock/internal/app/evidence/census/names"
	"paddock/internal/executor/judge"
	"paddock/internal/rundir"
	"paddock/internal/rundir/record"
	"paddock/internal/rundir/record/durable"
	"paddock/internal/rundir/record/durable/links"
	"paddock/internal/rundir/shelf"
)

func temporary(name string) bool { return strings.HasPrefix(name, durable.TempPrefix) }

// allRuns looks at every run.
func (k *check) allRuns() error {
	root := filepath.Join(k.state.Path(), "runs")
	days, err := os.ReadDir(root)
	if err != nil {
		return err
	}
	for _, day := range days {
		path := filepath.Join(root, day.Name())
		if _, err := time.Parse("20060102", day.Name()); err != nil {
			if err := k.find(finding.Stranger, "", path, "", "only directories of days are here; look at it and move it away"); err != nil {
				return err
			}
			continue
		}
		if fine, err := k.owned.Plain("", path, true); err != nil || !fine {
			if err != nil {
				return err
			}
			continue
		}
		entries, err := os.ReadDir(path)
		if err != nil {
			return durable.IgnoreMissing(err)
		}
		for _, e := range entries {
			if err := errors.Join(k.ctx.Err(), k.entry(day.Name(), filepath.Join(path, e.Name()))); err != nil {
				return err
			}
		}
	}
	return nil
}

// entry looks at something in the directory of a day.
func (k *check) entry(day, path string) error {
	id, err := paddock.ParseRunID(filepath.Base(path))
	if err != nil {
		return k.find(finding.Stranger, "", path, "", "only directories of runs are here; look at it and move it away")
	}
	if shelf.Day(id) != day {
		return k.find(finding.Record, id, path, "", "a run of %s; it is looked for there and not here: move it", shelf.Day(id))
	}
	if fine, err := k.owned.Plain(id, path, true); err != nil || !fine {
		return err
	}
	k.report.Runs++
	d, err := record.Open(path)
	if err != nil {
		return durable.IgnoreMissing(err)
	}
	if _, there := k.runs[id]; !there {
		k.runs[id] = told{}
	}
	if err := k.files(d); err != nil {
		return err
	}
	return k.run(d)
}

// files looks at what lies in a run's directory, and opens none of it.
func (k *check) files(d *rundir.Dir) error {
	entries, err := os.ReadDir(d.Path())
	if err != nil {
		return durable.IgnoreMissing(err)
	}
	settled, err := record.Settled(d.Path())
	if err != nil {
		return err
	}
	for _, e := range entries {
		path, name := filepath.Join(d.Path(), e.Name()), e.Name()
		switch {
		case (name == "workspace" || name == "quarantine") && e.IsDir(): // the run's account may have what is in it
		case name == "control" && e.Type()&fs.ModeSocket != 0, name == "reserve", temporary(name):
			if settled && !k.held(d.Path()) && k.old(path) {
				err = k.find(finding.Leftover, d.ID(), path, finding.ByUse, "its supervisor was ended before it could take this away")
			}
		case slices.Contains(names.Run, name), strings.HasPrefix(name, "addendum."):
			_, err = k.owned.Plain(d.ID(), path, false)
		case e.Type().IsRegular() || e.IsDir():
			err = k.find(finding.Stranger, d.ID(), path, "", "Paddock puts nothing of this name here; look at it and move it away")
		default:
			_, err = k.owned.Plain(d.ID(), path, false)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// held says whether somebody has the lock of the directory of a run, or that
// can't be found out.
func (k *check) held(path string) bool {
	id, err := paddock.ParseRunID(strings.SplitN(filepath.Base(path), ".", 2)[0])
	if err != nil {
		return false
	}
	d, err := record.Open(filepath.Join(filepath.Dir(path), string(id)))
	if err != nil {
		return true
	}
	free, known := record.Unattended(d)
	return !known || !free
}

// run looks at what a run's record says.
func (k *check) run(d *rundir.Dir) error {
	bad := func(err error) error {
		if there, e := durable.Exists(d.Path()); e == nil && !there {
			delete(k.runs, d.ID())
			k.report.Runs--
			return nil // removed meanwhile
		}
		return k.find(finding.Record, d.ID(), d.Path(), "", "its record can't be read: %v", err)
	}
	run, err := d.Record(k.e.Now())
	if err != nil {
		return bad(err)
	}
	sealed, err := d.Sealed()
	if err != nil {
		return bad(err)
	}
	if plain := len(sealed.EnvironmentNames) == 0 && !sealed.ReplacesEnvironment && sealed.Stdin == nil; sealed.Decision.RequestDigest != sealed.RequestDigest || plain && sealed.Request.Digest() != sealed.RequestDigest {
		if err := k.find(finding.Record, d.ID(), d.Path(), "", "the request isn't the one that was decided: its digest is %s, and %s was decided", sealed.Request.Digest(), sealed.Decision.RequestDigest); err != nil {
			return err
		}
	}
	if err := k.claim(d, sealed); err != nil {
		return err
	}
	t := told{here: true, settled: run.State.Settled()}
	if g := sealed.Decision.Grant(); g != nil && g.Contain.Level == paddock.Full {
		if root, err := judge.Workspace(g); err == nil {
			k.roots[root] = k.roots[root] || !t.settled
		}
	}
	if run.Outcome != nil {
		t.end = endSum(run.Outcome.State, run.Outcome.Reason.Kind, run.Outcome.Stdout.Digest, run.Outcome.Stderr.Digest)
		err = kept.Look(k.ctx, d, run, sealed, k.opt.Digests, k.find)
	} else {
		err = k.open(d)
	}
	k.runs[d.ID()] = t
	return err
}

// claim compares what leads to a run with its record.
func (k *check) claim(d *rundir.Dir, sealed rundir.Sealed) error {
	path := filepath.Join(d.Path(), links.Claim)
	is, err := links.Read(path)
	want := links.EntryOf(durable.Version, d.ID(), sealed.Request.Principal, sealed.RequestDigest)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return k.find(finding.Index, d.ID(), path, finding.ByRebuild, "it is missing")
	case err != nil:
		return k.find(finding.Record, d.ID(), path, "", "%v", err)
	case is != want:
		return k.find(finding.Record, d.ID(), path, "", "it is of another run, principal or request than the record")
	}
	return k.leads(d, want.Principal, sealed.Request.IdempotencyKey)
}

// open looks at a run that isn't settled.
func (k *check) open(d *rundir.Dir) error {
	k.report.Open++
	if free, known := record.Unattended(d); !known || !free {
		return nil
	}
	if settled, err := record.Settled(d.Path()); err != nil || settled {
		return err // just now
	}
	return k.find(finding.Unsettled, d.ID(), d.Path(), finding.ByUse, "nobody looks after it: the next use settles it as lost")
}

// endSum is a few bytes by which two tales of an end are compared.
func endSum(state paddock.State, reason paddock.ReasonKind, stdout, stderr paddock.Digest) uint64 {
	h := fnv.New64a()
	for _, word := range []string{string(state), string(reason), string(stdout), string(stderr)} {
		_, _ = h.Write([]byte(word + "\x00")) // never fails
	}
	return h.Sum64()
}
