// Package hello reads the beginning of a TLS connection: the ClientHello, and
// in it the name of the server that the client means (SNI).
//
// It reads just as many bytes as the message has, from as many TLS records as
// it was cut into, and hands them back so that they can be passed on.
//
// # Limits
//
// It doesn't check what a TLS server checks, only what decides about the name:
// lengths, one message, at most one server_name with one entry. With Encrypted
// ClientHello it sees the outer name, which is the one that routes the
// connection; the encrypted one is nobody's to see.
package hello

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const (
	recordHandshake = 0x16 // content type of the records that carry a ClientHello
	typeClientHello = 0x01
	extServerName   = 0
	maxRecord       = 1 << 14 // plaintext of a record (RFC 8446, 5.1)

	// MaxBytes bounds what is read and kept. Hellos with post-quantum key
	// shares have two thousand bytes; servers refuse far below this.
	MaxBytes = 64 << 10
)

// First is the byte that every TLS connection begins with.
const First = recordHandshake

// errMalformed is every way in which bytes aren't a ClientHello; which of them
// helps nobody who isn't writing an attack.
var errMalformed = errors.New("the TLS hello is malformed")

// Read reads a ClientHello from r and returns its exact bytes, records
// included, and the server name in it; "" if there is none. It never reads
// beyond the record in which the hello ends. What was read is returned with an
// error too.
func Read(r io.Reader) (raw []byte, serverName string, err error) {
	var message []byte
	for {
		fragment, err := readRecord(r, &raw)
		if err != nil {
			return raw, "", err
		}
		message = append(message, fragment...)
		if message[0] != typeClientHello {
			return raw, "", errMalformed
		}
		if len(message) < 4 {
			continue
		}
		size := 4 + int(message[1])<<16 + int(binary.BigEndian.Uint16(message[2:]))
		switch {
		case size > MaxBytes:
			return raw, "", fmt.Errorf("the TLS hello has %d bytes; at most %d are accepted", size, MaxBytes)
		case len(message) > size:
			return raw, "", errMalformed // nothing may follow a hello in its record
		case len(message) == size:
			serverName, err = Parse(message[4:])
			return raw, serverName, err
		}
	}
}

// readRecord reads one handshake record with at least one byte in it.
func readRecord(r io.Reader, raw *[]byte) ([]byte, error) {
	at := len(*raw)
	if at > MaxBytes {
		return nil, fmt.Errorf("the TLS hello is spread over more than %d bytes", MaxBytes)
	}
	if err := extend(r, raw, 5); err != nil {
		return nil, err
	}
	header := (*raw)[at:]
	size := int(binary.BigEndian.Uint16(header[3:]))
	if header[0] != recordHandshake || header[1] != 3 || size == 0 || size > maxRecord {
		return nil, errMalformed
	}
	if err := extend(r, raw, size); err != nil {
		return nil, err
	}
	return (*raw)[at+5:], nil
}

// extend appends n bytes of r to raw.
func extend(r io.Reader, raw *[]byte, n int) error {
	at := len(*raw)
	*raw = append(*raw, make([]byte, n)...)
	got, err := io.ReadFull(r, (*raw)[at:])
	*raw = (*raw)[:at+got]
	return err
}

// Parse returns the server name in the body of a ClientHello; "" if it has
// none.
func Parse(body []byte) (string, error) {
	b := cursor{rest: body}
	b.skip(2 + 32) // version, random
	b.vector(1)    // session
	b.vector(2)    // cipher suites
	b.vector(1)    // compression
	if b.bad {
		return "", errMalformed
	}
	if len(b.rest) == 0 {
		return "", nil // before extensions there was no server name
	}
	extensions := cursor{rest: b.vector(2)}
	if b.bad || len(b.rest) != 0 {
		return "", errMalformed
	}
	name, seen := "", false
	for len(extensions.rest) > 0 {
		kind := extensions.number(2)
		data := extensions.vector(2)
		if extensions.bad || kind == extServerName && seen {
			return "", errMalformed
		}
		if kind != extServerName {
			continue
		}
		var err error
		if name, err = parseServerName(data); err != nil {
			return "", err
		}
		seen = true
	}
	return name, nil
}

// parseServerName accepts a list of exactly one host name: RFC 6066 forbids
// two, and a server might take the other one.
func parseServerName(data []byte) (string, error) {
	outer := cursor{rest: data}
	list := cursor{rest: outer.vector(2)}
	kind := list.number(1)
	name := list.vector(2)
	if outer.bad || list.bad || len(outer.rest) != 0 || len(list.rest) != 0 || kind != 0 || len(name) == 0 {
		return "", errMalformed
	}
	return string(name), nil
}

// A cursor reads numbers and vectors; once something is missing it is bad and
// everything it returns is empty.
type cursor struct {
	rest []byte
	bad  bool
}

func (c *cursor) skip(n int) []byte {
	if c.bad || n > len(c.rest) {
		c.bad, c.rest = true, nil
		return nil
	}
	taken := c.rest[:n]
	c.rest = c.rest[n:]
	return taken
}

func (c *cursor) number(size int) int {
	n := 0
	for _, b := range c.skip(size) {
		n = n<<8 | int(b)
	}
	return n
}

// vector takes a length of size bytes and as many bytes as it says.
func (c *cursor) vector(size int) []byte { return c.skip(c.number(size)) }
