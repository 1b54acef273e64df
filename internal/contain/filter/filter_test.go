//go:build linux

package filter

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/profiles/seccomp"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

// sets are the option sets that tests go through, by the name used there.
var sets = []struct {
	name    string
	options Options
}{
	{"none", Options{Network: "none"}},
	{"allowlist", Options{Network: "allowlist"}},
	{"host", Options{Network: "host"}},
	{"tcp", Options{Network: "allowlist", TCPOnly: true}},
	{"closed", Options{Network: "none", TCPOnly: true}},
	{"unix", Options{Network: "none", UnixSockets: true}},
	{"namespaces", Options{Network: "none", Namespaces: true}},
	{"listed", Options{Network: "none", Listed: true}},
}

const all = "none allowlist host tcp closed unix namespaces listed"

var arches = []string{"amd64", "arm64"}

func build(t testing.TB, arch string, o Options) Filter {
	t.Helper()
	o.Arch = arch
	f, err := Build(o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// nr returns a call's number; ok is false where the architecture lacks it.
func nr(arch, name string) (int32, bool) {
	a, err := findArch(arch)
	if err != nil {
		return 0, false
	}
	i := slices.IndexFunc(a.calls(), func(c call) bool { return c.name == name })
	if i < 0 {
		return 0, false
	}
	return a.calls()[i].nr, true
}

func audit(arch string) uint32 {
	if arch == "arm64" {
		return unix.AUDIT_ARCH_AARCH64
	}
	return unix.AUDIT_ARCH_X86_64
}

// byArgument are the calls whose answer depends on options or arguments.
var byArgument = strings.Fields("socket socketpair sendto sendmsg sendmmsg setsockopt clone clone3 unshare setns ioctl personality mknod mknodat memfd_create " +
	"chmod fchmod fchmodat fchmodat2 creat open openat")

// unjudged are the calls that neither the profile nor we know: absent. When the
// kernel gets new ones this list must grow, and somebody has to think.
var unjudged = strings.Fields(`_sysctl afs_syscall arch_specific_syscall create_module fanotify_init file_getattr
	file_setattr get_kernel_syms get_mempolicy getpmsg listns lsm_get_self_attr lsm_list_modules lsm_set_self_attr
	mbind migrate_pages move_pages nfsservctl putpmsg query_module rseq_slice_yield security set_mempolicy
	set_mempolicy_home_node sysfs tuxcall uprobe uselib ustat vserver`) // the kernel lets uprobe by, whatever a filter says

// TestEveryCall compares the answer to every number with what the profile, read
// from its module, and the lists here say.
func TestEveryCall(t *testing.T) {
	t.Parallel()
	profile := map[string]bool{}
	for _, name := range profileNames(t) {
		profile[name] = true
	}
	for _, arch := range arches {
		for _, set := range sets {
			for _, notify := range []bool{false, true} {
				o := set.options
				o.Notify = notify
				f := build(t, arch, o)
				for n := int32(-3); n < 600; n++ {
					name := Name(arch, n)
					if slices.Contains(byArgument, name) {
						continue
					}
					want := absentCall
					switch {
					case denials[name] != nil && notify:
						want = unix.SECCOMP_RET_USER_NOTIF
					case denials[name] != nil:
						want = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
					case (profile[name] || profile[arch+":"+name]) && !absences[name]:
						want = unix.SECCOMP_RET_ALLOW
					case !strings.HasPrefix(name, "syscall ") && !absences[name] && !slices.Contains(unjudged, name):
						t.Errorf("%s: nobody has judged %s (%d): allow it, deny it or add it to unjudged", arch, name, n)
					}
					for _, args := range [][6]uint64{{}, {math.MaxUint64, math.MaxUint64, math.MaxUint64, math.MaxUint64}} {
						if got := f.Run(SeccompData{Nr: n, Arch: audit(arch), Args: args}); got != want {
							t.Errorf("%s %+v: %s (%d): got %#x, want %#x", arch, o, name, n, got, want)
						}
					}
				}
			}
		}
	}
}

// TestListsNameRealCalls fails when a name in rules.go is misspelt and so
// denies nothing.
func TestListsNameRealCalls(t *testing.T) {
	t.Parallel()
	known := func(name string) bool {
		_, a := nr("amd64", name)
		_, b := nr("arm64", name)
		return a || b
	}
	for name := range denials {
		if !known(name) {
			t.Errorf("denials: no architecture has %q", name)
		}
		if absences[name] {
			t.Errorf("%q is both denied and absent", name)
		}
	}
	for name := range absences {
		if !known(name) {
			t.Errorf("absences: no architecture has %q", name)
		}
	}
	for _, name := range slices.Concat(byArgument, unjudged) {
		if !known(name) {
			t.Errorf("the test's lists: no architecture has %q", name)
		}
	}
}

// TestForeignABIs: whatever is called by another ABI is absent, since its
// numbers mean something else.
func TestForeignABIs(t *testing.T) {
	t.Parallel()
	for _, arch := range arches {
		f := build(t, arch, Options{Network: "host", UnixSockets: true, Namespaces: true, Notify: true})
		for _, other := range []uint32{unix.AUDIT_ARCH_I386, unix.AUDIT_ARCH_ARM, unix.AUDIT_ARCH_X86_64, unix.AUDIT_ARCH_AARCH64, 0, math.MaxUint32} {
			for n := int32(0); n < 500 && other != audit(arch); n++ {
				if got := f.Run(SeccompData{Nr: n, Arch: other}); got != absentCall {
					t.Fatalf("%s filter, arch %#x, call %d: got %#x, want ENOSYS", arch, other, n, got)
				}
			}
		}
		const x32 = 0x40000000
		for n := int32(0); n < 600; n++ {
			for _, v := range []int32{n | x32, n | math.MinInt32} {
				if got := f.Run(SeccompData{Nr: v, Arch: audit(arch)}); got != absentCall {
					t.Fatalf("%s: call %#x: got %#x, want ENOSYS", arch, v, got)
				}
			}
		}
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	const (
		mark  = unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK
		high  = 1 << 32
		inets = "none allowlist host tcp unix namespaces listed"
		udp   = "none allowlist host unix namespaces listed"
	)
	for _, tc := range []struct {
		call    string
		args    [6]uint64
		allowed string // the option sets that allow it
	}{
		{"socket", [6]uint64{unix.AF_INET, unix.SOCK_STREAM, 0}, inets},
		{"socket", [6]uint64{unix.AF_INET6, unix.SOCK_STREAM | mark, unix.IPPROTO_TCP}, inets},
		{"socket", [6]uint64{high | unix.AF_INET, high | unix.SOCK_STREAM, high}, inets}, // the kernel drops the high half
		{"socket", [6]uint64{unix.AF_INET, unix.SOCK_DGRAM | mark, 0}, udp},
		{"socket", [6]uint64{unix.AF_INET6, unix.SOCK_DGRAM, unix.IPPROTO_UDP}, udp},
		{"socket", [6]uint64{unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_TCP}, ""},
		{"socket", [6]uint64{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_UDP}, ""},
		{"socket", [6]uint64{unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP}, "host"},
		{"socket", [6]uint64{unix.AF_INET6, unix.SOCK_DGRAM, unix.IPPROTO_ICMPV6}, "host"},
		{"socket", [6]uint64{unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP}, ""},
		{"socket", [6]uint64{unix.AF_INET, unix.SOCK_RAW | mark, unix.IPPROTO_RAW}, ""},
		{"socket", [6]uint64{unix.AF_INET, unix.SOCK_SEQPACKET, unix.IPPROTO_SCTP}, ""},
		{"socket", [6]uint64{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP}, ""},
		{"socket", [6]uint64{unix.AF_INET, unix.SOCK_STREAM, 256}, ""}, // SMC
		{"socket", [6]uint64{unix.AF_INET, unix.SOCK_PACKET, 0}, ""},
		{"socket", [6]uint64{unix.AF_UNIX, unix.SOCK_STREAM, 0}, "unix"},
		{"socket", [6]uint64{unix.AF_UNIX, unix.SOCK_DGRAM | mark, 0}, "unix"},
		{"socket", [6]uint64{unix.AF_UNIX, unix.SOCK_SEQPACKET, 0}, "unix"},
		{"socket", [6]uint64{unix.AF_UNIX, unix.SOCK_RAW, 0}, ""},
		{"socket", [6]uint64{unix.AF_NETLINK, unix.SOCK_RAW | mark, unix.NETLINK_ROUTE}, all},
		{"socket", [6]uint64{unix.AF_NETLINK, unix.SOCK_DGRAM, unix.NETLINK_ROUTE}, all},
		{"socket", [6]uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER}, ""},
		{"socket", [6]uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT}, ""},
		{"socket", [6]uint64{unix.AF_VSOCK, unix.SOCK_STREAM, 0}, ""},
		{"socket", [6]uint64{unix.AF_PACKET, unix.SOCK_RAW, 0}, ""},
		{"socket", [6]uint64{unix.AF_ALG, unix.SOCK_SEQPACKET, 0}, ""},
		{"socket", [6]uint64{unix.AF_UNSPEC, unix.SOCK_STREAM, 0}, ""},
		{"socket", [6]uint64{math.MaxUint64, unix.SOCK_STREAM, 0}, ""},
		{"socketpair", [6]uint64{unix.AF_UNIX, unix.SOCK_STREAM | mark, 0}, all},
		{"socketpair", [6]uint64{unix.AF_UNIX, unix.SOCK_SEQPACKET, 0}, all},
		{"socketpair", [6]uint64{unix.AF_UNIX, unix.SOCK_DGRAM, 0}, "unix"},
		{"socketpair", [6]uint64{unix.AF_UNIX, unix.SOCK_RAW, 0}, ""}, // the kernel takes it for SOCK_DGRAM
		{"socketpair", [6]uint64{unix.AF_TIPC, unix.SOCK_STREAM, 0}, ""},
		{"sendto", [6]uint64{3, 0, 0, 0}, all},
		{"sendto", [6]uint64{3, 0, 0, unix.MSG_NOSIGNAL | unix.MSG_DONTWAIT}, all},
		{"sendto", [6]uint64{3, 0, 0, unix.MSG_FASTOPEN}, "none allowlist host unix namespaces listed"},
		{"sendto", [6]uint64{3, 0, unix.MSG_FASTOPEN, 0}, all}, // a length
		{"sendmsg", [6]uint64{3, 0, unix.MSG_FASTOPEN | unix.MSG_NOSIGNAL}, "none allowlist host unix namespaces listed"},
		{"sendmsg", [6]uint64{3, 0, 0, unix.MSG_FASTOPEN}, all}, // no argument at all
		{"sendmmsg", [6]uint64{3, 0, 1, high | unix.MSG_FASTOPEN}, "none allowlist host unix namespaces listed"},
		{"setsockopt", [6]uint64{3, unix.IPPROTO_TCP, unix.TCP_NODELAY}, all},
		{"setsockopt", [6]uint64{3, unix.IPPROTO_TCP, unix.TCP_FASTOPEN_CONNECT}, "none allowlist host unix namespaces listed"},
		{"setsockopt", [6]uint64{3, unix.SOL_SOCKET, unix.TCP_FASTOPEN_CONNECT}, all},
		{"clone", [6]uint64{unix.CLONE_VM | unix.CLONE_VFORK | unix.CLONE_PIDFD | uint64(unix.SIGCHLD)}, all},
		{"clone", [6]uint64{unix.CLONE_VM | unix.CLONE_FS | unix.CLONE_FILES | unix.CLONE_SIGHAND | unix.CLONE_THREAD | unix.CLONE_SYSVSEM}, all},
		{"clone", [6]uint64{0xffffffff<<32 | unix.CLONE_IO | uint64(unix.SIGCHLD)}, all}, // an int, widened
		{"clone", [6]uint64{unix.CLONE_NEWUSER | uint64(unix.SIGCHLD)}, "namespaces"},
		{"clone", [6]uint64{high | unix.CLONE_NEWNET}, "namespaces"},
		{"clone", [6]uint64{unix.CLONE_NEWNS}, "namespaces"},
		{"clone", [6]uint64{unix.CLONE_NEWPID}, "namespaces"},
		{"clone", [6]uint64{unix.CLONE_NEWIPC}, "namespaces"},
		{"clone", [6]uint64{unix.CLONE_NEWUTS}, "namespaces"},
		{"clone", [6]uint64{unix.CLONE_NEWCGROUP}, "namespaces"},
		{"clone3", [6]uint64{}, "namespaces"},
		{"unshare", [6]uint64{unix.CLONE_FS | unix.CLONE_FILES | unix.CLONE_SYSVSEM}, all},
		{"unshare", [6]uint64{0}, all},
		{"unshare", [6]uint64{unix.CLONE_NEWUSER}, "namespaces"},
		{"unshare", [6]uint64{unix.CLONE_NEWTIME}, "namespaces"},
		{"unshare", [6]uint64{unix.CLONE_FS | unix.CLONE_NEWNS}, "namespaces"},
		{"unshare", [6]uint64{unix.CLONE_PARENT_SETTID}, "namespaces"}, // newer kernels give it a meaning here
		{"unshare", [6]uint64{high}, "namespaces"},
		{"setns", [6]uint64{3, 0}, "namespaces"},
		{"ioctl", [6]uint64{0, unix.TCGETS}, all},
		{"ioctl", [6]uint64{0, unix.TIOCSTI}, ""},
		{"ioctl", [6]uint64{0, high | unix.TIOCSTI}, ""},
		{"ioctl", [6]uint64{0, math.MaxUint32<<32 | unix.TIOCSTI}, ""},
		{"ioctl", [6]uint64{0, 0x541c}, ""}, // TIOCLINUX
		{"ioctl", [6]uint64{0, unix.TIOCSETD}, ""},
		{"ioctl", [6]uint64{unix.TIOCSTI, unix.TIOCINQ}, all},
		{"chmod", [6]uint64{0, 0o777}, all},
		{"chmod", [6]uint64{0, 0o2755}, all}, // directories have it
		{"chmod", [6]uint64{0, 0o4000}, ""},
		{"chmod", [6]uint64{0, high | 0o6755}, ""},
		{"fchmod", [6]uint64{0, 0o644}, all},
		{"fchmod", [6]uint64{0, 0o4755}, ""},
		{"fchmodat", [6]uint64{0, 0o4755, 0o755}, all},
		{"fchmodat", [6]uint64{0, 0, 0o4755}, ""},
		{"fchmodat2", [6]uint64{0, 0, 0o4755}, ""},
		{"creat", [6]uint64{0, 0o644}, all},
		{"creat", [6]uint64{0, 0o4755}, ""},
		{"open", [6]uint64{0, unix.O_CREAT | unix.O_WRONLY, 0o644}, all},
		{"open", [6]uint64{0, unix.O_CREAT | unix.O_WRONLY, 0o4755}, ""},
		{"open", [6]uint64{0, unix.O_DIRECTORY, 0o4755}, all}, // no mode at all
		{"openat", [6]uint64{0, 0, unix.O_RDONLY, math.MaxUint64}, all},
		{"openat", [6]uint64{0, 0, unix.O_CREAT, 0o666}, all},
		{"openat", [6]uint64{0, 0, unix.O_CREAT, 0o4666}, ""},
		{"openat", [6]uint64{0, 0, unix.O_TMPFILE | unix.O_RDWR, 0o600}, all},
		{"openat", [6]uint64{0, 0, unix.O_TMPFILE | unix.O_RDWR, 0o4700}, ""},
		{"mknod", [6]uint64{0, unix.S_IFREG | 0o4755}, ""},
		{"mknodat", [6]uint64{0, 0, 0o4755}, ""},
		{"memfd_create", [6]uint64{0, 0}, strings.TrimSuffix(all, " listed")},
		{"memfd_create", [6]uint64{0, 8}, strings.TrimSuffix(all, " listed")}, // a loader maps it all the same
		{"personality", [6]uint64{0}, all},
		{"personality", [6]uint64{0x8}, all},
		{"personality", [6]uint64{0x20008}, all},
		{"personality", [6]uint64{0xffffffff}, all},
		{"personality", [6]uint64{math.MaxUint64}, all}, // the same: it is 32 bits
		{"personality", [6]uint64{0x40000}, all},        // ADDR_NO_RANDOMIZE
		{"personality", [6]uint64{0x400000}, ""},        // READ_IMPLIES_EXEC
		{"personality", [6]uint64{0x100000}, ""},        // MMAP_PAGE_ZERO
		{"personality", [6]uint64{high | 0x400000}, ""},
		{"mknod", [6]uint64{0, unix.S_IFIFO | 0o600}, all},
		{"mknod", [6]uint64{0, 0o600}, all},
		{"mknod", [6]uint64{0, unix.S_IFSOCK | 0o600}, all},
		{"mknod", [6]uint64{0, unix.S_IFCHR | 0o600}, ""},
		{"mknod", [6]uint64{0, 1<<16 | unix.S_IFBLK}, ""}, // the mode is 16 bits
		{"mknod", [6]uint64{unix.S_IFCHR, unix.S_IFREG, unix.S_IFCHR}, all},
		{"mknodat", [6]uint64{0, unix.S_IFCHR, unix.S_IFREG | 0o644}, all},
		{"mknodat", [6]uint64{0, 0, unix.S_IFCHR, 0x103}, ""},
		{"mknodat", [6]uint64{0, 0, high | unix.S_IFBLK}, ""},
	} {
		t.Run(fmt.Sprintf("%s %#x", tc.call, tc.args), func(t *testing.T) {
			for _, arch := range arches {
				n, ok := nr(arch, tc.call)
				if !ok {
					continue // mknod on arm64
				}
				data := SeccompData{Nr: n, Arch: audit(arch), Args: tc.args}
				var got []string
				for _, set := range sets {
					if build(t, arch, set.options).Run(data) == unix.SECCOMP_RET_ALLOW {
						got = append(got, set.name)
					}
				}
				if diff := cmp.Diff(strings.Fields(tc.allowed), got, cmp.Transformer("", func(s []string) string { return strings.Join(s, " ") })); diff != "" {
					t.Errorf("%s: allowed (-want +got):\n%s", arch, diff)
				}
			}
		})
	}
}

// TestMultipathIsAbsent: programs try it and go on with TCP; that is no event.
func TestMultipathIsAbsent(t *testing.T) {
	t.Parallel()
	for _, arch := range arches {
		n, _ := nr(arch, "socket")
		data := SeccompData{Nr: n, Arch: audit(arch), Args: [6]uint64{unix.AF_INET6, unix.SOCK_STREAM, unix.IPPROTO_MPTCP}}
		for _, set := range sets {
			want := unix.SECCOMP_RET_ERRNO | uint32(unix.EPROTONOSUPPORT)
			if set.name == "closed" {
				want = deniedCall
			}
			if got := build(t, arch, set.options).Run(data); got != want {
				t.Errorf("%s %s: got %#x, want %#x", arch, set.name, got, want)
			}
		}
	}
}

func TestPersonalitiesOfTheProfile(t *testing.T) {
	t.Parallel()
	f := build(t, "", Options{Network: "none"})
	n, _ := nr(runtime.GOARCH, "personality")
	seen := 0
	for _, call := range seccomp.DefaultProfile().Syscalls {
		for _, arg := range call.Args {
			if call.Names[0] != "personality" {
				continue
			}
			seen++
			if got := f.Run(SeccompData{Nr: n, Arch: audit(runtime.GOARCH), Args: [6]uint64{arg.Value}}); got != allowedCall {
				t.Errorf("personality %#x: got %#x, want it allowed as by the profile", arg.Value, got)
			}
		}
	}
	if seen == 0 {
		t.Error("the profile has no personalities any more; judge them anew")
	}
}

func TestBuildRefuses(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{{}, {Network: "Host"}, {Network: "none", Arch: "riscv64"}, {Network: "none", Arch: "x86_64"}} {
		if f, err := Build(o); err == nil || f.Program != nil || f.Digest != "" {
			t.Errorf("%+v: got %d instructions and %v, want nothing and an error", o, len(f.Program), err)
		}
	}
}

// TestDigests keeps programs from changing unnoticed: a record that names a
// digest must mean the same in the next version, or NEWS says otherwise.
func TestDigests(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, arch := range arches {
		for _, set := range sets {
			for _, notify := range []bool{false, true} {
				o := set.options
				o.Notify = notify
				f, again := build(t, arch, o), build(t, arch, o)
				if diff := cmp.Diff(f, again); diff != "" {
					t.Errorf("%s %+v: built twice, differently:\n%s", arch, o, diff)
				}
				if n := len(f.Program); n > 200 {
					t.Errorf("%s %+v: %d instructions; what is long is slow to install", arch, o, n)
				}
				fmt.Fprintf(&b, "%s %s notify=%t %d %s\n", arch, set.name, notify, len(f.Program), f.Digest)
			}
		}
	}
	const name = "testdata/digests.golden"
	if *update {
		if err := os.WriteFile(name, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("programs changed; if that is meant, run with -update (-want +got):\n%s", diff)
	}
}

// TestProperties: with a listener the same calls are denied as without; and the
// half of an argument that the kernel drops doesn't count.
func TestProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		o := rapid.SampledFrom(sets).Draw(t, "set").options
		arch := rapid.SampledFrom(arches).Draw(t, "arch")
		o.Arch = arch
		quiet, err := Build(o)
		if err != nil {
			t.Fatal(err)
		}
		o.Notify = true
		loud, err := Build(o)
		if err != nil {
			t.Fatal(err)
		}
		word := rapid.OneOf(rapid.Uint32Range(0, 70), rapid.Uint32(), rapid.SampledFrom([]uint32{unix.TIOCSTI, unix.MSG_FASTOPEN, unix.CLONE_NEWUSER}))
		data := SeccompData{Nr: int32(rapid.IntRange(-1, 500).Draw(t, "nr")), Arch: audit(arch)}
		masked := data
		for i := range data.Args {
			low := uint64(word.Draw(t, "low"))
			data.Args[i], masked.Args[i] = uint64(word.Draw(t, "high"))<<32|low, low
		}
		got, noted := quiet.Run(data), loud.Run(data)
		if (got == deniedCall) != (noted == notedCall) || got != deniedCall && got != noted {
			t.Fatalf("%+v: %#x without a listener, %#x with one", data, got, noted)
		}
		if Name(arch, data.Nr) != "unshare" && got != quiet.Run(masked) {
			t.Fatalf("%+v: the high halves changed the answer %#x", data, got)
		}
	})
}
