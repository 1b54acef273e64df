//go:build linux

package filter

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestDescribeAndExplain(t *testing.T) {
	t.Parallel()
	const bits = unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK
	for _, tc := range []struct {
		call string
		args [6]uint64
		said string // what Describe says of the arguments
		want string
	}{
		{"socket", [6]uint64{unix.AF_INET, unix.SOCK_STREAM | bits, 0}, "AF_INET, SOCK_STREAM, 0",
			"the program tried to reach the network over AF_INET; the policy gives none"},
		{"socket", [6]uint64{unix.AF_INET6, unix.SOCK_STREAM, 6}, "AF_INET6, SOCK_STREAM, IPPROTO_TCP",
			"the program tried to reach the network over AF_INET6; the policy gives none"},
		{"socket", [6]uint64{unix.AF_INET, unix.SOCK_DGRAM, 17}, "AF_INET, SOCK_DGRAM, IPPROTO_UDP",
			"the program tried to reach the network over UDP (AF_INET); this containment gives no UDP"},
		{"socket", [6]uint64{unix.AF_INET, unix.SOCK_DGRAM, 1}, "AF_INET, SOCK_DGRAM, IPPROTO_ICMP",
			"the program tried to send ICMP over AF_INET (ping); only the network of the host gives that"},
		{"socket", [6]uint64{unix.AF_INET, unix.SOCK_RAW, 255}, "AF_INET, SOCK_RAW, IPPROTO_RAW",
			"the program tried to open a raw socket of AF_INET; no policy gives that"},
		{"socket", [6]uint64{unix.AF_INET, unix.SOCK_STREAM, 132}, "AF_INET, SOCK_STREAM, IPPROTO_SCTP",
			"the program tried to open a socket of AF_INET, SOCK_STREAM, IPPROTO_SCTP; no policy gives that; TCP and UDP are what it can give"},
		{"socket", [6]uint64{unix.AF_UNIX, unix.SOCK_STREAM, 0}, "AF_UNIX, SOCK_STREAM, 0",
			"the program tried to talk to another program over a unix socket; the policy gives none"},
		{"socket", [6]uint64{unix.AF_NETLINK, unix.SOCK_RAW, 9}, "AF_NETLINK, SOCK_RAW, NETLINK_AUDIT",
			"the program tried to talk to the kernel over AF_NETLINK NETLINK_AUDIT; only asking about routes and addresses (NETLINK_ROUTE) is given"},
		{"socket", [6]uint64{unix.AF_VSOCK, unix.SOCK_STREAM, 0}, "AF_VSOCK, SOCK_STREAM, 0",
			"the program tried to open a socket of AF_VSOCK; no policy gives that; AF_INET and AF_INET6 are what it can give"},
		{"socket", [6]uint64{99, 12, 0}, "99, 12, 0",
			"the program tried to open a socket of 99; no policy gives that; AF_INET and AF_INET6 are what it can give"},
		{"socketpair", [6]uint64{unix.AF_UNIX, unix.SOCK_DGRAM, 0}, "AF_UNIX, SOCK_DGRAM, 0",
			"the program tried to make a pair of AF_UNIX sockets that could reach other programs; a pair of AF_UNIX stream sockets is given"},
		{"sendto", [6]uint64{3, 0, 0, unix.MSG_FASTOPEN}, "MSG_FASTOPEN",
			"the program tried to connect by TCP Fast Open; connect in the ordinary way, which the policy judges"},
		{"clone", [6]uint64{unix.CLONE_NEWUSER | unix.CLONE_NEWNS | 17}, "CLONE_NEWUSER|CLONE_NEWNS|0x11",
			"the program tried to make new namespaces (CLONE_NEWUSER|CLONE_NEWNS|0x11); the policy gives none; nested sandboxes can be turned off in most tools"},
		{"unshare", [6]uint64{0x80}, "0x80",
			"the program tried to make new namespaces (0x80); the policy gives none; nested sandboxes can be turned off in most tools"},
		{"setns", [6]uint64{3}, "", "the program tried to enter other namespaces; the policy gives none"},
		{"ioctl", [6]uint64{0, unix.TIOCSTI}, "TIOCSTI", "the program tried to take over its terminal (TIOCSTI); no policy gives that"},
		{"personality", [6]uint64{0x400000}, "0x400000", "the program tried to weaken its own memory protection (0x400000); no policy gives that"},
		{"memfd_create", [6]uint64{0, 8}, "",
			"the program tried to make a file in memory, which could be executed without being listed; the policy has `exec: listed`; most programs have an ordinary way too"},
		{"mknodat", [6]uint64{0, 0, unix.S_IFBLK | 0o600}, "S_IFBLK",
			"the program tried to make a device (S_IFBLK); no policy gives that; files, pipes and sockets can be made"},
		{"ptrace", [6]uint64{0, 1}, "",
			"the program tried to look into another process (ptrace); debuggers, tracers and leak checkers can't work here (for AddressSanitizer set ASAN_OPTIONS=detect_leaks=0)"},
		{"mount", [6]uint64{}, "",
			"the program tried to change or go round the mounted file systems (mount); what it needs to see must be in the policy; containers can't be built here"},
		{"getpid", [6]uint64{}, "", "the program made the system call getpid; runs aren't given it"},
	} {
		n, ok := nr("arm64", tc.call)
		if !ok {
			t.Fatalf("no call is named %s", tc.call)
		}
		name, args := Describe("arm64", SeccompData{Nr: n, Args: tc.args})
		if name != tc.call || args != tc.said {
			t.Errorf("%s %#x: described as %q %q, want %q", tc.call, tc.args, name, args, tc.said)
		}
		if got := Explain(name, args); got != tc.want {
			t.Errorf("%s %s:\n got %s\nwant %s", tc.call, tc.said, got, tc.want)
		}
	}
}

// TestExplainKnowsEveryDenial: nothing that is denied goes unexplained, whatever
// the arguments.
func TestExplainKnowsEveryDenial(t *testing.T) {
	t.Parallel()
	for _, arch := range arches {
		a, err := findArch(arch)
		if err != nil {
			t.Fatal(err)
		}
		f := build(t, arch, Options{Network: "none", TCPOnly: true})
		for _, c := range a.calls() {
			for _, fill := range []uint64{0, 1, unix.S_IFCHR, unix.TIOCSTI, unix.MSG_FASTOPEN, ^uint64(0)} {
				data := SeccompData{Nr: c.nr, Arch: audit(arch), Args: [6]uint64{fill, fill, fill, fill, fill, fill}}
				if f.Run(data) != deniedCall {
					continue
				}
				text := Explain(Describe(arch, data))
				if !strings.HasPrefix(text, "the program tried to ") || !strings.Contains(text, "; ") {
					t.Errorf("%s %#x: %q says neither what was tried nor what to do", c.name, fill, text)
				}
			}
		}
	}
	// Records may hold anything; a caller gets a sentence all the same.
	for _, args := range []string{"", ", ", "AF_INET", "a, b, c, d"} {
		for _, name := range []string{"", "socket", "socketpair", "clone", "no such call"} {
			if text := Explain(name, args); !strings.HasPrefix(text, "the program ") {
				t.Errorf("%q %q: %q", name, args, text)
			}
		}
	}
}

func TestName(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		arch string
		nr   int32
		want string
	}{
		{"amd64", 0, "read"}, {"amd64", 56, "clone"}, {"amd64", 400, "syscall 400"}, {"amd64", 435, "clone3"},
		{"arm64", 0, "io_setup"}, {"arm64", 220, "clone"}, {"arm64", 435, "clone3"},
		{"amd64", -1, "syscall -1"}, {"mips", 0, "syscall 0"}, {"", 0, "syscall 0"},
	} {
		if got := Name(tc.arch, tc.nr); got != tc.want {
			t.Errorf("%s %d: got %s, want %s", tc.arch, tc.nr, got, tc.want)
		}
	}
}
