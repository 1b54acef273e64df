package hierarchy

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"paddock/internal/kernfs"
)

// Find returns what of the hierarchies is this process's to use: its place in
// that of v2, and our folder in that of each given v1 controller. It makes
// nothing and changes nothing.
func Find(controllers ...string) (Tree, map[string]string) {
	mounts, err1 := kernfs.Read("/proc/self/mountinfo")
	own, err2 := kernfs.Read("/proc/self/cgroup")
	if err := errors.Join(err1, err2); err != nil {
		return Tree{Why: err.Error()}, nil
	}
	v2, v1 := parseHierarchies(string(mounts), string(own))
	folders := map[string]string{}
	for _, c := range controllers {
		if h, ok := v1[c]; ok {
			if folder := folderV1(h); folder != "" {
				folders[c] = folder
			}
		}
	}
	if v2 == nil {
		return Tree{Why: "no hierarchy is mounted for us to write"}, folders
	}
	return findV2(*v2), folders
}

// findV2 returns our folder in the topmost ancestor of our own cgroup that is
// ours to write: the top for root, the delegated subtree for a user who was
// given one. A process that moves must be allowed to write the common ancestor
// of both places, so folders beside that are no use.
func findV2(h hierarchy) Tree {
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
			controllers: Words(path.Join(at, "cgroup.controllers")),
			enabled:     Words(path.Join(at, "cgroup.subtree_control")),
			processes:   len(Words(path.Join(at, "cgroup.procs"))) > 0,
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

// writable reports whether the effective user may write there; a read-only
// mount isn't writable by anybody.
func writable(name string) bool {
	return unix.Faccessat(unix.AT_FDCWD, name, unix.W_OK, unix.AT_EACCESS) == nil
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// Words returns the words in a file, none if it can't be read: what isn't shown
// to us isn't ours to use.
func Words(name string) []string {
	b, err := kernfs.Read(name)
	if err != nil {
		return nil
	}
	return strings.Fields(string(b))
}
