package resource

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"paddock/internal/contain/lifecycle/resource/counts"
)

// Usage is what a tree has used so far.
type Usage = counts.Usage

// Usage reads what the tree has used, until Remove, also when all processes are gone.
func (g *Group) Usage() (Usage, error) {
	var u Usage
	for _, d := range g.directories {
		if err := u.Add(d.path, d.kind == CgroupV2); err != nil {
			return Usage{}, err
		}
	}
	return u, nil
}

// OOMKills is [Usage.OOMKills] alone: it reads only what holds the memory.
func (g *Group) OOMKills() (int, error) {
	return g.count("memory.", map[string]string{CgroupV2: "memory.events", CgroupV1: "memory.oom_control"}, "oom_kill")
}

// CPU is [Usage.CPU] alone.
func (g *Group) CPU() (used time.Duration, err error) {
	for _, d := range g.directories {
		r := counts.Reader{At: d.path}
		used = max(used, r.CPU(d.kind == CgroupV2))
		err = cmp.Or(err, r.Err)
	}
	return used, err
}

// ProcessLimitHits is [Usage.ProcessLimitHits] alone.
func (g *Group) ProcessLimitHits() (int, error) {
	return g.count("pids.", map[string]string{CgroupV2: "pids.events", CgroupV1: "pids.events"}, "max")
}

// count reads how often something happened, from the directory in which a file of
// the controller was set.
func (g *Group) count(controller string, file map[string]string, event string) (int, error) {
	for _, d := range g.directories {
		if slices.ContainsFunc(d.set, func(f File) bool { return strings.HasPrefix(f.Name, controller) }) {
			r := counts.Reader{At: d.path}
			return int(r.Counts(file[d.kind])[event]), r.Err
		}
	}
	return 0, nil
}
