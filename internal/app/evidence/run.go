package evidence

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"paddock"
	"paddock/internal/artifact/packed"
	"paddock/internal/journal"
	"paddock/internal/journal/audit"
	"paddock/internal/rundir"
	"paddock/internal/rundir/record/durable/prune"
)

// A Check is one thing that was compared.
type Check struct {
	What string `json:"what"`
	OK   bool   `json:"ok"`
	// Detail says what was found.
	Detail string `json:"detail"`
}

// A RunReport is what became of comparing a run's record, its output and the
// journal.
type RunReport struct {
	Run     paddock.RunID `json:"run"`
	Settled bool          `json:"settled"`
	Checks  []Check       `json:"checks"`

	sealed  rundir.Sealed
	outcome *paddock.Outcome
	started *rundir.Started
	start   *journal.Entry
	end     *journal.Entry
	later   []journal.EndDetail
	pruned  bool // the journal tells of it
	journal *audit.Report
}

// Whole says whether every check is passed.
func (r *RunReport) Whole() bool {
	return !slices.ContainsFunc(r.Checks, func(c Check) bool { return !c.OK })
}

func (r *RunReport) check(what string, ok bool, format string, args ...any) {
	r.Checks = append(r.Checks, Check{what, ok, fmt.Sprintf(format, args...)})
}

// same compares what the journal tells with what the record says.
func same[T comparable](r *RunReport, what string, told, kept T) {
	if told == kept {
		r.check(what, true, "%v", kept)
		return
	}
	r.check(what, false, "the journal tells of %v and the record says %v", told, kept)
}

// VerifyRun compares everything that is kept of a run. A run that goes on has no
// end to compare.
func (e *Evidence) VerifyRun(ctx context.Context, id paddock.RunID, a Against) (*RunReport, error) {
	dir, err := e.state.Run(id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, paddock.Refused(paddock.NotFound, "There is no such run.")
	}
	if err != nil {
		return nil, err
	}
	r := &RunReport{Run: id, Checks: []Check{}}
	if r.sealed, err = dir.Sealed(); err == nil {
		r.outcome, err = dir.Outcome()
	}
	if err == nil {
		r.started, err = dir.Started()
	}
	if err != nil {
		r.check("record", false, "%v", err)
		return r, nil
	}
	r.check("record", true, "request, decision and what else is there can be read")
	r.Settled = r.outcome != nil
	if r.Settled && e.state.ReadOnly() == nil {
		if err := told(ctx, dir); err != nil {
			return nil, err
		}
	}
	if err := e.collect(ctx, r, a); err != nil {
		return nil, err
	}
	r.compareRequest()
	if r.start != nil {
		r.compareStart()
	}
	if r.Settled {
		r.compareEnd(dir)
	}
	return r, nil
}

// patience is how long a supervisor may take from the outcome to telling of it.
const patience = 5 * time.Second

// told returns when the run's end is told, or has had the time to be.
func told(ctx context.Context, dir *rundir.Dir) error {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if noted, err := dir.Noted(); noted || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-limited.Done():
			return ctx.Err()
		}
	}
}

// collect audits the journal and takes the run's entries out of it.
func (e *Evidence) collect(ctx context.Context, r *RunReport, a Against) error {
	opt, err := e.options(a)
	if err != nil {
		return err
	}
	starts, ends := 0, 0
	opt.Each = func(entry journal.Entry) error {
		switch {
		case entry.Run != r.Run:
		case entry.Kind == journal.Start && entry.Start != nil:
			starts++
			r.start = &entry
		case entry.Kind == journal.End && entry.End != nil:
			ends++
			r.end = &entry
		case entry.Kind == journal.Addendum && entry.Addendum != nil:
			r.later = append(r.later, *entry.Addendum)
		case entry.Kind == journal.Prune:
			r.pruned = true
		}
		return nil
	}
	if r.journal, err = audit.Run(ctx, e.dir, opt); err != nil {
		return errEmpty(err)
	}
	j := r.journal
	switch {
	case !j.Whole():
		r.check("journal", false, "%d faults, the first: %v", len(j.Faults)+j.More, j.Faults[0])
	case len(j.Missing) > 0 && starts == 0:
		r.check("journal", false, "whole as far as it is here; %v aren't: name where they are with --archive", j.Missing[0])
	default:
		r.check("journal", true, "%d entries are whole, %d checkpoints fit", j.Entries, j.Checkpoints)
	}
	r.check("start", starts == 1, "%s", times(starts))
	switch {
	case r.Settled:
		r.check("end", ends == 1, "%s", times(ends))
	case ends > 0:
		r.check("end", false, "%s, and the run has no outcome", times(ends))
	}
	return nil
}

func times(n int) string {
	switch n {
	case 0:
		return "the journal doesn't tell of it"
	case 1:
		return "told once"
	}
	return fmt.Sprintf("told %d times", n)
}

// compareRequest computes the digest of the request again, if what it covers was
// written down.
func (r *RunReport) compareRequest() {
	s := r.sealed
	if len(s.EnvironmentNames) > 0 || s.ReplacesEnvironment || s.Stdin != nil {
		r.check("request", s.Decision.RequestDigest == s.RequestDigest, "%s, which covers values that are never written down", s.RequestDigest)
		return
	}
	digest := s.Request.Digest()
	ok := digest == s.RequestDigest && s.Decision.RequestDigest == digest
	r.check("request", ok, "the record's request has the digest %s, and was decided as %s", digest, s.Decision.RequestDigest)
}

func (r *RunReport) compareStart() {
	s, told := r.sealed, journal.StartOf(r.Run, r.sealed.Request, r.sealed.Decision)
	at := r.start.Start
	same(r, "request digest", at.RequestDigest, s.RequestDigest)
	same(r, "policy digest", at.PolicyDigest, s.Decision.PolicyDigest)
	same(r, "command", at.Words.Digest, told.Start.Words.Digest)
	same(r, "directory", at.Dir, told.Start.Dir)
	same(r, "executable", at.Executable, told.Start.Executable)
	if told.Start.ExecutableDigest != "" || at.ExecutableDigest != "" {
		same(r, "its digest", at.ExecutableDigest, told.Start.ExecutableDigest)
	}
	same(r, "containment", at.Containment, told.Start.Containment)
	if r.start.Principal != nil {
		same(r, "principal", string(r.start.Principal.Kind)+" "+r.start.Principal.ID, string(told.Principal.Kind)+" "+told.Principal.ID)
	}
}

func (r *RunReport) compareEnd(dir *rundir.Dir) {
	o := r.outcome
	if r.end != nil {
		told := r.end.End
		same(r, "state", told.State, o.State)
		same(r, "reason", told.Reason, o.Reason.Kind)
		same(r, "status", status(told.ExitCode), status(o.Reason.ExitCode))
		same(r, "stdout", summary(told.Stdout), summary(o.Stdout))
		same(r, "stderr", summary(told.Stderr), summary(o.Stderr))
		if kept := journal.EndOf(r.Run, *o, nil, "", "").End; len(told.Found)+len(kept.Found) > 0 {
			same(r, "found", found(told), found(kept))
		}
	}
	r.compareLater(dir)
	if _, pruned, err := prune.Of(dir.Path()); err != nil || pruned != nil {
		r.comparePruned(pruned, err)
		return
	}
	kept := packed.Open(dir.Path())
	for _, stream := range []paddock.Stream{paddock.Stdout, paddock.Stderr} {
		sum := o.Stdout
		if stream == paddock.Stderr {
			sum = o.Stderr
		}
		err := kept.Verify(stream, sum)
		if errors.Is(err, fs.ErrNotExist) && neverKept(dir, stream, sum) {
			r.check(string(stream)+" file", true, "none: the run was over before there could be output")
			continue
		}
		if err != nil {
			r.check(string(stream)+" file", false, "%v", err)
			continue
		}
		r.check(string(stream)+" file", true, "%s", summary(sum))
	}
	if err := kept.VerifyLost(*o); err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.check("frames", false, "%v", err)
	}
}

// compareLater is of what became known after the end: each is told once.
func (r *RunReport) compareLater(dir *rundir.Dir) {
	kept, err := dir.Addenda()
	if err != nil {
		r.check("addenda", false, "%v", err)
		return
	}
	if len(kept) == 0 && len(r.later) == 0 {
		return
	}
	var here, told []string
	for _, a := range kept {
		here = append(here, endWords(*journal.AddendumOf(r.Run, a).Addendum))
	}
	for _, e := range r.later {
		told = append(told, endWords(e))
	}
	slices.Sort(here)
	slices.Sort(told)
	same(r, "addenda", strings.Join(told, ", "), strings.Join(here, ", "))
}

func endWords(e journal.EndDetail) string {
	return fmt.Sprintf("%s (%s, status %s), stdout %s, stderr %s", e.State, e.Reason, status(e.ExitCode), e.Stdout.Digest, e.Stderr.Digest)
}

// comparePruned is of output that was removed: the journal was told before.
func (r *RunReport) comparePruned(p *paddock.Pruning, err error) {
	switch {
	case err != nil:
		r.check("output", false, "%v", err)
	case !r.pruned:
		r.check("output", false, "it was removed (%s, by %s) and the journal doesn't tell of that", p.Reason, p.By)
	default:
		r.check("output", true, "%d bytes were removed (%s, by %s), as the journal tells; sizes and digests of the streams stay", p.Bytes, p.Reason, p.By)
	}
}

// neverKept says whether nothing was recorded of a stream and nothing is there
// of it: a supervisor can be ended before it has made the files of the output,
// and a full disk can keep it from making them.
func neverKept(dir *rundir.Dir, stream paddock.Stream, sum paddock.StreamSummary) bool {
	info, err := os.Lstat(filepath.Join(dir.Path(), string(stream)))
	nothing := sum.Digest == "" || sum.Digest == paddock.DigestOf(sha256.Sum256(nil))
	return sum.Bytes == 0 && nothing && (errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular() && info.Size() == 0)
}

func summary(s paddock.StreamSummary) string {
	text := fmt.Sprintf("%d bytes with the digest %s", s.Bytes, s.Digest)
	if s.Dropped > 0 {
		text += fmt.Sprintf(", %d more not kept", s.Dropped)
	}
	return text
}

// found names the protected places that an end tells of.
func found(e *journal.EndDetail) string {
	text := fmt.Sprintf("%q", e.Found)
	if e.FoundCount > 0 {
		text += fmt.Sprintf(" of %d", e.FoundCount)
	}
	return text
}

func status(code *int) string {
	if code == nil {
		return "none"
	}
	return fmt.Sprint(*code)
}
