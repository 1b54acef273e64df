package escape

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// patience is how long an answer may take that comes from the same machine.
const patience = 2 * time.Second

func dials(network string, address func(Aim) string) attempt {
	return func(a Aim) error {
		conn, err := net.DialTimeout(network, address(a), patience)
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
	}
}

// sockets are attempts to make sockets of kinds that no build needs.
func sockets() map[string]attempt {
	all := map[string]attempt{}
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
		all["open "+s.name] = func(Aim) error {
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
func reached() map[string]attempt {
	loopback := func(port func(Aim) int, host string) func(Aim) string {
		return func(a Aim) string { return net.JoinHostPort(host, fmt.Sprint(port(a))) }
	}
	tcp4, tcp6, udp4 := func(a Aim) int { return a.TCP4 }, func(a Aim) int { return a.TCP6 }, func(a Aim) int { return a.UDP4 }
	fixed := func(address string) func(Aim) string { return func(Aim) string { return address } }
	return map[string]attempt{
		"reach a TCP service of the machine":        dials("tcp4", loopback(tcp4, "127.0.0.1")),
		"reach it by another loopback address":      dials("tcp4", loopback(tcp4, "127.9.9.9")),
		"reach it by an IPv4 address written as v6": dials("tcp", loopback(tcp4, "::ffff:127.0.0.1")),
		"reach it by the address 0":                 dials("tcp4", loopback(tcp4, "0.0.0.0")),
		"reach it by TCP Fast Open":                 fastOpen,
		"reach an IPv6 service of the machine":      dials("tcp6", loopback(tcp6, "::1")),
		"reach a UDP service of the machine":        dials("udp4", loopback(udp4, "127.0.0.1")),
		"reach the metadata address":                dials("tcp4", fixed("169.254.169.254:80")),
		"reach an address outside":                  dials("tcp4", fixed("192.0.2.1:53")),
		"send a DNS question outside":               dials("udp4", fixed("192.0.2.1:53")),
		"reach an abstract socket of the machine":   dials("unix", func(a Aim) string { return "@" + a.Abstract }),
		"reach a socket outside of the root":        dials("unix", func(a Aim) string { return filepath.Join(a.Outside, "socket") }),
		"reach a socket inside of the root":         dials("unix", func(a Aim) string { return filepath.Join(a.Root, "socket") }),
		"reach it by a datagram pair": func(a Aim) error {
			pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
			if err != nil {
				return err
			}
			defer unix.Close(pair[0])
			defer unix.Close(pair[1])
			err = unix.Connect(pair[0], &unix.SockaddrUnix{Name: filepath.Join(a.Outside, "datagrams")})
			if errors.Is(err, unix.EISCONN) || err == nil {
				return nil
			}
			return err
		},
		"have another way than loopback": func(Aim) error {
			all, err := net.Interfaces()
			if err != nil {
				return err
			}
			for _, i := range all {
				if i.Flags&net.FlagLoopback == 0 && i.Flags&net.FlagUp != 0 {
					return nil
				}
			}
			return errHeld
		},
		"find shared memory of the machine": func(a Aim) error {
			_, err := unix.SysvShmGet(a.SharedMemory, 1, 0)
			return err
		},
	}
}

func fastOpen(a Aim) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Sendto(fd, []byte("hello"), unix.MSG_FASTOPEN, &unix.SockaddrInet4{Port: a.TCP4, Addr: [4]byte{127, 0, 0, 1}})
}
