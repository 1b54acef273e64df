// Package place makes directories below a root, and removes them, by names of which no
// link is a part: what somebody put there in place of a directory leads nowhere else.
//
// # Limits
//
// The root's own name is the operator's, and links in it are followed. Whose a directory
// is, and whether somebody works in it, is known by who asks. Linux only.
package place

import (
	"fmt"
	"io/fs"
	"strings"
)

// wrong says why a name can't be one directory's.
func wrong(name string) error {
	if name == "" || name == "." || name == ".." || len(name) > 255 || strings.ContainsAny(name, "/\x00") {
		return fmt.Errorf("%.60q can't be the name of a directory", name)
	}
	return nil
}

// astray says why a path can't be one of directories below a root; "." is the root.
func astray(p string) error {
	if !fs.ValidPath(p) || strings.Contains(p, "\x00") || len(p) > 4096 {
		return fmt.Errorf("%.60q can't be a path of directories", p)
	}
	return nil
}
