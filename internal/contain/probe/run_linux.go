package probe

import (
	"errors"
	"fmt"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// Run attempts everything, in the order of [Table]. It locks its thread, which
// some attempts change; a program that calls it should end soon after.
func Run(t Targets) []Result {
	runtime.LockOSThread()
	results := make([]Result, 0, len(Table))
	for _, c := range Table {
		attempt, ok := attempts[c.ID]
		if !ok {
			panic("paddock: bug: no attempt for " + c.ID)
		}
		r := attempt(t)
		r.Check = c.ID
		results = append(results, r)
	}
	return results
}

var attempts = map[string]func(Targets) Result{
	"read_outside":       func(t Targets) Result { return opens(unix.O_RDONLY, t.Secret) },
	"root_only":          func(t Targets) Result { return opens(unix.O_RDONLY, t.RootOnly) },
	"link_from_outside":  links,
	"stat_outside":       func(t Targets) Result { return stats(t.Secret) },
	"write_outside":      writes,
	"write_system":       writesSystem,
	"attributes_outside": attributes,
	"state":              func(t Targets) Result { return opens(unix.O_RDWR, t.State) },
	"policy_and_keys":    func(t Targets) Result { return opens(unix.O_RDONLY, t.Policy, t.Key) },
	"other_root":         func(t Targets) Result { return opens(unix.O_RDWR, t.Other) },
	"protected":          protected,
	"tmp":                func(t Targets) Result { return opens(unix.O_RDONLY, t.Tmp) },
	"shm":                func(t Targets) Result { return opens(unix.O_WRONLY|unix.O_APPEND, t.Shm) },
	"etc":                func(t Targets) Result { return opens(unix.O_RDONLY, t.Etc) },
	"devices":            devices,
	"proc":               proc,
	"signals":            signals,
	"tracing":            tracing,
	"supervisor":         supervisor,
	"tcp":                tcp,
	"udp":                udp,
	"raw_sockets":        rawSockets,
	"loopback":           loopback,
	"unix_socket":        func(t Targets) Result { return connects(t.Socket) },
	"abstract_socket":    func(t Targets) Result { return connects(t.Abstract) },
	"setuid":             setuid,
	"capabilities":       capabilities,
	"identity":           identity,
	"mounts":             mounts,
	"namespaces":         namespaces,
	"kernel_calls":       kernelCalls,
	"terminal_input":     terminalInput,
	"core_dumps":         coreDumps,
	"descriptors":        descriptors,
	"terminal":           terminal,
	"open_files":         openFiles,
}

func held(format string, args ...any) Result {
	return Result{Held: true, Tried: true, Detail: fmt.Sprintf(format, args...)}
}

func broken(format string, args ...any) Result {
	return Result{Tried: true, Detail: fmt.Sprintf(format, args...)}
}

func untried(why string) Result { return Result{Detail: why} }

// A try is one of several attempts of a check: nil means that it worked.
type try struct {
	what string
	err  error
}

// all holds when no attempt worked.
func all(tries ...try) Result {
	var refused []string
	for _, t := range tries {
		if t.err == nil {
			return broken("%s: done", t.what)
		}
		refused = append(refused, t.what+": "+t.err.Error())
	}
	if len(refused) == 0 {
		return untried("there was nothing to attempt it on")
	}
	return held("%s", strings.Join(refused, "; "))
}

// refused turns what the kernel answered to a call with impossible arguments
// into nil where it would have carried out possible ones.
func refused(err error) error {
	for _, no := range []error{unix.EPERM, unix.EACCES, unix.ENOSYS} {
		if errors.Is(err, no) {
			return err
		}
	}
	return nil
}

// call makes a system call whose result, if it is a descriptor, is let go.
func call(nr uintptr, descriptor bool, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	n, _, errno := unix.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
	if errno != 0 {
		return errno
	}
	if descriptor {
		return unix.Close(int(n))
	}
	return nil
}
