//go:build linux

package disk

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestNetworkFileSystems(t *testing.T) {
	t.Parallel()
	const mounts = "22 1 253:0 / / rw - ext4 /dev/vda rw\n" +
		"70 22 0:50 / /mnt/far rw,nosuid shared:3 - fuse.sshfs host:/ rw\n" +
		"71 22 0:51 / /mnt/near rw - fuse.fuse-overlayfs near rw\n"
	for _, c := range []struct {
		name  string
		magic uint64
		minor uint32
		want  string
	}{
		{"ext4", unix.EXT4_SUPER_MAGIC, 0, ""},
		{"tmpfs", unix.TMPFS_MAGIC, 0, ""},
		{"overlay", unix.OVERLAYFS_SUPER_MAGIC, 0, ""},
		{"NFS", unix.NFS_SUPER_MAGIC, 0, "(NFS)"},
		{"CIFS", unix.CIFS_SUPER_MAGIC, 0, "(CIFS)"},
		{"SMB2", unix.SMB2_SUPER_MAGIC, 0, "(SMB2)"},
		{"9P", unix.V9FS_MAGIC, 0, "(9P)"},
		{"sshfs", fuseMagic, 50, "(fuse.sshfs)"},
		{"overlay by FUSE", fuseMagic, 51, ""},
		{"FUSE of an unknown kind", fuseMagic, 52, "(unknown)"},
	} {
		err := judge("/x", c.magic, func() (string, error) { return mountType(mounts, 0, c.minor), nil })
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	broken := errors.New("no /proc")
	if err := judge("/x", fuseMagic, func() (string, error) { return "", broken }); !errors.Is(err, broken) {
		t.Errorf("FUSE without a list of mounts: %v", err)
	}
}
