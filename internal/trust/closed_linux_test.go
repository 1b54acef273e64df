package trust

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// list is an access control list as the kernel wants it.
func list(entries ...[3]uint32) []byte {
	b := binary.LittleEndian.AppendUint32(nil, aclVersion)
	for _, e := range entries {
		b = binary.LittleEndian.AppendUint16(b, uint16(e[0]))
		b = binary.LittleEndian.AppendUint16(b, uint16(e[1]))
		b = binary.LittleEndian.AppendUint32(b, e[2])
	}
	return b
}

// A file is closed when nobody but its owner, root and we can read it, whichever way that
// is said.
func TestClosed(t *testing.T) {
	t.Parallel()
	const none = 1<<32 - 1
	us, them := uint32(os.Geteuid()), uint32(os.Geteuid()+1)
	owner, mask, other := [3]uint32{1, 6, none}, [3]uint32{0x10, 4, none}, [3]uint32{aclOther, 0, none}
	group := func(allows uint32) [3]uint32 { return [3]uint32{aclGroupObj, allows, none} }
	for _, c := range []struct {
		name string
		mode os.FileMode
		list []byte
		want string
	}{
		{"ours alone", 0o600, nil, ""},
		{"a group's", 0o640, nil, "mode 0640"},
		{"everybody's", 0o604, nil, "mode 0604"},
		{"a list that names us", 0o600, list(owner, [3]uint32{aclUser, 4, us}, group(0), mask, other), ""},
		{"a list that names another", 0o600, list(owner, [3]uint32{aclUser, 4, them}, group(0), mask, other), "by user"},
		{"a list that names nobody", 0o600, list(owner, group(0), other), ""},
		{"a list and a group", 0o600, list(owner, [3]uint32{aclUser, 4, us}, group(4), mask, other), "by a group"},
		{"a list that names a group", 0o600, list(owner, group(0), [3]uint32{aclGroup, 4, 7}, mask, other), "by a group"},
		{"a list that says nothing to them", 0o600, list(owner, [3]uint32{aclUser, 0, them}, group(0), mask, other), ""},
	} {
		name := filepath.Join(t.TempDir(), "file")
		err := errors.Join(os.WriteFile(name, []byte("x"), c.mode), os.Chmod(name, c.mode))
		if err == nil && c.list != nil {
			err = unix.Setxattr(name, "system.posix_acl_access", c.list, 0)
			if errors.Is(err, unix.ENOTSUP) {
				t.Skip("this file system has no access control lists")
			}
		}
		if err != nil {
			t.Fatal(c.name, err)
		}
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		err = User().Closed(f)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, broken := range [][]byte{nil, {2, 0, 0, 0, 1}, {3, 0, 0, 0}} {
		if err := User().closedBy(broken); err == nil {
			t.Errorf("%v is believed", broken)
		}
	}
}
