package books

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"paddock/internal/books/days"
	"paddock/internal/policy/known/usage"
	"paddock/internal/rundir"
	"paddock/internal/rundir/record"
	"paddock/internal/rundir/record/durable"
	"paddock/internal/rundir/record/process"
)

const strange = "Paddock puts nothing of this name here; look at it and move it away"

// Wrong compares what is noted with what the runs say, and calls each with the path
// of what is wrong and why; of what is nothing of ours it says so. What the next use
// makes again is none. The caller has the claim.
func (b *Books) Wrong(ctx context.Context, _ *rundir.Claim, now time.Time, each func(path, why string, stranger bool) error) error {
	if open, err := b.Open(); err != nil || !open {
		return err
	}
	return b.locked(ctx, func() error {
		files, why, err := b.all()
		if err != nil {
			return err
		}
		if all := files[total]; all != nil {
			if all.Boot != process.BootID() {
				return nil
			}
			if err := b.compare(ctx, now, files, why); err != nil {
				return err
			}
		}
		for _, name := range slices.Sorted(maps.Keys(why)) {
			if err := each(filepath.Join(b.State.Path(), Dir, name), why[name], why[name] == strange); err != nil {
				return err
			}
		}
		return nil
	})
}

// all reads every file. why tells, by the name of the file, of what is none.
func (b *Books) all() (files map[string]*file, why map[string]string, err error) {
	entries, err := os.ReadDir(filepath.Join(b.State.Path(), Dir))
	files, why = map[string]*file{}, map[string]string{}
	for _, e := range entries {
		name, ours := strings.CutSuffix(e.Name(), ".json")
		switch ours = ours && (name == total || record.IsOwner(name)); {
		case e.Name() == Lock, e.Name() == days.Removing, e.Name() == days.Dir && e.IsDir(), strings.HasPrefix(e.Name(), durable.TempPrefix):
			continue
		case !ours:
			why[e.Name()] = strange
			continue
		}
		f := new(file)
		err := durable.ReadJSON(b.path(name), f)
		if err == nil {
			err = f.Usage.Valid()
		}
		if err != nil {
			why[e.Name()] = fmt.Sprintf("it can't be read: %v", err)
			continue
		}
		files[name] = f
	}
	return files, why, errors.Join(err, b.days().Strange(why, strange))
}

// compare tells of what runs say in other words.
func (b *Books) compare(ctx context.Context, now time.Time, files map[string]*file, why map[string]string) error {
	counted, err := b.Recount(ctx, now)
	if err != nil {
		return err
	}
	for name := range counted {
		if files[name] == nil && why[name+".json"] == "" {
			why[name+".json"] = "it is missing"
		}
	}
	for name, f := range files {
		want := counted[name]
		if want == nil {
			want = &usage.Usage{}
		}
		if _, err := b.update(account{name, f}, true); err != nil {
			return err
		}
		f.Usage.Forget(now)
		switch was := &f.Usage; {
		case f.Made != files[total].Made:
			why[name+".json"] = "it was made at another time than the others"
		case was.Kept != want.Kept:
			why[name+".json"] = fmt.Sprintf("%d bytes of output are noted as kept, and %d are", was.Kept, want.Kept)
		case !slices.Equal(slices.Sorted(maps.Keys(was.Open)), slices.Sorted(maps.Keys(want.Open))):
			why[name+".json"] = fmt.Sprintf("%d runs are noted as going on, and %d do, or others", len(was.Open), len(want.Open))
		default:
			for _, s := range want.Steps { // of records that were removed more is noted
				if less(was.Steps, s) {
					why[name+".json"] = "less is noted than runs used of " + time.Unix(s.At, 0).UTC().Format(time.RFC3339) + " on"
				}
			}
		}
	}
	return nil
}

// less says whether steps have less than s.
func less(steps []usage.Used, s usage.Used) bool {
	i := slices.IndexFunc(steps, func(is usage.Used) bool { return is.At == s.At })
	return i < 0 || steps[i].Runs < s.Runs || steps[i].Output < s.Output || steps[i].CPU < s.CPU
}
