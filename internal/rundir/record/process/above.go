package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"paddock"
)

// mostAbove bounds how far up is looked.
const mostAbove = 1000

// Above names the processes from which the one with this id descends, nearest first.
// One that ends meanwhile ends the list.
func Above(pid int) (above []paddock.Process, err error) {
	for range mostAbove {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return nil, err
		}
		fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
		if len(fields) < 2 {
			return nil, errors.New("a process's stat is too short")
		}
		if pid, err = strconv.Atoi(fields[1]); err != nil {
			return nil, err
		}
		if pid == 0 { // the first of the machine, or of a namespace
			return above, nil
		}
		one, err := Of(pid)
		if errors.Is(err, os.ErrProcessDone) {
			return above, nil
		}
		if err != nil {
			return nil, err
		}
		above = append(above, one)
	}
	return above, nil
}

// Namespace is what the kernel calls the PID namespace of the process with this id;
// empty where it doesn't tell, or the process is gone.
func Namespace(pid int) string {
	name, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid))
	if err != nil {
		return "" // and equal to no other
	}
	return name
}
