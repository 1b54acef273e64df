package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"paddock/internal/journal"
)

// readSegment reads a.segment from where it was left: after so many lines, which
// end at from.
func (a *Audit) readSegment(ctx context.Context, from int64, lines int) error {
	file, err := journal.Open(a.segment.Path)
	if err != nil {
		return err
	}
	defer file.Close()
	a.last = journal.Line{Offset: from, Number: lines}
	return journal.Scan(io.NewSectionReader(file, from, a.segment.Size-from), func(l journal.Line) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		l.Number, l.Offset = l.Number+lines, l.Offset+from
		a.line = l
		e, err := l.Entry()
		if err != nil {
			a.badLine(l, err)
		} else if err := a.entry(e); err != nil {
			return err
		}
		if l.Whole {
			a.last = journal.Line{Offset: l.Offset + int64(len(l.Bytes)+len(l.Long)) + 1, Number: l.Number}
		}
		return nil
	})
}

// badLine remembers a line that isn't an entry, until a recovered entry explains
// it or something else comes.
func (a *Audit) badLine(l journal.Line, why error) {
	if a.junk == nil {
		a.junk = &journal.Junk{}
	}
	a.junk.Add(l)
	name := journal.Name(a.segment.Number)
	if n := len(a.pending); n > 0 && a.pending[n-1].Line == l.Number && a.pending[n-1].Segment == name {
		return // a further piece of a long line
	}
	a.bad++
	if len(a.pending) <= mostFaults {
		a.pending = append(a.pending, Fault{name, l.Number, why.Error()})
	}
}

// unexplained tells of the lines that no recovered entry explains.
func (a *Audit) unexplained(hint string) {
	for i, f := range a.pending {
		if i == len(a.pending)-1 {
			f.Message += hint
		}
		a.add(f)
	}
	if len(a.pending) > 0 {
		a.chain = nil
	}
	a.junk, a.pending = nil, nil
}

// entry takes the next whole entry.
func (a *Audit) entry(e journal.Entry) error {
	a.Entries++
	switch e.Kind {
	case journal.Recovered:
		a.recovered(e)
	case journal.Begin, journal.Rotate:
	default:
		a.unexplained("")
	}
	if !a.link(e) {
		return nil
	}
	a.grow(e)
	a.saved(e)
	switch e.Kind {
	case journal.Start:
		a.open[e.Run] = struct{}{}
	case journal.End, journal.Abandoned:
		delete(a.open, e.Run)
	}
	if a.opt.Each != nil {
		return a.opt.Each(e)
	}
	return nil
}

// recovered compares what a recovered entry tells with what is there.
func (a *Audit) recovered(e journal.Entry) {
	if e.Recovered == nil || a.junk == nil {
		a.here("it tells of torn bytes before it, which aren't there")
		return
	}
	if size, digest := a.junk.Sum(); e.Recovered.Bytes != size || e.Recovered.Digest != digest {
		a.unexplained("")
		a.here("it tells of %d torn bytes with the digest %s before it; there are %d with the digest %s", e.Recovered.Bytes, e.Recovered.Digest, size, digest)
		return
	}
	a.junk, a.pending, a.bad = nil, nil, 0
	a.Recovered++
}

// link compares e with the entry before it, and says whether the chain goes on
// with e.
func (a *Audit) link(e journal.Entry) bool {
	bad, want := a.bad, a.Head.Seq+1
	a.bad = 0
	first := !a.began
	a.began = true
	jump := a.jump
	a.jump = 0
	switch {
	case e.Seq < want:
		a.here("entry %d comes again after entry %d: repeated, or out of order", e.Seq, a.Head.Seq)
		return false
	case e.Seq == want:
		if e.Prev != a.Head.Digest {
			a.here("entry %d follows %s, and entry %d is %s: one of them isn't the one that was written", e.Seq, e.Prev, a.Head.Seq, a.Head.Digest)
			a.chain = nil
		}
	case jump > 0 && e.Kind == journal.Rotate:
		a.Missing = append(a.Missing, Gap{a.segment.Number - jump, a.segment.Number - 1, want, e.Seq - 1})
		a.chain = nil
	case e.Seq-want > bad:
		a.here("entry %d follows entry %d: %d are missing between them", e.Seq, a.Head.Seq, e.Seq-want-bad)
		a.chain = nil
	default: // as many lines are damaged, which was told
		a.chain = nil
	}
	if first {
		a.Journal = idOf(e)
		a.Head.Journal = a.Journal
	}
	a.Head.Seq, a.Head.Digest = e.Seq, e.Digest
	return true
}

func idOf(e journal.Entry) string {
	switch {
	case e.Begin != nil:
		return e.Begin.ID
	case e.Rotate != nil:
		return e.Rotate.ID
	}
	return ""
}

// grow checks what e says of the tree before it, and adds e to the tree.
func (a *Audit) grow(e journal.Entry) {
	prepares := e.Kind == journal.Begin || e.Kind == journal.Rotate || e.Kind == journal.Recovered
	if prepares && a.chain != nil && a.aside.Size == 0 {
		a.aside = journal.Statement{Journal: a.Journal, Size: a.chain.Size(), Hash: a.chain.Hash()}
	}
	switch {
	case e.Kind == journal.Begin && e.Seq != 1, e.Kind != journal.Begin && e.Seq == 1:
		a.here("entry %d is of kind %s: a journal begins with entry 1 of kind begin, and only there", e.Seq, e.Kind)
	case e.Kind == journal.Rotate:
		a.rotate(e)
	case e.Kind == journal.Checkpoint:
		a.checkpoint(e)
	}
	if a.chain != nil {
		a.chain.Add(a.line.Bytes)
	}
	if !prepares {
		a.aside = journal.Statement{}
	}
}

func (a *Audit) rotate(e journal.Entry) {
	if e.Rotate == nil || e.Rotate.ID != a.Journal || e.Rotate.Segment != a.segment.Number {
		a.here("it begins another segment than this, or one of another journal")
		return
	}
	tree, err := journal.TreeOf(e.Seq-1, e.Rotate.Tree)
	switch {
	case err != nil:
		a.here("%v", err)
	case a.chain == nil:
		a.chain = tree // as good as the chain, which has it
	case !slices.Equal(a.chain.Frontier(), e.Rotate.Tree):
		a.here("it tells of other entries before it than are there")
	}
}

// checkpoint compares a signed entry with what is before it.
func (a *Audit) checkpoint(e journal.Entry) {
	s, err := a.opt.OpenNote(e.Checkpoint)
	switch {
	case errors.Is(err, journal.ErrUnknownKey) && a.keyless:
		a.Unsigned++
		return
	case errors.Is(err, journal.ErrUnknownKey):
		a.here("its checkpoint is signed by a key that wasn't named: forged, or name its public key, too")
		return
	case err != nil:
		a.here("its checkpoint is forged or damaged: %v", err)
		return
	case s.Journal != a.Journal:
		a.here("its checkpoint is of another journal, %s", s.Journal)
		return
	}
	before := journal.Statement{Journal: a.Journal, Size: e.Seq - 1}
	switch {
	case a.chain == nil:
		a.here("its checkpoint can't be checked, because of what is wrong or missing before it")
		return
	case a.aside.Size == s.Size:
		before = a.aside
	default:
		before.Hash = a.chain.Hash()
	}
	if s != before {
		a.here("its checkpoint is of %d entries with the hash %s; there are %d before it, with the hash %s", s.Size, s.Hash, before.Size, before.Hash)
		return
	}
	a.Checkpoints++
}

// saved compares e with what was saved elsewhere of it.
func (a *Audit) saved(e journal.Entry) {
	for _, h := range a.heads[e.Seq] {
		switch {
		case h.Journal != a.Journal:
			a.here("the saved head %s is of another journal than this, %s", h, a.Journal)
		case h.Digest != e.Digest:
			a.here("the saved head says that entry %d is %s, and it is %s", e.Seq, h.Digest, e.Digest)
		default:
			a.Saved++
		}
	}
	delete(a.heads, e.Seq)
	if a.chain == nil {
		return
	}
	for _, s := range a.notes[e.Seq] {
		here := journal.Statement{Journal: a.Journal, Size: e.Seq, Hash: a.chain.Hash()}
		if s != here {
			a.here("the saved checkpoint of %d entries of %s says %s, and up to here the hash is %s", s.Size, s.Journal, s.Hash, fmt.Sprint(here.Hash))
			continue
		}
		a.Saved++
	}
	delete(a.notes, e.Seq)
}
