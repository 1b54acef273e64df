package compiled

import (
	"strings"
	"time"

	"paddock"
	"paddock/internal/policy/compiled/above"
	"paddock/internal/policy/compiled/document"
	"paddock/internal/policy/compiled/environ"
	"paddock/internal/policy/compiled/pattern/program"
)

// What one run of a git tool may take, where the policy doesn't say less.
const (
	gitTimeout  = paddock.Duration(60 * time.Second)
	gitOutput   = 32 << 20
	gitArgBytes = 8192
	gitArgs     = 4096
)

// git makes the file that judges the git tools: one program, in its own roots,
// which may read there and nothing else. Rules and limits are those of f.
func (c *compiler) git(f *File, g document.Git) *File {
	if !g.Executable.Given() {
		return nil
	}
	x := &Executable{
		At: g.Executable.At, Name: "git", Path: g.Executable.Value, Any: true, ArgsAt: g.Executable.At,
		Limits: f.Limits, LimitsAt: f.Sections["limits"], LineBreaks: true, MaxArgBytes: gitArgBytes, MaxArgs: gitArgs,
	}
	x.Limits.Timeout, x.Limits.Output = min(x.Limits.Timeout, gitTimeout), min(x.Limits.Output, gitOutput)
	x.Limits.AtLimit = paddock.AtLimitEnd // a list that lacks its end isn't taken for whole
	if g.SHA256.Given() {
		x.Pin = paddock.Digest("sha256:" + strings.ToLower(strings.TrimPrefix(g.SHA256.Value, "sha256:")))
	} else {
		x.Pin = f.Pins()[x.Path]
	}
	for _, v := range environ.Git {
		x.Environment.Set = append(x.Environment.Set, program.Variable{Name: v[0], Value: v[1]})
	}
	x.SetRules(nil)
	out := &File{
		Name: f.Name, Digest: f.Digest, Roots: above.Roots(f.Roots, values(g.Roots), c.each(g.Roots)), Executables: []*Executable{x},
		Rules: f.Rules, Limits: x.Limits, Concurrent: f.Concurrent, Quotas: f.Quotas, Reserve: f.Reserve, Sections: map[string]paddock.Position{"roots": f.Sections["git"], "limits": f.Sections["limits"]},
		byWord: map[string]*Executable{"git": x}, search: environ.Path([]string{x.Path}),
	}
	out.Contain = paddock.ContainAs{Level: f.Contain.Level, Network: "none", ReadOnly: f.Contain.Level != paddock.Off, RunAs: f.Contain.RunAs}
	out.Contain.Read = above.Stores(f.Roots, out.Roots, values(g.Repositories), c.each(g.Repositories))
	if out.Contain.Level == paddock.Off {
		out.Contain.Network = "host"
	} else { // what a repository names is no program of git's, so nothing else is executed
		out.Contain.Exec, out.Contain.Executes = paddock.ListedExec, []string{x.Path}
	}
	return out
}

// each tells of a fault of one of texts.
func (c *compiler) each(texts []document.Text) func(i int, message string) {
	return func(i int, message string) { c.fault(texts[i].At, "%s", message) }
}
