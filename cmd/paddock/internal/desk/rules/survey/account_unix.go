//go:build unix

package survey

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
	"syscall"
)

// RunAs returns whose account what root runs in the directory root is to have: that
// of the directory's owner, or of a user who owns nothing where that is root.
func RunAs(root string) (account string, owns bool) {
	info, err := os.Stat(root)
	if err == nil {
		if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 {
			return named(st.Uid, st.Gid), true
		}
	}
	const nobody = 65534 // by convention, also where it has no name
	return named(nobody, nobody), false
}

// odd is in no name that a policy could hold without thinking about it.
func odd(r rune) bool { return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789_.-", r) }

// named returns the name of the user uid, if that is a plain one and its own group
// isn't root's, or else uid and a group in numbers.
func named(uid, gid uint32) string {
	if u, err := user.LookupId(strconv.FormatUint(uint64(uid), 10)); err == nil && u.Gid != "0" && !strings.ContainsFunc(u.Username, odd) {
		return u.Username
	}
	if gid == 0 {
		gid = uid
	}
	return fmt.Sprintf("%d:%d", uid, gid)
}
