// Package process names live processes so that a name never comes to mean
// another one: by id, start time and start of the machine.
//
// # Limits
//
// It looks and signals nothing. Where the kernel hides other users' processes,
// they aren't there.
package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"paddock"
)

var bootID = sync.OnceValue(func() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "" // equal to no recorded id, and judged as unknown
	}
	return strings.TrimSpace(string(b))
})

// BootID names this start of the machine; empty when the kernel doesn't tell.
func BootID() string { return bootID() }

// Of names the live process with this id; os.ErrProcessDone when there
// is none, or only a zombie.
func Of(pid int) (paddock.Process, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) { // ESRCH: gone between open and read
		return paddock.Process{}, os.ErrProcessDone
	}
	if err != nil {
		return paddock.Process{}, err
	}
	state, ticks, err := parseStat(b)
	if err != nil {
		return paddock.Process{}, fmt.Errorf("process %d: %w", pid, err)
	}
	if state == 'Z' || state == 'X' {
		return paddock.Process{}, os.ErrProcessDone
	}
	return paddock.Process{PID: pid, StartTicks: ticks, BootID: BootID()}, nil
}

// Alive reports whether p is still there: this id, begun at this tick of this
// start of the machine. A process that isn't wholly known isn't alive.
func Alive(p paddock.Process) bool {
	if p.PID <= 0 || p.StartTicks == 0 || p.BootID == "" || p.BootID != BootID() {
		return false
	}
	now, err := Of(p.PID)
	return err == nil && now == p
}

// parseStat returns the state and the start time out of /proc/PID/stat. The
// program's name, in parentheses, may hold anything, parentheses too.
func parseStat(b []byte) (state byte, ticks uint64, err error) {
	end := bytes.LastIndexByte(b, ')')
	if end < 0 {
		return 0, 0, errors.New("its stat has no name")
	}
	const third, startTime = 3, 22 // fields count from one; the third follows the name
	fields := strings.Fields(string(b[end+1:]))
	if len(fields) <= startTime-third || len(fields[0]) != 1 {
		return 0, 0, errors.New("its stat is too short")
	}
	ticks, err = strconv.ParseUint(fields[startTime-third], 10, 64)
	return fields[0][0], ticks, err
}
