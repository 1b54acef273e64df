package resource

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"paddock/internal/contain/lifecycle/resource/early"
	"paddock/internal/contain/lifecycle/resource/hierarchy"
	"paddock/internal/kernfs"
)

// A Group holds one run: a cgroup in each hierarchy that its plan needs, none
// if rlimits hold all. Its methods don't change it, but for Remove, which must
// be called once and last.
type Group struct {
	directories []made
	join        []*os.File
	thread      []*os.File
	kill        *os.File
}

// made is a directory that was made for a group, and the files that were set there.
type made struct {
	kind, path string
	set        []File
}

// Supervisors is the one name in our folder that is no run's: supervisors move
// there when they leave their caller.
const Supervisors = "supervisors"

// Make makes the group called name. On failure nothing of it is left.
func (p Plan) Make(name string) (*Group, error) {
	if err := usable(name); err != nil {
		return nil, err
	}
	g := &Group{}
	for _, d := range p.Directories {
		if err := g.add(d, name); err != nil {
			return nil, errors.Join(err, g.Remove())
		}
	}
	return g, nil
}

func usable(name string) error {
	if name == "" || name == Supervisors || name[0] == '.' || early.Is(name) || strings.ContainsAny(name, "/\n\x00") {
		return fmt.Errorf("%q can't be the name of a group", name)
	}
	return nil
}

func (g *Group) add(d Directory, name string) error {
	if err := prepare(d); err != nil {
		return err
	}
	at := path.Join(d.Folder, name)
	if err := os.Mkdir(at, 0o755); err != nil {
		return err
	}
	g.directories = append(g.directories, made{d.Kind, at, d.Files})
	for _, f := range d.Files {
		if err := write(at, f); err != nil {
			return fmt.Errorf("%s = %s: %w", f.Name, f.Value, err)
		}
	}
	procs, err := os.OpenFile(path.Join(at, "cgroup.procs"), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	g.join = append(g.join, procs)
	if d.Kind != CgroupV2 {
		tasks, err := os.OpenFile(path.Join(at, "tasks"), os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		g.thread = append(g.thread, tasks)
		return nil
	}
	g.thread = append(g.thread, procs)
	g.kill, err = os.OpenFile(path.Join(at, "cgroup.kill"), os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // Linux before 5.14
	}
	return err
}

// prepare makes our folder and sees to it that it hands down the controllers.
func prepare(d Directory) error {
	if err := os.Mkdir(d.Folder, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if len(d.Enable) == 0 {
		return nil
	}
	if err := enable(path.Dir(d.Folder), hierarchy.Words(path.Join(d.Folder, "cgroup.controllers")), d.Enable); err != nil {
		return err
	}
	return enable(d.Folder, hierarchy.Words(path.Join(d.Folder, "cgroup.subtree_control")), d.Enable)
}

// enable hands down the wanted controllers that aren't yet.
func enable(at string, already, wanted []string) error {
	for _, c := range wanted {
		if slices.Contains(already, c) {
			continue
		}
		if err := kernfs.Write(path.Join(at, "cgroup.subtree_control"), "+"+c); err != nil {
			return fmt.Errorf("enable the %s controller: %w", c, err)
		}
	}
	return nil
}

func write(at string, f File) error {
	return f.settled(kernfs.Write(path.Join(at, f.Name), f.Value))
}

// settled is err of writing the file, unless that is as good as written.
func (f File) settled(err error) error {
	if f.Optional && errors.Is(err, fs.ErrNotExist) || f.Held && errors.Is(err, syscall.EINVAL) {
		return nil
	}
	return err
}

// Join returns the files to each of which a process writes "0" to be held, as
// long as the group isn't removed. Whoever starts the program does it after the
// last fork and before the exec.
func (g *Group) Join() []*os.File { return g.join }

// JoinThread returns the files for a process of a single thread. With cgroup v1 they spare
// the kernel the wait, some ten milliseconds, for all others to be between fork and exit.
func (g *Group) JoinThread() []*os.File { return g.thread }

// KillFile returns the file that ends all members at once when "1" is written,
// or nil where there is none.
func (g *Group) KillFile() *os.File { return g.kill }

var errNoCgroup = errors.New("this group has no cgroup that knows its members")

// Members returns the ids of the processes inside, sorted.
func (g *Group) Members() ([]int, error) {
	if len(g.directories) == 0 {
		return nil, errNoCgroup
	}
	var pids []int
	for _, d := range g.directories {
		b, err := kernfs.Read(path.Join(d.path, "cgroup.procs"))
		if err != nil {
			return nil, err
		}
		for field := range strings.FieldsSeq(string(b)) {
			pid, err := strconv.Atoi(field)
			if err != nil || pid <= 0 { // zero is one that our PID namespace doesn't show
				return nil, fmt.Errorf("%s: %q isn't a process id", d.path, field)
			}
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return slices.Compact(pids), nil
}

// Remove closes the descriptors and removes the directories. A cgroup whose last
// process has just been reaped can be busy for a moment: Remove tries again for
// at most a second.
func (g *Group) Remove() error {
	for _, f := range append(append(g.join, g.thread...), g.kill) {
		if f != nil {
			_ = f.Close() // nothing was buffered, and closing again is harmless
		}
	}
	deadline := time.Now().Add(time.Second)
	var failed []error
	for _, d := range slices.Backward(g.directories) {
		if err := remove(d.path, deadline); err != nil {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

func remove(at string, deadline time.Time) error {
	for {
		err := unix.Rmdir(at)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if !errors.Is(err, syscall.EBUSY) || time.Now().After(deadline) {
			return &os.PathError{Op: "rmdir", Path: at, Err: err}
		}
		<-time.After(5 * time.Millisecond)
	}
}

// folders are those that are ours.
func (h Host) folders() []string {
	all := []string{h.V2.Folder}
	for _, folder := range h.V1 {
		all = append(all, folder)
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(folder string) bool { return folder == "" })
}

// Sweep removes the empty groups in our folders whose name begins with prefix and of which
// no run is active. It returns the names of those that still have processes.
func (h Host) Sweep(prefix string, active func(name string) bool) (busy []string, err error) {
	return early.Clear(h.folders(), func(name string) bool { return name == Supervisors || !strings.HasPrefix(name, prefix) || active(name) })
}
