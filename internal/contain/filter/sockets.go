//go:build linux

package filter

import "golang.org/x/sys/unix"

// typeMask shows a socket's type without SOCK_CLOEXEC and SOCK_NONBLOCK, as the
// kernel's SOCK_TYPE_MASK does.
const typeMask = 0xf

// socket judges the family, then the type, then the protocol. Whole families
// stay closed whatever the policy says: AF_VSOCK and AF_PACKET reach past what
// namespaces and Landlock hold, AF_ALG and the rest are kernel code that no
// build needs.
func (c conditions) socket() label {
	return c.low(0, everyBit, []choice{
		{[]uint32{unix.AF_UNIX}, c.unix()},
		{[]uint32{unix.AF_INET, unix.AF_INET6}, c.inet()},
		{[]uint32{unix.AF_NETLINK}, c.netlink()},
	}, c.no())
}

func (c conditions) unix() label {
	if !c.UnixSockets {
		return c.no()
	}
	return c.low(1, typeMask, []choice{{[]uint32{unix.SOCK_STREAM, unix.SOCK_DGRAM, unix.SOCK_SEQPACKET}, c.yes()}}, c.no())
}

func (c conditions) inet() label {
	if c.Network == "none" && c.TCPOnly {
		return c.no()
	}
	// Multipath TCP connects where Landlock doesn't look. Programs try it
	// first and then plain TCP, so it isn't there rather than denied.
	stream := c.low(2, everyBit, []choice{
		{[]uint32{0, unix.IPPROTO_TCP}, c.yes()},
		{[]uint32{unix.IPPROTO_MPTCP}, c.ret(absentProtocol)},
	}, c.no())
	types := []choice{{[]uint32{unix.SOCK_STREAM}, stream}}
	if !c.TCPOnly {
		datagrams := []uint32{0, unix.IPPROTO_UDP}
		if c.Network == "host" {
			datagrams = append(datagrams, unix.IPPROTO_ICMP, unix.IPPROTO_ICMPV6)
		}
		types = append(types, choice{[]uint32{unix.SOCK_DGRAM}, c.low(2, everyBit, []choice{{datagrams, c.yes()}}, c.no())})
	}
	return c.low(1, typeMask, types, c.no())
}

// netlink is for asking about interfaces and addresses, as the C libraries do
// to resolve names. Changing them takes a capability.
func (c conditions) netlink() label {
	route := c.low(2, everyBit, []choice{{[]uint32{unix.NETLINK_ROUTE}, c.yes()}}, c.no())
	return c.low(1, typeMask, []choice{{[]uint32{unix.SOCK_RAW, unix.SOCK_DGRAM}, route}}, c.no())
}

// socketpair makes pairs of unix sockets. One of a pair of datagram sockets can
// leave its twin and connect to, or send to, any name; streams can't.
func (c conditions) socketpair() label {
	types := []uint32{unix.SOCK_STREAM, unix.SOCK_SEQPACKET}
	if c.UnixSockets {
		types = append(types, unix.SOCK_DGRAM)
	}
	pair := c.low(1, typeMask, []choice{{types, c.yes()}}, c.no())
	return c.low(0, everyBit, []choice{{[]uint32{unix.AF_UNIX}, pair}}, c.no())
}

// send denies connecting by sending, which Landlock's rules for connect don't
// see (https://github.com/landlock-lsm/linux/issues/41).
func (c conditions) send(flags int) label {
	if !c.TCPOnly {
		return c.yes()
	}
	return c.low(flags, unix.MSG_FASTOPEN, []choice{{[]uint32{0}, c.yes()}}, c.no())
}

// setsockopt denies what makes connect put off connecting.
func (c conditions) setsockopt() label {
	if !c.TCPOnly {
		return c.yes()
	}
	option := c.low(2, everyBit, []choice{{[]uint32{unix.TCP_FASTOPEN_CONNECT}, c.no()}}, c.yes())
	return c.low(1, everyBit, []choice{{[]uint32{unix.IPPROTO_TCP}, option}}, c.yes())
}
