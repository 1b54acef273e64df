package contain

import (
	"encoding/binary"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"

	"paddock"
)

// A message is a report that brings a descriptor, prepared: the kernel is told
// where both lie, and descriptor is where the call that makes it puts it.
type message struct {
	descriptor []byte
	header     Arg
}

func newMessage(kind uint32) message {
	rights := make([]byte, unix.CmsgSpace(4))
	control := (*unix.Cmsghdr)(unsafe.Pointer(unsafe.SliceData(rights)))
	control.Level, control.Type = unix.SOL_SOCKET, unix.SCM_RIGHTS
	control.SetLen(unix.CmsgLen(4))
	report := make([]byte, 16)
	binary.NativeEndian.PutUint32(report, kind)
	var part unix.Iovec
	part.SetLen(len(report))
	var header unix.Msghdr
	header.SetIovlen(1)
	header.SetControllen(len(rights))
	return message{rights[unix.CmsgLen(0):][:4], Memory(bytesOf(&header),
		Pointer{At: unsafe.Offsetof(header.Iov), To: bytesOf(&part), Pointers: []Pointer{{At: unsafe.Offsetof(part.Base), To: report}}},
		Pointer{At: unsafe.Offsetof(header.Control), To: rights},
	)}
}

// send reports the descriptor and lets go of it.
func (m message) send(step string) []Call {
	return []Call{
		prepared(step, unix.SYS_SENDMSG, []Arg{Number(SlotReport), m.header, Number(unix.MSG_NOSIGNAL)}),
		prepared(step, unix.SYS_CLOSE, []Arg{Result(m.descriptor)}),
	}
}

// backlog is how many connections may wait to be accepted.
const backlog = 128

// wayOut makes the socket on which the run's proxy listens, inside the run's
// network, and hands it out. A socket stays in the network in which it was made,
// so nothing has to be in there to pass bytes on.
func (p *Plan) wayOut() {
	const step = "way out"
	at := netip.MustParseAddrPort(paddock.ProxyAddress)
	address := unix.RawSockaddrInet4{Family: unix.AF_INET, Addr: at.Addr().As4()}
	binary.BigEndian.PutUint16(bytesOf(&address.Port), at.Port())
	out := newMessage(ReportSocket)
	p.Setup = append(p.Setup, Call{
		Step: step, Nr: unix.SYS_SOCKET, Into: out.descriptor,
		Args: [6]Arg{Number(unix.AF_INET), Number(unix.SOCK_STREAM | unix.SOCK_CLOEXEC), Number(0)},
	})
	p.setup(step, unix.SYS_BIND, Result(out.descriptor), Memory(bytesOf(&address)), Number(unix.SizeofSockaddrInet4))
	p.setup(step, unix.SYS_LISTEN, Result(out.descriptor), Number(backlog))
	p.Setup = append(p.Setup, out.send(step)...)
}
