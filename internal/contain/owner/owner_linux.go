package owner

import (
	"cmp"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"paddock"
)

// A Namespace makes a user namespace with these maps.
type Namespace func(uidMap, gidMap string) (*os.File, error)

// Shower shows paths as one account's. Close it when all are shown.
type Shower struct {
	as    paddock.Account
	make  Namespace
	known map[[2]uint32]*os.File
}

// As returns a Shower for account.
func As(account paddock.Account, make Namespace) *Shower {
	return &Shower{as: account, make: make, known: map[[2]uint32]*os.File{}}
}

// Close lets go of the namespaces; what was shown stays.
func (s *Shower) Close() error {
	var errs []error
	for _, f := range s.known {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// Show returns what is at path as a mount that is nowhere yet, in which what
// belongs to the owner of path belongs to the account. With real no link may be
// on the way.
func (s *Shower) Show(path string, real bool) (*os.File, error) {
	file, err := open(path, real)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer file.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil {
		return nil, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	fd, err := unix.OpenTree(int(file.Fd()), "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH|unix.AT_RECURSIVE)
	if err != nil {
		return nil, &os.PathError{Op: "open_tree", Path: path, Err: err}
	}
	tree := os.NewFile(uintptr(fd), path)
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV, Propagation: unix.MS_PRIVATE}
	if st.Uid != s.as.UID || st.Gid != s.as.GID {
		namespace, err := s.namespace(st.Uid, st.Gid)
		if err != nil {
			return nil, errors.Join(err, tree.Close())
		}
		attr.Attr_set |= unix.MOUNT_ATTR_IDMAP
		attr.Userns_fd = uint64(namespace.Fd())
	}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
		return nil, errors.Join(s.refused(path, st, err), tree.Close())
	}
	return tree, nil
}

func open(path string, real bool) (*os.File, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC}
	if real {
		how.Resolve = unix.RESOLVE_NO_SYMLINKS
	}
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// namespace returns that for what belongs to uid and gid.
func (s *Shower) namespace(uid, gid uint32) (*os.File, error) {
	key := [2]uint32{uid, gid}
	if f := s.known[key]; f != nil {
		return f, nil
	}
	f, err := s.make(Swap(uid, s.as.UID), Swap(gid, s.as.GID))
	if err == nil {
		s.known[key] = f
	}
	return f, err
}

// ErrRefused marks what can't be shown with another owner.
var ErrRefused = errors.New("can't be shown as the run's own")

// refused says what to do about a file system that can't do it.
func (s *Shower) refused(path string, st unix.Stat_t, err error) error {
	return fmt.Errorf("%s belongs to uid %d and gid %d and %w, since its file system (%s), or one mounted below it, isn't able to (%w): name its owner under `containment.run_as`, give it to uid %d, or move it to ext4, xfs, btrfs or tmpfs",
		path, st.Uid, st.Gid, ErrRefused, kind(path), err, s.as.UID)
}

var kinds = map[int64]string{
	unix.OVERLAYFS_SUPER_MAGIC: "overlayfs", unix.NFS_SUPER_MAGIC: "nfs", unix.TMPFS_MAGIC: "tmpfs", unix.EXT4_SUPER_MAGIC: "ext4",
	unix.XFS_SUPER_MAGIC: "xfs", unix.BTRFS_SUPER_MAGIC: "btrfs", unix.PROC_SUPER_MAGIC: "proc", unix.SYSFS_MAGIC: "sysfs", unix.FUSE_SUPER_MAGIC: "fuse",
}

func kind(path string) string {
	var fs unix.Statfs_t
	if err := unix.Statfs(path, &fs); err != nil {
		return "unknown"
	}
	return cmp.Or(kinds[fs.Type], fmt.Sprintf("%#x", fs.Type))
}
