package screen

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"paddock"
)

// enforced says what held a run, one line for each thing that the kernel was told.
func enforced(e *paddock.Enforced) [][2]string {
	if e == nil {
		return nil
	}
	if e.Level == paddock.Off {
		return [][2]string{{"enforced", "nothing: containment was off"}}
	}
	f := [][2]string{{"enforced", string(e.Level) + ", " + privileges(e)}}
	if len(e.Namespaces) > 0 {
		f = append(f, [2]string{"namespaces", strings.Join(e.Namespaces, ", ")})
	}
	files := "the machine's"
	if e.Mounts != "" {
		files = "a " + e.Mounts + " view"
	}
	if e.LandlockABI > 0 {
		files += fmt.Sprintf(", Landlock ABI %d", e.LandlockABI)
	}
	f = append(f, [2]string{"files", files}, [2]string{"network", network(e)})
	if e.Filter != "" {
		f = append(f, [2]string{"calls", "filter " + e.Filter.Short()})
	}
	if len(e.Protected) > 0 {
		f = append(f, [2]string{"protected", QuoteAll(e.Protected)})
	}
	for _, name := range slices.Sorted(maps.Keys(e.Limits)) {
		means := "held by " + Plain(e.Limits[name])
		if e.Limits[name] == "none" {
			means = "not held"
		}
		f = append(f, [2]string{Plain(name), means})
	}
	return f
}

func privileges(e *paddock.Enforced) string {
	if e.NoNewPrivileges {
		return "no new privileges"
	}
	return "privileges could be gained"
}

func network(e *paddock.Enforced) string {
	switch e.Network {
	case "none":
		return "none"
	case "host":
		return "the machine's"
	case "allowlist":
		return "listed hosts, through a proxy"
	}
	return Plain(e.Network)
}

// limits are those of the whole tree that a run was given; what enforces them
// stands with what the kernel was told.
func limits(l paddock.Limits) [][2]string {
	var f [][2]string
	if l.Memory > 0 {
		f = append(f, [2]string{"memory", "at most " + Size(l.Memory)})
	}
	if l.Processes > 0 {
		f = append(f, [2]string{"processes", fmt.Sprint("at most ", l.Processes)})
	}
	if l.CPUs > 0 {
		f = append(f, [2]string{"cpus", fmt.Sprint("at most ", l.CPUs)})
	}
	if l.Disk > 0 {
		f = append(f, [2]string{"disk", "at most " + Size(l.Disk) + " written"})
	}
	if l.FileSize > 0 {
		f = append(f, [2]string{"file size", "at most " + Size(l.FileSize)})
	}
	return f
}
