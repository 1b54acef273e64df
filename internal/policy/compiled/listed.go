package compiled

import (
	"path"
	"slices"
	"strings"

	"paddock"
	"paddock/internal/policy/compiled/document"
)

// temporary are the directories that every program may write.
var temporary = []string{"/tmp", "/var/tmp", "/dev/shm"}

// listed says what the whole tree of a run may execute. A directory in which it
// could write would make that everything.
func (c *compiler) listed(f *File, source document.File) {
	contain := source.Containment
	if contain.Exec.Value != paddock.ListedExec {
		if len(contain.ExecAlso) > 0 {
			c.fault(contain.ExecAlso[0].At, "everything may be executed unless `exec: listed` stands beside `exec_also`; say so, or remove the list")
		}
		return
	}
	if contain.Require == paddock.Off {
		c.fault(contain.Exec.At, "`require: off` contains nothing, so `listed` would promise what isn't kept; require `standard` or `full`")
	}
	f.Contain.Exec = paddock.ListedExec
	for _, e := range source.Executables {
		f.Contain.Executes = append(f.Contain.Executes, e.Path.Value)
	}
	writable := slices.Concat(f.Roots, f.Contain.Write, temporary)
	for _, also := range contain.ExecAlso {
		f.Contain.Executes = append(f.Contain.Executes, also.Value)
		for _, dir := range writable {
			if Below(dir, also.Value) || Below(also.Value, dir) {
				c.fault(also.At, "programs may write in %s, so they could execute whatever they put into %s; name single executables, or a directory apart from it", dir, also.Value)
				break
			}
		}
	}
}

// Below reports whether inner is outer or lies below it.
func Below(outer, inner string) bool {
	return path.Clean(inner) == outer || strings.HasPrefix(inner, strings.TrimSuffix(outer, "/")+"/")
}
