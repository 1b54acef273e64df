// Package format marks a state directory with the version of its layout, and
// brings one of an older layout up to date.
//
// Each step goes from one version to the next. It is done under a lock that only
// those who migrate take, may be begun again after a crash, and counts as done
// when the version is written, which is last. So a step must do no harm where it
// is done twice, and must leave alone what a supervisor or a server of the older
// version, which goes on meanwhile, relies on.
//
// # Limits
//
// It knows no layout: what a step does, the steps say. Nothing is taken back.
package format

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"paddock/internal/rundir/record/durable"
)

// Layout is the version of the directory layout that this code reads and writes.
const Layout = 2

const (
	name = "format"
	lock = "migrate.lock"
)

// patience is how long somebody else may take to migrate.
const patience = 10 * time.Minute

// A Step brings a state directory from the version From to the next.
type Step struct {
	From int
	Do   func(dir string) error
}

// Text is what the file of a version holds.
func Text(version int) string { return strconv.Itoa(version) + "\n" }

// Check reads the layout's version, or writes it into an empty directory, and
// takes the steps that an older one needs.
func Check(dir string, steps []Step) error {
	version, err := Read(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err := refuseStrangers(dir); err != nil {
			return err
		}
		// Two first callers at once write the same, so losing is fine.
		if _, err := durable.Publish(filepath.Join(dir, name), []byte(Text(Layout))); err != nil {
			return err
		}
		version, err = Read(dir)
	}
	if err != nil || version == Layout {
		return err
	}
	return migrate(dir, steps)
}

// Read returns the version of a layout that this code can read. The error is
// fs.ErrNotExist where there is none.
func Read(dir string) (int, error) {
	b, err := durable.Read(filepath.Join(dir, name), 64)
	if err != nil {
		return 0, err
	}
	version, err := strconv.Atoi(strings.TrimSuffix(string(b), "\n"))
	if err != nil || version < 1 || version > Layout || string(b) != Text(version) {
		return 0, fmt.Errorf("its format is %q and this version knows only %q and older ones: use a newer paddock, or another state directory",
			strings.TrimSpace(string(b)), strconv.Itoa(Layout))
	}
	return version, nil
}

// migrate takes one step after the other, alone.
func migrate(dir string, steps []Step) (err error) {
	f, err := alone(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for {
		version, err := Read(dir) // somebody else may have been faster
		if err != nil || version == Layout {
			return err
		}
		at := -1
		for i, s := range steps {
			if s.From == version {
				at = i
			}
		}
		if at < 0 {
			return fmt.Errorf("bug: nothing brings format %d up to date", version)
		}
		if err := steps[at].Do(dir); err != nil {
			return fmt.Errorf("bringing format %d up to date (nothing is lost; the next use goes on): %w", version, err)
		}
		if err := durable.Replace(filepath.Join(dir, name), []byte(Text(version+1))); err != nil {
			return err
		}
	}
}

// alone returns the lock of those who migrate when nobody else has it.
func alone(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lock), os.O_RDWR|os.O_CREATE|durable.NoFollow, 0o600)
	if err != nil {
		return nil, err
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		got, err := durable.Lock(f)
		if got {
			return f, nil
		}
		if err == nil {
			select {
			case <-tick.C:
				continue
			case <-late.C:
				err = errors.New("another process brings its format up to date and doesn't come to an end")
			}
		}
		return nil, errors.Join(err, f.Close())
	}
}

// refuseStrangers keeps a mistyped path, such as somebody's home, from being
// filled with ours. Temporary files are what a first caller's crash leaves.
func refuseStrangers(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	names, err := f.Readdirnames(-1)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	for _, n := range names {
		if n != name && !strings.HasPrefix(n, durable.TempPrefix) {
			return fmt.Errorf("it holds %q and no format file: name a new or empty directory", n)
		}
	}
	return nil
}
