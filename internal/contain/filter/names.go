//go:build linux

package filter

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

//go:generate go test -run TestTable -update .

// A call is one system call of an architecture.
type call struct {
	nr   int32
	name string
}

// An architecture is what differs between the machines we run on.
type architecture struct {
	name  string
	audit uint32        // as the kernel marks its calls in seccomp_data
	calls func() []call // in ascending order of nr
}

// The tables are read when first needed, so that programs which need none don't
// start later.
var (
	architectures = []architecture{
		{"amd64", unix.AUDIT_ARCH_X86_64, sync.OnceValue(func() []call { return calls(amd64Calls) })},
		{"arm64", unix.AUDIT_ARCH_AARCH64, sync.OnceValue(func() []call { return calls(arm64Calls) })},
	}
	allowedByProfile = sync.OnceValue(func() map[string]bool { return words(profileCalls) })
)

func findArch(name string) (architecture, error) {
	for _, a := range architectures {
		if a.name == name {
			return a, nil
		}
	}
	return architecture{}, fmt.Errorf("no filter is known for the architecture %q; amd64 and arm64 are", name)
}

// Name returns the name of a system call of the architecture, given as GOARCH.
// What has no name is "syscall" with its number, so a record is never empty.
func Name(arch string, nr int32) string {
	if a, err := findArch(arch); err == nil {
		all := a.calls()
		i, ok := slices.BinarySearchFunc(all, nr, func(c call, nr int32) int { return int(c.nr) - int(nr) })
		if ok {
			return all[i].name
		}
	}
	return "syscall " + strconv.Itoa(int(nr))
}

// words splits a list of the generated table into a set.
func words(list string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(list) {
		set[w] = true
	}
	return set
}

// calls splits the generated list of "number:name". It panics on anything
// else: the list is part of the code, and every test reads it.
func calls(list string) []call {
	fields := strings.Fields(list)
	all := make([]call, len(fields))
	for i, f := range fields {
		nr, name, _ := strings.Cut(f, ":")
		n, err := strconv.ParseInt(nr, 10, 32)
		if err != nil || name == "" {
			panic("filter: malformed table: " + f)
		}
		all[i] = call{int32(n), name}
	}
	return all
}
