package testproc

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// descriptors returns this process's open descriptors, each with its target.
func descriptors() map[string]bool {
	const dir = "/proc/self/fd"
	open := map[string]bool{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		panic(fmt.Sprintf("testproc: /proc is needed to look for leaks: %v", err))
	}
	for _, e := range entries {
		target, err := os.Readlink(filepath.Join(dir, e.Name()))
		if err != nil || runtimeOwn(target) {
			continue // the descriptor by which the directory was read is closed by now
		}
		open[e.Name()+" → "+target] = true
	}
	return open
}

// children returns this process's children, zombies too: those whose parent in
// /proc/PID/stat is us.
func children() map[string]bool {
	kids := map[string]bool{}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		panic(err) // only for a malformed pattern
	}
	for _, name := range stats {
		stat, err := os.ReadFile(name)
		if err != nil {
			continue // gone meanwhile
		}
		// "PID (COMM) STATE PPID …", where COMM may hold anything, ")" too.
		text := string(stat)
		end := strings.LastIndexByte(text, ')')
		fields := strings.Fields(text[end+1:])
		if end < 0 || len(fields) < 2 || fields[1] != strconv.Itoa(os.Getpid()) {
			continue
		}
		kids[text[:end+1]+" "+fields[0]] = true
	}
	return kids
}
