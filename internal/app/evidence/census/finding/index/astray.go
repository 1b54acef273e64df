package index

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"paddock"
	"paddock/internal/app/evidence/census/finding"
	"paddock/internal/rundir"
	"paddock/internal/rundir/record/durable/links"
)

// Astray says what is wrong with an entry that doesn't lead to a run; empty when
// it does, or is gone.
func Astray(state *rundir.State, path string, key bool) string {
	info, err := os.Lstat(path)
	if err != nil {
		return ""
	}
	if !info.Mode().IsRegular() {
		return "it is " + finding.What(info.Mode()) + " and no entry"
	}
	e, err := links.Read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ""
	case err != nil:
		return "it isn't an entry: " + err.Error()
	case !key && string(e.ID) != filepath.Base(path):
		return "it is of another run, " + string(e.ID)
	}
	if _, err := paddock.ParseRunID(string(e.ID)); err != nil {
		return "it names no run"
	}
	d, err := state.Run(e.ID)
	if errors.Is(err, fs.ErrNotExist) {
		return "it leads to run " + string(e.ID) + ", which isn't there"
	}
	if err != nil || !key {
		return "" // the run is told of
	}
	sealed, err := d.Sealed()
	if err != nil {
		return ""
	}
	right := links.Index{State: state.Path()}.Key(links.Hash(sealed.Request.Principal), sealed.Request.IdempotencyKey)
	if filepath.Base(right) != filepath.Base(path) {
		return "it leads to run " + string(e.ID) + ", whose key is another"
	}
	return ""
}

// Stray calls each with what is in the index and leads nowhere, and why.
func Stray(state *rundir.State, each func(path, why string) error) error {
	dirs := []string{filepath.Join(state.Path(), links.ActiveDir), filepath.Join(state.Path(), links.KeysDir)}
	unseen := filepath.Join(state.Path(), links.UnseenDir)
	owners, err := os.ReadDir(unseen)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, o := range owners {
		path := filepath.Join(unseen, o.Name())
		if o.IsDir() && links.IsOwner(o.Name()) {
			dirs = append(dirs, path)
		} else if err := each(path, "only directories of principals are here"); err != nil {
			return err
		}
	}
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			if why := Astray(state, path, filepath.Base(dir) == links.KeysDir); why != "" {
				if err := each(path, why); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
