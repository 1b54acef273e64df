package spawn

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// reportPair returns the two ends of the socket by which the process in between reports.
func reportPair() (*net.UnixConn, *os.File, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, &StartError{"socket for reports", err}
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "reports"), os.NewFile(uintptr(pair[1]), "reports")
	defer ours.Close() // net.FileConn makes a descriptor of its own
	conn, err := net.FileConn(ours)
	if err != nil {
		return nil, nil, errors.Join(&StartError{"socket for reports", err}, theirs.Close())
	}
	return conn.(*net.UnixConn), theirs, nil //nolint:errcheck // of such a socket it is one
}

// readReport waits for the next report and the descriptor that came with it.
func readReport(from *net.UnixConn) (report, *os.File, error) {
	var b [reportSize]byte
	rights := make([]byte, unix.CmsgSpace(4))
	n, oobn, _, _, err := from.ReadMsgUnix(b[:], rights)
	switch {
	case err != nil:
		return report{}, nil, err
	case n < reportSize:
		return report{}, nil, io.EOF
	}
	return reportOf(b), received(rights[:oobn]), nil
}

// reportReady reads a report that is there already, deadline or not.
func reportReady(from *net.UnixConn) (r report, err error) {
	raw, err := from.SyscallConn()
	if err != nil {
		return report{}, err
	}
	var b [reportSize]byte
	var n int
	controlErr := raw.Control(func(fd uintptr) {
		for {
			if n, _, err = unix.Recvfrom(int(fd), b[:], unix.MSG_DONTWAIT); !errors.Is(err, unix.EINTR) {
				return
			}
		}
	})
	if err = errors.Join(controlErr, err); err == nil && n < reportSize {
		err = io.EOF
	}
	return reportOf(b), err
}

func reportOf(b [reportSize]byte) report {
	at := func(i int) int32 { return int32(binary.NativeEndian.Uint32(b[i:])) }
	return report{kind: at(0), a: at(4), b: at(8)}
}

func received(rights []byte) *os.File {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil || len(messages) == 0 {
		return nil
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) == 0 {
		return nil
	}
	return os.NewFile(uintptr(fds[0]), "of a report")
}
