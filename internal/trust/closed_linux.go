package trust

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// The tags of a POSIX ACL's entries, and its permissions, as the kernel keeps them.
const (
	aclUser     = 0x02
	aclGroupObj = 0x04
	aclGroup    = 0x08
	aclOther    = 0x20
	aclVersion  = 2
)

// Closed says why others than the owner, root and o can read f; nil if nobody can. Where
// a file has an access control list, the mode's bits of its group are a mask and say
// nothing: systemd hands credentials over with a list that names the service's user.
func (o Owner) Closed(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	mode := info.Mode().Perm()
	open := fmt.Errorf("can be read by others (mode %04o)", mode)
	switch {
	case mode&0o077 == 0:
		return nil
	case mode&0o007 != 0:
		return open
	}
	list := make([]byte, 4096)
	n, err := unix.Fgetxattr(int(f.Fd()), "system.posix_acl_access", list)
	if errors.Is(err, unix.ENODATA) || errors.Is(err, unix.ENOTSUP) {
		return open // the bits are the group's
	}
	if err != nil {
		return fmt.Errorf("can be read by others, perhaps: its access control list: %w", err)
	}
	return o.closedBy(list[:n])
}

// closedBy looks at an access control list.
func (o Owner) closedBy(list []byte) error {
	if len(list) < 4 || (len(list)-4)%8 != 0 || binary.LittleEndian.Uint32(list) != aclVersion {
		return errors.New("can be read by others, perhaps: its access control list has another form")
	}
	for e := list[4:]; len(e) > 0; e = e[8:] {
		tag, allows, id := binary.LittleEndian.Uint16(e), binary.LittleEndian.Uint16(e[2:]), binary.LittleEndian.Uint32(e[4:])
		if allows == 0 {
			continue
		}
		switch {
		case tag == aclUser && id != 0 && id != o.uid:
			return fmt.Errorf("can be read by user %d, by its access control list", id)
		case tag == aclGroup, tag == aclGroupObj, tag == aclOther:
			return errors.New("can be read by a group or by everybody, by its access control list")
		}
	}
	return nil
}
