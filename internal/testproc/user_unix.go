//go:build unix

package testproc

import (
	"fmt"
	"os"
	"syscall"
	"testing"
)

// Nobody is the ordinary user as whom tests run programs.
const Nobody = 65534

// AsUser makes cmd run as the ordinary user uid, with the group of the same
// number and no others. Where the test may not do that it is skipped, or fails
// when PADDOCK_MUST_CONTAIN=1; where the test runs as that user already, there
// is nothing to do. The test binary itself is where only its maker may look, so
// a command made by [Self] runs a copy.
func AsUser(t testing.TB, cmd *Cmd, uid int) {
	t.Helper()
	if os.Geteuid() == uid {
		return
	}
	if os.Geteuid() != 0 {
		Skip(t, fmt.Sprintf("only root can run a program as user %d", uid))
	}
	if cmd.Path == self(t) {
		cmd.Path = copyOfSelf(t)
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}
}
