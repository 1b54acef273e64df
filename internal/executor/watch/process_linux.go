package watch

import (
	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/rundir/record/process"
)

// KillVerified ends the process p, and no other that has its id by now.
func KillVerified(p paddock.Process) error {
	pidfd, err := unix.PidfdOpen(p.PID, 0)
	if err != nil {
		return err
	}
	defer unix.Close(pidfd)
	if !process.Alive(p) { // looked at after it was opened
		return unix.ESRCH
	}
	return unix.PidfdSendSignal(pidfd, unix.SIGKILL, nil, 0)
}
