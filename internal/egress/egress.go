// Package egress is the only way out of a run's network namespace: a proxy that
// lets connections to listed hosts through and writes down every decision.
//
// One port speaks HTTP CONNECT, plain HTTP and SOCKS5. Whatever the protocol, a
// host is normalised once (package host), compared with the rules, resolved
// once, its addresses are judged, and the connection goes to an address that was
// judged: nothing is looked up a second time, so no answer can change in
// between. Names that aren't listed are never resolved. On port 443 a tunnel
// must begin with TLS, and wherever it does, the server name in it must be the
// host that was asked for. For hosts with an [Injection] the proxy ends TLS
// itself, under an authority made for this run, adds the credential and speaks
// TLS to the origin, whose certificate it verifies.
//
// # Limits
//
// The proxy doesn't make its listener, doesn't confine itself and keeps no
// record: whoever starts it does. It sees which host a tunnel goes to, not what
// is in it: a listed host that forwards for others (a content network asked for
// another name inside of TLS, a tunnel offered as a service, the name server of
// a listed suffix) leads to them. TLS that begins in the middle of another
// protocol (STARTTLS) isn't looked at. HTTP is served one request a connection,
// except inside of injected tunnels, which speak HTTP/1.1 and nothing that
// needs an upgrade. An origin that repeats the credential in its answer is
// masked where it repeats it literally and in one piece, not where it encodes or
// splits it.
package egress

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"paddock/internal/egress/accept"
	"paddock/internal/egress/authority"
	"paddock/internal/egress/bound"
	"paddock/internal/egress/forward"
	"paddock/internal/egress/host"
	"paddock/internal/egress/ledger"
	"paddock/internal/egress/reach"
)

// A Rule lists a host and port, or every name below a suffix and a port.
type Rule = host.Rule

// ParseRule reads a line of a policy's network list.
func ParseRule(s string) (Rule, error) { return host.ParseRule(s) }

// Normalise returns the one spelling under which a host is compared.
func Normalise(name string) (string, error) { return host.Normalise(name) }

// Config says what a proxy lets through. Rules may be empty, then it is
// nothing.
type Config struct {
	Rules []Rule
	// Resolve looks a name up; nil means the system's resolver.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	// Dial connects; nil means TCP.
	Dial func(ctx context.Context, to netip.AddrPort) (net.Conn, error)
	// Record is told of every decision, one at a time, before any byte of the
	// connection is passed on. It is required. It holds the proxy up while it
	// runs; nothing passes that it hasn't seen.
	Record func(Entry)
	// Limits bound what a run can make the proxy hold. Zero fields are defaults.
	Limits Limits
	// Inject are credentials for hosts that the rules list too.
	Inject []Injection
	// Roots verify the origins of injected requests; nil means the system's.
	Roots *x509.CertPool
	// Now is the clock of entries and certificates; nil means time.Now.
	Now func() time.Time
}

// Limits bound what a run can make the proxy hold.
type Limits = bound.Limits

// An Injection is a credential that the run uses without holding it.
type Injection struct {
	// Name is how entries call it.
	Name string
	// Place is one host and port of the rules, no suffix.
	Place Rule
	// Header is set in every request, in the place of what the client sent.
	Header string
	// Value returns the header's value at the time of a request.
	Value func() string
	// Roots verify the origin; nil means those of the Config.
	Roots *x509.CertPool
}

// Entry is package ledger's, as are the verdicts and the codes: who only reads entries
// doesn't bring a proxy along.
type Entry = ledger.Entry

// The verdicts of entries, and the codes of those that are not plainly allowed and of the
// header X-Paddock-Refused.
const (
	Allowed        = ledger.Allowed
	Refused        = ledger.Refused
	Failed         = ledger.Failed
	NotListed      = ledger.NotListed
	AddressRefused = ledger.AddressRefused
	Malformed      = ledger.Malformed
	Unsupported    = ledger.Unsupported
	TLSRequired    = ledger.TLSRequired
	NameMismatch   = ledger.NameMismatch
	HostMismatch   = ledger.HostMismatch
	ResolveFailed  = ledger.ResolveFailed
	ConnectFailed  = ledger.ConnectFailed
	OriginFailed   = ledger.OriginFailed
	SecretMissing  = ledger.SecretMissing
	TimedOut       = ledger.TimedOut
	Busy           = ledger.Busy
)

// A Proxy serves one run. Make it with [New].
type Proxy struct {
	cfg       Config
	rules     host.List
	way       reach.Way
	inject    map[Rule]Injection
	authority *authority.Authority // nil without injections
	room      *accept.Room
	last      atomic.Uint64 // number of the newest connection

	recording sync.Mutex // one entry at a time
}

// New makes a proxy, and with injections an authority of its own.
func New(cfg Config) (*Proxy, error) {
	if cfg.Record == nil {
		return nil, errors.New("egress: nothing is let through that isn't recorded, and there is no Record")
	}
	var err error
	if cfg.Limits, err = cfg.Limits.Filled(); err != nil {
		return nil, fmt.Errorf("egress: %w", err)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	p := &Proxy{cfg: cfg, rules: slices.Clone(cfg.Rules), inject: map[Rule]Injection{}}
	p.way = reach.Way{Resolve: cfg.Resolve, Judge: p.rules.Judge, Dial: cfg.Dial}
	p.room = accept.NewRoom(cfg.Limits.Connections, func() {
		p.record(Entry{Verdict: Failed, Code: Busy, Closed: true,
			Reason: fmt.Sprintf("%d connections are open; further ones wait, now and later", cfg.Limits.Connections)})
	})
	var hosts []string
	for _, i := range cfg.Inject {
		if err := p.addInjection(i); err != nil {
			return nil, fmt.Errorf("egress: credential for %s: %w", host.Quote(i.Place.String()), err)
		}
		if !slices.Contains(hosts, i.Place.Host) {
			hosts = append(hosts, i.Place.Host)
		}
	}
	if len(hosts) == 0 {
		return p, nil
	}
	p.authority, err = authority.New(hosts, cfg.Now())
	return p, err
}

// Serve serves the connections of ln until ctx ends, then closes them all and
// returns nil. It closes ln. An error means that no connection can be accepted
// any more.
func (p *Proxy) Serve(ctx context.Context, ln net.Listener) error {
	if err := accept.Serve(ctx, ln, p.room, p.serve); err != nil {
		return fmt.Errorf("egress: accept: %w", err)
	}
	return nil
}

// CA returns the certificate, in PEM, that the run has to trust; nil without
// injections.
func (p *Proxy) CA() []byte {
	if p.authority == nil {
		return nil
	}
	return p.authority.PEM()
}

func (p *Proxy) addInjection(i Injection) error {
	name, err := host.Normalise(i.Place.Host)
	_, twice := p.inject[i.Place]
	switch {
	case err != nil:
		return err
	case name != i.Place.Host || i.Place.Suffix:
		return errors.New("it is one host, in its normal spelling")
	case twice:
		return errors.New("one host gets one credential")
	case i.Value == nil:
		return errors.New("it has no value")
	case !forward.Settable(i.Header):
		return fmt.Errorf("%s is not a header that a credential can be sent in", host.Quote(i.Header))
	case !p.rules.Has(name, i.Place.Port):
		return fmt.Errorf("the network list lacks %s", i.Place)
	}
	p.inject[i.Place] = i
	return nil
}
