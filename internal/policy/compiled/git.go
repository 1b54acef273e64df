package compiled

import (
	"path"
	"strings"
	"time"

	"paddock"
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

// gitEnvironment is all that git gets to know: nothing of the host, of the user
// or of other configuration than the repository's own, no way to ask anybody, no
// protocol, no lock that it can do without. EMPTY is what settings are set to.
var gitEnvironment = [][2]string{
	{"HOME", "/nonexistent"}, {"XDG_CONFIG_HOME", "/nonexistent"}, {"LC_ALL", "C"}, {"LANG", "C"}, {"TZ", "UTC"}, {"EMPTY", ""},
	{"GIT_CONFIG_GLOBAL", "/dev/null"}, {"GIT_CONFIG_SYSTEM", "/dev/null"}, {"GIT_CONFIG_NOSYSTEM", "1"}, {"GIT_ATTR_NOSYSTEM", "1"},
	{"GIT_PAGER", "cat"}, {"PAGER", "cat"}, {"TERM", "dumb"}, {"GIT_TERMINAL_PROMPT", "0"}, {"GIT_ASKPASS", "/bin/false"}, {"SSH_ASKPASS", "/bin/false"},
	{"GIT_SSH_COMMAND", "/bin/false"}, {"GIT_EDITOR", "/bin/false"}, {"GIT_ALLOW_PROTOCOL", ""}, {"GIT_PROTOCOL_FROM_USER", "0"},
	{"GIT_NO_LAZY_FETCH", "1"}, {"GIT_NO_REPLACE_OBJECTS", "1"}, {"GIT_OPTIONAL_LOCKS", "0"}, {"GIT_LITERAL_PATHSPECS", "1"},
	{"GIT_TRACE", "0"}, {"GIT_TRACE2", "0"}, {"GIT_TRACE2_EVENT", "0"}, {"GIT_TRACE2_PERF", "0"}, {"GIT_TRACE_SETUP", "0"}, {"GIT_FLUSH", "0"},
}

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
	if g.SHA256.Given() {
		x.Pin = paddock.Digest("sha256:" + strings.ToLower(strings.TrimPrefix(g.SHA256.Value, "sha256:")))
	} else {
		x.Pin = f.Pins()[x.Path]
	}
	for _, v := range gitEnvironment {
		x.Environment.Set = append(x.Environment.Set, program.Variable{Name: v[0], Value: v[1]})
	}
	x.SetRules(nil)
	out := &File{
		Name: f.Name, Digest: f.Digest, Roots: c.gitRoots(f.Roots, g.Roots), Executables: []*Executable{x},
		Rules: f.Rules, Limits: x.Limits, Concurrent: f.Concurrent, Quotas: f.Quotas, Reserve: f.Reserve, Sections: map[string]paddock.Position{"roots": f.Sections["git"], "limits": f.Sections["limits"]},
		byWord: map[string]*Executable{"git": x}, search: environ.Path([]string{x.Path}),
	}
	out.Contain = paddock.ContainAs{Level: f.Contain.Level, Network: "none", ReadOnly: f.Contain.Level != paddock.Off, RunAs: f.Contain.RunAs}
	if out.Contain.Level == paddock.Off {
		out.Contain.Network = "host"
	}
	return out
}

// gitRoots returns the absolute paths of roots, each inside of one of around.
func (c *compiler) gitRoots(around []string, roots []document.Text) []string {
	if len(roots) == 0 {
		return around
	}
	var out []string
	for _, r := range roots {
		where := r.Value
		if !path.IsAbs(where) && len(around) > 0 {
			where = path.Join(around[0], where)
		}
		where = path.Clean(where)
		inside := false
		for _, root := range around {
			inside = inside || where == root || strings.HasPrefix(where, strings.TrimSuffix(root, "/")+"/")
		}
		if !inside {
			c.fault(r.At, "this repository isn't inside of a root; list it under `roots`, or name one that is")
		}
		out = append(out, where)
	}
	return out
}
