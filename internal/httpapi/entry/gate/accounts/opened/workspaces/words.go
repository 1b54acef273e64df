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
// the workspace's own repository: what comes of that is a worktree.
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
	if has && directory(dir) != nil {
		err = missing() // like what isn't there, or isn't the caller's
	}
	return workspace, dir, err
}

// directory refuses what can't be the name of a directory that a clone makes: one that
// would be a flag, a path, hidden, or written differently elsewhere.
func directory(name string) error {
	const first = "abcdefghijklmnopqrstuvwxyz0123456789"
	if name == "" || len(name) > 64 || !strings.Contains(first, name[:1]) || strings.Trim(name, first+"-_.") != "" {
		return paddock.Refused(paddock.InvalidRequest, "%.80q can't be a directory of a workspace; its name has at most 64 of a-z, 0-9, -, _ and dots, and begins with a letter or digit.", name)
	}
	return nil
}

// revision refuses what can't be the name of a branch or tag.
func revision(rev string) error {
	const first = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
	if len(rev) > 200 || !strings.Contains(first, rev[:1]) || strings.Trim(rev, first+"-./+") != "" || strings.Contains(rev, "..") {
		return paddock.Refused(paddock.InvalidRequest, "%.100q is no branch or tag as it is wanted here: at most 200 letters, digits and -_./+, a letter or digit first.", rev)
	}
	return nil
}

// place is where in the workspace a clone goes, and the words for git; none where the
// workspace itself is to be the repository.
func (n Clone) place() (argv []string, err error) {
	switch {
	case n.URL != "" && n.Rev != "":
		return nil, paddock.Refused(paddock.InvalidRequest, "There are url and rev; a worktree is of the repository that is there, so say one of both.")
	case n.Rev != "":
		// Without hard links: else what runs in the worktree could write to the objects.
		argv, err = []string{"git", "clone", "--quiet", "--no-hardlinks", "--branch", n.Rev, "--", ".", n.Into}, errors.Join(revision(n.Rev), directory(n.Into))
	case n.Into != "":
		argv, err = []string{"git", "clone", "--quiet", "--", n.URL, n.Into}, errors.Join(cloneable(n.URL), directory(n.Into))
	default:
		err = cloneable(n.URL)
	}
	return argv, err
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
