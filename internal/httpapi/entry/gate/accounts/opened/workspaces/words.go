package workspaces

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"paddock"
	"paddock/internal/store"
	"paddock/internal/workspace/apply/tree/place/worktree"
)

// A Workspace is a directory with a name.
type Workspace struct {
	ID    store.WorkspaceID `json:"id"`
	Owner store.UserID      `json:"owner_id"`
	Name  string            `json:"name"`
	Root  string            `json:"root"`
	// Path is below the root.
	Path    string    `json:"path"`
	Created time.Time `json:"created_at"`
}

// List is a list of them, with the roots in which more can be made.
type List struct {
	Workspaces []Workspace `json:"workspaces"`
	Roots      []string    `json:"roots"`
}

// NewWorkspace is one to be made. Root is one of those for workspaces; empty is the first.
type NewWorkspace struct {
	Name string `json:"name"`
	Root string `json:"root,omitempty"`
}

// A Clone is a repository to be cloned.
//
// Into is a directory of the workspace that it is cloned into, by one run; without it the
// workspace itself becomes the repository. Rev, in place of an address, is a branch or tag of
// the workspace's own repository, or the whole id of a commit: what comes of that is a worktree.
type Clone struct {
	URL     string           `json:"url,omitempty"`
	Into    string           `json:"into,omitempty"`
	Rev     string           `json:"rev,omitempty"`
	Timeout paddock.Duration `json:"timeout_ms,omitempty"`
}

type named struct {
	Name string `path:"name"`
}

// A below is a directory of a workspace, as a clone made it.
type below struct {
	named
	Into string `path:"into"`
}

// belowOf splits the name of a workspace from that of a directory in it, if there is one.
func belowOf(name string) (workspace, dir string, err error) {
	workspace, dir, has := strings.Cut(name, "/")
	if has && worktree.Directory(dir) != nil {
		err = missing() // like what isn't there, or isn't the caller's
	}
	return workspace, dir, err
}

// check refuses what can't be meant, and returns the worktree that is, if one is.
func (n Clone) check() (*worktree.Wanted, error) {
	switch {
	case n.URL != "" && n.Rev != "":
		return nil, paddock.Refused(paddock.InvalidRequest, "There are url and rev; a worktree is of the repository that is there, so say one of both.")
	case n.Rev != "":
		w := &worktree.Wanted{Rev: n.Rev, Into: n.Into}
		return w, w.Check()
	case n.Into != "":
		return nil, errors.Join(cloneable(n.URL), worktree.Directory(n.Into))
	}
	return nil, cloneable(n.URL)
}

func told(w store.Workspace) Workspace {
	return Workspace{w.ID, w.Owner, w.Name, w.Root, w.Path, w.Created.Time}
}

// cloneable refuses what isn't the address of a repository elsewhere. Whether git may go
// there is the policy's to say; that no address names a program is said here, too.
func cloneable(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || len(address) > 2000 || !utf8.ValidString(address) || strings.ContainsFunc(address, unicode.IsControl) ||
		!slices.Contains([]string{"https", "http", "ssh", "git"}, u.Scheme) || u.Host == "" ||
		strings.HasPrefix(u.Host, "-") || strings.HasPrefix(u.User.Username(), "-"):
		return paddock.Refused(paddock.InvalidRequest, "%.100q is no address of a repository; want one such as https://git.example.org/project.git.", address)
	case u.User != nil && u.Scheme != "ssh":
		r := paddock.Refused(paddock.InvalidRequest, "The address of the repository has a name or a password in it, which would be in records and lists.")
		r.Hint = "Leave it out; a policy's `secrets` can put a credential into the requests."
		return r
	}
	if _, has := u.User.Password(); has {
		return paddock.Refused(paddock.InvalidRequest, "The address of the repository has a password in it, which would be in records and lists.")
	}
	return nil
}
