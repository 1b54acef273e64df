package lint

import (
	"cmp"
	"fmt"
	"slices"

	"paddock"
	"paddock/internal/policy/compiled/document"
	"paddock/internal/review/lint/escape/tools"
)

// handers are the kinds of tools that hand their environment to whatever they run.
var handers = []string{"shell", "box of tools", "interpreter", "wrapper", "finder", "build tool", "package runner", "editor", "pager", "test runner", "version control"}

// runners are those of them that do what a file or word says.
var runners = []string{"shell", "box of tools", "interpreter", "wrapper"}

func ofKind(path string, kinds []string) string {
	if t := tools.Find(path); t != nil && slices.Contains(kinds, t.Kind) {
		return t.Kind
	}
	return ""
}

// secrets looks over who gets secrets, and who says them.
func (l *linter) secrets() {
	for _, s := range l.source.Secrets {
		at, used := "secrets."+s.Name.Value, s.Host.Given()
		for _, word := range s.EnvFor {
			for _, e := range l.source.Programs() {
				if word.Value != cmp.Or(e.Name.Value, e.Path.Value) {
					continue
				}
				used = used || l.starts(e)
				if kind := ofKind(e.Path.Value, handers); kind != "" {
					l.add("L080", at, word.At, fmt.Sprintf("%s gets %s, and is known as %s: so does what it runs.", word.Value, s.Name.Value, kind), nil)
				}
			}
		}
		if !used {
			l.add("L082", at, s.Name.At, fmt.Sprintf("No program that can be run gets %s.", s.Name.Value), nil)
		}
		if s.Exec == nil {
			continue
		}
		path := s.Exec.Executable.Path
		if !s.Exec.Executable.SHA256.Given() && l.file.Pins()[path.Value] == "" {
			l.add("L081", at, path.At, fmt.Sprintf("%s says %s, and isn't pinned.", path.Value, s.Name.Value), nil)
		}
		if kind := ofKind(path.Value, runners); kind != "" {
			l.add("L083", at, path.At, fmt.Sprintf("%s says %s, and is known as %s: it does what its words and files say.", path.Value, s.Name.Value, kind), nil)
		}
	}
}

// starts reports whether anything is allowed of e.
func (l *linter) starts(e document.Executable) bool {
	for _, p := range l.source.Delegates.Providers {
		if p.Executable.At == e.At {
			return l.source.Delegates.Agents
		}
	}
	return e.Any || slices.ContainsFunc(e.Args, func(r document.ArgumentRule) bool { return !r.Deny })
}

// quotas looks for those that never hold anybody back, or do so at once.
func (l *linter) quotas() {
	at := l.source.Sections["quotas"]
	quotas := []struct {
		name string
		of   paddock.Quota
	}{{"principal", l.source.Quotas.Principal}, {"total", l.source.Quotas.Total}}
	never := func(name, key, why string) {
		l.add("L052", "quotas."+name+"."+key, at, fmt.Sprintf("`%s` of %s never holds anybody back: %s.", key, name, why), nil)
	}
	for _, q := range quotas {
		hour, day := q.of.RunsPerHour, q.of.RunsPerDay
		switch {
		case hour > 0 && day > 0 && day >= 24*hour:
			never(q.name, "runs_per_day", "no more can be started by `runs_per_hour`")
		case hour > 0 && day > 0 && hour >= day:
			never(q.name, "runs_per_hour", "no more can be started by `runs_per_day`")
		}
		for _, size := range []struct {
			key  string
			most int64
		}{{"output_per_day", q.of.OutputPerDay}, {"kept", q.of.Kept}} {
			if size.most > 0 && size.most < l.file.Limits.Output {
				l.add("L053", "quotas."+q.name+"."+size.key, at, fmt.Sprintf("`%s` of %s is %d bytes, less than the %d that `limits` lets one run print.", size.key, q.name, size.most, l.file.Limits.Output), nil)
			}
		}
	}
	p, t := quotas[0].of, quotas[1].of
	for _, c := range []struct {
		key       string
		one, most int64
	}{
		{"runs_per_hour", int64(p.RunsPerHour), int64(t.RunsPerHour)}, {"runs_per_day", int64(p.RunsPerDay), int64(t.RunsPerDay)},
		{"output_per_day", p.OutputPerDay, t.OutputPerDay}, {"cpu_per_day", int64(p.CPUPerDay), int64(t.CPUPerDay)}, {"kept", p.Kept, t.Kept},
	} {
		if c.most > 0 && c.one >= c.most {
			never("principal", c.key, "that of all together is no higher")
		}
	}
}
