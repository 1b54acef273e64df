// Package hierarchy finds where in the mounted hierarchies of cgroups this
// process is, and which part of them is its own to write.
//
// Our folder goes as high as we may write: at the top for root, at the delegated
// subtree for a user who was given one. What the kernel says is parsed by pure
// functions; [Find] reads it and tries what is writable.
//
// # Limits
//
// It makes nothing: package resource does, and finds out then what can't be
// foreseen here. It looks only at the way from a mount down to this process's
// own cgroup; a subtree that was delegated elsewhere isn't found.
package hierarchy

// A Tree is our place in the v2 hierarchy. The zero Tree is none.
type Tree struct {
	// Mount is where the hierarchy is mounted, or the part Root of it. Folder is
	// where our groups go.
	Mount, Root, Folder string
	// Controllers are those that our groups can be given.
	Controllers []string
	// Why says why Folder is empty.
	Why string
}
