// Package format marks a state directory with the version of its layout.
//
// # Limits
//
// It migrates nothing: there has been one layout so far.
package format

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"paddock/internal/rundir/record/durable"
)

// Layout is the version of the directory layout that this code reads and writes.
const Layout = "1\n"

// Check reads the layout's version, or writes it into an empty directory.
func Check(dir string) error {
	name := filepath.Join(dir, "format")
	b, err := durable.Read(name, 64)
	if errors.Is(err, fs.ErrNotExist) {
		if err := refuseStrangers(dir); err != nil {
			return err
		}
		// Two first callers at once write the same, so losing is fine.
		if _, err := durable.Publish(name, []byte(Layout)); err != nil {
			return err
		}
		b, err = durable.Read(name, 64)
	}
	if err != nil {
		return err
	}
	if string(b) != Layout {
		return fmt.Errorf("its format is %q and this version knows only %q: use a newer paddock, or another state directory",
			strings.TrimSpace(string(b)), strings.TrimSpace(Layout))
	}
	return nil
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
	for _, name := range names {
		if name != "format" && !strings.HasPrefix(name, durable.TempPrefix) {
			return fmt.Errorf("it holds %q and no format file: name a new or empty directory", name)
		}
	}
	return nil
}
