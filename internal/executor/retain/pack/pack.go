// Package pack has what is kept of one settled run take less room, by putting packed
// files in the place of plain ones (see package artifact/packed).
//
// A packed file is written beside the plain one under a name that nobody reads,
// read back, compared with the digest that the run's outcome has, made durable and
// renamed; only then the plain one goes. So there is a whole stream at any moment,
// readers look for the plain one first, and those who have it open finish with it.
// After a crash both may be there, or half of one that isn't in place: then whoever
// packs next begins anew.
//
// # Limits
//
// It doesn't ask whether the run is settled. Those who pack hold the lock that
// [prune.PackLock] takes, one at a time, since the names of what isn't in place yet
// are the same for all. Streams of less than 64 KiB stay, and so does what doesn't
// get smaller by an eighth, a run whose outcome has no digests, and a stream that
// isn't what was recorded. The marks of lines stay: they are a 16,384th part.
package pack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"paddock"
	"paddock/internal/artifact/packed"
	"paddock/internal/failpoint"
	"paddock/internal/rundir/record/durable"
	"paddock/internal/rundir/record/durable/prune"
)

// Least is how large a file must be to be packed.
const Least = 64 << 10

// A Job is one run.
type Job struct {
	Dir     string
	Outcome *paddock.Outcome
	// Lock takes the lock of those who prune and keep.
	Lock func(context.Context) (*os.File, error)
	// At, when set, is called after each step that a crash could follow.
	At func(step string)
}

func (j Job) at(step string) {
	failpoint.Here("pack/" + step)
	if j.At != nil {
		j.At(step)
	}
}

// Wanted says whether there may be something to pack, without reading it.
func Wanted(dir string) (bool, error) {
	done, err := durable.Exists(filepath.Join(dir, prune.Plain))
	if err != nil || done {
		return false, err
	}
	for _, name := range prune.Packable {
		info, err := os.Lstat(filepath.Join(dir, name))
		if err := durable.IgnoreMissing(err); err != nil {
			return false, err
		}
		if err == nil && info.Size() >= Least {
			return true, nil
		}
	}
	return false, nil
}

// Leftover says whether a crash left something of packing the run in dir.
func Leftover(dir string) (bool, error) {
	for _, name := range prune.Packable {
		half, err := durable.Exists(filepath.Join(dir, prune.Temp(name)))
		if err != nil || half {
			return half, err
		}
		both := true
		for _, name := range []string{name + packed.Suffix, name} {
			there, err := durable.Exists(filepath.Join(dir, name))
			if err != nil {
				return false, err
			}
			both = both && there
		}
		if both {
			return true, nil
		}
	}
	return false, nil
}

// Undo removes that. A packed file beside a plain one is removed: the plain one is
// what counts.
func Undo(dir string) error {
	for _, name := range prune.Packable {
		if err := durable.Remove(filepath.Join(dir, prune.Temp(name))); err != nil {
			return err
		}
		plain, err := durable.Exists(filepath.Join(dir, name))
		if err == nil && plain {
			err = durable.Remove(filepath.Join(dir, name+packed.Suffix))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Run packs what there is to pack and returns how many bytes of disk that made
// free.
func (j Job) Run(ctx context.Context) (saved int64, err error) {
	if j.Outcome.Stdout.Digest == "" || j.Outcome.Stderr.Digest == "" {
		return 0, nil // nothing could be compared
	}
	digests := map[string]paddock.Digest{"stdout": j.Outcome.Stdout.Digest, "stderr": j.Outcome.Stderr.Digest}
	vain := false
	for _, name := range prune.Packable {
		n, err := j.pack(ctx, name, digests[name])
		if errors.Is(err, packed.ErrNoGain) {
			vain, err = true, nil
		}
		if err != nil {
			return saved, fmt.Errorf("compressing %s: %w", name, err)
		}
		saved += n
	}
	if !vain {
		return saved, nil
	}
	// So that nobody tries it again.
	f, err := os.OpenFile(filepath.Join(j.Dir, prune.Plain), os.O_WRONLY|os.O_CREATE|durable.NoFollow, 0o600)
	if err == nil {
		err = f.Close()
	}
	return saved, durable.IgnoreMissing(err)
}

// pack puts a packed file in the place of name. Without a digest to compare with,
// only the packed file is compared with the plain one.
func (j Job) pack(ctx context.Context, name string, want paddock.Digest) (saved int64, err error) {
	plain, temp := filepath.Join(j.Dir, name), filepath.Join(j.Dir, prune.Temp(name))
	if err := durable.Remove(temp); err != nil { // what a crash left
		return 0, err
	}
	f, err := durable.Open(plain)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil || info.Size() < Least {
		return 0, err
	}
	sum, err := j.write(ctx, f, info.ModTime(), temp)
	if err == nil && want != "" && sum.Digest != want {
		err = fmt.Errorf("its digest is %s, recorded was %s; it stays as it is", sum.Digest, want)
	}
	if err == nil {
		err = compare(ctx, temp, sum)
	}
	if err == nil {
		err = j.replace(ctx, name)
	}
	if err != nil {
		return 0, ignoreGone(errors.Join(err, durable.Remove(temp)), j.Dir)
	}
	return info.Size() - sum.Packed, nil
}

// write writes f packed to temp and makes that durable. The time at which output
// came last is kept, since it is that of what has no frame.
func (j Job) write(ctx context.Context, f io.Reader, at time.Time, temp string) (sum packed.Sum, err error) {
	w, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL|durable.NoFollow, 0o600)
	if err != nil {
		return sum, err
	}
	j.at("begun")
	if err = failpoint.At("pack/write"); err == nil {
		sum, err = packed.Pack(ctx, w, f)
	}
	if err == nil {
		err = os.Chtimes(temp, at, at)
	}
	if err != nil {
		return sum, errors.Join(err, w.Close())
	}
	j.at("written")
	err = durable.SyncAll([]*os.File{w})
	j.at("synced")
	return sum, err
}

// compare reads back what was written.
func compare(ctx context.Context, temp string, want packed.Sum) error {
	f, err := durable.Open(temp)
	if err != nil {
		return err
	}
	p, err := packed.NewFile(f)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	got, err := p.Unpack(ctx, io.Discard)
	if err == nil && (got.Bytes != want.Bytes || got.Digest != want.Digest) {
		err = fmt.Errorf("what was written reads as %d bytes with the digest %s, and not as %d with %s", got.Bytes, got.Digest, want.Bytes, want.Digest)
	}
	return errors.Join(err, p.Close())
}

// replace puts the packed file in its place and removes the plain one, unless the
// output was removed meanwhile.
func (j Job) replace(ctx context.Context, name string) (err error) {
	lock, err := j.Lock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	plain := filepath.Join(j.Dir, name)
	_, pruned, err := prune.Of(j.Dir)
	if err != nil {
		return err
	}
	if there, err := durable.Exists(plain); err != nil || pruned != nil || !there {
		return errors.Join(err, fs.ErrNotExist)
	}
	if err := errors.Join(failpoint.At("pack/rename"), os.Rename(filepath.Join(j.Dir, prune.Temp(name)), plain+packed.Suffix)); err != nil {
		return err
	}
	j.at("renamed")
	if err := durable.SyncDir(j.Dir); err != nil {
		return err
	}
	j.at("placed")
	if err := errors.Join(failpoint.At("pack/remove"), os.Remove(plain)); err != nil {
		return err
	}
	j.at("removed")
	return nil
}

// ignoreGone drops what went wrong because the output, or the run, was removed
// meanwhile.
func ignoreGone(err error, dir string) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_, pruned, pruneErr := prune.Of(dir)
	if _, statErr := os.Lstat(dir); pruneErr == nil && pruned != nil || errors.Is(statErr, fs.ErrNotExist) {
		return nil
	}
	return err
}
