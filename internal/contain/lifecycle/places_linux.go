package lifecycle

import (
	"paddock/internal/contain/lifecycle/resource"
	"paddock/internal/kernfs"
)

// Places are where this process can hold runs to limits, as that was found before there
// was one: to look takes as long as to make what holds it. They are good for as long as
// nothing was mounted, which whoever has them knows; that this process is in the same
// cgroups is looked at. Nil are those that are found when they are needed.
type Places struct {
	host  resource.Host
	own   string          // the cgroups that this process was in
	ahead *resource.Ahead // a group that was made there; nil is none
}

// FindPlaces finds them, and makes a group there for a run with limits as most have. They
// are to be closed.
func FindPlaces() *Places {
	own, err := kernfs.Read("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	host := resource.Probe()
	return &Places{host, string(own), host.MakeAhead()}
}

// group makes the group of plan, by what was made before if that fits. Nothing of that is
// left then.
func (p *Places) group(plan resource.Plan, name string) (*resource.Group, error) {
	if p != nil && p.ahead != nil {
		ahead := p.ahead
		p.ahead = nil
		if g, err := ahead.Give(plan, name); err == nil {
			return g, nil
		}
	}
	return plan.Make(name)
}

// Close takes away what was made for a run that didn't come, or needs something else. Nil
// may be closed, too, and all twice.
func (p *Places) Close() {
	if p == nil || p.ahead == nil {
		return
	}
	_ = p.ahead.Remove() // the next one sweeps
	p.ahead = nil
}

// plan plans how to hold l, by what was found before if that holds all of it: what
// couldn't be held then might be now.
func (p *Places) plan(l resource.Limits) (resource.Plan, error) {
	if p != nil {
		own, err := kernfs.Read("/proc/self/cgroup")
		if plan, bad := p.host.Plan(l); err == nil && bad == nil && string(own) == p.own && whole(plan, l) {
			return plan, nil
		}
	}
	return resource.Probe().Plan(l)
}

// whole reports whether plan holds every limit of a tree that l has.
func whole(plan resource.Plan, l resource.Limits) bool {
	for name, wanted := range map[string]bool{resource.Memory: l.Memory > 0, resource.Processes: l.Processes > 0, resource.CPUs: l.CPUs > 0} {
		if means := plan.Means[name]; wanted && (means == "" || means == resource.None) {
			return false
		}
	}
	return true
}
