package workspaces

import (
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
type Clone struct {
	URL     string           `json:"url"`
	Timeout paddock.Duration `json:"timeout_ms,omitempty"`
}

type named struct {
	Name string `path:"name"`
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
