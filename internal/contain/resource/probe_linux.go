package resource

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// Probe finds what this process may use. It makes nothing and changes nothing.
func Probe() Host {
	h := Host{V1: map[string]string{}, Hard: hardLimits()}
	mounts, err1 := os.ReadFile("/proc/self/mountinfo")
	own, err2 := os.ReadFile("/proc/self/cgroup")
	if err := errors.Join(err1, err2); err != nil {
		h.V2.Why = err.Error()
		return h
	}
	v2, v1 := parseHierarchies(string(mounts), string(own))
	for _, controller := range []string{"memory", "pids", "cpu"} {
		if hierarchy, ok := v1[controller]; ok {
			h.V1[controller] = folderV1(hierarchy)
		}
	}
	if v2 == nil {
		h.V2.Why = "no hierarchy is mounted for us to write"
		return h
	}
	h.V2 = probeV2(*v2)
	return h
}

// probeV2 returns our folder in the topmost ancestor of our own cgroup that is
// ours to write: the top for root, the delegated subtree for a user who was
// given one. A process that moves must be allowed to write the common ancestor
// of both places, so folders beside that are no use.
func probeV2(h hierarchy) Tree {
	for _, at := range h.ancestors() {
		t := Tree{Mount: h.mount, Root: h.root, Folder: path.Join(at, ownFolder)}
		switch {
		case path.Base(at) == ownFolder: // we run inside one of our own runs
			t.Folder = at
			if !writable(at) {
				continue
			}
		case !writable(path.Join(at, "cgroup.procs")) || !writable(at) && !writable(t.Folder):
			continue
		}
		p := place{
			controllers: words(path.Join(at, "cgroup.controllers")),
			enabled:     words(path.Join(at, "cgroup.subtree_control")),
			processes:   len(words(path.Join(at, "cgroup.procs"))) > 0,
			top:         !exists(path.Join(at, "cgroup.type")),
		}
		t.Controllers = p.offers()
		return t
	}
	return Tree{Why: fmt.Sprintf("nothing from %s to %s is ours to write", h.mount, path.Join(h.mount, h.own))}
}

// folderV1 returns our folder in the topmost ancestor that is ours to write, or
// one that somebody made and gave to us.
func folderV1(h hierarchy) string {
	for _, at := range h.ancestors() {
		folder := path.Join(at, ownFolder)
		switch {
		case path.Base(at) == ownFolder && writable(at):
			return at
		case writable(folder) || !exists(folder) && writable(at):
			return folder
		}
	}
	return ""
}

func hardLimits() map[int]uint64 {
	hard := map[int]uint64{}
	if os.Geteuid() == 0 {
		return hard // root may raise them
	}
	for _, resource := range []int{rlimitCPU, rlimitFsize, rlimitNproc, rlimitNofile, rlimitAS} {
		var r unix.Rlimit
		if err := unix.Getrlimit(resource, &r); err == nil && r.Max != unix.RLIM_INFINITY {
			hard[resource] = r.Max
		}
	}
	return hard
}

// writable reports whether the effective user may write there; a read-only
// mount isn't writable by anybody.
func writable(name string) bool {
	return unix.Faccessat(unix.AT_FDCWD, name, unix.W_OK, unix.AT_EACCESS) == nil
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// words returns the words in a file, none if it can't be read: what isn't shown
// to us isn't ours to use.
func words(name string) []string {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	return strings.Fields(string(b))
}
