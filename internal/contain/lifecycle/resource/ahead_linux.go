package resource

import (
	"errors"
	"fmt"
	"slices"

	"paddock/internal/contain/lifecycle/resource/early"
)

// An Ahead is what holds a run, made before it is known which: to make it takes longer than
// to set it. No process was ever in it. Nil is none.
type Ahead struct{ directories []*early.Directory }

// MakeAhead makes it for a run with limits as most have, where cgroup v1 holds them.
func (h Host) MakeAhead() *Ahead {
	for _, folder := range h.folders() {
		early.Sweep(folder)
	}
	plan, err := h.Plan(Limits{Memory: 1 << 30, Processes: 1, Accept: Accept{Unenforced: []string{Memory, Processes}}})
	if err != nil {
		return nil
	}
	a := &Ahead{}
	for _, d := range plan.Limiting() {
		names := []string{"cgroup.procs", "tasks"}
		for _, f := range d.Files {
			names = append(names, f.Name)
		}
		var made *early.Directory
		if err = errors.ErrUnsupported; d.Kind == CgroupV1 {
			if err = prepare(d); err == nil {
				made, err = early.Make(d.Folder, names...)
			}
		}
		if err != nil {
			_ = a.Remove() // what stays is swept
			return nil
		}
		a.directories = append(a.directories, made)
	}
	return a
}

// Give makes it the group of plan that is called name, if it is as that one is to be.
// Otherwise, and where anything fails, nothing of it is left.
func (a *Ahead) Give(plan Plan, name string) (*Group, error) {
	g := &Group{}
	if a == nil || !slices.EqualFunc(a.directories, plan.Directories, func(d *early.Directory, as Directory) bool {
		return as.Kind == CgroupV1 && as.Folder == d.Folder()
	}) {
		return nil, errors.Join(errors.New("another is needed"), a.Remove())
	}
	if err := usable(name); err != nil {
		return nil, errors.Join(err, a.Remove())
	}
	for i, d := range a.directories {
		if err := g.take(d, plan.Directories[i], name); err != nil {
			return nil, errors.Join(err, g.Remove(), a.Remove())
		}
	}
	a.directories = nil
	return g, nil
}

// take sets d, gives it its name, and has it be a part of the group.
func (g *Group) take(d *early.Directory, as Directory, name string) error {
	for _, f := range as.Files {
		if err := f.settled(d.Set(f.Name, f.Value)); err != nil {
			return fmt.Errorf("%s = %s: %w", f.Name, f.Value, err)
		}
	}
	procs, err := d.Take("cgroup.procs")
	if err != nil {
		return err
	}
	g.join = append(g.join, procs)
	tasks, err := d.Take("tasks")
	if err != nil {
		return err
	}
	g.thread = append(g.thread, tasks)
	at, err := d.Name(name)
	if err == nil {
		g.directories = append(g.directories, made{as.Kind, at, as.Files})
	}
	return err
}

// Remove takes it away, unless it was given.
func (a *Ahead) Remove() error {
	if a == nil { // that, too
		return nil
	}
	var err error
	for _, d := range a.directories {
		err = errors.Join(err, d.Remove())
	}
	a.directories = nil
	return err
}
