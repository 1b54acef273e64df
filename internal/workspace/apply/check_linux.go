// Package apply brings the changes of a run into the workspace that it saw.
//
// Everything is looked at before the first write: one change that must not be
// made keeps all from being made. Files are replaced in one step each. What is
// already as it should be is passed over, so an order that was interrupted can
// be given again.
//
// # Limits
//
// Who writes to the workspace at the same moment can come between the last look
// at a file and its replacement. Between files there is no single step: a crash
// leaves some of them changed. Extended attributes aren't brought along.
package apply

import (
	"errors"
	"fmt"
	"os"
	"path"

	"golang.org/x/sys/unix"

	"paddock/internal/workspace/apply/tree"
	"paddock/internal/workspace/apply/tree/change"
)

// An Order says what to bring where.
type Order struct {
	// Base is the workspace, From has the new content at the same paths.
	Base, From *tree.Root
	// Changes are those to make, in the order of change.Compare.
	Changes []change.Change
	// Overwrite is set when the paths were named: then what others did to them
	// since the run began doesn't count.
	Overwrite bool
	// Resumed is set when an earlier order of this run was interrupted: then what
	// isn't there, or is a directory as it should be, may be its doing.
	Resumed bool
	// Protected reports whether a path must stay as it is.
	Protected func(name string) bool
	// Unreadable are directories of From that can't be looked into, among what is
	// to be brought: an order with any is refused.
	Unreadable []string
	// Temp is the name of unfinished files, one in a directory at a time.
	Temp string
	// Account is who does it: the user, and the groups that it is in.
	UID    int
	Groups []int

	now   map[string]*change.Entry // what is in the workspace, nil for nothing
	ready map[string]bool          // paths that are as they should be

	// step, when set by a test, is called before each write; its error is a crash.
	step func() error
}

// A Trouble is a change that isn't made, and why.
type Trouble struct {
	Path, Why string
	// Changed is set when the workspace changed there since the run began.
	Changed bool
}

// Check looks at everything. With no trouble [Order.Do] may follow.
func (o *Order) Check() ([]Trouble, error) {
	o.now, o.ready = map[string]*change.Entry{}, map[string]bool{}
	made := map[string]bool{".": true}
	dropped := map[string]bool{}
	for _, c := range o.Changes {
		dropped[c.Path()] = c.After == nil
		if c.After != nil && c.After.Directory() {
			made[c.Path()] = true
		}
	}
	var troubles []Trouble
	for _, dir := range o.Unreadable {
		troubles = append(troubles, Trouble{Path: dir, Why: "it can't be looked into, so nobody knows what is in it"})
	}
	for _, c := range o.Changes {
		why, changed, err := o.look(c, made, dropped)
		if err != nil {
			return nil, err
		}
		if why != "" {
			troubles = append(troubles, Trouble{c.Path(), why, changed})
		}
	}
	return troubles, nil
}

// look says why one change can't be made, "" if it can.
func (o *Order) look(c change.Change, made, dropped map[string]bool) (why string, changed bool, err error) {
	p := c.Path()
	if why := o.forbidden(c); why != "" {
		return why, false, nil
	}
	there, err := o.Base.Stat(p)
	if o.replaced(p, made) {
		err = os.ErrNotExist // what leads there now is to give way to a directory
	}
	switch {
	case err == nil:
		o.now[p] = &there
	case errors.Is(err, os.ErrNotExist), c.After == nil && o.covered(p):
		o.now[p] = nil
	case errors.Is(err, unix.EXDEV), errors.Is(err, unix.ELOOP):
		return "a mount point or a symbolic link is on the way to it", false, nil
	default:
		return "", false, err
	}
	if o.ready[p] = o.reached(c); o.ready[p] {
		return "", false, nil
	}
	now := o.now[p]
	if o.moved(c, now) && !o.Overwrite {
		return "it changed in the workspace since the run began", true, nil
	}
	if why, err := o.unwritable(c, now, made); why != "" || err != nil {
		return why, false, err
	}
	if now == nil || !now.Directory() || c.After != nil && c.After.Directory() {
		return "", false, nil
	}
	stray, err := o.stray(p, dropped)
	if stray != "" {
		return fmt.Sprintf("it is a directory with something in it that isn't to be removed: %q", stray), true, err
	}
	return "", false, err
}

// replaced reports whether something above p is no directory yet and is to be
// one. What is above was looked at before.
func (o *Order) replaced(p string, made map[string]bool) bool {
	for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
		if now := o.now[dir]; made[dir] && (now == nil || !now.Directory()) {
			return true
		}
	}
	return false
}

// covered reports whether what the run made of a directory around p, and isn't one
// any more, is there already: what was below is gone with it.
func (o *Order) covered(p string) bool {
	for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
		if now := o.now[dir]; o.ready[dir] && now != nil && !now.Directory() {
			return true
		}
	}
	return false
}

// moved reports whether somebody else has been at the path since the run began.
func (o *Order) moved(c change.Change, now *change.Entry) bool {
	switch {
	case o.Resumed && (now == nil || now.Directory() && c.After != nil && c.After.Directory()):
		return false
	case now == nil || c.Before == nil:
		return now != nil || c.Before != nil
	}
	return !now.Untouched(*c.Before)
}

// forbidden says why a change is never made, whatever is in the workspace.
func (o *Order) forbidden(c change.Change) string {
	p, a := c.Path(), c.After
	switch {
	case !change.Local(p):
		return "it isn't below the root"
	case o.Protected(p):
		return "it is protected: other tools execute it or obey it"
	case a == nil:
		return ""
	case a.Special():
		return "it is neither a file, a directory nor a symbolic link"
	case a.Regular() && a.Perm()&0o6000 != 0:
		return "it sets the user or the group of who executes it"
	case a.Link() && change.LeadsOut(p, a.Target):
		return fmt.Sprintf("it is a symbolic link that leads out of the workspace, to %q", a.Target)
	}
	return ""
}

// reached reports whether the workspace is already as the change wants it.
func (o *Order) reached(c change.Change) bool {
	now, a := o.now[c.Path()], c.After
	if now == nil || a == nil {
		return now == nil && a == nil
	}
	return tree.Reached(o.Base, *now, o.From, *a)
}

// unwritable says why there can't be written what the change wants.
func (o *Order) unwritable(c change.Change, now *change.Entry, made map[string]bool) (string, error) {
	if c.After == nil {
		return "", nil
	}
	if now != nil && !o.owns(*now) {
		return "it belongs to another account, which it would be taken from", nil
	}
	if c.After.Regular() {
		from, err := o.From.File(c.Path())
		if errors.Is(err, os.ErrPermission) {
			return "its content can't be read", nil
		}
		if err != nil {
			return "", err
		}
		if err := from.Close(); err != nil {
			return "", err
		}
	}
	if made[path.Dir(c.Path())] {
		return "", nil
	}
	parent, err := o.Base.Parent(c.Path())
	switch {
	case err == nil:
		return "", parent.Close()
	case errors.Is(err, os.ErrNotExist), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP), errors.Is(err, unix.EXDEV):
		return "what it lies in is no directory of the workspace any more", nil
	}
	return "", err
}

// owns reports whether a file that takes the place of e can be made its owner's.
func (o *Order) owns(e change.Entry) bool {
	if o.UID == 0 {
		return true
	}
	for _, g := range o.Groups {
		if int(e.GID) == g {
			return int(e.UID) == o.UID
		}
	}
	return false
}

// stray returns something in the directory dir that no change removes.
func (o *Order) stray(dir string, dropped map[string]bool) (string, error) {
	f, err := o.Base.OpenAt(dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return "", err
	}
	names, err := f.Readdirnames(-1)
	for _, name := range names {
		if p := path.Join(dir, name); !dropped[p] && name != o.Temp {
			return p, errors.Join(err, f.Close())
		}
	}
	return "", errors.Join(err, f.Close())
}
