package contain

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ownDirectory is the folder below which all our cgroups are made.
const ownDirectory = "paddock"

// supervisorsDirectory is the one in it that supervisors leave to.
const supervisorsDirectory = "supervisors"

var errNoCgroup2 = errors.New("no cgroup v2 hierarchy is mounted")

// A Cgroup is a directory of the cgroup v2 hierarchy made for one run.
type Cgroup struct {
	path string
	// Procs takes the id of a process that joins, Kill takes "1" and ends all.
	Procs, Kill *os.File
}

// NewCgroup makes a cgroup called name for one run. It fails where no v2
// hierarchy is mounted, where it isn't ours to write, and on kernels without
// cgroup.kill (before 5.14).
func NewCgroup(name string) (*Cgroup, error) {
	base, err := writableBase()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(base, name)
	if err := os.Mkdir(path, 0o755); err != nil {
		return nil, err
	}
	c := &Cgroup{path: path}
	if c.Procs, err = os.OpenFile(filepath.Join(path, "cgroup.procs"), os.O_WRONLY, 0); err == nil {
		c.Kill, err = os.OpenFile(filepath.Join(path, "cgroup.kill"), os.O_WRONLY, 0)
	}
	if err != nil {
		return nil, errors.Join(err, c.Remove())
	}
	return c, nil
}

// Members returns the ids of the processes inside.
func (c *Cgroup) Members() ([]int, error) {
	b, err := os.ReadFile(filepath.Join(c.path, "cgroup.procs"))
	if err != nil {
		return nil, err
	}
	var pids []int
	for field := range strings.FieldsSeq(string(b)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			return nil, fmt.Errorf("%s: %q isn't a process id", c.path, field)
		}
		pids = append(pids, pid)
	}
	return pids, nil
}

// Remove closes the descriptors and removes the directory. A cgroup whose last
// process has just been reaped can be busy for a moment: Remove tries again for
// at most a second.
func (c *Cgroup) Remove() error {
	for _, f := range []*os.File{c.Procs, c.Kill} {
		if f != nil {
			_ = f.Close() // nothing was buffered
		}
	}
	deadline := time.Now().Add(time.Second)
	for {
		err := os.Remove(c.path)
		if err == nil || !errors.Is(err, syscall.EBUSY) || time.Now().After(deadline) {
			return err
		}
		<-time.After(5 * time.Millisecond)
	}
}

// EndCgroup ends what is left in the cgroup called name and removes it, for a
// run whose supervisor is gone. That there is none is the usual case.
func EndCgroup(name string) error {
	base, err := writableBase()
	if err != nil {
		return nil // where none can be made there is none to end
	}
	c := &Cgroup{path: filepath.Join(base, name)}
	err = os.WriteFile(filepath.Join(c.path, "cgroup.kill"), []byte("1"), 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return errors.Join(err, c.Remove())
}

// LeaveCaller moves this process out of its caller's cgroup, so that ending the
// caller's service or login session doesn't end it too. It returns the cgroup
// it moved to, in the words of /proc/PID/cgroup.
//
// Where the v2 hierarchy isn't ours to write (an ordinary user without a
// delegated subtree) it fails and the process stays where it was.
//
// Moving makes the kernel wait for all its processors, some ten milliseconds,
// so a supervisor is better born in its place: see [Supervisors].
func LeaveCaller() (string, error) {
	if away := Away(); away != "" {
		return away, nil
	}
	path, err := supervisors()
	if err != nil {
		return "", err
	}
	err = os.WriteFile(filepath.Join(path, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0)
	if err != nil {
		return "", err
	}
	mount, err := mountPoint()
	if err != nil {
		return "", err
	}
	return strings.TrimPrefix(path, mount), nil
}

// Supervisors opens the cgroup that supervisors leave to, for one to be born
// there. It fails where [LeaveCaller] would.
func Supervisors() (*os.File, error) {
	path, err := supervisors()
	if err != nil {
		return nil, err
	}
	return os.Open(path)
}

// Away returns this process's cgroup, in the words of /proc/PID/cgroup, when it
// is the one that supervisors leave to; else it is empty.
func Away() string {
	own, err := ownCgroup()
	if err != nil || !strings.HasSuffix(own, "/"+ownDirectory+"/"+supervisorsDirectory) {
		return ""
	}
	return own
}

func supervisors() (string, error) {
	base, err := writableBase()
	if err != nil {
		return "", err
	}
	path := filepath.Join(base, supervisorsDirectory)
	if err := os.Mkdir(path, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	return path, nil
}

// writableBase returns our folder in the nearest ancestor of our own cgroup,
// topmost first, that lets us make one: the top for root, the delegated subtree
// for a user who was given one. A process that moves must be allowed to write
// the common ancestor of both places, so folders further down are no use.
func writableBase() (string, error) {
	mount, err := mountPoint()
	if err != nil {
		return "", err
	}
	own, err := ownCgroup()
	if err != nil {
		return "", err
	}
	var last error
	at := mount
	for _, part := range append([]string{""}, strings.Split(strings.Trim(own, "/"), "/")...) {
		at = filepath.Join(at, part)
		if filepath.Base(at) == ownDirectory { // we run inside one of our own runs
			return at, nil
		}
		base := filepath.Join(at, ownDirectory)
		err := os.Mkdir(base, 0o755)
		if err == nil || errors.Is(err, os.ErrExist) && syscall.Access(base, 2 /* W_OK */) == nil {
			return base, nil
		}
		last = err
	}
	return "", fmt.Errorf("no cgroup is ours to write: %w", last)
}

func mountPoint() (string, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		// 36 35 98:0 /root /mount/point options - type source superoptions
		before, after, ok := strings.Cut(lines.Text(), " - ")
		fields := strings.Fields(before)
		if ok && strings.HasPrefix(after, "cgroup2 ") && len(fields) >= 5 && fields[3] == "/" {
			return fields[4], nil
		}
	}
	return "", errNoCgroup2
}

func ownCgroup() (string, error) {
	b, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(b)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			return path, nil
		}
	}
	return "", errNoCgroup2
}
