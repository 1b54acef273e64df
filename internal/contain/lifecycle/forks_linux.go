package lifecycle

import (
	"cmp"
	"errors"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// endOfMemory is beyond what any process has; madvise passes over what isn't there.
const endOfMemory = ^uintptr(0) &^ (1<<16 - 1)

// KeepFromForks keeps all memory of this process, but keep and what of its
// executable is never written, out of the processes that are forked from it from
// now on: they are made faster, and hold nothing of ours. What is forked and
// shares memory, as all that package os starts, doesn't notice.
func KeepFromForks(keep ...[2]uintptr) error {
	image, err := ownImage()
	if err != nil {
		return err
	}
	kept := append([][2]uintptr{image, {endOfMemory, endOfMemory}}, keep...)
	slices.SortFunc(kept, func(a, b [2]uintptr) int { return cmp.Compare(a[0], b[0]) })
	from := uintptr(0)
	for _, k := range kept {
		if k[0] > from {
			err = errors.Join(err, advise(from, k[0], unix.MADV_DONTFORK))
		}
		from = k[1]
	}
	for _, k := range keep { // what was kept out before may be wanted now
		err = errors.Join(err, advise(k[0], k[1], unix.MADV_DOFORK))
	}
	return err
}

// TakeIntoForks undoes KeepFromForks.
func TakeIntoForks() error {
	parts, err := ownMemory()
	if err != nil {
		return err
	}
	for _, p := range parts {
		if strings.HasPrefix(p.name, "[v") { // the kernel's own, never kept out for long
			continue
		}
		if err := advise(p.from, p.to, unix.MADV_DOFORK); err != nil {
			return err
		}
	}
	return nil
}

func advise(from, to uintptr, advice uintptr) error {
	_, _, errno := syscall.Syscall(unix.SYS_MADVISE, from, to-from, advice)
	if errno != 0 && errno != unix.ENOMEM { // there are holes
		return errno
	}
	return nil
}

// A part is a mapping of this process.
type part struct {
	from, to   uintptr
	written    bool // or can be
	file, name string
}

func ownMemory() ([]part, error) {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil, err
	}
	var parts []part
	for line := range strings.Lines(string(maps)) {
		// 00400000-00712000 r-xp 00000000 fe:01 1234    /path
		fields := strings.Fields(line)
		if len(fields) < 5 {
			return nil, errors.New("/proc/self/maps can't be read")
		}
		first, last, _ := strings.Cut(fields[0], "-")
		from, err := strconv.ParseUint(first, 16, 64)
		to, err2 := strconv.ParseUint(last, 16, 64)
		if err := errors.Join(err, err2); err != nil {
			return nil, err
		}
		p := part{from: uintptr(from), to: uintptr(to), written: strings.Contains(fields[1], "w"), file: fields[3] + " " + fields[4]}
		if len(fields) > 5 {
			p.name = fields[5]
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// ownImage returns where the text and the constants of this program are.
var ownImage = sync.OnceValues(func() (image [2]uintptr, err error) {
	parts, err := ownMemory()
	if err != nil {
		return image, err
	}
	here, _, _, _ := runtime.Caller(0)
	text := slices.IndexFunc(parts, func(p part) bool { return p.from <= here && here < p.to })
	if text < 0 {
		return image, errors.New("/proc/self/maps doesn't show the executable")
	}
	for _, p := range parts {
		switch {
		case p.written || p.file != parts[text].file:
		case image[1] == 0:
			image = [2]uintptr{p.from, p.to}
		default:
			image[1] = p.to
		}
	}
	return image, nil
})

// IgnoredSignals returns the signals that this process ignores, as a set.
func IgnoredSignals() uint64 {
	const ignore = 1 // SIG_IGN
	var set uint64
	for signal := uintptr(1); signal <= 64; signal++ {
		var action [4]uintptr // struct sigaction of the kernel; it begins with the handler
		_, _, errno := syscall.RawSyscall6(unix.SYS_RT_SIGACTION, signal, 0, uintptr(unsafe.Pointer(&action)), 8, 0, 0)
		if errno == 0 && action[0] == ignore {
			set |= 1 << (signal - 1)
		}
	}
	return set
}
