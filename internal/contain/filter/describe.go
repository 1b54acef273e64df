//go:build linux

package filter

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Describe returns the name of a call as Name does, and those of its arguments
// by which it was judged, in the kernel's words: "socket" and "AF_INET,
// SOCK_STREAM, IPPROTO_TCP". The arguments of calls that are always denied are
// left out, since they are mostly addresses.
func Describe(arch string, data SeccompData) (name, args string) {
	name = Name(arch, data.Nr)
	low := func(i int) uint32 { return uint32(data.Args[i]) }
	switch name {
	case "socket", "socketpair":
		return name, strings.Join([]string{word(families, low(0)), word(socketTypes, low(1)&typeMask), protocol(low(0), low(2))}, ", ")
	case "clone":
		return name, flags(low(0))
	case "unshare":
		return name, flags(low(0))
	case "ioctl":
		return name, word(ioctls, low(1))
	case "personality":
		return name, fmt.Sprintf("%#x", low(0))
	case "chmod", "fchmod", "creat":
		return name, mode(low(1))
	case "fchmodat", "fchmodat2", "open":
		return name, mode(low(2))
	case "openat":
		return name, mode(low(3))
	case "mknod":
		return name, word(fileTypes, low(1)&unix.S_IFMT)
	case "mknodat":
		return name, word(fileTypes, low(2)&unix.S_IFMT)
	case "sendto", "sendmsg", "sendmmsg":
		return name, "MSG_FASTOPEN"
	case "setsockopt":
		return name, "TCP_FASTOPEN_CONNECT"
	}
	return name, ""
}

func mode(v uint32) string { return fmt.Sprintf("mode %#o", v&0o7777) }

// word returns the name of a value, or the value.
func word(names map[uint32]string, v uint32) string {
	if name, ok := names[v]; ok {
		return name
	}
	return strconv.FormatUint(uint64(v), 10)
}

func protocol(family, v uint32) string {
	switch family {
	case unix.AF_INET, unix.AF_INET6:
		return word(protocols, v)
	case unix.AF_NETLINK:
		return word(netlinks, v)
	}
	return strconv.FormatUint(uint64(v), 10)
}

// flags returns the namespaces asked for, and the rest as a number.
func flags(v uint32) string {
	var set []string
	for _, f := range namespaceFlags {
		if v&f.bit != 0 {
			set = append(set, f.name)
			v &^= f.bit
		}
	}
	if v != 0 || len(set) == 0 {
		set = append(set, fmt.Sprintf("%#x", v))
	}
	return strings.Join(set, "|")
}

var namespaceFlags = []struct {
	bit  uint32
	name string
}{
	{unix.CLONE_NEWUSER, "CLONE_NEWUSER"},
	{unix.CLONE_NEWNS, "CLONE_NEWNS"},
	{unix.CLONE_NEWPID, "CLONE_NEWPID"},
	{unix.CLONE_NEWNET, "CLONE_NEWNET"},
	{unix.CLONE_NEWIPC, "CLONE_NEWIPC"},
	{unix.CLONE_NEWUTS, "CLONE_NEWUTS"},
	{unix.CLONE_NEWCGROUP, "CLONE_NEWCGROUP"},
}

var families = map[uint32]string{
	unix.AF_UNIX: "AF_UNIX", unix.AF_INET: "AF_INET", unix.AF_INET6: "AF_INET6",
	unix.AF_NETLINK: "AF_NETLINK", unix.AF_PACKET: "AF_PACKET", unix.AF_ALG: "AF_ALG",
	unix.AF_VSOCK: "AF_VSOCK", unix.AF_KEY: "AF_KEY", unix.AF_RDS: "AF_RDS", unix.AF_CAN: "AF_CAN",
	unix.AF_TIPC: "AF_TIPC", unix.AF_BLUETOOTH: "AF_BLUETOOTH", unix.AF_NFC: "AF_NFC",
	unix.AF_SMC: "AF_SMC", unix.AF_XDP: "AF_XDP", unix.AF_KCM: "AF_KCM", unix.AF_QIPCRTR: "AF_QIPCRTR",
}

var socketTypes = map[uint32]string{
	unix.SOCK_STREAM: "SOCK_STREAM", unix.SOCK_DGRAM: "SOCK_DGRAM", unix.SOCK_RAW: "SOCK_RAW",
	unix.SOCK_RDM: "SOCK_RDM", unix.SOCK_SEQPACKET: "SOCK_SEQPACKET", unix.SOCK_PACKET: "SOCK_PACKET",
}

var protocols = map[uint32]string{
	unix.IPPROTO_TCP: "IPPROTO_TCP", unix.IPPROTO_UDP: "IPPROTO_UDP", unix.IPPROTO_ICMP: "IPPROTO_ICMP",
	unix.IPPROTO_ICMPV6: "IPPROTO_ICMPV6", unix.IPPROTO_SCTP: "IPPROTO_SCTP", unix.IPPROTO_MPTCP: "IPPROTO_MPTCP",
	unix.IPPROTO_RAW: "IPPROTO_RAW", unix.IPPROTO_UDPLITE: "IPPROTO_UDPLITE",
}

var netlinks = map[uint32]string{
	unix.NETLINK_ROUTE: "NETLINK_ROUTE", unix.NETLINK_SOCK_DIAG: "NETLINK_SOCK_DIAG",
	unix.NETLINK_XFRM: "NETLINK_XFRM", unix.NETLINK_AUDIT: "NETLINK_AUDIT",
	unix.NETLINK_NETFILTER: "NETLINK_NETFILTER", unix.NETLINK_KOBJECT_UEVENT: "NETLINK_KOBJECT_UEVENT",
	unix.NETLINK_GENERIC: "NETLINK_GENERIC", unix.NETLINK_CRYPTO: "NETLINK_CRYPTO",
}

var ioctls = map[uint32]string{unix.TIOCSTI: "TIOCSTI", tiocLinux: "TIOCLINUX", unix.TIOCSETD: "TIOCSETD"}

var fileTypes = map[uint32]string{
	unix.S_IFCHR: "S_IFCHR", unix.S_IFBLK: "S_IFBLK", unix.S_IFREG: "S_IFREG", unix.S_IFIFO: "S_IFIFO",
	unix.S_IFSOCK: "S_IFSOCK", unix.S_IFDIR: "S_IFDIR", unix.S_IFLNK: "S_IFLNK",
}
