package contain

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"paddock"
)

// temporary are the directories that every program may write.
var temporary = []string{"/tmp", "/var/tmp", "/dev/shm"}

// listable refuses lists of what may be executed that wouldn't hold: what a
// program can write, it could exchange for anything.
func (w Wish) listable(host Host) error {
	if w.Listed == nil {
		return nil
	}
	if w.Level == paddock.Off {
		return fmt.Errorf("level off keeps nothing from being executed: %w", ErrUnavailable)
	}
	writable := slices.Concat([]string{w.Root, w.Home}, w.Write, temporary)
	if w.ReadOnly && w.Level != paddock.Full { // at full what lies in the root could be loaded as a library all the same
		writable = append([]string{w.Home}, w.Write...)
	}
	for _, dir := range writable {
		if dir == "" {
			continue
		}
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		if i := slices.IndexFunc(host.Libraries, func(lib string) bool { return below(lib, dir) }); i >= 0 && w.Level == paddock.Full {
			return fmt.Errorf("what lies in %s can be executed as libraries, and %s of this run lies there: %w", host.Libraries[i], dir, ErrUnavailable)
		}
		for _, e := range w.Listed {
			switch {
			case e.Dir && (below(dir, e.Real) || below(e.Real, dir)):
				return fmt.Errorf("`exec_also` has %s, and the run may write in %s: %w", e.Path, dir, ErrUnavailable)
			case !e.Dir && w.Level != paddock.Full && below(dir, e.Real):
				return fmt.Errorf("%s may be executed and lies in %s, where only level full keeps the run from exchanging it: %w", e.Path, dir, ErrUnavailable)
			}
		}
	}
	return nil
}

// executable takes the right to execute from rules and gives it to what is listed.
func (w Wish) executable(rules []pathRule) []pathRule {
	if w.Listed == nil {
		return rules
	}
	for i := range rules {
		rules[i].access &^= rightExecute
	}
	for _, e := range w.Listed {
		rules = append(rules, pathRule{path: e.Path, access: rightExecute | rightReadFile, file: !e.Dir, maybe: true})
	}
	return rules
}

// noExec mounts everything so that nothing of it is executed or mapped to be, but
// for what is listed and for libraries: else a loader, which must be executable,
// would run whatever it is given.
func (p *Plan) noExec(w Wish, host Host) {
	if w.Listed == nil {
		return
	}
	var kept []bind
	for _, dir := range host.Libraries {
		kept = append(kept, bind{path: dir})
	}
	for _, e := range w.Listed {
		within := func(b bind) bool { return !b.file && below(b.path, e.Real) }
		if !slices.ContainsFunc(kept, within) {
			kept = append(kept, bind{path: e.Path, file: !e.Dir})
		}
	}
	slices.SortStableFunc(kept, func(a, b bind) int { return strings.Count(a.path, "/") - strings.Count(b.path, "/") })
	for i := range kept {
		p.keepExec(&kept[i])
	}
	p.attributes("/", unix.MOUNT_ATTR_NOEXEC, unix.AT_RECURSIVE)
	for _, b := range kept {
		step := "execute " + b.path
		p.Setup = append(p.Setup,
			Call{
				Step: step, Nr: unix.SYS_MOVE_MOUNT, Accept: unshown,
				Args: [6]Arg{Result(b.tree), Text(""), Number(at), Text(b.path), Number(unix.MOVE_MOUNT_F_EMPTY_PATH | unix.MOVE_MOUNT_T_SYMLINKS)},
			},
			Call{Step: step, Nr: unix.SYS_CLOSE, Accept: unshown, Args: [6]Arg{Result(b.tree)}},
		)
	}
}

// unshown is what calls say of what the run isn't shown: it executes nothing there.
var unshown = []syscall.Errno{unix.ENOENT, unix.ENOTDIR, unix.EBADF}

// keepExec takes hold of what may be executed, read-only, before nothing may.
func (p *Plan) keepExec(b *bind) {
	step := "execute " + b.path
	b.tree = newCell()
	attr := unix.MountAttr{Attr_set: readOnly}
	p.Setup = append(p.Setup,
		Call{
			Step: step, Nr: unix.SYS_OPEN_TREE, Into: b.tree, Accept: unshown,
			Args: [6]Arg{Number(at), Text(b.path), Number(unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_RECURSIVE)},
		},
		Call{
			Step: step, Nr: unix.SYS_MOUNT_SETATTR, Accept: unshown,
			Args: [6]Arg{Result(b.tree), Text(""), Number(unix.AT_EMPTY_PATH | unix.AT_RECURSIVE), Memory(bytesOf(&attr)), Number(32)},
		},
	)
}
