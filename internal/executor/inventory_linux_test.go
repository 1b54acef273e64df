package executor

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

func init() { programs["inventory"] = inventory }

// inventory is a program that prints what it can tell of where it is, one thing a line, and
// then waits until somebody opens the other end of the pipe called gate. Its arguments are
// its level, and directories of the machine to look into, beside what every run has.
func inventory() int {
	view{alone: os.Args[1] == "full"}.process().spaces().descriptors().tree(os.Args[2:]).sockets()
	fmt.Println("end")
	gate, err := os.Open("gate")
	if err != nil {
		fmt.Println("gate", err)
		return 1
	}
	_ = gate.Close()
	return 0
}

// A view prints what there is.
type view struct {
	alone bool // what is in its namespaces is the run's, and doesn't change by what others do
}

func (v view) say(what string, value any) { fmt.Printf("%s\t%v\n", what, value) }

// text prints a file, line by line.
func (v view) text(path string) {
	b, err := os.ReadFile(path)
	if err != nil {
		v.say(path, err)
		return
	}
	for line := range strings.Lines(string(b)) {
		v.say(path, strings.TrimSuffix(line, "\n"))
	}
}

// changing are lines of /proc/self/status that tell of the moment.
var changing = []string{"Vm", "Rss", "Hugetlb", "Threads", "voluntary", "nonvoluntary", "SigQ", "State", "FDSize"}

// process prints what the kernel keeps of it.
func (v view) process() view {
	b, err := os.ReadFile("/proc/thread-self/status")
	if err != nil {
		v.say("status", err)
	}
	for line := range strings.Lines(string(b)) {
		if !slices.ContainsFunc(changing, func(p string) bool { return strings.HasPrefix(line, p) }) {
			v.say("status", strings.TrimSpace(line))
		}
	}
	for _, name := range []string{
		"limits", "cgroup", "uid_map", "gid_map", "setgroups", "projid_map", "timens_offsets", "oom_score_adj", "coredump_filter", "timerslack_ns", "personality",
		"loginuid", "sessionid", "attr/current", "attr/exec", "cpuset",
	} {
		v.text("/proc/self/" + name)
	}
	v.text("/proc/self/mountinfo")
	b, _ = os.ReadFile("/proc/self/stat") // /proc may be hidden, and then all of the above says so
	if _, rest, ok := strings.Cut(string(b), ") "); ok {
		f := strings.Fields(rest)
		v.say("parent, group, session, terminal, its group", f[1:6])
		v.say("priority, nice, exit signal, realtime, policy", []string{f[15], f[16], f[35], f[37], f[38]})
	}
	for name, option := range map[string]int{
		"dumpable": unix.PR_GET_DUMPABLE, "keeps capabilities": unix.PR_GET_KEEPCAPS, "secure bits": unix.PR_GET_SECUREBITS, "no new privileges": unix.PR_GET_NO_NEW_PRIVS,
		"timer slack": unix.PR_GET_TIMERSLACK, "no large pages": unix.PR_GET_THP_DISABLE, "machine checks": unix.PR_MCE_KILL_GET, "flushes": unix.PR_GET_IO_FLUSHER, "seccomp": unix.PR_GET_SECCOMP,
	} {
		r, err := unix.PrctlRetInt(option, 0, 0, 0, 0)
		v.say(name, fmt.Sprint(r, " ", err))
	}
	var set unix.CPUSet
	v.say("processors", fmt.Sprint(unix.SchedGetaffinity(0, &set), set.Count()))
	dir, err := os.Getwd()
	v.say("directory", fmt.Sprint(dir, " ", err))
	self, err := os.Executable()
	v.say("executable", fmt.Sprint(self, " ", err))
	v.say("arguments", len(os.Args))
	v.say("name", os.Args[0])
	env := os.Environ()
	slices.Sort(env)
	for _, e := range env {
		v.say("environment", e)
	}
	return v
}

// spaces prints what its namespaces hold.
func (v view) spaces() view {
	for _, name := range []string{
		"kernel/hostname", "kernel/domainname", "user/max_user_namespaces", "kernel/shmmax", "kernel/msgmax", "kernel/sem", "fs/mqueue/queues_max",
		"net/ipv4/ip_unprivileged_port_start", "net/ipv4/ping_group_range", "net/ipv4/ip_forward", "net/ipv6/conf/all/disable_ipv6",
	} {
		v.text("/proc/sys/" + name)
	}
	for _, name := range []string{"sysvipc/shm", "sysvipc/sem", "sysvipc/msg", "net/unix", "net/tcp", "net/udp", "net/route", "keys", "1/environ", "1/cmdline", "1/comm"} {
		if v.alone || strings.HasPrefix(name, "1/") {
			v.text("/proc/" + name)
			continue
		}
		_, err := os.ReadFile("/proc/" + name)
		v.say("/proc/"+name, err)
	}
	for _, name := range []string{"/proc/1/root", "/proc/1/cwd", "/proc/1/exe", "/proc/1/ns/mnt", "/proc/1/fd/3"} {
		_, err := os.Readlink(name)
		v.say(name, err)
	}
	for _, dir := range []string{"/", "/proc", "/proc/self/ns", "/proc/net", "/proc/sys", "/dev", "/dev/pts", "/dev/shm", "/tmp", "/sys", "/run", "/etc"} {
		entries, err := os.ReadDir(dir)
		var names []string
		for _, e := range entries {
			if v.alone || strings.Trim(e.Name(), "0123456789") != "" && !strings.HasPrefix(dir, "/tmp") && dir != "/dev/shm" { // others' processes, and their files
				names = append(names, e.Name())
			}
		}
		v.say("in "+dir, fmt.Sprint(names, " ", err))
	}
	for _, dir := range []string{"/", "/tmp", "/var/tmp", "/dev", "/dev/shm", "/proc", ".", os.Getenv("HOME")} {
		var st unix.Statfs_t
		err := unix.Statfs(dir, &st)
		if st.Type != unix.TMPFS_MAGIC {
			st.Blocks = 0 // whoever shares a disk changes that
		}
		v.say("disk of "+dir, fmt.Sprintf("%x %x %d %v", st.Type, st.Flags, st.Blocks, err))
	}
	return v
}

// descriptors prints what is open.
func (v view) descriptors() view {
	for fd := range 32 {
		name, err := os.Readlink(fmt.Sprint("/proc/self/fd/", fd))
		if err != nil || strings.HasPrefix(name, "anon_inode:[event") { // Go's own
			continue
		}
		flags, _ := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		of, _ := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		kind, _, _ := strings.Cut(name, ":[")
		v.say(fmt.Sprint("descriptor ", fd), fmt.Sprintf("%s %x %x", kind, flags, of))
	}
	return v
}

// tree prints the files of the run's own tree, and whether those of the machine that are in
// dirs can be read, written and listed.
func (v view) tree(dirs []string) view {
	for _, dir := range []string{"/", "/etc", "/dev", "/run", "/sys", "/var", "/opt", "/home", ".", os.Getenv("HOME")} {
		dir, err := filepath.EvalSymlinks(dir)
		if err != nil {
			continue
		}
		v.files(dir)
	}
	for _, dir := range append([]string{"/", "/etc", "/dev", "/proc/1", "/root", "/home", "/srv", "/var", "/var/lib", "/run"}, dirs...) {
		entries, err := os.ReadDir(dir)
		v.say("list "+dir, err)
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			if !e.Type().IsRegular() && !e.IsDir() || !v.alone && strings.HasPrefix(e.Name(), "paddock-test-") { // other tests' come and go
				continue
			}
			for word, flags := range map[string]int{"read": unix.O_RDONLY, "write": unix.O_WRONLY} {
				if e.IsDir() && word == "write" {
					word, flags = "make in", unix.O_TMPFILE|unix.O_WRONLY
				}
				fd, err := unix.Open(path, flags|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0o600)
				if err == nil {
					_ = unix.Close(fd)
				}
				v.say(word+" "+path, err)
			}
		}
	}
	return v
}

// files prints what is directly in dir, and below what is the run's alone.
func (v view) files(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		v.say("files of "+dir, err)
		return
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			v.say(path, err)
			continue
		}
		target, _ := os.Readlink(path)
		size := st.Size
		if !e.Type().IsRegular() {
			size = 0
		}
		v.say("file "+path, fmt.Sprintf("%o %d:%d %d %x %s", st.Mode, st.Uid, st.Gid, size, st.Rdev, target))
	}
}

// sockets prints which there can be.
func (v view) sockets() view {
	for _, domain := range []int{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK, unix.AF_PACKET, unix.AF_VSOCK, unix.AF_ALG, unix.AF_BLUETOOTH} {
		for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_DGRAM, unix.SOCK_RAW, unix.SOCK_SEQPACKET} {
			for _, protocol := range []int{0, 1, 6, 17, 58, 262} {
				fd, err := unix.Socket(domain, kind|unix.SOCK_CLOEXEC, protocol)
				if err == nil {
					_ = unix.Close(fd)
				}
				v.say(fmt.Sprintf("socket %d %d %d", domain, kind, protocol), err)
			}
		}
	}
	return v
}
