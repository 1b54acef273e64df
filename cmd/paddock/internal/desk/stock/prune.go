package stock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/app/retention"
)

// prune removes and says what, as it goes.
func (d commands) prune(ctx context.Context, r *retention.Retention, l retention.Limits, ids []paddock.RunID, dry bool) error {
	// If one that is named can't be, none is.
	for _, id := range ids {
		if _, err := r.PruneRun(ctx, id, true); err != nil {
			return err
		}
	}
	do := func(each func(retention.Item) error) error { return r.Prune(ctx, l, dry, each) }
	if len(ids) == 0 && l == (retention.Limits{}) {
		p, refusal := d.PolicyHere()
		if refusal != nil {
			return refusal
		}
		if err := retention.Says(p); err != nil {
			return err
		}
		do = func(each func(retention.Item) error) error { return r.PrunePolicy(ctx, p, dry, each) }
	}
	list := listing{out: d.Out, json: d.JSON, dry: dry}
	if err := list.begin(); err != nil {
		return err
	}
	var faults []error
	for _, id := range ids {
		item, err := r.PruneRun(ctx, id, dry)
		if err == nil && item != nil {
			err = list.item(*item)
		}
		faults = append(faults, err)
	}
	if len(ids) == 0 {
		faults = append(faults, do(list.item))
	}
	err := errors.Join(faults...)
	if d.JSON {
		return list.end(err)
	}
	done := "removed"
	if dry {
		done = "would be removed"
	}
	d.Say("note", fmt.Sprintf("%s of %d runs %s", desk.Size(list.bytes), list.count, done))
	if list.compressed > 0 {
		d.Say("note", fmt.Sprintf("%d runs take %s less than before", list.compressed, desk.Size(list.saved)))
	}
	return err
}

// A listing writes items as they come, so that there may be any number: lines,
// or one object.
type listing struct {
	out       io.Writer
	json, dry bool
	items     int
	count     int // of runs of which something was removed
	bytes     int64

	compressed int // of runs whose output takes less room
	saved      int64
}

func (l *listing) begin() error {
	if !l.json {
		return nil
	}
	_, err := io.WriteString(l.out, `{"pruned":[`)
	return err
}

func (l *listing) item(item retention.Item) error {
	l.items++
	what := "output"
	switch {
	case item.Compressed:
		l.compressed++
		l.saved += item.Bytes
	case item.Record:
		what = "record"
		fallthrough
	default:
		l.count++
		l.bytes += item.Bytes
	}
	if !l.json {
		if item.Compressed {
			_, err := fmt.Fprintf(l.out, "%s  output  compressed, %s less\n", item.Run, desk.Size(item.Bytes))
			return err
		}
		_, err := fmt.Fprintf(l.out, "%s  %s  %s  %s\n", item.Run, what, desk.Size(item.Bytes), item.Reason)
		return err
	}
	text, err := json.Marshal(item)
	if err != nil {
		return err
	}
	if l.items > 1 {
		text = append([]byte(","), text...)
	}
	_, err = l.out.Write(text)
	return err
}

// end closes the object. What went wrong is in it, since it has begun.
func (l *listing) end(fault error) error {
	last := struct {
		Bytes  int64  `json:"bytes"`
		Saved  int64  `json:"saved,omitempty"`
		DryRun bool   `json:"dry_run"`
		Fault  string `json:"fault,omitempty"`
	}{l.bytes, l.saved, l.dry, ""}
	if fault != nil {
		last.Fault = fault.Error()
	}
	text, err := json.Marshal(last)
	if err == nil {
		_, err = fmt.Fprintf(l.out, "],%s\n", text[1:])
	}
	if err == nil && fault != nil {
		return desk.ExitStatus(desk.ExitFault)
	}
	return err
}
