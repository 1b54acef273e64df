package quarantine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/failpoint"
	"paddock/internal/workspace/apply/tree"
	"paddock/internal/workspace/apply/tree/quarantine/look"
)

// A Watch is what was seen before one run.
type Watch struct {
	opt    Options
	root   *tree.Root
	self   list // without items
	before *look.Before
	room   tree.Bounds // what may still be copied
	hash   int64       // and read
	blind  string      // why there is no root
}

func watch(o Options, root *tree.Root) *Watch {
	return &Watch{opt: o, root: root, room: tree.Bounds{Bytes: mostCopied, Files: copiedFiles}, hash: mostHashed}
}

// Begin looks before the run.
func Begin(o Options) (*Watch, error) {
	root, err := tree.Open(o.Root)
	if errors.Is(err, fs.ErrPermission) { // a run may need it all the same
		return &Watch{blind: err.Error()}, nil
	}
	if err != nil {
		return nil, err
	}
	w := watch(o, root)
	if err := w.begin(); err != nil {
		return nil, errors.Join(fmt.Errorf("look at the root: %w", err), root.Close())
	}
	return w, nil
}

func (w *Watch) begin() error {
	self, dev, err := w.root.Self()
	if err != nil {
		return err
	}
	w.self = list{Version: version, Root: w.opt.Root, Device: dev, Inode: self.Ino}
	seen := w.opt.eye().Look(w.root, nil)
	w.before = look.Remember(seen)
	// For whoever finds the run without its supervisor. A power cut may take it,
	// and then nobody says that it was looked.
	marks, gaps := seen.Form()
	text, err := json.Marshal(before{version, w.opt.Root, dev, self.Ino, w.opt.Except, w.opt.Report, marks, gaps})
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(w.opt.RunDir, beforeName), os.O_WRONLY|os.O_CREATE|os.O_TRUNC|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// Close lets go of the root. What there was before stays written down until the
// run's outcome is: see [Forget].
func (w *Watch) Close() error {
	if w.root == nil {
		return nil
	}
	return w.root.Close()
}

// End looks after the run, of which nothing is left but survivors, and moves what
// appeared out of the root. What couldn't be done is told.
func (w *Watch) End(survivors int) *paddock.Deeper {
	if w.root == nil {
		return &paddock.Deeper{Unlooked: w.blind}
	}
	failpoint.Here("deeper/look")
	seen := w.opt.eye().Look(w.root, w.before)
	var items []item
	for _, find := range w.before.Compare(seen) {
		items = append(items, itemOf(find))
	}
	failpoint.Here("deeper/looked")
	err := w.take(&seen, items)
	out := summary(seen, items)
	if survivors > 0 {
		out.Unlooked = join(out.Unlooked, fmt.Sprintf("%d processes of the run are left, which may write what nobody looked at", survivors))
	}
	if err = errors.Join(err, seen.GiveBack(w.root)); err != nil {
		out.Unlooked = join(out.Unlooked, err.Error())
	}
	return out
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

// Forget removes what was written down for whoever finds the run in runDir without
// its supervisor. It is for one that has an outcome.
func Forget(runDir string) error {
	if err := os.Remove(filepath.Join(runDir, beforeName)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Lost looks after a run whose supervisor is gone. What that one was about to move
// is moved if it is still what it saw; all else is only told, since nobody knows
// whether it came from the run or after it. Nil means that the run was never
// watched, or that it was told already.
func Lost(o Options) (*paddock.Deeper, error) {
	var b before
	if err := read(filepath.Join(o.RunDir, beforeName), &b); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return &paddock.Deeper{Unlooked: "what there was before isn't known: " + err.Error()}, nil
	}
	o.Root, o.Except, o.Report = b.Root, b.Except, b.Report
	root, err := tree.Open(b.Root)
	if err != nil {
		return &paddock.Deeper{Unlooked: "the root can't be opened: " + err.Error()}, nil //nolint:nilerr // it says so
	}
	w := watch(o, root)
	w.self = list{Version: version, Root: b.Root, Device: b.Device, Inode: b.Inode}
	w.before = look.Recall(b.Marks, b.Gaps)
	if self, dev, err := root.Self(); err != nil || self.Ino != b.Inode || dev != b.Device {
		return &paddock.Deeper{Unlooked: ErrMoved.Error()}, w.Close()
	}
	out := w.late()
	return out, w.Close()
}

const lateWhy = "it was found after the run was lost, and nobody knows whether it came from it"

func (w *Watch) late() *paddock.Deeper {
	seen := w.opt.eye().Look(w.root, w.before)
	var l list
	err := read(filepath.Join(Dir(w.opt.RunDir), listName), &l)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	items, listed := l.Items, map[string]bool{}
	if len(items) > 0 && err == nil {
		err = w.resume(&seen, items)
	}
	for _, i := range items {
		listed[i.path()] = true
	}
	for _, find := range w.before.Compare(seen) {
		if i := itemOf(find); !listed[find.Path] {
			i.Why = lateWhy
			items = append(items, i)
		}
	}
	out := summary(seen, items)
	if err = errors.Join(err, seen.GiveBack(w.root)); err != nil {
		out.Unlooked = join(out.Unlooked, err.Error())
	}
	return out
}
