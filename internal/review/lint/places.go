package lint

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"paddock"
	"paddock/internal/policy/compiled/document"
	"paddock/internal/policy/compiled/environ"
	"paddock/internal/policy/compiled/pattern"
)

func within(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}

// writable is where programs can write, as the policy says it.
func (l *linter) writable() []string { return slices.Concat(l.file.Roots, l.file.Contain.Write) }

func (l *linter) real(p string) string { return cmp.Or(l.facts.Real[p], p) }

func (l *linter) roots() {
	for i, r := range l.source.Roots {
		at := "roots." + r.Value
		if why := l.tooWide(r.Value); why != "" {
			l.add("L021", at, r.At, fmt.Sprintf("The root %s %s.", r.Value, why), nil)
		}
		for j, outer := range l.source.Roots {
			if i != j && within(r.Value, outer.Value) {
				l.add("L022", at, r.At, fmt.Sprintf("The root %s lies inside the root %s.", r.Value, outer.Value), nil)
				break
			}
		}
		l.holdsPolicy(at, r)
	}
}

func (l *linter) holdsPolicy(at string, dir document.Text) {
	if l.facts.File != "" && within(l.facts.File, l.real(dir.Value)) {
		l.add("L020", at, dir.At, fmt.Sprintf("The policy, %s, lies inside %s.", l.facts.File, dir.Value), nil)
	}
}

var system = []string{"/", "/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/root", "/run", "/sbin", "/sys", "/usr", "/usr/bin", "/usr/lib", "/usr/local", "/usr/local/bin", "/var", "/var/lib", "/var/run", "/var/spool", "/home", "/opt", "/srv", "/tmp", "/mnt"}

// tooWide says what is wrong with letting programs work in dir.
func (l *linter) tooWide(dir string) string {
	switch {
	case dir == "/":
		return "is the whole machine"
	case l.facts.Home != "" && within(l.facts.Home, dir):
		return "holds your home directory"
	case slices.Contains(system, dir):
		return "belongs to the system"
	case path.Dir(dir) == "/home":
		return "is a person's home directory"
	}
	for _, s := range []string{"/boot", "/dev", "/etc", "/proc", "/sys", "/usr", "/bin", "/sbin", "/lib", "/lib64"} {
		if within(dir, s) {
			return "belongs to the system"
		}
	}
	return ""
}

var secrets = []string{".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", ".git-credentials", ".npmrc", ".pypirc", ".config/gcloud", ".config/gh", ".local/share/keyrings", ".password-store", ".mozilla"}

// sensitive says what is wrong with showing p to programs.
func (l *linter) sensitive(p string) string {
	for _, s := range secrets {
		if strings.HasSuffix(p, "/"+s) || strings.Contains(p, "/"+s+"/") {
			return "holds credentials"
		}
	}
	switch {
	case strings.HasSuffix(p, ".sock") || p == "/run" || p == "/var/run" || within(p, "/run") && strings.Contains(p, "docker"):
		return "is, or holds, a service's socket"
	case p == "/etc/shadow" || p == "/root" || p == "/":
		return "holds credentials"
	case l.facts.Home != "" && within(l.facts.Home, p) || path.Dir(p) == "/home" || p == "/home":
		return "holds a home directory, and what is secret in it"
	}
	return ""
}

func (l *linter) containment() {
	c, at := l.source.Containment, l.source.Sections["containment"]
	if c.Require == paddock.Off {
		l.add("L060", "containment", at, "`require: off` contains nothing.", nil)
	} else if c.Network == "host" {
		l.add("L061", "containment", at, "`network: host` is the machine's own network.", nil)
	}
	for _, w := range c.Write {
		if why := l.tooWide(w.Value); why != "" {
			l.add("L062", "containment.write."+w.Value, w.At, fmt.Sprintf("Programs may write in %s, which %s.", w.Value, why), nil)
		}
		l.holdsPolicy("containment.write."+w.Value, w)
	}
	for _, list := range []struct {
		name  string
		texts []document.Text
	}{{"read", c.Read}, {"write", c.Write}} {
		for _, p := range list.texts {
			if why := l.sensitive(p.Value); why != "" {
				l.add("L063", "containment."+list.name+"."+p.Value, p.At, fmt.Sprintf("%s %s.", p.Value, why), nil)
			}
		}
	}
}

func (l *linter) limits() {
	s := l.source.Limits
	at, ok := l.source.Sections["limits"]
	if !ok {
		at = l.source.Sections["containment"]
	}
	if l.source.Containment.Require == paddock.Off {
		var missing []string
		if s.Memory == 0 {
			missing = append(missing, "memory")
		}
		if s.Processes == 0 {
			missing = append(missing, "processes")
		}
		if missing != nil {
			l.add("L050", "limits", at, fmt.Sprintf("Nothing limits %s.", strings.Join(missing, " and ")), nil)
		}
	}
	l.longTime("limits", s, at)
}

func (l *linter) longTime(place string, s document.Limits, at paddock.Position) {
	if time.Duration(s.Timeout) > 24*time.Hour && s.Idle == 0 && l.source.Limits.Idle == 0 {
		l.add("L051", place, at, fmt.Sprintf("A run may take %s, and print nothing all the time.", s.Timeout), nil)
	}
}

// loaders are the variables by which programs load code before their own.
var loaders = []string{"LD_PRELOAD", "LD_AUDIT", "LD_LIBRARY_PATH", "BASH_ENV", "ENV", "PYTHONSTARTUP", "PYTHONPATH", "PERL5OPT", "PERL5LIB", "RUBYOPT", "RUBYLIB", "NODE_OPTIONS", "NODE_PATH", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "GCONV_PATH", "GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF", "PROMPT_COMMAND"}

func (l *linter) environment(place string, e document.Environment) {
	at := strings.TrimSuffix(place, ".environment")
	for _, t := range e.Pass {
		if environ.IsSteering(t.Value) && !harmless[t.Value] {
			l.add("L040", at, t.At, fmt.Sprintf("%s is passed on from Paddock's own environment.", t.Value), nil)
		}
	}
	for _, p := range e.Set {
		if slices.Contains(loaders, p.Name.Value) {
			l.add("L042", at, p.Name.At, fmt.Sprintf("%s makes programs load what it names.", p.Name.Value), nil)
		}
	}
	for _, p := range e.Accept {
		token, err := pattern.ParseToken(p.Value.Value)
		if err == nil && !slices.ContainsFunc([]string{"-x", "/etc/x", "a b", "@x", "x=y;z"}, func(w string) bool { return !token.Match(w) }) {
			l.add("L041", at, p.Value.At, fmt.Sprintf("A caller may set %s to anything that `%s` matches.", p.Name.Value, p.Value.Value), nil)
		}
	}
}

// harmless are steering variables whose values only choose among what is there.
var harmless = map[string]bool{"GOTOOLCHAIN": true, "USER": true, "LOGNAME": true}

func (l *linter) rules() {
	words := l.file.Words()
	for _, r := range l.file.Rules {
		at := "rules." + r.Name
		variables, executables := r.Rule.Mentions()
		if len(variables) == 0 {
			l.add("L033", at, r.At, fmt.Sprintf("Rule `%s` names no variable of the request.", r.Name), nil)
		}
		for _, word := range executables {
			if !slices.Contains(words, word) {
				l.add("L034", at, r.At, fmt.Sprintf("Rule `%s` compares `executable` with `%s`, and no executable is called so.", r.Name, word), nil)
			}
		}
	}
}
