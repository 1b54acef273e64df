package lifecycle

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"paddock/internal/contain/lifecycle/resource"
	"paddock/internal/kernfs"
)

// A Cgroup is a group of the cgroup v2 hierarchy made for one run, to end its
// tree and for nothing else. See package resource for one that also limits.
type Cgroup struct {
	*resource.Group
	// Procs takes the id of a process that joins, Kill takes "1" and ends all.
	Procs, Kill *os.File
}

// NewCgroup makes a cgroup called name for one run. It fails where no v2
// hierarchy is mounted, where it isn't ours to write, and on kernels without
// cgroup.kill (before 5.14).
func NewCgroup(name string) (*Cgroup, error) {
	host := resource.Probe()
	if host.V2.Folder == "" {
		return nil, notOurs(host)
	}
	plan, err := host.Plan(resource.Limits{})
	if err != nil {
		return nil, err
	}
	g, err := plan.Make(name)
	if err != nil {
		return nil, err
	}
	if g.KillFile() == nil {
		return nil, errors.Join(errors.New("this kernel has no cgroup.kill; Linux 5.14 has"), g.Remove())
	}
	return &Cgroup{Group: g, Procs: g.Join()[0], Kill: g.KillFile()}, nil
}

// EndCgroup ends what is left in the cgroups called name and removes them, for
// a run whose supervisor is gone. That there are none is the usual case.
func EndCgroup(name string) error {
	host := resource.Probe()
	var err error
	if host.V2.Folder != "" { // v1 has no way to end a group, and needs none: see Hold
		err = os.WriteFile(path.Join(host.V2.Folder, name, "cgroup.kill"), []byte("1"), 0)
		if errors.Is(err, os.ErrNotExist) {
			err = nil
		}
	}
	// What was killed a moment ago is still being buried.
	var busy []string
	var sweepErr error
	for deadline := time.Now().Add(2 * time.Second); ; {
		busy, sweepErr = host.Sweep(name, func(string) bool { return false })
		if len(busy) == 0 || time.Now().After(deadline) {
			break
		}
		<-time.After(5 * time.Millisecond)
	}
	if len(busy) > 0 {
		sweepErr = errors.Join(sweepErr, fmt.Errorf("cgroups that aren't empty: %s", strings.Join(busy, ", ")))
	}
	return errors.Join(err, sweepErr)
}

// Groups lists the names of the cgroups that runs have, or have left behind.
func Groups() ([]string, error) {
	var names []string
	_, err := resource.Probe().Sweep("", func(name string) bool {
		names = append(names, name)
		return true // all are somebody's
	})
	slices.Sort(names)
	return slices.Compact(names), err
}

// Place leaves the caller's cgroup if that is wanted, and says where we are.
func Place(leave bool) string {
	if leave {
		left, err := LeaveCaller()
		if err != nil {
			return "inherited: " + err.Error()
		}
		return left
	}
	if away := Away(); away != "" {
		return away // started ahead of need, when nobody knew for what
	}
	return "inherited"
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
	v2, at, err := supervisors()
	if err != nil {
		return "", err
	}
	err = os.WriteFile(path.Join(at, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0)
	if err != nil {
		return "", err
	}
	return path.Join(v2.Root, strings.TrimPrefix(at, v2.Mount)), nil
}

// Supervisors opens the cgroup that supervisors leave to, for one to be born
// there. It fails where [LeaveCaller] would.
func Supervisors() (*os.File, error) {
	_, at, err := supervisors()
	if err != nil {
		return nil, err
	}
	return os.Open(at)
}

// Away returns this process's cgroup, in the words of /proc/PID/cgroup, when it
// is the one that supervisors leave to; else it is empty.
func Away() string {
	b, err := kernfs.Read("/proc/self/cgroup")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(b)) {
		own, ok := strings.CutPrefix(strings.TrimSpace(line), "0::")
		if ok && strings.HasSuffix(own, "/"+path.Join(resource.Folder, resource.Supervisors)) {
			return own
		}
	}
	return ""
}

func supervisors() (resource.Tree, string, error) {
	v2 := resource.Probe().V2
	if v2.Folder == "" {
		return v2, "", notOurs(resource.Host{V2: v2})
	}
	at := path.Join(v2.Folder, resource.Supervisors)
	return v2, at, os.MkdirAll(at, 0o755)
}

func notOurs(host resource.Host) error {
	return fmt.Errorf("no cgroup is ours to write: %s", host.V2.Why)
}
