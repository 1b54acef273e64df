package contain

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"

	"paddock/internal/contain/resource"
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

// LeaveCaller moves this process out of its caller's cgroup, so that ending the
// caller's service or login session doesn't end it too. It returns the cgroup
// it moved to, in the words of /proc/PID/cgroup.
//
// Where the v2 hierarchy isn't ours to write (an ordinary user without a
// delegated subtree) it fails and the process stays where it was.
func LeaveCaller() (string, error) {
	v2 := resource.Probe().V2
	if v2.Folder == "" {
		return "", notOurs(resource.Host{V2: v2})
	}
	at := path.Join(v2.Folder, resource.Supervisors)
	if err := os.MkdirAll(at, 0o755); err != nil {
		return "", err
	}
	err := os.WriteFile(path.Join(at, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0)
	if err != nil {
		return "", err
	}
	return path.Join(v2.Root, strings.TrimPrefix(at, v2.Mount)), nil
}

func notOurs(host resource.Host) error {
	return fmt.Errorf("no cgroup is ours to write: %s", host.V2.Why)
}
