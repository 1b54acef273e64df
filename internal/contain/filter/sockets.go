//go:build linux

package filter

import (
	"golang.org/x/sys/unix"

	"paddock/internal/contain/filter/bpf"
)

// typeMask shows a socket's type without SOCK_CLOEXEC and SOCK_NONBLOCK, as the
// kernel's SOCK_TYPE_MASK does.
const typeMask = 0xf

// socket judges the family, then the type, then the protocol. Whole families
// stay closed whatever the policy says: AF_VSOCK and AF_PACKET reach past what
// namespaces and Landlock hold, AF_ALG and the rest are kernel code that no
// build needs.
func (c conditions) socket() bpf.Label {
	return c.Low(0, bpf.EveryBit, []bpf.Choice{
		{Values: []uint32{unix.AF_UNIX}, To: c.unix()},
		{Values: []uint32{unix.AF_INET, unix.AF_INET6}, To: c.inet()},
		{Values: []uint32{unix.AF_NETLINK}, To: c.netlink()},
	}, c.no())
}

func (c conditions) unix() bpf.Label {
	if !c.UnixSockets {
		return c.no()
	}
	return c.Low(1, typeMask, []bpf.Choice{{Values: []uint32{unix.SOCK_STREAM, unix.SOCK_DGRAM, unix.SOCK_SEQPACKET}, To: c.yes()}}, c.no())
}

func (c conditions) inet() bpf.Label {
	if c.Network == "none" && c.TCPOnly {
		return c.no()
	}
	// Multipath TCP connects where Landlock doesn't look. Programs try it
	// first and then plain TCP, so it isn't there rather than denied.
	stream := c.Low(2, bpf.EveryBit, []bpf.Choice{
		{Values: []uint32{0, unix.IPPROTO_TCP}, To: c.yes()},
		{Values: []uint32{unix.IPPROTO_MPTCP}, To: c.Ret(absentProtocol)},
	}, c.no())
	types := []bpf.Choice{{Values: []uint32{unix.SOCK_STREAM}, To: stream}}
	if !c.TCPOnly {
		datagrams := []uint32{0, unix.IPPROTO_UDP}
		if c.Network == "host" {
			datagrams = append(datagrams, unix.IPPROTO_ICMP, unix.IPPROTO_ICMPV6)
		}
		types = append(types, bpf.Choice{Values: []uint32{unix.SOCK_DGRAM}, To: c.Low(2, bpf.EveryBit, []bpf.Choice{{Values: datagrams, To: c.yes()}}, c.no())})
	}
	return c.Low(1, typeMask, types, c.no())
}

// netlink is for asking about interfaces and addresses, as the C libraries do
// to resolve names. Changing them takes a capability.
func (c conditions) netlink() bpf.Label {
	route := c.Low(2, bpf.EveryBit, []bpf.Choice{{Values: []uint32{unix.NETLINK_ROUTE}, To: c.yes()}}, c.no())
	return c.Low(1, typeMask, []bpf.Choice{{Values: []uint32{unix.SOCK_RAW, unix.SOCK_DGRAM}, To: route}}, c.no())
}

// socketpair makes pairs of unix sockets. One of a pair of datagram sockets can
// leave its twin and connect to, or send to, any name; streams can't.
func (c conditions) socketpair() bpf.Label {
	types := []uint32{unix.SOCK_STREAM, unix.SOCK_SEQPACKET}
	if c.UnixSockets {
		types = append(types, unix.SOCK_DGRAM)
	}
	pair := c.Low(1, typeMask, []bpf.Choice{{Values: types, To: c.yes()}}, c.no())
	return c.Low(0, bpf.EveryBit, []bpf.Choice{{Values: []uint32{unix.AF_UNIX}, To: pair}}, c.no())
}

// send denies connecting by sending, which Landlock's rules for connect don't
// see (https://github.com/landlock-lsm/linux/issues/41).
func (c conditions) send(flags int) bpf.Label {
	if !c.TCPOnly {
		return c.yes()
	}
	return c.Low(flags, unix.MSG_FASTOPEN, []bpf.Choice{{Values: []uint32{0}, To: c.yes()}}, c.no())
}

// setsockopt denies what makes connect put off connecting.
func (c conditions) setsockopt() bpf.Label {
	if !c.TCPOnly {
		return c.yes()
	}
	option := c.Low(2, bpf.EveryBit, []bpf.Choice{{Values: []uint32{unix.TCP_FASTOPEN_CONNECT}, To: c.no()}}, c.yes())
	return c.Low(1, bpf.EveryBit, []bpf.Choice{{Values: []uint32{unix.IPPROTO_TCP}, To: option}}, c.yes())
}
