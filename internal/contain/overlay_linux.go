package contain

import (
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
