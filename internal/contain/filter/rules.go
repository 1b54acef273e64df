//go:build linux

package filter

import (
	"golang.org/x/sys/unix"

	"paddock/internal/contain/filter/bpf"
)

// What a program returns to the kernel.
const (
	allowedCall = unix.SECCOMP_RET_ALLOW
	deniedCall  = unix.SECCOMP_RET_ERRNO | uint32(Denied)
	notedCall   = unix.SECCOMP_RET_USER_NOTIF
	absentCall  = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	// A protocol that this kernel doesn't have.
	absentProtocol = unix.SECCOMP_RET_ERRNO | uint32(unix.EPROTONOSUPPORT)
)

// denials are the calls that are denied whatever their arguments, with the
// reason. They have in common that a build or a test which makes one is up to
// something, or is a tool that has to be told why it won't work here.
var denials = map[string]*reason{
	// Other processes. The kernel lets one reach only what one could trace
	// anyway; but at a level without namespaces that is everything of the uid.
	"ptrace": debugging, "process_vm_readv": debugging, "process_vm_writev": debugging,
	"process_madvise": debugging, "pidfd_getfd": debugging, "kcmp": debugging,

	// Parts of the kernel that are large, deep and rich in past exploits.
	"bpf": deep, "perf_event_open": deep, "userfaultfd": deep,
	// io_uring also makes calls that no filter sees.
	"io_uring_setup": deep, "io_uring_enter": deep, "io_uring_register": deep,
	"add_key": keyrings, "request_key": keyrings, "keyctl": keyrings,

	// The file system as a whole. By handle, files are opened past every mount.
	"mount": mounting, "umount2": mounting, "pivot_root": mounting, "chroot": mounting,
	"open_tree": mounting, "open_tree_attr": mounting, "move_mount": mounting, "mount_setattr": mounting,
	"fsopen": mounting, "fsconfig": mounting, "fsmount": mounting, "fspick": mounting,
	"quotactl": mounting, "quotactl_fd": mounting,
	"open_by_handle_at": mounting, "name_to_handle_at": mounting, "lookup_dcookie": mounting,

	// The machine.
	"reboot": machine, "kexec_load": machine, "kexec_file_load": machine,
	"init_module": machine, "finit_module": machine, "delete_module": machine,
	"swapon": machine, "swapoff": machine, "acct": machine, "syslog": machine, "vhangup": machine,
	"sethostname": machine, "setdomainname": machine, "iopl": machine, "ioperm": machine,
	"settimeofday": machine, "clock_settime": machine, "adjtimex": machine, "clock_adjtime": machine,
}

// absences are calls of the profile that we leave out in silence: some kernels
// are built without them, and programs get along.
var absences = map[string]bool{
	"modify_ldt":    true, // 16-bit code; a long record of kernel bugs
	"memfd_secret":  true, // memory that even the kernel doesn't map
	"openat2":       true, // it could make a setuid file behind a pointer; all have another way
	"fanotify_mark": true, // means nothing without fanotify_init, which needs a capability
}

// conditions makes the answers that depend on options and arguments.
type conditions struct {
	*bpf.Assembler
	Options
	modes map[int]bpf.Label // what plain made, by argument: many calls share it
}

func (c conditions) yes() bpf.Label { return c.Ret(allowedCall) }

func (c conditions) no() bpf.Label {
	if c.Notify {
		return c.Ret(notedCall)
	}
	return c.Ret(deniedCall)
}

// either returns yes or no.
func (c conditions) either(allowed bool) bpf.Label {
	if allowed {
		return c.yes()
	}
	return c.no()
}

// answer returns where the program goes on when a call of that name is made.
func (c conditions) answer(arch, name string) bpf.Label {
	if decide := c.conditional(name); decide != nil {
		return decide()
	}
	if _, ok := denials[name]; ok {
		return c.no()
	}
	profile := allowedByProfile()
	if (profile[name] || profile[arch+":"+name]) && !absences[name] {
		return c.yes()
	}
	return c.Ret(absentCall)
}

// conditional returns how to decide about a call that is sometimes allowed, or
// nil for the others.
func (c conditions) conditional(name string) func() bpf.Label {
	switch name {
	case "socket":
		return c.socket
	case "socketpair":
		return c.socketpair
	case "sendto", "sendmmsg":
		return func() bpf.Label { return c.send(3) }
	case "sendmsg":
		return func() bpf.Label { return c.send(2) }
	case "setsockopt":
		return c.setsockopt
	case "clone":
		return c.clone
	case "clone3":
		return c.clone3
	case "unshare":
		return c.unshare
	case "setns":
		return func() bpf.Label { return c.either(c.Namespaces) }
	case "ioctl":
		return c.ioctl
	case "personality":
		return c.personality
	case "chmod", "fchmod", "creat":
		return func() bpf.Label { return c.plain(1) }
	case "fchmodat", "fchmodat2":
		return func() bpf.Label { return c.plain(2) }
	case "open":
		return func() bpf.Label { return c.open(1) }
	case "openat":
		return func() bpf.Label { return c.open(2) }
	case "mknod":
		return func() bpf.Label { return c.mknod(1) }
	case "mknodat":
		return func() bpf.Label { return c.mknod(2) }
	case "memfd_create":
		return func() bpf.Label { return c.either(!c.Listed) }
	}
	return nil
}

// newNamespaces is every flag of clone that makes a namespace. (A time
// namespace can't be made by clone: its flag lies in the signal's bits.)
const newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// clone looks at the low half of its flags, as the kernel does.
func (c conditions) clone() bpf.Label {
	if c.Namespaces {
		return c.yes()
	}
	return c.Low(0, newNamespaces, []bpf.Choice{{Values: []uint32{0}, To: c.yes()}}, c.no())
}

// clone3 has its flags behind a pointer, where they can't be judged. The
// profile leaves it out for the same reason.
func (c conditions) clone3() bpf.Label {
	if c.Namespaces {
		return c.yes()
	}
	return c.Ret(absentCall)
}

// unshare may undo sharing between one's own threads. Its flags are judged by
// what is allowed, since newer kernels keep adding ways to ask for a namespace.
func (c conditions) unshare() bpf.Label {
	if c.Namespaces {
		return c.yes()
	}
	const harmless = unix.CLONE_FS | unix.CLONE_FILES | unix.CLONE_SYSVSEM |
		unix.CLONE_THREAD | unix.CLONE_SIGHAND | unix.CLONE_VM
	return c.HighZero(0, c.Low(0, ^uint32(harmless), []bpf.Choice{{Values: []uint32{0}, To: c.yes()}}, c.no()), c.no())
}

// ioctl is denied what types into the terminal of whoever reads it (TIOCSTI,
// and the selection of TIOCLINUX), and line disciplines, which load drivers.
func (c conditions) ioctl() bpf.Label {
	typing := []uint32{unix.TIOCSTI, tiocLinux, unix.TIOCSETD}
	return c.Low(1, bpf.EveryBit, []bpf.Choice{{Values: typing, To: c.no()}}, c.yes())
}

// tiocLinux is TIOCLINUX, which x/sys doesn't name on every architecture.
const tiocLinux = 0x541c

// Personalities that change what a program sees of itself and no more. The
// profile has all but addrNoRandomize, which race detectors ask for.
const (
	perLinux        = 0x0
	perLinux32      = 0x8
	uname26         = 0x20000
	addrNoRandomize = 0x40000
	askPersonality  = 0xffffffff
)

func (c conditions) personality() bpf.Label {
	harmless := []uint32{perLinux, perLinux32, uname26, uname26 | perLinux32, addrNoRandomize, askPersonality}
	return c.Low(0, bpf.EveryBit, []bpf.Choice{{Values: harmless, To: c.yes()}}, c.no())
}

// plain denies modes with the setuid bit. Inside, such a file gives nothing;
// outside, it would give everybody the rights of the user of the run, and a run
// that root started belongs to root there.
func (c conditions) plain(mode int) bpf.Label {
	l, made := c.modes[mode]
	if !made {
		l = c.Low(mode, unix.S_ISUID, []bpf.Choice{{Values: []uint32{0}, To: c.yes()}}, c.no())
		c.modes[mode] = l
	}
	return l
}

// open looks at the mode, the argument after the flags, when it means anything.
func (c conditions) open(flags int) bpf.Label {
	const making = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY
	return c.Low(flags, making, []bpf.Choice{{Values: []uint32{0}, To: c.yes()}}, c.plain(flags+1))
}

// mknod makes files, pipes and sockets, no devices and nothing setuid. The
// kernel takes the mode as 16 bits; these are the type's and that one.
func (c conditions) mknod(mode int) bpf.Label {
	return c.Low(mode, unix.S_IFMT|unix.S_ISUID, []bpf.Choice{
		{Values: []uint32{0, unix.S_IFREG, unix.S_IFIFO, unix.S_IFSOCK}, To: c.yes()},
	}, c.no())
}
