package contain

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// StepOverlay is the step of laying a layer over the root. What the kernel says
// against it isn't known before.
const StepOverlay = "copy-on-write"

// covered reports whether path is seen through the overlay.
func (w Wish) covered(path string) bool {
	granted := func(g string) bool { return g != w.Root && below(w.Root, g) && below(g, path) }
	return w.Overlay != "" && below(w.Root, path) && !slices.ContainsFunc(slices.Concat(w.Read, w.Write), granted)
}

// overlay lays the layer over the root, in the run's own mount namespace: from
// then on the path of the root leads to the view. What was judged is compared
// just before, since in the view nothing is the same file.
func (p *Plan) overlay(w Wish) {
	p.Setup = append(p.Setup, sameFile("working directory", Number(at), Text(w.Dir), w.Start)...)
	if w.covered(w.Programs[0]) {
		p.Setup = append(p.Setup, sameFile("executable", Number(at), Text(w.Programs[0]), w.Exec)...)
	}
	// Relative, so that the run's list of mounts doesn't say where the state is.
	p.setup(StepOverlay, unix.SYS_CHDIR, Text(w.Overlay))
	lower := strings.NewReplacer(`\`, `\\`, `:`, `\:`, `,`, `\,`).Replace(w.Root)
	// Without trusted attributes, which a user namespace may not set.
	options := "lowerdir=" + lower + ",upperdir=upper,workdir=work,userxattr"
	p.setup(StepOverlay, unix.SYS_MOUNT, Text("overlay"), Text(w.Root), Text("overlay"), Number(unix.MS_NOSUID|unix.MS_NODEV), Text(options))
}

// takeCovered takes hold of the root, and of programs in it that are shown apart,
// as the layer shows them: at their own paths, or below view.
func (p *Plan) takeCovered(w Wish, binds []bind, view string) {
	for i := range binds {
		b := &binds[i]
		if !w.covered(b.path) {
			continue
		}
		if inside, err := filepath.Rel(w.Root, b.path); view != "" && err == nil {
			b.from = filepath.Join(view, inside)
		}
		p.take(b, nil)
	}
}

// overlayShown lays the layer over the root where both are mounts that show them
// as the run's own, in a corner of the new tree of which nothing stays.
func (p *Plan) overlayShown(w Wish, binds []bind) {
	const lower, layer, view = ".lower", ".layer", ".view"
	corner := map[string]*os.File{lower: w.Lower, layer: w.Layer, view: nil}
	for _, name := range []string{lower, layer, view} {
		p.setup(StepOverlay, unix.SYS_MKDIRAT, Number(at), Text(name), Number(0o700))
		if given := corner[name]; given != nil {
			p.setup(StepOverlay, unix.SYS_MOVE_MOUNT, Result(p.hand(given)), Text(""), Number(at), Text(name), Number(unix.MOVE_MOUNT_F_EMPTY_PATH))
		}
	}
	within := func(path string) Arg {
		inside, err := filepath.Rel(w.Root, path)
		if err != nil {
			inside = "." // then nothing is the same
		}
		return Text(filepath.Join(lower, inside))
	}
	p.Setup = append(p.Setup, sameFile("working directory", Number(at), within(w.Dir), w.Start)...)
	if w.covered(w.Programs[0]) {
		p.Setup = append(p.Setup, sameFile("executable", Number(at), within(w.Programs[0]), w.Exec)...)
	}
	options := "lowerdir=" + lower + ",upperdir=" + layer + "/upper,workdir=" + layer + "/work,userxattr"
	p.setup(StepOverlay, unix.SYS_MOUNT, Text("overlay"), Text(view), Text("overlay"), Number(unix.MS_NOSUID|unix.MS_NODEV), Text(options))
	p.takeCovered(w, binds, view)
	for _, name := range []string{view, layer, lower} {
		p.setup(StepOverlay, unix.SYS_UMOUNT2, Text(name), Number(unix.MNT_DETACH))
		p.setup(StepOverlay, unix.SYS_UNLINKAT, Number(at), Text(name), Number(unix.AT_REMOVEDIR))
	}
}
