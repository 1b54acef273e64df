package host

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// A Rule is one line of a policy's network list: what a run may reach. The
// zero Rule matches nothing.
type Rule struct {
	// Host is a normalised name or address; with Suffix, the part after "*.".
	Host string
	// Port is the one port that may be reached.
	Port int
	// Suffix lets the rule match every name below Host, but not Host itself.
	Suffix bool
}

// ParseRule reads host:port, *.suffix:port, address:port or [address]:port. It
// accepts one spelling of each and says which, where another was written.
func ParseRule(s string) (Rule, error) {
	if err := notAuthority(s); err != nil {
		return Rule{}, err
	}
	rest, suffix := strings.CutPrefix(s, "*.")
	if strings.Contains(rest, "*") {
		return Rule{}, fmt.Errorf("network rule %s: a star stands only at the beginning, as in \"*.example.org:443\"; there is no rule for every host", Quote(s))
	}
	name, port, err := Split(rest, 0)
	if err != nil {
		return Rule{}, fmt.Errorf("network rule %s: %w", Quote(s), err)
	}
	r := Rule{Host: name, Port: port, Suffix: suffix}
	if err := r.check(); err != nil {
		return Rule{}, fmt.Errorf("network rule %s: %w", Quote(s), err)
	}
	if r.String() != s {
		return Rule{}, fmt.Errorf("network rule %s: write it as %q", Quote(s), r.String())
	}
	return r, nil
}

// notAuthority names what people paste where host:port is meant.
func notAuthority(s string) error {
	switch {
	case s == "":
		return errors.New("a network rule is empty; write host:port")
	case strings.Contains(s, "://"):
		return fmt.Errorf("network rule %s: write host:port, without a scheme", Quote(s))
	case strings.Contains(s, "/"):
		return fmt.Errorf("network rule %s: write host:port, without a path; the proxy sees hosts, not paths", Quote(s))
	case strings.Contains(s, "@"):
		return fmt.Errorf("network rule %s: write host:port, without a user", Quote(s))
	}
	return nil
}

// check refuses rules that can be read but can't be meant.
func (r Rule) check() error {
	addr, err := netip.ParseAddr(r.Host)
	isAddress := err == nil
	switch {
	case isAddress && r.Suffix:
		return errors.New("an address has no names below it")
	case isAddress && (addr.IsUnspecified() || addr.IsMulticast()):
		return errors.New("nothing can be connected to at this address")
	case r.Host == "localhost" || strings.HasSuffix(r.Host, ".localhost"):
		return fmt.Errorf("localhost is this machine, seen from outside of the run; if a service of yours is meant, write 127.0.0.1:%d", r.Port)
	case r.Suffix && !strings.Contains(r.Host, "."):
		return errors.New("a suffix needs at least two parts, as in \"*.example.org:443\"")
	}
	return nil
}

// String returns the spelling that ParseRule accepts.
func (r Rule) String() string {
	s := net.JoinHostPort(r.Host, strconv.Itoa(r.Port))
	if r.Suffix {
		return "*." + s
	}
	return s
}

// Matches tells whether the rule lists the normalised host with this port.
func (r Rule) Matches(host string, port int) bool {
	switch {
	case r.Host == "" || r.Port != port:
		return false
	case !r.Suffix:
		return host == r.Host
	}
	_, err := netip.ParseAddr(host)
	return err != nil && strings.HasSuffix(host, "."+r.Host)
}

// A List is all the rules of a run. The empty List lists nothing.
type List []Rule

// Has tells whether a rule lists the normalised host with this port.
func (l List) Has(host string, port int) bool {
	return slices.ContainsFunc(l, func(r Rule) bool { return r.Matches(host, port) })
}

// Judge splits the addresses that a listed host has at port into those that may
// be connected to and, if there are none, why not. An address that isn't of the
// public Internet is only good if it is listed itself: what a name resolves to
// is chosen by whoever holds the name.
func (l List) Judge(addrs []netip.Addr, port int) (good []netip.Addr, why string) {
	for _, addr := range addrs {
		addr = addr.Unmap()
		if what := Special(addr); what != "" && !l.Has(addr.String(), port) {
			why = fmt.Sprintf("%s, %s", addr, what)
			continue
		}
		good = append(good, addr)
	}
	return good, why
}

// Split reads host, host:port, address:port or [address]:port and normalises
// the host. Without a port, it takes standard; 0 stands for "must be written".
func Split(authority string, standard int) (host string, port int, err error) {
	var name, digits string
	var written bool
	if inner, ok := strings.CutPrefix(authority, "["); ok {
		var after string
		if name, after, ok = strings.Cut(inner, "]"); !ok || !strings.Contains(name, ":") {
			return "", 0, errors.New("brackets hold an IPv6 address, as in [2001:db8::1]:443")
		}
		if digits, written = strings.CutPrefix(after, ":"); !written && after != "" {
			return "", 0, errors.New("after the brackets comes a colon and a port")
		}
	} else {
		name, digits, written = strings.Cut(authority, ":")
		if strings.Contains(digits, ":") {
			return "", 0, errors.New("an IPv6 address is written in brackets, as in [2001:db8::1]:443")
		}
	}
	if port = standard; written || standard == 0 {
		if port, err = parsePort(digits); err != nil {
			return "", 0, err
		}
	}
	host, err = Normalise(name)
	return host, port, err
}

func parsePort(s string) (int, error) {
	if s == "" {
		return 0, errors.New("the port is missing; write host:port")
	}
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n == 0 || strconv.FormatUint(n, 10) != s {
		return 0, fmt.Errorf("port %s is not a number from 1 to 65535", Quote(s))
	}
	return int(n), nil
}
