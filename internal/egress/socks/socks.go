// Package socks reads what a SOCKS5 client says (RFC 1928) and writes the
// answers.
//
// # Limits
//
// No authentication: only the run can reach the proxy's port. CONNECT is the
// only command; BIND and UDP ASSOCIATE are read and refused by whoever calls.
// It neither judges hosts nor connects.
package socks

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
)

// Version is the first byte of every SOCKS5 message.
const Version = 5

// The answers that the proxy gives.
const (
	Succeeded          = 0
	Failed             = 1
	NotAllowed         = 2
	Unreachable        = 4
	CommandUnsupported = 7
	AddressUnsupported = 8
)

const (
	noAuthentication = 0
	noneAcceptable   = 0xff
	connect          = 1
	typeIPv4         = 1
	typeName         = 3
	typeIPv6         = 4
)

// A RequestError is a request that is refused for its form; Reply is the
// answer that says so.
type RequestError struct {
	Reply  byte
	Reason string
}

func (e *RequestError) Error() string { return e.Reason }

// Negotiate reads a client's greeting and answers that no authentication is
// needed. A client that offers only others is told so and is an error.
func Negotiate(rw io.ReadWriter) error {
	var head [2]byte
	if _, err := io.ReadFull(rw, head[:]); err != nil {
		return err
	}
	if head[0] != Version {
		return fmt.Errorf("SOCKS version %d is not spoken here, only %d", head[0], Version)
	}
	methods := make([]byte, head[1])
	if _, err := io.ReadFull(rw, methods); err != nil {
		return err
	}
	for _, m := range methods {
		if m == noAuthentication {
			_, err := rw.Write([]byte{Version, noAuthentication})
			return err
		}
	}
	if _, err := rw.Write([]byte{Version, noneAcceptable}); err != nil {
		return err
	}
	return errors.New("the SOCKS5 client insists on authentication; there is none here")
}

// ReadRequest reads a request to connect and returns the host, exactly as it
// was sent, and the port. A request that was read but isn't one to connect is
// a *RequestError.
func ReadRequest(r io.Reader) (host string, port int, err error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return "", 0, err
	}
	if head[0] != Version || head[2] != 0 {
		return "", 0, &RequestError{Failed, "the SOCKS5 request is malformed"}
	}
	host, err = readHost(r, head[3])
	if err != nil {
		return "", 0, err
	}
	var number [2]byte
	if _, err := io.ReadFull(r, number[:]); err != nil {
		return "", 0, err
	}
	if head[1] != connect {
		return "", 0, &RequestError{CommandUnsupported, fmt.Sprintf("SOCKS5 command %d is not offered, only CONNECT", head[1])}
	}
	if port = int(binary.BigEndian.Uint16(number[:])); port == 0 {
		return "", 0, &RequestError{NotAllowed, "port 0 can't be connected to"}
	}
	return host, port, nil
}

func readHost(r io.Reader, kind byte) (string, error) {
	size := [1]byte{}
	switch kind {
	case typeIPv4:
		size[0] = 4
	case typeIPv6:
		size[0] = 16
	case typeName:
		if _, err := io.ReadFull(r, size[:]); err != nil {
			return "", err
		}
	default:
		return "", &RequestError{AddressUnsupported, fmt.Sprintf("SOCKS5 address type %d is unknown", kind)}
	}
	b := make([]byte, size[0])
	if _, err := io.ReadFull(r, b); err != nil {
		return "", err
	}
	if kind == typeName {
		return string(b), nil
	}
	addr, ok := netip.AddrFromSlice(b)
	if !ok {
		return "", &RequestError{Failed, "the SOCKS5 address is malformed"}
	}
	return addr.String(), nil
}

// Reply answers a request. The bound address is not told: it is of a network
// that the run has nothing to do with.
func Reply(w io.Writer, code byte) error {
	_, err := w.Write([]byte{Version, code, 0, typeIPv4, 0, 0, 0, 0, 0, 0})
	return err
}
