// Package acting does something as another account, for one thread of a process
// that is root.
//
// # Limits
//
// Only the effective identity changes, so that the thread can become root again.
// Whoever could run code in the thread could do so, too: nothing is contained.
package acting

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"paddock"
)

// As calls do with the effective identity of account and without supplementary
// groups. Files are opened as root nevertheless, though without root's power over
// those of others. The goroutine must be locked to its thread; a process forked by do
// stays as do was.
func As(account paddock.Account, do func()) error {
	groups, err := unix.Getgroups()
	if err != nil {
		return fmt.Errorf("groups: %w", err)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var caps [2]unix.CapUserData
	if err := unix.Capget(&header, &caps[0]); err != nil {
		return fmt.Errorf("capabilities: %w", err)
	}
	const nobody = 1<<32 - 1 // the kernel takes it for "as it is"
	if account.UID == 0 || account.GID == 0 || account.UID == nobody || account.GID == nobody {
		return fmt.Errorf("act as %s: that is root, or nobody", account)
	}
	gid := uintptr(os.Getegid()) // of this thread, so it is asked before
	// Who may not do this may not do any of it, and there is nothing to take back.
	if err := setGroups(nil); err != nil {
		return fmt.Errorf("act as uid %d: %w", account.UID, err)
	}
	defer again(gid, groups)
	err = inOrder(
		change(unix.SYS_SETRESGID, same, uintptr(account.GID), same),
		change(unix.SYS_SETRESUID, same, uintptr(account.UID), same),
		change(unix.SYS_SETFSUID, 0),
		change(unix.SYS_SETFSGID, gid),
		// Some kernels give user namespaces only to those who have capabilities.
		func() error { return unix.Capset(&header, &caps[0]) },
		// What /proc has of a process that can be dumped belongs to its effective user.
		func() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) },
	)
	if err != nil {
		return fmt.Errorf("act as uid %d: %w", account.UID, err)
	}
	do()
	return nil
}

// again makes the thread root again. It can't fail while the real identity is
// root's; a thread that stayed somebody else would be worse than none.
func again(gid uintptr, groups []int) {
	err := inOrder(
		change(unix.SYS_SETRESUID, same, 0, same),
		change(unix.SYS_SETRESGID, same, gid, same),
		func() error { return setGroups(groups) },
	)
	if err != nil {
		panic("paddock: bug: a thread can't become root again: " + err.Error())
	}
}

// same leaves an id as it is.
const same = ^uintptr(0)

// change makes a system call for this thread alone: Go's own would change all.
func change(nr uintptr, args ...uintptr) func() error {
	return func() error {
		var a [3]uintptr
		copy(a[:], args)
		_, _, errno := syscall.RawSyscall(nr, a[0], a[1], a[2])
		// The calls for files return who it was before.
		if errno != 0 && nr != unix.SYS_SETFSUID && nr != unix.SYS_SETFSGID {
			return errno
		}
		return nil
	}
}

func setGroups(groups []int) error {
	list := make([]uint32, len(groups)+1)
	for i, g := range groups {
		list[i] = uint32(g)
	}
	_, _, errno := syscall.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(groups)), uintptr(unsafe.Pointer(unsafe.SliceData(list))), 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// inOrder does one after the other until one fails.
func inOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
