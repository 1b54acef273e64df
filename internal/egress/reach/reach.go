// Package reach connects to a host that was judged: it looks the name up once,
// has the addresses judged, and connects to one of those. Nothing is looked up
// a second time, so no answer can change in between.
//
// # Limits
//
// It judges addresses by the function it is given, and doesn't know rules.
package reach

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"
)

// maxTries bounds how many addresses of one name are tried.
const maxTries = 8

// A Way is how hosts are reached.
type Way struct {
	// Resolve looks a name up; nil means the system's resolver.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	// Judge leaves the addresses that may be connected to at a port, and says
	// why there are none.
	Judge func(addrs []netip.Addr, port int) (good []netip.Addr, why string)
	// Dial connects; nil means TCP.
	Dial func(ctx context.Context, to netip.AddrPort) (net.Conn, error)
}

// A RefusedError is a host all of whose addresses were judged bad.
type RefusedError struct{ Host, Why string }

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s is at %s; such an address must be in the network list itself", e.Host, e.Why)
}

// A ResolveError is a name that has no address.
type ResolveError struct {
	Host string
	Err  error
}

func (e *ResolveError) Error() string {
	why := e.Err.Error()
	if dns, ok := errors.AsType[*net.DNSError](e.Err); ok {
		why = dns.Err // the rest names the machine's name servers
	}
	return fmt.Sprintf("the name %s couldn't be resolved: %s", e.Host, why)
}

func (e *ResolveError) Unwrap() error { return e.Err }

// Open connects to a normalised host and returns the address that it took.
// Errors that are neither of the two above are about connecting.
func (w Way) Open(ctx context.Context, host string, port int) (net.Conn, netip.AddrPort, error) {
	addrs, err := w.resolve(ctx, host)
	if err != nil {
		return nil, netip.AddrPort{}, &ResolveError{host, err}
	}
	good, why := w.Judge(addrs, port)
	if len(good) == 0 {
		return nil, netip.AddrPort{}, &RefusedError{host, why}
	}
	good = good[:min(len(good), maxTries)]
	for i, addr := range good {
		to := netip.AddrPortFrom(addr, uint16(port))
		var conn net.Conn
		if conn, err = w.try(ctx, to, len(good)-i); err == nil {
			return conn, to, nil
		}
	}
	return nil, netip.AddrPort{}, fmt.Errorf("%s couldn't be connected to at port %d: %w", host, port, err)
}

func (w Way) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr}, nil
	}
	resolve := w.Resolve
	if resolve == nil {
		resolve = system
	}
	addrs, err := resolve(ctx, host)
	if err == nil && len(addrs) == 0 {
		err = errors.New("it has no address")
	}
	return addrs, err
}

// system asks the system's resolver. The dot keeps it from trying the name
// under the machine's search domains, which would be another name.
func system(ctx context.Context, host string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host+".")
}

// try gives an address its part of the time that is left for it and those after
// it, so that one that doesn't answer can't use up the time of the others.
func (w Way) try(ctx context.Context, to netip.AddrPort, left int) (net.Conn, error) {
	if end, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(end)/time.Duration(left))
		defer cancel()
	}
	if w.Dial != nil {
		return w.Dial(ctx, to)
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", to.String())
}
