package census

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"paddock"
	"paddock/internal/app/evidence"
	"paddock/internal/app/evidence/census/finding"
	"paddock/internal/executor/remains"
	"paddock/internal/journal"
	"paddock/internal/rundir"
	"paddock/internal/rundir/record/durable"
	"paddock/internal/rundir/record/process"
)

// told is what is remembered of a run: what is here, and what the journal says.
type told struct {
	here, settled bool // its record could be read; it has an outcome
	start, over   bool // the journal has its start; that it was abandoned or its record removed
	end, endTold  uint64
	ends          uint8
}

// journal compares the runs with what the journal tells. It is read after them,
// so whatever was told before something was done is in it.
func (k *check) journal() error {
	report, err := k.e.VerifyEach(k.ctx, evidence.Against{Archive: k.opt.Archive}, func(e journal.Entry) error {
		if e.Run == "" {
			return k.ctx.Err()
		}
		t := k.runs[e.Run]
		switch {
		case e.Kind == journal.Start:
			t.start = true
		case e.Kind == journal.Abandoned, e.Prune != nil && e.Prune.Record:
			t.over = true
		case e.Kind == journal.End && e.End != nil:
			t.ends = min(t.ends, 250) + 1
			t.endTold = endSum(e.End.State, e.End.Reason, e.End.Stdout.Digest, e.End.Stderr.Digest)
		}
		k.runs[e.Run] = t
		return k.ctx.Err()
	})
	var refusal *paddock.Refusal
	if errors.As(err, &refusal) && refusal.Code == paddock.NotFound || err == nil && report.Segments == 0 {
		if k.report.Runs == 0 {
			return nil // nothing was ever told or done
		}
		return k.find(finding.Journal, "", filepath.Join(k.state.Path(), "journal"), "", "there are runs and there is no journal")
	}
	if err != nil {
		return err
	}
	k.report.Entries = report.Entries
	for _, f := range report.Faults {
		if err := k.find(finding.Journal, "", filepath.Join(k.state.Path(), "journal", f.Segment), "", "%v", f); err != nil {
			return err
		}
	}
	partial := len(report.Missing) > 0
	for _, gap := range report.Missing {
		if err := k.find(finding.Journal, "", "", "", "%v aren't here: name where they are with --archive", gap); err != nil {
			return err
		}
	}
	return k.compare(partial || !report.Whole())
}

// compare goes over all runs that are here or were told of. partial means that
// what isn't told may be told where nobody can read it.
func (k *check) compare(partial bool) error {
	var ids []paddock.RunID
	for id, t := range k.runs {
		if k.disagreement(id, t, partial) != "" {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		t := k.again(id)
		why := k.disagreement(id, t, partial)
		if why == "" {
			continue // it was just being done
		}
		path := filepath.Join(k.state.Path(), "runs")
		if d, err := k.state.Run(id); err == nil {
			path = d.Path()
		}
		if err := k.find(finding.Disagrees, id, path, "", "%s", why); err != nil {
			return err
		}
	}
	return nil
}

func (k *check) disagreement(id paddock.RunID, t told, partial bool) string {
	_, known := k.runs[id]
	switch {
	case !known:
		return ""
	case t.ends > 1:
		return fmt.Sprintf("the journal tells of its end %d times", t.ends)
	case !t.here && t.ends > 0 && !t.over && k.absent(id):
		return "the journal tells of its start and end, and it isn't here: its directory was taken away"
	case !t.here:
		return "" // it can't be read, which was told, or was never made
	case !t.start && !partial:
		return "it is here, and the journal doesn't tell of its start"
	case !t.settled && t.ends > 0:
		return "the journal tells of its end, and it has no outcome"
	case t.settled && t.ends == 1 && t.end != t.endTold:
		return "the journal tells of another end than its outcome says; paddock verify says more"
	case t.settled && t.ends == 0 && !partial && k.noted(id):
		return "its end is noted as told, and the journal doesn't tell of it"
	}
	return ""
}

func (k *check) absent(id paddock.RunID) bool {
	_, err := k.state.Run(id)
	return durable.IgnoreMissing(err) == nil && err != nil
}

func (k *check) noted(id paddock.RunID) bool {
	d, err := k.state.Run(id)
	if err != nil {
		return false
	}
	noted, err := d.Noted()
	return err == nil && noted
}

// again looks at a run once more, which may have ended since, or be removed.
func (k *check) again(id paddock.RunID) told {
	t := k.runs[id]
	d, err := k.state.Run(id)
	if err != nil {
		return t
	}
	if o, err := d.Outcome(); err == nil && o != nil {
		t.settled = true
		t.end = endSum(o.State, o.Reason.Kind, o.Stdout.Digest, o.Stderr.Digest)
	}
	return t
}

// elsewhere reports whether the supervisor of a run that is over here lives: it goes on for
// the directory of which this one was restored, and nobody may be told to end it.
func elsewhere(d *rundir.Dir) bool {
	started, err := d.Started()
	return err == nil && started != nil && process.Alive(started.Supervisor)
}

// outside looks for what runs leave outside of the state directory.
func (k *check) outside() error {
	groups, err := remains.Groups()
	if err != nil {
		groups = nil // none can be listed, and none is ours
	}
	for _, name := range groups {
		id, err := paddock.ParseRunID(name)
		if t, ours := k.runs[id]; err != nil || !ours || !t.settled {
			continue
		}
		if d, err := k.state.Run(id); err != nil || k.held(d.Path()) || elsewhere(d) {
			continue
		}
		if err := k.find(finding.Leftover, id, "", "", "its cgroup %s is still there: end what is in it and rmdir it", name); err != nil {
			return err
		}
	}
	for root, busy := range k.roots {
		if busy {
			continue
		}
		for _, name := range remains.Placeholders(root) {
			if err := k.find(finding.Leftover, "", "", "", "%s in %s is a placeholder on which no run relies; the next run there takes it away", name, root); err != nil {
				return err
			}
		}
	}
	return nil
}
