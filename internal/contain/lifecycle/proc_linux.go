package lifecycle

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"paddock/internal/kernfs"
)

// FirstChild returns a child of the single-threaded process pid, or zero.
func FirstChild(pid int) int {
	id := strconv.Itoa(pid)
	b, err := kernfs.Read("/proc/" + id + "/task/" + id + "/children")
	if err != nil {
		return 0
	}
	for field := range strings.FieldsSeq(string(b)) {
		if child, err := strconv.Atoi(field); err == nil {
			return child
		}
	}
	return 0
}

// Descendants returns the processes below pid as /proc shows them now, nearest
// first. Without a namespace this is all there is; it can miss what forks.
func Descendants(pid int) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	children := map[int][]int{}
	for _, entry := range entries {
		if child, err := strconv.Atoi(entry.Name()); err == nil {
			if parent := parentOf(child); parent != 0 {
				children[parent] = append(children[parent], child)
			}
		}
	}
	found := slices.Clone(children[pid])
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i]]...)
	}
	return found
}

func parentOf(pid int) int {
	b, err := kernfs.Read("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	// pid (name, which may contain anything) state parent …
	_, after, _ := strings.Cut(string(b[strings.LastIndexByte(string(b), ')')+1:]), " ")
	fields := strings.Fields(after)
	if len(fields) < 2 {
		return 0
	}
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		return 0
	}
	return parent
}
