//go:build linux

// Package disk says whether a directory is on a disk of this machine, where a
// lock that nobody holds means that nobody is there, and what room there is.
//
// # Limits
//
// File systems are told apart by their magic numbers; one that isn't known, and
// isn't FUSE, is taken for local.
package disk

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Magic numbers of file systems whose locks and links don't reach every machine
// that sees the files, so that "nobody holds the lock" would mean nothing.
var networkMagic = map[uint64]string{
	0x6969: "NFS", 0x517B: "SMB", 0xFF534D42: "CIFS", 0xFE534D42: "SMB2", 0x01021997: "9P",
	0x5346414F: "AFS", 0x6B414653: "AFS", 0x73757245: "Coda", 0x00C36400: "Ceph", 0x01161970: "GFS2",
	0x7461636F: "OCFS2", 0x0BD00BD0: "Lustre", 0x564C: "NCP", 0x47504653: "GPFS", 0x19830326: "BeeGFS",
	0x786F4256: "VirtualBox shared folder", 0xBACBACBC: "VMware shared folder", 0x7C7C6670: "Parallels shared folder",
}

const fuseMagic = 0x65735546

// localFuse lists the FUSE file systems that keep their files on this machine.
// All others share one magic number with sshfs and are taken for remote.
var localFuse = map[string]bool{"fuseblk": true, "fuse.fuse-overlayfs": true, "fuse.gocryptfs": true, "fuse.encfs": true}

// Local says why the open directory, whose path is path and whose device is dev,
// isn't on a disk of this machine.
func Local(dir *os.File, path string, dev uint64) error {
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(dir.Fd()), &st); err != nil {
		return &os.PathError{Op: "statfs", Path: path, Err: err}
	}
	fuse := func() (string, error) {
		b, err := os.ReadFile("/proc/self/mountinfo")
		return mountType(string(b), unix.Major(dev), unix.Minor(dev)), err
	}
	return judge(path, uint64(uint32(st.Type)), fuse)
}

// Free returns how many bytes an ordinary account may still write to the disk of
// path, and how large it is.
func Free(path string) (free, size int64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return 0, 0, &os.PathError{Op: "statfs", Path: path, Err: err}
	}
	return int64(st.Bavail) * st.Bsize, int64(st.Blocks) * st.Bsize, nil
}

func judge(path string, magic uint64, fuse func() (string, error)) error {
	name, network := networkMagic[magic]
	if magic == fuseMagic {
		kind, err := fuse()
		if err != nil {
			return err
		}
		name, network = kind, !localFuse[kind]
	}
	if network {
		return fmt.Errorf("%s is on a network file system (%s), where locks can't be relied on: name a directory on a local disk", path, name)
	}
	return nil
}

// mountType finds the type of the mounted device in the text of mountinfo.
func mountType(mountinfo string, major, minor uint32) string {
	dev := fmt.Sprintf("%d:%d", major, minor)
	for line := range strings.Lines(mountinfo) {
		before, after, ok := strings.Cut(line, " - ")
		fields, kind := strings.Fields(before), strings.Fields(after)
		if ok && len(fields) > 2 && fields[2] == dev && len(kind) > 0 {
			return kind[0]
		}
	}
	return "unknown"
}
