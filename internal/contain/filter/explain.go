//go:build linux

package filter

import "strings"

// A reason says why a call is denied: what the program tried, as it follows "the
// program tried to", and what to do about it.
type reason struct{ tried, remedy string }

var (
	debugging = &reason{"look into another process",
		"debuggers, tracers and leak checkers can't work here (for AddressSanitizer set ASAN_OPTIONS=detect_leaks=0)"}
	deep = &reason{"use a part of the kernel that runs have no need of",
		"turn off the program's use of it, most have an ordinary way too"}
	keyrings = &reason{"use the kernel's keyrings", "give the run its secrets by the policy instead"}
	mounting = &reason{"change or go round the mounted file systems",
		"what it needs to see must be in the policy; containers can't be built here"}
	machine = &reason{"change the machine itself", "no policy gives that; do it outside of a run"}
)

// Explain says to a caller what a denied call means: what the program tried and
// why it isn't given. The arguments are what [Describe] returned.
func Explain(name, args string) string {
	r := reasonFor(name, strings.Split(args, ", "))
	call := name
	if args != "" {
		call += " " + args
	}
	if r == nil {
		return "the program made the system call " + call + "; runs aren't given it"
	}
	text := "the program tried to " + r.tried
	if denials[name] != nil {
		text += " (" + call + ")" // the reason alone doesn't tell which
	}
	return text + "; " + r.remedy
}

func reasonFor(name string, args []string) *reason {
	if r := denials[name]; r != nil {
		return r
	}
	switch name {
	case "socket":
		return socketReason(args)
	case "socketpair":
		return &reason{"make a pair of " + args[0] + " sockets that could reach other programs",
			"a pair of AF_UNIX stream sockets is given"}
	case "sendto", "sendmsg", "sendmmsg", "setsockopt":
		return &reason{"connect by TCP Fast Open", "connect in the ordinary way, which the policy judges"}
	case "clone", "unshare":
		return &reason{"make new namespaces (" + args[0] + ")", "the policy gives none; nested sandboxes can be turned off in most tools"}
	case "setns":
		return &reason{"enter other namespaces", "the policy gives none"}
	case "ioctl":
		return &reason{"take over its terminal (" + args[0] + ")", "no policy gives that"}
	case "personality":
		return &reason{"weaken its own memory protection (" + args[0] + ")", "no policy gives that"}
	case "chmod", "fchmod", "fchmodat", "fchmodat2", "open", "openat", "creat":
		return &reason{"make a file that runs as its owner for everybody (" + args[0] + ")", "no policy gives that; set the bit outside of a run"}
	case "memfd_create":
		return &reason{"make a file in memory, which could be executed without being listed",
			"the policy has `exec: listed`; most programs have an ordinary way too"}
	case "mknod", "mknodat":
		return &reason{"make a device (" + args[0] + ")", "no policy gives that; files, pipes and sockets can be made"}
	}
	return nil
}

func socketReason(args []string) *reason {
	if len(args) != 3 {
		return nil
	}
	family, kind, protocol := args[0], args[1], args[2]
	internet := family == "AF_INET" || family == "AF_INET6"
	switch {
	case family == "AF_UNIX":
		return &reason{"talk to another program over a unix socket", "the policy gives none"}
	case family == "AF_NETLINK":
		return &reason{"talk to the kernel over AF_NETLINK " + protocol, "only asking about routes and addresses (NETLINK_ROUTE) is given"}
	case !internet:
		return &reason{"open a socket of " + family, "no policy gives that; AF_INET and AF_INET6 are what it can give"}
	case kind == "SOCK_RAW":
		return &reason{"open a raw socket of " + family, "no policy gives that"}
	case kind == "SOCK_STREAM" && (protocol == "0" || protocol == "IPPROTO_TCP"):
		return &reason{"reach the network over " + family, "the policy gives none"}
	case kind == "SOCK_DGRAM" && strings.HasPrefix(protocol, "IPPROTO_ICMP"):
		return &reason{"send ICMP over " + family + " (ping)", "only the network of the host gives that"}
	case kind == "SOCK_DGRAM" && (protocol == "0" || protocol == "IPPROTO_UDP"):
		return &reason{"reach the network over UDP (" + family + ")", "this containment gives no UDP"}
	}
	return &reason{"open a socket of " + strings.Join(args, ", "), "no policy gives that; TCP and UDP are what it can give"}
}
