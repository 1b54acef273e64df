// Package network has the attempts on sockets and what they reach.
//
// # Limits
//
// What came of a datagram that could be sent is seen only where it would arrive.
package network

import (
	"errors"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"paddock/internal/contain/probe/attempt"
	"paddock/internal/contain/probe/attempt/calls"
)

// patience is how long an answer may take that comes from the same machine.
const patience = 10 * time.Second

func dials(network string, address func(attempt.Targets) string) attempt.Deed {
	return calls.On(address, func(to string) error {
		conn, err := net.DialTimeout(network, to, patience)
		if err != nil {
			return err
		}
		defer conn.Close()
		if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
			return err
		}
		_, _ = conn.Write([]byte("hello")) // who answers without being asked may be gone
		_, err = conn.Read(make([]byte, 1))
		return err
	})
}

// Deeds returns them by name.
func Deeds() map[string]attempt.Deed {
	all := sockets()
	maps.Copy(all, reached())
	return all
}

// sockets are attempts to make sockets of kinds that no build needs.
func sockets() map[string]attempt.Deed {
	all := map[string]attempt.Deed{}
	for _, s := range []struct {
		name             string
		family, typ, pro int
	}{
		{"a raw socket", unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP},
		{"a raw IPv6 socket", unix.AF_INET6, unix.SOCK_RAW, unix.IPPROTO_ICMPV6},
		{"a ping socket", unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP},
		{"a packet socket", unix.AF_PACKET, unix.SOCK_RAW, 0},
		{"a socket to the hypervisor", unix.AF_VSOCK, unix.SOCK_STREAM, 0},
		{"a socket of the kernel's ciphers", unix.AF_ALG, unix.SOCK_SEQPACKET, 0},
		{"an audit socket", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT},
		{"a firewall socket", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER},
		{"a multipath socket", unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP},
		{"an SCTP socket", unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP},
		{"a Bluetooth socket", unix.AF_BLUETOOTH, unix.SOCK_RAW, 0},
	} {
		all["open "+s.name] = func(attempt.Targets) error {
			fd, err := unix.Socket(s.family, s.typ, s.pro)
			if err != nil {
				return err
			}
			return unix.Close(fd)
		}
	}
	return all
}

// reached are attempts to reach services outside.
func reached() map[string]attempt.Deed {
	at := func(host string, port func(attempt.Targets) int) func(attempt.Targets) string {
		return func(t attempt.Targets) string {
			if port(t) == 0 {
				return ""
			}
			return net.JoinHostPort(host, strconv.Itoa(port(t)))
		}
	}
	tcp4, tcp6, udp4 := func(t attempt.Targets) int { return t.TCP4 }, func(t attempt.Targets) int { return t.TCP6 }, func(t attempt.Targets) int { return t.UDP4 }
	return map[string]attempt.Deed{
		"reach a TCP service of the machine":        dials("tcp4", at("127.0.0.1", tcp4)),
		"reach it by another loopback address":      dials("tcp4", at("127.9.9.9", tcp4)),
		"reach it by an IPv4 address written as v6": dials("tcp", at("::ffff:127.0.0.1", tcp4)),
		"reach it by the address 0":                 dials("tcp4", at("0.0.0.0", tcp4)),
		"reach it by TCP Fast Open":                 fastOpen,
		"reach an IPv6 service of the machine":      dials("tcp6", at("::1", tcp6)),
		"reach a UDP service of the machine":        dials("udp4", at("127.0.0.1", udp4)),
		"find a way outside":                        wayOut,
		"reach an abstract socket of the machine": dials("unix", func(t attempt.Targets) string {
			if t.Abstract == "" {
				return ""
			}
			return "@" + t.Abstract
		}),
		"reach a socket outside of the root": dials("unix", calls.Outside("socket")),
		"reach a container engine":           engine,
		"reach a socket inside of the root":  dials("unix", func(t attempt.Targets) string { return filepath.Join(t.Root, "socket") }),
		"reach it by a datagram pair":        calls.On(calls.Outside("datagrams"), datagramPair),
		"have another way than loopback": func(attempt.Targets) error {
			all, err := net.Interfaces()
			if err != nil {
				return err
			}
			for _, i := range all {
				if i.Flags&net.FlagLoopback == 0 && i.Flags&net.FlagUp != 0 {
					return nil
				}
			}
			return attempt.ErrHeld
		},
		"find shared memory of the machine": func(t attempt.Targets) error {
			if t.SharedMemory == 0 {
				return attempt.ErrUntried
			}
			_, err := unix.SysvShmGet(t.SharedMemory, 1, 0)
			return err
		},
	}
}

// wayOut asks for a way to an address for documentation: there is no such host.
// Connecting a socket of datagrams sends nothing.
func wayOut(attempt.Targets) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Connect(fd, &unix.SockaddrInet4{Port: 53, Addr: [4]byte{192, 0, 2, 1}})
}

// engine connects where container engines listen, and says nothing to them.
func engine(attempt.Targets) error {
	var refused error
	for _, path := range []string{
		"/run/docker.sock", "/var/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock", "/run/crio/crio.sock",
		"/run/user/" + strconv.Itoa(os.Getuid()) + "/docker.sock",
	} {
		conn, err := net.DialTimeout("unix", path, patience)
		if err == nil {
			return conn.Close()
		}
		refused = err
	}
	return refused
}

func datagramPair(to string) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	err = unix.Connect(pair[0], &unix.SockaddrUnix{Name: to})
	if errors.Is(err, unix.EISCONN) || err == nil {
		return nil
	}
	return err
}

func fastOpen(t attempt.Targets) error {
	if t.TCP4 == 0 {
		return attempt.ErrUntried
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Sendto(fd, []byte("hello"), unix.MSG_FASTOPEN, &unix.SockaddrInet4{Port: t.TCP4, Addr: [4]byte{127, 0, 0, 1}})
}
