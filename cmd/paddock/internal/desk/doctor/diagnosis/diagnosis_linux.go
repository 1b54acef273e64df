package diagnosis

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/contain"
	"paddock/internal/contain/lifecycle/resource"
	"paddock/internal/executor/stages"
	"paddock/internal/policy"
	"paddock/internal/rundir/disk"
	"paddock/internal/trust"
)

// Facts says what of this machine decides on what can be held, for runs that are
// kept in the directory state; empty is none.
func Facts(state string) []Fact {
	host := contain.Probe()
	return slices.Concat(
		[]Fact{account(host), {Name: "kernel", Text: or(line("/proc/sys/kernel/osrelease"), "unknown")}, landlock(host), namespaces(host), seccomp()},
		limits(resource.Probe()),
		[]Fact{execution("temp dir", os.TempDir()), supervisor(), records(state)},
	)
}

func account(host contain.Host) Fact {
	f := Fact{Name: "account", Text: fmt.Sprintf("uid %d, gid %d", host.EUID, host.EGID)}
	if host.EUID == 0 {
		f.Remedy = "At standard and off, root's programs own root's files: give Paddock an account of its own there."
	}
	return f
}

func landlock(host contain.Host) Fact {
	f := Fact{Name: "landlock", Text: fmt.Sprintf("ABI %d", host.LandlockABI)}
	lsm := line("/sys/kernel/security/lsm")
	if lsm != "" {
		f.Text += "; security modules: " + lsm
	}
	switch {
	case host.LandlockABI == 0 && lsm != "" && !strings.Contains(lsm, "landlock"):
		f.Remedy = "Add landlock to the list: boot with lsm=" + lsm + ",landlock."
	case host.LandlockABI == 0:
		f.Remedy = "Levels full and standard need it: use Linux 5.13 or newer, built with CONFIG_SECURITY_LANDLOCK; a sandbox or container around Paddock may hide it."
	case host.LandlockABI < 6:
		f.Remedy = "Level standard needs ABI 6, from Linux 6.12 on."
	}
	return f
}

// namespaces says what the kernel's settings give this user.
func namespaces(host contain.Host) Fact {
	f := Fact{Name: "user namespaces", Text: "given, as far as the settings say"}
	var settings []string
	for _, name := range []string{"user/max_user_namespaces", "kernel/unprivileged_userns_clone", "kernel/apparmor_restrict_unprivileged_userns"} {
		if value := line("/proc/sys/" + name); value != "" {
			settings = append(settings, filepath.Base(name)+"="+value)
		}
	}
	if host.UserNamespaces != "" {
		f.Text, f.Remedy = "not given: "+host.UserNamespaces, "Level full needs them; in a container, let its runtime allow them, or use level standard."
	}
	if len(settings) > 0 {
		f.Text += " (" + strings.Join(settings, ", ") + ")"
	}
	return f
}

func seccomp() Fact {
	f := Fact{Name: "seccomp", Text: line("/proc/sys/kernel/seccomp/actions_avail")}
	if !strings.Contains(f.Text, "user_notif") {
		f.Text = or(f.Text, "not there")
		f.Remedy = "Levels full and standard need it with user_notif: use a kernel built with CONFIG_SECCOMP_FILTER."
	}
	return f
}

// limits asks of each limit that holds a whole tree what would enforce it.
func limits(host resource.Host) []Fact {
	var facts []Fact
	for _, l := range []struct {
		name string
		ask  resource.Limits
	}{
		{resource.Memory, resource.Limits{Memory: 1 << 30}},
		{resource.Processes, resource.Limits{Processes: 100}},
		{resource.CPUs, resource.Limits{CPUs: 1}},
	} {
		f := Fact{Name: "limit " + l.name}
		plan, err := host.Plan(l.ask)
		var missing *resource.Unenforceable
		switch {
		case err == nil:
			f.Text = "can be held, by " + plan.Means[l.name]
		case errors.As(err, &missing):
			f.Text, f.Remedy = "can't be held: "+missing.Why, "Run Paddock where a cgroup is delegated: systemd-run --user --scope -p Delegate=yes …"
		default:
			f.Text = "can't be held: " + err.Error()
		}
		facts = append(facts, f)
	}
	return facts
}

// execution says whether programs can be executed where they are unpacked.
func execution(name, dir string) Fact {
	f := Fact{Name: name, Text: dir}
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		f.Text += ": " + err.Error()
		return f
	}
	if st.Flags&unix.ST_NOEXEC != 0 {
		f.Text += ", mounted noexec"
		f.Remedy = "Programs can't be executed there: tests that build programs into it fail. Set TMPDIR to another place in the policy, or mount it without noexec."
	}
	return f
}

func supervisor() Fact {
	f := Fact{Name: "supervisor"}
	binary, err := stages.Find("")
	digest := paddock.Digest("")
	if err == nil {
		digest, err = binary.Sum()
	}
	if err != nil {
		f.Text, f.Remedy = "none: "+err.Error(), "Nothing can be started without it."
		return f
	}
	f.Text = or(binary.Path, "inside this program") + ", " + digest.Short()
	return f
}

// records says whether runs are kept where only we and root can change them.
func records(dir string) Fact {
	f := Fact{Name: "state directory", Text: dir}
	if dir == "" {
		return Fact{"state directory", "none", "Set HOME, or name one with --state."}
	}
	there := dir
	for there != "/" {
		if _, err := os.Lstat(there); err == nil {
			break
		}
		there = filepath.Dir(there)
	}
	if err := trust.User().Dir(there); err != nil {
		f.Text += ", not to be trusted: " + err.Error()
		f.Remedy = "It and every directory above it must belong to root or to you and be writable by nobody else; or name another with --state."
		return f
	}
	if there != dir {
		f.Text += ", to be made"
	}
	if e := execution("", there); e.Remedy != "" {
		f.Text += ", mounted noexec: a supervisor that is inside paddock can't be unpacked there"
	}
	if free, size, err := disk.Free(there); err == nil {
		reserve := (&policy.Policy{}).Reserve(size)
		f.Text += fmt.Sprintf("; %d MiB of its disk are free, %d in reserve unless the policy says otherwise", free>>20, reserve>>20)
		if free < reserve {
			f.Remedy = "With less than the reserve no run starts: make room, by paddock prune for example, or say less under limits.reserve."
		}
	}
	if Shared(dir) {
		f.Remedy = "At standard every program can write to /tmp: name another place with --state."
	}
	return f
}

// line is the content of a small file of the kernel's; empty if there is none.
func line(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

func or(text, other string) string {
	if text == "" {
		return other
	}
	return text
}
