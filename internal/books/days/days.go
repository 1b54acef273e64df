// Package days keeps the sums of days that are over, so that whoever counts all runs
// needn't count theirs again.
//
// # Limits
//
// A sum is of what runs keep, and of nothing that is used up within a day. Its callers
// hold the lock of the books.
package days

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

// Dir is the directory of the sums, below that of the books, and Removing the lock that
// is held by who removes something, and by who writes a sum.
const (
	Dir      = "days"
	Removing = "removing"
)

// Sums are those of one state directory.
type Sums struct {
	State *rundir.State
	// Books is the directory of the books.
	Books string
}

// A Day is what there is of the runs of a day when all of them ended so long ago that
// only what they keep still counts. It is believed when it is whole and the directory
// of the day's runs is as it was: who removes what one of them printed takes it away
// durably before.
type Day struct {
	Version int `json:"version"`
	// Runs is which directory that was, and when it was changed last.
	Runs string `json:"runs"`
	// Kept is how many bytes the runs of each principal keep, those of its delegates too.
	Kept map[string]int64 `json:"kept"`
	// Sum is of all that: nothing here is waited for, and a power cut may tear it.
	Sum string `json:"sum"`
}

func (d *Day) FileVersion() int { return d.Version }

func (d *Day) sum(name string) string {
	parts := []string{name, d.Runs}
	for _, owner := range slices.Sorted(maps.Keys(d.Kept)) {
		parts = append(parts, owner, fmt.Sprint(d.Kept[owner]))
	}
	return durable.HashOf(parts...)
}

// Path is where the sum of a day is.
func (b Sums) Path(name string) string {
	return filepath.Join(b.Books, Dir, name+".json")
}

// RunsOf says which directory has the runs of a day; empty if that can't be told.
func (b Sums) RunsOf(name string) string {
	info, err := os.Lstat(filepath.Join(b.State.Path(), "runs", name))
	if err != nil || !info.IsDir() {
		return ""
	}
	return fmt.Sprintf("%d %s", info.ModTime().UnixNano(), inode(info))
}

// Read returns the sum of a day; nil if there is none to believe.
func (b Sums) Read(name string) *Day {
	d := new(Day)
	if err := durable.ReadJSON(b.Path(name), d); err != nil || d.Sum != d.sum(name) || d.Runs == "" || d.Runs != b.RunsOf(name) {
		return nil // it is counted
	}
	for owner, kept := range d.Kept {
		if !record.IsOwner(owner) || kept < 0 || kept > 1<<60 {
			return nil
		}
	}
	return d
}

// Add counts the runs of the day.
func (d *Day) Add(total string, all map[string]*usage.Usage) {
	for owner, kept := range d.Kept {
		if all[owner] == nil {
			all[owner] = &usage.Usage{}
		}
		all[owner].Kept += kept
		all[total].Kept += kept
	}
}

// Of returns what there is of runs that were just counted, if that is all that will
// ever count of them; nil if not. Runs is of before they were listed.
func (b Sums) Of(runs string, ids []paddock.RunID, now time.Time, end func(*rundir.Dir) (over bool, at, kept int64)) *Day {
	d := &Day{Version: durable.Version, Runs: runs, Kept: map[string]int64{}}
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
		over, at, kept := end(dir)
		if !over || time.Unix(at, 0).After(past) {
			return nil
		}
		d.Kept[record.Hash(sealed.Request.Principal.Root())] += kept
	}
	return d
}

// Write writes down the sum of a day for who counts next. It is nothing that has to
// be there.
func (b Sums) Write(name string, d *Day) error {
	if d == nil || d.Runs == "" || d.Runs != b.RunsOf(name) {
		return nil
	}
	d.Sum = d.sum(name)
	text, err := durable.EncodeJSON(d, true)
	if err != nil {
		return err
	}
	return durable.Place(b.Path(name), text)
}

// Alone calls do with whether sums of days may be written: not while anything is being
// removed, and not before the directory was there for a while, since who began to
// remove before there were books doesn't say so.
func (b Sums) Alone(do func(may bool) error) (err error) {
	dir := filepath.Join(b.Books, Dir)
	there, err := durable.Exists(dir)
	if err == nil && !there {
		err = durable.MakeDir(dir)
	}
	if err != nil || !there {
		return errors.Join(err, do(false))
	}
	f, err := b.Hold()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, LetGo(f)) }()
	free, err := durable.Lock(f)
	if err != nil {
		return err
	}
	return do(free)
}

// Hold opens the lock of who removes something.
func (b Sums) Hold() (*os.File, error) {
	return os.OpenFile(filepath.Join(b.Books, Removing), os.O_RDWR|os.O_CREATE|durable.NoFollow, 0o600)
}

// Drop takes away the sum of the day of a run, durably.
func (b Sums) Drop(d *rundir.Dir) error {
	name := b.Path(shelf.Day(d.ID()))
	there, err := durable.Exists(name)
	if err != nil || !there {
		return err
	}
	return errors.Join(durable.Remove(name), durable.SyncDir(filepath.Dir(name)))
}

// DropAll takes away all of them.
func (b Sums) DropAll() error {
	dir := filepath.Join(b.Books, Dir)
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

// Strange tells of what lies among the sums of days and is nothing of ours.
func (b Sums) Strange(why map[string]string, strange string) error {
	entries, err := os.ReadDir(filepath.Join(b.Books, Dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if name, ours := strings.CutSuffix(e.Name(), ".json"); (!ours || !isDay(name)) && !strings.HasPrefix(e.Name(), durable.TempPrefix) {
			why[filepath.Join(Dir, e.Name())] = strange
		}
	}
	return err
}

// LetGo lets go of the lock; nil is none.
func LetGo(f *os.File) error {
	if f == nil {
		return nil
	}
	return errors.Join(durable.Unlock(f), f.Close())
}
