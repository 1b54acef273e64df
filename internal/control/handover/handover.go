//go:build linux

// Package handover passes a job and open files to a supervisor over a
// connected Unix socket.
//
// # Limits
//
// It judges neither the job nor the files. After the
// job the connection is as good as new, for others to speak over.
package handover

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

const (
	maxJob   = 64 << 20
	maxFiles = 16
)

// Send hands a job and open files to a supervisor: the length in four bytes,
// most significant first, with the descriptors beside it, and then the job. The
// caller still owns its files. Once it returns nil all is handed over, though
// perhaps not yet received.
func Send(conn *net.UnixConn, job []byte, files []*os.File) error {
	if len(job) > maxJob {
		return fmt.Errorf("job of %d bytes is longer than %d", len(job), maxJob)
	}
	if len(files) > maxFiles {
		return fmt.Errorf("job with %d files has more than %d", len(files), maxFiles)
	}
	var rights []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
		}
		rights = unix.UnixRights(fds...)
	}
	// In one message, or who sleeps until it comes would be woken for its length alone.
	text := append(binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(job)), uint32(len(job))), job...)
	n, oobn, err := conn.WriteMsgUnix(text, rights, nil)
	if err != nil {
		return err
	}
	if oobn != len(rights) {
		return io.ErrShortWrite
	}
	if n < len(text) {
		_, err = conn.Write(text[n:])
	}
	return err
}

// Receive waits for what Send sends. The caller owns the files, which are
// close-on-exec, and judges their number. io.EOF means that the maker ended
// before it handed anything over.
func Receive(conn *net.UnixConn) (job []byte, files []*os.File, err error) {
	return Await(conn, func() {})
}

// Await is Receive for a supervisor that waits. Each time it is roused it calls roused.
func Await(conn *net.UnixConn, roused func()) (job []byte, files []*os.File, err error) {
	var head [4]byte
	for {
		files, err = receiveHead(conn, head[:])
		if err != nil || files != nil || head != rouse {
			break
		}
		roused()
	}
	if err == nil {
		job, err = readJob(conn, binary.BigEndian.Uint32(head[:]))
	}
	if err != nil {
		for _, f := range files {
			err = errors.Join(err, f.Close())
		}
		return nil, nil, err
	}
	return job, files, nil
}

// receiveHead reads the four bytes before a job, and the descriptors that came with them.
func receiveHead(conn *net.UnixConn, head []byte) ([]*os.File, error) {
	n, files, err := receiveRights(conn, head)
	if err == nil {
		_, err = io.ReadFull(conn, head[n:])
		if errors.Is(err, io.EOF) && n < len(head) {
			err = io.ErrUnexpectedEOF
		}
	}
	return files, err
}

// rouse is in place of a job's length, and longer than any may be.
var rouse = [4]byte{0xff, 0xff, 0xff, 0xff}

// Rouse tells a supervisor that waits that its job may come soon. It
// waits for nobody; who sleeps on, or is gone, is found by Send.
func Rouse(conn *net.UnixConn) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		_ = unix.Sendto(int(fd), rouse[:], unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, nil)
	})
}

// Ready reports whether Receive would find a job at once, or if only the end. To be roused
// is neither.
func Ready(conn *net.UnixConn) (ready bool) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return true // Receive will say why
	}
	err = raw.Control(func(fd uintptr) {
		var head [4]byte
		for {
			n, _, err := unix.Recvfrom(int(fd), head[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
			switch {
			case errors.Is(err, unix.EINTR):
			case err == nil && n == len(head) && head == rouse:
				_, _, _ = unix.Recvfrom(int(fd), head[:], unix.MSG_DONTWAIT) // what was just seen
			default:
				ready = !errors.Is(err, unix.EAGAIN)
				return
			}
		}
	})
	return ready || err != nil
}

// readJob doesn't make room for more than has come, whatever the length says.
func readJob(conn *net.UnixConn, length uint32) ([]byte, error) {
	if length > maxJob {
		return nil, fmt.Errorf("job of %d bytes is longer than %d", length, maxJob)
	}
	var buf bytes.Buffer
	buf.Grow(int(min(length, 1<<20)))
	_, err := io.CopyN(&buf, conn, int64(length))
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return buf.Bytes(), err
}

// receiveRights reads the first bytes and the descriptors that came with them.
func receiveRights(conn *net.UnixConn, buf []byte) (int, []*os.File, error) {
	// Room for one more than is taken shows who sends too many; what has no
	// room at all is closed by the kernel, which says so in the flags.
	oob := make([]byte, unix.CmsgSpace(4*(maxFiles+1)))
	n, oobn, flags, _, err := conn.ReadMsgUnix(buf, oob)
	if err != nil {
		return 0, nil, err
	}
	if n == 0 && oobn == 0 {
		return 0, nil, io.EOF
	}
	files, err := parseRights(oob[:oobn])
	if err == nil && (flags&unix.MSG_CTRUNC != 0 || len(files) > maxFiles) {
		err = fmt.Errorf("more than %d files came with a job", maxFiles)
	}
	return n, files, err
}

// parseRights takes every descriptor, so that none is left open unowned, also
// when the rest can't be understood.
func parseRights(oob []byte) ([]*os.File, error) {
	messages, err := unix.ParseSocketControlMessage(oob)
	var files []*os.File
	for i := range messages {
		if messages[i].Header.Level != unix.SOL_SOCKET || messages[i].Header.Type != unix.SCM_RIGHTS {
			continue
		}
		fds, e := unix.ParseUnixRights(&messages[i])
		err = errors.Join(err, e)
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), fmt.Sprintf("job file %d", len(files))))
		}
	}
	return files, err
}
