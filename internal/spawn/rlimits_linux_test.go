package spawn

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/contain"
	"paddock/internal/contain/lifecycle"
	"paddock/internal/contain/lifecycle/resource"
	"paddock/internal/testproc"
)

// A program has each limit of processes that its plan says, at every level: where there is no
// cgroup nothing else holds its tree.
func TestRlimitsOfAPlanHold(t *testing.T) {
	t.Parallel()
	var own unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &own); err != nil {
		t.Fatal(err)
	}
	processes := min(own.Max, 4321)
	limits := []resource.Rlimit{
		{Name: "nproc", Resource: unix.RLIMIT_NPROC, Soft: processes, Hard: processes}, {Name: "as", Resource: unix.RLIMIT_AS, Soft: 3 << 40, Hard: 3 << 40},
		{Name: "fsize", Resource: unix.RLIMIT_FSIZE, Soft: 5 << 20, Hard: 5 << 20}, {Name: "cpu", Resource: unix.RLIMIT_CPU, Soft: 1234, Hard: 1235},
	}
	const script = `awk '/^Max (processes|address|file size|cpu|open files)/ {print $(NF-2), $(NF-1)}' /proc/self/limits`
	for _, level := range []paddock.Level{paddock.Off, paddock.Standard, paddock.Full} {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			host := contain.Probe()
			if err := host.Can(level); err != nil {
				testproc.Skip(t, err.Error())
			}
			spec, output := shellOff(t, script, lifecycle.Isolations(os.Geteuid())...)
			root := t.TempDir()
			w := contain.Wish{Level: level, Network: "none", Root: root, Dir: root, Programs: []string{spec.Exec.Name()}, OpenFiles: 65, Rlimits: limits}
			if level == paddock.Off {
				w.Network = "host"
			}
			if os.Geteuid() == 0 && level != paddock.Off {
				w.Account = &account
			}
			var err2, err3 error
			err := errors.Join(os.Chmod(filepath.Dir(root), 0o755), os.Chmod(root, 0o755))
			w.Exec, err2 = contain.IdentityOf(spec.Exec)
			w.Start, err3 = contain.IdentityOf(opened(t, root))
			if err := errors.Join(err, err2, err3); err != nil {
				t.Fatal(err)
			}
			if spec.Plan, err = contain.NewPlan(w, host); err != nil {
				t.Fatal(err)
			}
			got, exit, _ := outcome(t, spec, output)
			if want := fmt.Sprintf("1234 1235\n5242880 5242880\n%[1]d %[1]d\n65 65\n3298534883328 3298534883328\n", processes); got != want || exit.Status != 0 {
				t.Errorf("status %v; it has\n%s\ninstead of\n%s", exit.Status, got, want)
			}
		})
	}
}
