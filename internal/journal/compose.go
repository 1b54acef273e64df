package journal

import (
	"crypto/sha256"

	"paddock"
	"paddock/internal/journal/short"
	"paddock/internal/journal/short/asked"
	"paddock/internal/journal/short/removed"
)

// What an entry has room for. JSON makes of one byte six at the worst.
const (
	mostArgv  = 2 << 10 // bytes of words
	mostNames = 2 << 10 // bytes of names
	mostText  = 512     // of a message, a rule's name, somebody's words
	mostPath  = 1 << 10
)

// WordsOf is argv as entries have it.
func WordsOf(argv []string) Words {
	h := sha256.New()
	for _, word := range argv {
		h.Write([]byte(word))
		h.Write([]byte{0})
	}
	w := Words{Digest: paddock.DigestOf([sha256.Size]byte(h.Sum(nil)))}
	w.Argv, w.Count = short.Words(argv, mostArgv)
	return w
}

// StartOf is the entry of a run that is about to be made.
func StartOf(id paddock.RunID, req paddock.Request, d paddock.Decision) Entry {
	s := StartDetail{
		Words: WordsOf(req.Command.Argv), Door: req.Door,
		RequestDigest: d.RequestDigest, PolicyDigest: d.PolicyDigest, Approval: d.Approval,
	}
	if g := d.Grant(); g != nil {
		s.Rule, s.Dir = g.Rule, short.Text(g.Dir, mostPath)
		s.Executable, s.ExecutableDigest = short.Text(g.Executable.Path, mostPath), g.Executable.Digest
		s.EnvironmentNames, s.EnvironmentCount = short.Words(g.EnvironmentNames, mostNames)
		s.Containment, s.Network = g.Contain.Level, g.Contain.Network
	}
	if s.Rule != nil {
		rule := *s.Rule
		rule.File = short.Text(rule.File, mostPath)
		s.Rule = &rule
	}
	return Entry{Kind: Start, Principal: named(req.Principal), Run: id, Start: &s}
}

// EndOf is the entry of a run that is settled. enforced is nil, and isolation and
// stage are empty, when it never started.
func EndOf(id paddock.RunID, o paddock.Outcome, enforced *paddock.Enforced, isolation paddock.Isolation, stage paddock.Digest) Entry {
	e := EndDetail{
		State: o.State, Reason: o.Reason.Kind, ExitCode: o.Reason.ExitCode, Signal: o.Reason.Signal, By: short.Text(o.Reason.By, mostText),
		Stdout: o.Stdout, Stderr: o.Stderr, Survivors: o.Survivors, SettledAt: o.SettledAt, Isolation: isolation, Stage: stage,
	}
	if d := o.Deeper; d != nil && len(d.Found) > 0 {
		var names []string
		for _, f := range d.Found {
			names = append(names, f.Path)
		}
		if e.Found, e.FoundCount = short.Words(names, mostNames); e.FoundCount > 0 || d.More > 0 {
			e.FoundCount = len(names) + d.More
		}
	}
	if enforced != nil {
		e.Enforced = enforced.Level
	}
	return Entry{Kind: End, Run: id, End: &e}
}

// AddendumOf is the entry of what became known of a settled run's end.
func AddendumOf(id paddock.RunID, a paddock.Addendum) Entry {
	return Entry{Kind: Addendum, Run: id, Addendum: EndOf(id, a.Outcome, nil, "", "").End}
}

// RefusalOf is the entry of a refused request.
func RefusalOf(req paddock.Request, policy paddock.Digest, r *paddock.Refusal) Entry {
	d := RefusalDetail{
		Words: WordsOf(req.Command.Argv), Door: req.Door, Code: r.Code,
		Message: short.Text(r.Message, mostText), Rule: short.Text(r.Rule, mostText), PolicyDigest: policy,
	}
	for _, other := range r.Others {
		if len(d.Others) < 20 {
			d.Others = append(d.Others, other.Code)
		}
	}
	return Entry{Kind: Refusal, Principal: named(req.Principal), Refusal: &d}
}

// KillOf is the entry of a request to end a run.
func KillOf(id paddock.RunID, kind paddock.ReasonKind, signal, by, why string) Entry {
	return Entry{Kind: Kill, Run: id, Kill: &KillDetail{kind, signal, short.Text(by, mostText), short.Text(why, mostText)}}
}

// AbandonedOf is the entry of a run that was about to be made and isn't.
func AbandonedOf(id paddock.RunID, why error) Entry {
	return Entry{Kind: Abandoned, Run: id, Abandoned: short.Text(why.Error(), mostText)}
}

// PruneOf is the entry of a run of which something is about to be removed.
func PruneOf(id paddock.RunID, reason paddock.PruneReason, by string, bytes int64, record bool) Entry {
	return Entry{Kind: Prune, Run: id, Prune: &removed.Output{Reason: reason, By: short.Text(by, mostText), Bytes: bytes, Record: record}}
}

// ApprovalOf is the entry of a step of a matter that p asked about. The run is the one
// that uses it.
func ApprovalOf(p paddock.Principal, run paddock.RunID, d *asked.Detail) Entry {
	return Entry{Kind: Approval, Principal: named(p), Run: run, Approval: d}
}

func named(p paddock.Principal) *paddock.Principal {
	p.ID = short.Text(p.ID, mostText)
	return &p
}
