package contain

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"paddock"
)

// ReportTerminal is the kind of the report that brings the side of the run's terminal
// at which is typed and read, ReportProgramSide that of the one that brings the other:
// as long as somebody has that open, the terminal isn't at its end.
const (
	ReportTerminal    = 7
	ReportProgramSide = 8
)

// terminal makes the run's terminal and hands out one side of it; the other is the
// program's descriptors 0, 1 and 2. The process in between makes it, not the supervisor: at
// level full it belongs so to the run's own instance of devpts, where it is the only one,
// has a name that the program finds, and no descriptor of the host's mounts gets in.
//
// Nobody but the supervisor ever reads what the program says there, and nobody but the
// run's processes have it open, so that what is done to it (TIOCSTI, another line
// discipline, settings) is done to the run itself.
func (p *Plan) terminal(w Wish) {
	if w.Terminal == nil {
		return
	}
	const step = "terminal"
	multiplexer := "/dev/ptmx"
	if w.Level == paddock.Full {
		multiplexer = "/dev/pts/ptmx"
	}
	out, theirs := newMessage(ReportTerminal), newMessage(ReportProgramSide)
	flags := unix.O_RDWR | unix.O_NOCTTY | unix.O_CLOEXEC
	p.Setup = append(p.Setup, Call{
		Step: step, Nr: unix.SYS_OPENAT, Into: out.descriptor,
		Args: [6]Arg{Number(at), Text(multiplexer), Number(flags), Number(0)},
	})
	p.setup(step, unix.SYS_IOCTL, Result(out.descriptor), Number(unix.TIOCSPTLCK), Memory(make([]byte, 4)))
	size := unix.Winsize{Row: uint16(w.Terminal.Rows), Col: uint16(w.Terminal.Columns)}
	p.setup(step, unix.SYS_IOCTL, Result(out.descriptor), Number(unix.TIOCSWINSZ), Memory(bytesOf(&size)))
	p.Setup = append(p.Setup, Call{ // by no path, which could lead to another's
		Step: step, Nr: unix.SYS_IOCTL, Into: theirs.descriptor,
		Args: [6]Arg{Result(out.descriptor), Number(unix.TIOCGPTPEER), Number(flags)},
	})
	settings := sane()
	p.setup(step, unix.SYS_IOCTL, Result(theirs.descriptor), Number(unix.TCSETS), Memory(bytesOf(&settings)))
	if w.Level != paddock.Full && w.Account != nil {
		p.setup(step, unix.SYS_FCHOWN, Result(theirs.descriptor), Number(w.Account.UID), Number(w.Account.GID))
	}
	for fd := range 3 {
		p.setup(step, unix.SYS_DUP3, Result(theirs.descriptor), Number(fd), Number(0))
	}
	p.Setup = append(p.Setup, out.send(step)...)
	p.Setup = append(p.Setup, theirs.send(step)...)
	// The program leads a session by now, which has no terminal yet.
	p.become("controlling terminal", unix.SYS_IOCTL, Number(0), Number(unix.TIOCSCTTY), Number(0))
}

// kernelTermios is struct termios as TCSETS takes it, which is shorter than what the C
// library knows by that name.
type kernelTermios struct {
	Iflag, Oflag, Cflag, Lflag uint32
	Line                       uint8
	Cc                         [19]uint8
}

// sane is what a terminal is set to at first: what the kernel itself begins with, and UTF-8,
// but a ^S doesn't stop the program's output. Whoever typed that may be gone.
func sane() kernelTermios {
	t := kernelTermios{
		Iflag: unix.ICRNL | unix.IUTF8, Oflag: unix.OPOST | unix.ONLCR, Cflag: unix.B38400 | unix.CS8 | unix.CREAD | unix.HUPCL,
		Lflag: unix.ISIG | unix.ICANON | unix.ECHO | unix.ECHOE | unix.ECHOK | unix.ECHOCTL | unix.ECHOKE | unix.IEXTEN,
	}
	for i, c := range map[int]uint8{
		unix.VINTR: 'C' & 31, unix.VQUIT: '\\' & 31, unix.VERASE: 127, unix.VKILL: 'U' & 31, unix.VEOF: 'D' & 31, unix.VMIN: 1,
		unix.VSTART: 'Q' & 31, unix.VSTOP: 'S' & 31, unix.VSUSP: 'Z' & 31, unix.VREPRINT: 'R' & 31, unix.VDISCARD: 'O' & 31, unix.VWERASE: 'W' & 31, unix.VLNEXT: 'V' & 31,
	} {
		t.Cc[i] = c
	}
	return t
}

// The kernel's struct has 36 bytes; Go must not have padded ours.
var _ [0]struct{} = [unsafe.Sizeof(kernelTermios{}) - 36]struct{}{}
