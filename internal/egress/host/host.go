// Package host is the one way in which the egress proxy reads a host: the name
// or address of a rule, of a request line, of a Host header, of SOCKS5 and of
// TLS all go through [Normalise], so that no two of them can disagree about
// what was asked for.
//
// Everything here is strict. What has two readings (an IPv4 address in octal,
// a name with a NUL, a zone, a percent sign) is refused and never interpreted:
// a check and a resolver that read the same bytes differently are how
// allowlists have been walked around.
//
// # Limits
//
// It resolves nothing and connects to nothing. Names outside of ASCII are
// refused: programs send the xn-- form to proxies, and mapping Unicode is
// where two implementations differ. Whether xn-- labels decode to anything
// sensible is not looked at; they are compared as they are.
package host

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// The longest name that DNS carries, and the longest label in it.
const (
	maxName  = 253
	maxLabel = 63
)

// shown bounds what of a hostile host is repeated in a message.
const shown = 80

// Normalise returns the one spelling of host under which it is compared,
// resolved and recorded: a name in lower case without its final dot, an IPv4
// address in dotted decimal, an IPv6 address in its canonical form without
// brackets, an IPv4-mapped IPv6 address as the IPv4 address that it is. It
// refuses everything else. What it returns, it returns again unchanged.
func Normalise(host string) (string, error) {
	if host == "" {
		return "", errors.New("the host is empty")
	}
	if strings.Contains(host, ":") {
		return normaliseIPv6(host)
	}
	name := strings.TrimSuffix(host, ".")
	if len(name) > maxName {
		return "", fmt.Errorf("the host has %d characters; a name has at most %d", len(name), maxName)
	}
	name, err := lower(name)
	if err != nil {
		return "", fmt.Errorf("host %s: %w", Quote(host), err)
	}
	labels := strings.Split(name, ".")
	if numeric(labels[len(labels)-1]) {
		return normaliseIPv4(name)
	}
	for _, label := range labels {
		if err := checkLabel(label); err != nil {
			return "", fmt.Errorf("host %s: %w", Quote(host), err)
		}
	}
	return name, nil
}

// Quote makes bytes that a caller chose fit for a message or a record: on one
// line, in printable ASCII, bounded.
func Quote(s string) string {
	if len(s) > shown {
		return fmt.Sprintf("%+q…", s[:shown])
	}
	return fmt.Sprintf("%+q", s)
}

func normaliseIPv6(host string) (string, error) {
	if strings.Contains(host, "%") {
		return "", fmt.Errorf("host %s: IPv6 zones are not accepted", Quote(host))
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return "", fmt.Errorf("host %s: not an IPv6 address", Quote(host))
	}
	return addr.Unmap().String(), nil
}

// normaliseIPv4 accepts dotted decimal only. inet_aton reads 2130706433, 0x7f.1,
// 0177.0.0.1 and 127.1 as 127.0.0.1 and other readers don't, so none of them
// is read here.
func normaliseIPv4(name string) (string, error) {
	addr, err := netip.ParseAddr(name)
	if err != nil || !addr.Is4() {
		return "", fmt.Errorf("host %s: an IPv4 address is written as four decimal numbers without leading zeros", Quote(name))
	}
	return addr.String(), nil
}

// lower lowers ASCII letters and refuses every byte that no host name has.
func lower(name string) (string, error) {
	out := []byte(name)
	for i, c := range out {
		switch {
		case c >= 'A' && c <= 'Z':
			out[i] = c + ('a' - 'A')
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-', c == '.':
		case c >= 0x80:
			return "", errors.New("a name outside of ASCII is written in its xn-- form")
		default:
			return "", fmt.Errorf("a host name has no %+q", string(rune(c)))
		}
	}
	return string(out), nil
}

// numeric tells whether a name that ends in this label is an IPv4 address for
// some reader: all digits, or hexadecimal with 0x (WHATWG URL, "ends in a number").
func numeric(label string) bool {
	if rest, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(rest, "0123456789abcdef") == ""
	}
	return label != "" && strings.Trim(label, "0123456789") == ""
}

func checkLabel(label string) error {
	switch {
	case label == "":
		return errors.New("a part between two dots is empty")
	case len(label) > maxLabel:
		return fmt.Errorf("a part has %d characters; at most %d are possible", len(label), maxLabel)
	case label[0] == '-' || label[len(label)-1] == '-':
		return errors.New("a part begins or ends with a hyphen")
	}
	return nil
}
