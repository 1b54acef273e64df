package apply

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"

	"golang.org/x/sys/unix"

	"paddock/internal/workspace/apply/tree"
	"paddock/internal/workspace/apply/tree/change"
)

// Do makes the changes that were checked. When it fails some may be made; the
// same order may be given again. They are durable once the root is synced.
func (o *Order) Do() error {
	if o.ready == nil {
		return errors.New("bug: an order that wasn't checked")
	}
	for _, c := range slices.Backward(o.Changes) { // what is inside goes first
		if err := o.clear(c); err != nil {
			return fmt.Errorf("remove %s: %w", c.Path(), err)
		}
	}
	for _, c := range o.Changes {
		if c.After == nil || o.ready[c.Path()] {
			continue
		}
		if err := o.make(*c.After); err != nil {
			return fmt.Errorf("write %s: %w", c.Path(), err)
		}
	}
	for _, c := range slices.Backward(o.Changes) { // what is inside needs the doors open
		if c.After == nil || !c.After.Directory() || o.ready[c.Path()] {
			continue
		}
		if err := o.shut(*c.After); err != nil {
			return fmt.Errorf("permissions of %s: %w", c.Path(), err)
		}
	}
	return nil
}

func (o *Order) at() error {
	if o.step == nil {
		return nil
	}
	return o.step()
}

// clear removes what is gone, and what can't be replaced in one step.
func (o *Order) clear(c change.Change) error {
	p := c.Path()
	now := o.now[p]
	if now == nil || o.ready[p] || c.After != nil && c.After.Directory() == now.Directory() {
		return nil
	}
	parent, err := o.parent(p)
	if err != nil {
		return err
	}
	defer parent.Close()
	if err := o.at(); err != nil {
		return err
	}
	flags := 0
	if now.Directory() {
		flags = unix.AT_REMOVEDIR
		// A crash may have left this in what is to go.
		if err := o.sweep(p); err != nil {
			return err
		}
	}
	if err := unix.Unlinkat(int(parent.Fd()), path.Base(p), flags); err != nil && !errors.Is(err, unix.ENOENT) {
		return err
	}
	o.now[p] = nil
	return nil
}

func (o *Order) sweep(dir string) error {
	f, err := o.Base.OpenAt(dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	return errors.Join(o.unfinished(f), f.Close())
}

func (o *Order) unfinished(dir *os.File) error {
	if err := unix.Unlinkat(int(dir.Fd()), o.Temp, 0); err != nil && !errors.Is(err, unix.ENOENT) {
		return err
	}
	return nil
}

// parent opens what p is in, if p is still what was looked at.
func (o *Order) parent(p string) (*os.File, error) {
	there, err := o.Base.Stat(p)
	was := o.now[p]
	switch {
	case errors.Is(err, os.ErrNotExist) && was == nil:
	case err != nil:
		return nil, err
	case was == nil || !there.Untouched(*was):
		return nil, errors.New("it is being changed by somebody else")
	}
	return o.Base.Parent(p)
}

func (o *Order) make(e change.Entry) error {
	parent, err := o.parent(e.Path)
	if err != nil {
		return err
	}
	defer parent.Close()
	if err := o.at(); err != nil {
		return err
	}
	base := path.Base(e.Path)
	owner, err := o.owner(e.Path, parent)
	if err != nil {
		return err
	}
	if e.Directory() {
		if o.now[e.Path] != nil {
			return nil // only its permissions change
		}
		if err := unix.Mkdirat(int(parent.Fd()), base, 0o700); err != nil || owner == nil {
			return err
		}
		return unix.Fchownat(int(parent.Fd()), base, owner[0], owner[1], unix.AT_SYMLINK_NOFOLLOW)
	}
	if err := o.unfinished(parent); err != nil {
		return err
	}
	if e.Link() {
		err = unix.Symlinkat(e.Target, int(parent.Fd()), o.Temp)
	} else {
		err = o.fill(e)
	}
	if err == nil && owner != nil {
		err = unix.Fchownat(int(parent.Fd()), o.Temp, owner[0], owner[1], unix.AT_SYMLINK_NOFOLLOW)
	}
	if err == nil {
		err = o.at()
	}
	if err == nil {
		err = unix.Renameat(int(parent.Fd()), o.Temp, int(parent.Fd()), base)
	}
	if err != nil {
		return errors.Join(err, o.unfinished(parent))
	}
	return nil
}

// owner is who the new file is to belong to, nil for who makes it: who the old
// one belongs to, and with root's hand who the directory does.
func (o *Order) owner(name string, parent *os.File) ([]int, error) {
	if was := o.now[name]; was != nil {
		return []int{int(was.UID), int(was.GID)}, nil
	}
	if o.UID != 0 {
		return nil, nil
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(parent.Fd()), &st); err != nil {
		return nil, err
	}
	return []int{int(st.Uid), int(st.Gid)}, nil
}

func (o *Order) fill(e change.Entry) error {
	from, err := o.From.File(e.Path)
	if err != nil {
		return err
	}
	defer from.Close()
	into, err := o.Base.OpenAt(path.Join(path.Dir(e.Path), o.Temp), unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(tree.Fill(into, from, e), into.Close())
}

// shut gives a directory the permissions that it has in the run's view.
func (o *Order) shut(e change.Entry) error {
	if err := o.at(); err != nil {
		return err
	}
	dir, err := o.Base.OpenAt(e.Path, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	var st unix.Stat_t
	err = unix.Fstat(int(dir.Fd()), &st)
	if err == nil { // the bit for the group comes from the directory above
		err = unix.Fchmod(int(dir.Fd()), e.Mode&0o1777|st.Mode&unix.S_ISGID)
	}
	return errors.Join(err, dir.Close())
}
