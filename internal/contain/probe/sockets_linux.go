package probe

import (
	"errors"
	"net/netip"

	"golang.org/x/sys/unix"
)

// connects holds when the Unix socket can't be reached.
func connects(name string) Result {
	if name == "" {
		return all()
	}
	return all(try{"connect", connect(unix.AF_UNIX, unix.SOCK_STREAM, &unix.SockaddrUnix{Name: name})})
}

func connect(family, kind int, to unix.Sockaddr) error {
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	return errors.Join(unix.Connect(fd, to), unix.Close(fd))
}

// away is an address for documentation: there is no such host. Connecting a
// socket of datagrams to it sends nothing, and says whether there is a way.
var away = &unix.SockaddrInet4{Port: 53, Addr: [4]byte{192, 0, 2, 1}}

func tcp(t Targets) Result {
	to, ok := address(t.TCP)
	if !ok {
		return all()
	}
	return all(try{"connect to " + t.TCP, connect(unix.AF_INET, unix.SOCK_STREAM, to)})
}

// udp sends a datagram to the machine's loopback. Whether one that could be
// sent arrived is seen there only.
func udp(t Targets) Result {
	to, ok := address(t.UDP)
	if !ok {
		return all()
	}
	route := try{"find a way to 192.0.2.1", connect(unix.AF_INET, unix.SOCK_DGRAM, away)}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return all(route, try{"socket", err})
	}
	sent := errors.Join(unix.Sendto(fd, []byte("paddock doctor"), 0, to), unix.Close(fd))
	if sent == nil {
		sent = errors.New("sent, into a network of its own unless it arrives")
	}
	return all(route, try{"send to " + t.UDP, sent})
}

func address(text string) (*unix.SockaddrInet4, bool) {
	a, err := netip.ParseAddrPort(text)
	if err != nil || !a.Addr().Is4() {
		return nil, false
	}
	return &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}, true
}

func rawSockets(Targets) Result {
	socket := func(what string, family, kind, protocol int) try {
		fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, protocol)
		if err == nil {
			err = errors.Join(unix.Close(fd)) // nil: it was made
		}
		return try{what, err}
	}
	return all(
		socket("ICMP", unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP),
		socket("raw IP", unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_UDP),
		socket("packets", unix.AF_PACKET, unix.SOCK_RAW, 0),
		socket("vsock", unix.AF_VSOCK, unix.SOCK_STREAM, 0),
	)
}

// loopback talks to itself.
func loopback(Targets) Result {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return broken("socket: %v", err)
	}
	err = unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	if err == nil {
		err = unix.Listen(fd, 1)
	}
	var here unix.Sockaddr
	if err == nil {
		here, err = unix.Getsockname(fd)
	}
	if err == nil {
		err = connect(unix.AF_INET, unix.SOCK_STREAM, here)
	}
	if err = errors.Join(err, unix.Close(fd)); err != nil {
		return broken("connect to itself: %v", err)
	}
	return held("it reaches itself over 127.0.0.1")
}
