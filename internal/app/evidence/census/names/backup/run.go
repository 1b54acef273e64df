package backup

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"paddock"
	"paddock/internal/app/evidence/census/names"
	"paddock/internal/rundir/record/durable/waiting"
	"paddock/internal/rundir/shelf"
)

// The files of a run that say how far it is.
const (
	Outcome = "outcome.json"
	Noted   = "noted"
)

// patience is how often a run is looked at again whose files changed their names.
const patience = 5

// run copies a run's directory as it is at one moment: all of its files are open
// before the first is copied.
func (w *archive) run(r listed) error {
	dir := w.path(r.id)
	for try := 1; ; try++ {
		files, settled, err := w.filesOf(dir, r.noted)
		if errors.Is(err, fs.ErrNotExist) && try < patience {
			if _, gone := os.Lstat(dir); errors.Is(gone, fs.ErrNotExist) {
				return nil // removed meanwhile
			}
			continue // packed or pruned meanwhile
		}
		if err != nil {
			return err
		}
		w.Runs++
		if !settled {
			w.Open++
		}
		if apart(dir) {
			w.Apart++
		}
		base := path.Join("runs", shelf.Day(r.id), string(r.id))
		for _, name := range slices.Sorted(maps.Keys(files)) {
			err = errors.Join(err, w.add(path.Join(base, name), files[name]))
		}
		return errors.Join(err, closeAll(files))
	}
}

// filesOf opens what is copied of a run. An outcome that isn't there when the directory
// is read isn't copied, since what it is about may not be whole then. In the order of
// their names frames come before the streams, so no frame tells of bytes that aren't there.
func (w *archive) filesOf(dir string, told bool) (files map[string]*os.File, settled bool, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, false, err
	}
	files = map[string]*os.File{}
	for _, e := range entries {
		if !copied(e.Name(), told) || !e.Type().IsRegular() {
			continue
		}
		f, err := open(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, false, errors.Join(err, closeAll(files))
		}
		files[e.Name()] = f
	}
	return files, files[Outcome] != nil, nil
}

// copied says whether a file of a run belongs into a backup. What makes a run wait or
// lets a supervisor be spoken to is of use only where it was made: nothing may begin
// twice because it was restored.
func copied(name string, told bool) bool {
	switch name {
	case Noted:
		return told
	case waiting.Name, "reserve", "control", "before.json":
		return false
	}
	return slices.Contains(names.Run, name) || strings.HasPrefix(name, "addendum.")
}

// Known says whether a backup has something of this name: a path that leads nowhere
// else, of a part that is copied.
func Known(name string) bool {
	if !fs.ValidPath(name) || len(name) > 1000 || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) || strings.ContainsRune(name, '\\') {
		return false
	}
	words := strings.Split(name, "/")
	if words[0] == "runs" {
		if len(words) != 4 || !copied(words[3], true) {
			return false
		}
		id, err := paddock.ParseRunID(words[2])
		return err == nil && shelf.Day(id) == words[1]
	}
	before, after := parts()
	single := words[0] == "format" || words[0] == key || words[0] == Database
	if single {
		return len(words) == 1
	}
	return len(words) > 1 && len(words) < 8 && slices.Contains(append(append(before, after...), "journal"), words[0])
}

func apart(dir string) bool {
	for _, name := range []string{"workspace", "quarantine"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

func closeAll(files map[string]*os.File) error {
	var all []error
	for _, f := range files {
		all = append(all, f.Close())
	}
	return errors.Join(all...)
}
