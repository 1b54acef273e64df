package spawn

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/contain"
	"paddock/internal/contain/acting"
)

// forkAs forks, as account where there is one: the user namespace then belongs
// to that account and may map it, without anybody outside having to write the
// map. It stays so until the plan says otherwise; nothing of the run exists
// before that.
func forkAs(s *launch, account *paddock.Account) (pid int, err error) {
	var errno syscall.Errno
	forking := func() { pid, errno = fork(s) }
	if account == nil || s.flags&unix.CLONE_NEWUSER == 0 {
		forking()
	} else if err := acting.As(*account, forking); err != nil {
		return 0, &StartError{"identity", err}
	}
	if errno != 0 {
		return 0, &StartError{"clone", errno}
	}
	return pid, nil
}

// UserNamespace makes a user namespace in which nobody is, with these maps. It
// serves to show mounts with other owners; root alone can write such maps.
func UserNamespace(uidMap, gidMap string) (*os.File, error) {
	runtime.LockOSThread() // what is forked here ends with its thread
	defer runtime.UnlockOSThread()
	p := &Program{}
	spec := Spec{Argv: []string{"paddock"}, Plan: contain.NamespacePlan()}
	state, reports, err := p.forkHolder(&spec, cgroupFiles{})
	if err != nil {
		return nil, err
	}
	err = p.awaitStart(state, reports)
	if err == nil {
		err = errors.Join(writeMap(p.holder, "uid_map", uidMap), writeMap(p.holder, "gid_map", gidMap))
	}
	err = errors.Join(err, reports.Close()) // it waits for that
	p.reapHolder()
	if err != nil {
		return nil, errors.Join(err, p.socket.Close())
	}
	return p.socket, nil
}

func writeMap(pid int, name, text string) error {
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/%s", pid, name), []byte(text), 0); err != nil {
		return &StartError{"map of owners", err}
	}
	return nil
}
