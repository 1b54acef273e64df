//go:build failpoints && unix

package failpoint

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// A plan is what shall happen. The zero plan is nothing.
type plan struct {
	name   string
	at     int64
	action string
	onward bool
	hit    string // the file to tell it to
	count  atomic.Int64
}

var armed = load()

func load() *plan {
	p := &plan{}
	self, err := os.Executable()
	if err != nil {
		return p
	}
	text, err := read(self + Suffix)
	words := strings.Fields(text)
	if err != nil || len(words) != 3 {
		return p
	}
	if p.at, err = strconv.ParseInt(words[1], 10, 64); err != nil {
		return &plan{}
	}
	p.name, p.hit = words[0], self+HitSuffix
	p.action, p.onward = strings.CutSuffix(words[2], "+")
	return p
}

// read goes round package os: that would open the runtime's poller, and a
// supervisor closes every descriptor that it doesn't expect when it begins.
func read(name string) (string, error) {
	fd, err := syscall.Open(name, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	var text [256]byte
	n, err := syscall.Read(fd, text[:])
	_ = syscall.Close(fd)
	return string(text[:max(n, 0)]), err
}

// At returns the error that the disk shall give at the point name.
func At(name string) error {
	p := armed
	if p.name != name && p.name != "*" {
		return nil
	}
	n := p.count.Add(1)
	if n < p.at || n > p.at && !p.onward {
		return nil
	}
	if n == p.at {
		p.tell(name)
	}
	switch p.action {
	case "kill":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the signal ends every thread, and this one must go no further
	case "EIO":
		return syscall.EIO
	case "ENOSPC":
		return syscall.ENOSPC
	}
	return nil
}

// Clock returns now as a machine has it whose clock is wrong, by as much as the file
// beside the binary says.
func Clock(now func() time.Time) func() time.Time {
	self, err := os.Executable()
	if err != nil {
		return now
	}
	text, err := read(self + ClockSuffix)
	wrong, bad := time.ParseDuration(strings.TrimSpace(text))
	if err != nil || bad != nil {
		return now
	}
	return func() time.Time { return now().Add(wrong) }
}

// Here is a point where nothing can fail, but everything can end.
func Here(name string) {
	if armed.action == "kill" {
		_ = At(name)
	}
}

func (p *plan) tell(name string) {
	f, err := os.OpenFile(p.hit, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return
	}
	_, _ = f.WriteString(name + " " + p.action + "\n")
	_ = f.Close()
}
