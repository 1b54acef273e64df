// Package denied hears what the kernel refused a run, so that its caller can be
// told: the filter hands denied system calls to a listener, which answers each
// with an error and counts it; and a network namespace without a way out counts
// what found no route.
//
// # Limits
//
// Nothing is decided here: every call that arrives is refused, whatever it is.
// File accesses that mounts or Landlock refuse aren't heard of; the program's own
// message tells of those.
package denied

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/contain/filter"
)

// most bounds how many kinds of calls are told apart; the rest is counted as one.
const most = 64

// A Listener answers the denied calls of one run and counts them.
type Listener struct {
	file   *os.File
	routes []*os.File
	counts map[[2]string]int64
	other  int64
	lost   int64 // what found no way out
	done   chan struct{}
}

// notification is struct seccomp_notif.
type notification struct {
	id         uint64
	pid, flags uint32
	data       filter.SeccompData
}

// response is struct seccomp_notif_resp.
type response struct {
	id    uint64
	value int64
	err   int32
	flags uint32
}

// Routes opens what counts, in the network namespace of a process, what found no
// way out. It is to be opened before the program is one, which may be over in no
// time: the files belong to the namespace, which they keep.
func Routes(pid int) (files []*os.File) {
	for _, name := range []string{"snmp", "snmp6"} {
		path := fmt.Sprintf("/proc/%d/net/%s", pid, name)
		if fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0); err == nil { // nobody waits for it
			files = append(files, os.NewFile(uintptr(fd), path))
		}
	}
	return files
}

// Listen answers until no process of the run is left. routes are those of its own
// network namespace, if it has one. The Listener owns them, and file, which may be
// nil.
func Listen(file *os.File, routes []*os.File) *Listener {
	l := &Listener{file: file, routes: routes, counts: map[[2]string]int64{}, done: make(chan struct{})}
	if file == nil {
		close(l.done)
	} else {
		go l.answer()
	}
	return l
}

func (l *Listener) answer() {
	defer close(l.done)
	defer l.file.Close()
	fds := []unix.PollFd{{Fd: int32(l.file.Fd()), Events: unix.POLLIN}}
	for {
		if _, err := unix.Poll(fds, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
		if fds[0].Revents&unix.POLLIN == 0 {
			if fds[0].Revents&(unix.POLLHUP|unix.POLLERR|unix.POLLNVAL) != 0 {
				l.unrouted() // the last process with the filter is gone
				return
			}
			continue
		}
		var n notification
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, l.file.Fd(), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&n))); errno != 0 {
			continue // its process has ended meanwhile
		}
		l.count(n.data)
		r := response{id: n.id, err: -int32(filter.Denied)}
		// It fails when the process has ended meanwhile; then nobody waits.
		_, _, _ = unix.Syscall(unix.SYS_IOCTL, l.file.Fd(), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&r)))
	}
}

func (l *Listener) count(data filter.SeccompData) {
	name, args := filter.Describe(runtime.GOARCH, data)
	key := [2]string{name, args}
	if _, known := l.counts[key]; !known && len(l.counts) >= most {
		l.other++
		return
	}
	l.counts[key]++
}

// Denials returns what was refused, most often first, when the run's last
// process is gone. Where some are not, gone is false, and nothing is known.
func (l *Listener) Denials(gone bool) []paddock.Denial {
	if !gone {
		return nil
	}
	<-l.done
	var all []paddock.Denial
	for key, n := range l.counts {
		all = append(all, paddock.Denial{Call: key[0], Arguments: key[1], Count: n, Text: filter.Explain(key[0], key[1])})
	}
	if l.other > 0 {
		all = append(all, paddock.Denial{Call: "other", Count: l.other, Text: "the program made many other system calls that runs aren't given"})
	}
	if l.unrouted(); l.lost > 0 {
		all = append(all, paddock.Denial{Call: "network", Count: l.lost, Text: "the run tried to reach the network; the policy gives it none"})
	}
	slices.SortFunc(all, func(a, b paddock.Denial) int {
		if a.Count != b.Count {
			return int(min(max(b.Count-a.Count, -1), 1))
		}
		return strings.Compare(a.Call+a.Arguments, b.Call+b.Arguments)
	})
	return all
}

// unrouted counts, once, what found no way out. It is for when no process is left.
func (l *Listener) unrouted() {
	text := make([]byte, 0, 4<<10) // for both: memory that nobody has touched takes longer than reading
	for _, f := range l.routes {
		for n := 1; n > 0; {
			n, _ = f.Read(text[len(text):cap(text)])
			text = slices.Grow(text[:len(text)+max(n, 0)], 512)
		}
		l.lost += noRoutes(string(text))
		text = text[:0]
		_ = f.Close() // read only
	}
	l.routes = nil
}

// noRoutes returns how many packets found no route, by the counters of IPv4
// (a line of names, a line of numbers) or IPv6 (a name and a number a line).
func noRoutes(text string) int64 {
	var names []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "Ip") {
			continue
		}
		fields := strings.Fields(line)
		switch {
		case len(fields) == 2 && fields[0] == "Ip6OutNoRoutes":
			return number(fields[1])
		case len(fields) > 1 && fields[0] == "Ip:" && names == nil:
			names = fields
		case len(fields) > 1 && fields[0] == "Ip:":
			if i := slices.Index(names, "OutNoRoutes"); i > 0 && i < len(fields) {
				return number(fields[i])
			}
		}
	}
	return 0
}

func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
