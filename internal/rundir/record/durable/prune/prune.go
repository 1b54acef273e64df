// Package prune removes the output of one settled run and leaves its record,
// which says that it is gone. First that is written down, durably and all at
// once, and then files go: whoever finds them half removed knows why, and goes on.
//
// # Limits
//
// It doesn't ask whether the run is settled or may be pruned, and keeps no order
// among those who prune and those who keep: they hold the lock that [Lock] takes.
// What a run changed, where that is kept apart, isn't output and stays.
package prune

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"paddock"
	"paddock/internal/rundir/record/durable"
)

const (
	keptName   = "kept.json"
	prunedName = "pruned.json"
	// Plain is the name of the file which says that what isn't packed doesn't get
	// smaller by it.
	Plain = "plain"
)

// Packable are the files of a run's output that may be packed instead: one of the
// same name with .zst has the same bytes then.
var Packable = []string{"frames", "stderr", "stdout"}

// Temp is the name of a packed file that isn't in place yet.
func Temp(name string) string { return durable.TempPrefix + name + ".zst" }

// removable are the files that go, in this order.
var removable = func() []string {
	all := []string{"stdin", "stdout.lines", "stderr.lines", Plain}
	for _, name := range Packable {
		all = append(all, Temp(name), name+".zst", name)
	}
	return append(all, "stdout.masks", "stderr.masks") // after what they hide
}()

type keptFile struct {
	Version int             `json:"version"`
	Kept    paddock.Keeping `json:"kept"`
}

func (f *keptFile) FileVersion() int { return f.Version }

type prunedFile struct {
	Version int             `json:"version"`
	Pruned  paddock.Pruning `json:"pruned"`
}

func (f *prunedFile) FileVersion() int { return f.Version }

// Of says whether the output of the run in dir is to stay and whether it is gone;
// nil means no.
func Of(dir string) (*paddock.Keeping, *paddock.Pruning, error) {
	var k keptFile
	var p prunedFile
	kept, err := read(filepath.Join(dir, keptName), &k)
	if err != nil {
		return nil, nil, err
	}
	pruned, err := read(filepath.Join(dir, prunedName), &p)
	if err != nil {
		return nil, nil, err
	}
	var keeping *paddock.Keeping
	var pruning *paddock.Pruning
	if kept {
		keeping = &k.Kept
	}
	if pruned {
		pruning = &p.Pruned
	}
	return keeping, pruning, nil
}

func read(name string, v durable.Versioned) (bool, error) {
	err := durable.ReadJSON(name, v)
	return err == nil, durable.IgnoreMissing(err)
}

// Keep writes durably down that the output of the run in dir stays; if that is
// written there already, it stays as it was.
func Keep(dir string, k paddock.Keeping) error {
	return publish(filepath.Join(dir, keptName), keptFile{durable.Version, k})
}

// Unkeep takes that back.
func Unkeep(dir string) error {
	return errors.Join(durable.Remove(filepath.Join(dir, keptName)), durable.SyncDir(dir))
}

// Mark writes durably down that the output of the run in dir is gone. From then
// on it is, for every reader, and [Remove] only makes room.
func Mark(dir string, p paddock.Pruning) error {
	return publish(filepath.Join(dir, prunedName), prunedFile{durable.Version, p})
}

func publish(name string, v any) error {
	b, err := durable.EncodeJSON(v, false)
	if err == nil {
		_, err = durable.Publish(name, b)
	}
	return err
}

// Size is how many bytes [Remove] would remove, and files how many files.
func Size(dir string) (bytes int64, files int, err error) {
	for _, name := range removable {
		info, err := os.Lstat(filepath.Join(dir, name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return 0, 0, err
		}
		bytes += info.Size()
		files++
	}
	return bytes, files, nil
}

// Remove removes the output of the run in dir, which is marked. It calls at after
// each file.
func Remove(dir string, at func(step string)) error {
	for _, name := range removable {
		if err := durable.Remove(filepath.Join(dir, name)); err != nil {
			return err
		}
		at("removed-" + name)
	}
	return durable.SyncDir(dir)
}

// Lock takes the lock of those who prune and keep in the state directory; nil
// when somebody else has it. Closing the file lets go of it.
func Lock(state string) (*os.File, error) { return lock(filepath.Join(state, "prune.lock")) }

// PackLock is Lock of those who pack, who may take the other one beside it.
func PackLock(state string) (*os.File, error) { return lock(filepath.Join(state, "pack.lock")) }

func lock(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|durable.NoFollow, 0o600)
	if err != nil {
		return nil, err
	}
	got, err := durable.Lock(f)
	if err != nil || !got {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
