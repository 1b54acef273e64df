package books

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"paddock"
	"paddock/internal/policy/known/usage"
	"paddock/internal/rundir"
	"paddock/internal/rundir/record"
	"paddock/internal/rundir/record/durable"
	"paddock/internal/rundir/shelf"
)

// daysDir is the directory of the sums of days that are over, below [Dir], and removing
// the lock that is held by who removes something, and by who writes a sum.
const (
	daysDir  = "days"
	removing = "removing"
)

// A day is what there is of the runs of a day when all of them ended so long ago that
// only what they keep still counts. It is believed when it is whole and the directory
// of the day's runs is as it was: who removes what one of them printed takes it away
// durably before.
type day struct {
	Version int `json:"version"`
	// Runs is which directory that was, and when it was changed last.
	Runs string `json:"runs"`
	// Kept is how many bytes the runs of each principal keep.
	Kept map[string]int64 `json:"kept"`
	// Sum is of all that: nothing here is waited for, and a power cut may tear it.
	Sum string `json:"sum"`
}

func (d *day) FileVersion() int { return d.Version }

func (d *day) sum(name string) string {
	parts := []string{name, d.Runs}
	for _, owner := range slices.Sorted(maps.Keys(d.Kept)) {
		parts = append(parts, owner, fmt.Sprint(d.Kept[owner]))
	}
	return durable.HashOf(parts...)
}

func (b *Books) dayPath(name string) string {
	return filepath.Join(b.State.Path(), Dir, daysDir, name+".json")
}

// runsOf says which directory has the runs of a day; empty if that can't be told.
func (b *Books) runsOf(name string) string {
	info, err := os.Lstat(filepath.Join(b.State.Path(), "runs", name))
	if err != nil || !info.IsDir() {
		return ""
	}
	return fmt.Sprintf("%d %s", info.ModTime().UnixNano(), inode(info))
}

// readDay returns the sum of a day; nil if there is none to believe.
func (b *Books) readDay(name string) *day {
	d := new(day)
	if err := durable.ReadJSON(b.dayPath(name), d); err != nil || d.Sum != d.sum(name) || d.Runs == "" || d.Runs != b.runsOf(name) {
		return nil // it is counted
	}
	for owner, kept := range d.Kept {
		if !record.IsOwner(owner) || kept < 0 || kept > 1<<60 {
			return nil
		}
	}
	return d
}

// add counts the runs of the day.
func (d *day) add(all map[string]*usage.Usage) {
	for owner, kept := range d.Kept {
		if all[owner] == nil {
			all[owner] = &usage.Usage{}
		}
		all[owner].Kept += kept
		all[total].Kept += kept
	}
}

// sumOf returns what there is of runs that were just counted, if that is all that will
// ever count of them; nil if not. Runs is of before they were listed.
func (b *Books) sumOf(runs string, ids []paddock.RunID, now time.Time) *day {
	d := &day{Version: durable.Version, Runs: runs, Kept: map[string]int64{}}
	past := now.Add(-usage.Day - 2*usage.Step)
	for _, id := range ids {
		dir, err := b.State.Run(id)
		if err != nil {
			return nil
		}
		sealed, err := dir.Sealed()
		if err != nil || sealed.CreatedAt.After(past) {
			return nil
		}
		e, err := endOf(dir)
		if err != nil || e == nil || time.Unix(e.at, 0).After(past) {
			return nil
		}
		d.Kept[record.Hash(sealed.Request.Principal)] += e.kept
	}
	return d
}

// writeDay writes down the sum of a day for who counts next. It is nothing that has to
// be there.
func (b *Books) writeDay(name string, d *day) error {
	if d == nil || d.Runs == "" || d.Runs != b.runsOf(name) {
		return nil
	}
	d.Sum = d.sum(name)
	text, err := durable.EncodeJSON(d, true)
	if err != nil {
		return err
	}
	return durable.Place(b.dayPath(name), text)
}

// alone calls do with whether sums of days may be written: not while anything is being
// removed, and not before the directory was there for a while, since who began to
// remove before there were books doesn't say so.
func (b *Books) alone(do func(may bool) error) (err error) {
	dir := filepath.Join(b.State.Path(), Dir)
	there, err := durable.Exists(filepath.Join(dir, daysDir))
	if err == nil && !there {
		err = durable.MakeDir(filepath.Join(dir, daysDir))
	}
	if err != nil || !there {
		return errors.Join(err, do(false))
	}
	f, err := b.removingLock()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, letGo(f)) }()
	free, err := durable.Lock(f)
	if err != nil {
		return err
	}
	return do(free)
}

func (b *Books) removingLock() (*os.File, error) {
	return os.OpenFile(filepath.Join(b.State.Path(), Dir, removing), os.O_RDWR|os.O_CREATE|durable.NoFollow, 0o600)
}

// dropDay takes away the sum of the day of a run, durably.
func (b *Books) dropDay(d *rundir.Dir) error {
	name := b.dayPath(shelf.Day(d.ID()))
	there, err := durable.Exists(name)
	if err != nil || !there {
		return err
	}
	return errors.Join(durable.Remove(name), durable.SyncDir(filepath.Dir(name)))
}

// dropDays takes away all of them.
func (b *Books) dropDays() error {
	dir := filepath.Join(b.State.Path(), Dir, daysDir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return durable.IgnoreMissing(err)
	}
	for _, e := range entries {
		if name, ours := strings.CutSuffix(e.Name(), ".json"); ours && isDay(name) || strings.HasPrefix(e.Name(), durable.TempPrefix) {
			err = errors.Join(err, durable.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return errors.Join(err, durable.SyncDir(dir))
}

func isDay(name string) bool {
	_, err := time.Parse("20060102", name)
	return err == nil
}

// strangeDays tells of what lies among the sums of days and is nothing of ours.
func (b *Books) strangeDays(why map[string]string) error {
	entries, err := os.ReadDir(filepath.Join(b.State.Path(), Dir, daysDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if name, ours := strings.CutSuffix(e.Name(), ".json"); (!ours || !isDay(name)) && !strings.HasPrefix(e.Name(), durable.TempPrefix) {
			why[filepath.Join(daysDir, e.Name())] = strange
		}
	}
	return err
}
