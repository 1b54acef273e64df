package host

import "net/netip"

// special are the IPv4 ranges that are not the public Internet (RFC 6890 and
// its registry), with what each is called in a refusal. The machine's own
// services, its network and its cloud's metadata are reached through these.
var special = []struct {
	prefix netip.Prefix
	name   string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "an unspecified address"},
	{netip.MustParsePrefix("10.0.0.0/8"), "a private address"},
	{netip.MustParsePrefix("100.64.0.0/10"), "a carrier's private address"},
	{netip.MustParsePrefix("127.0.0.0/8"), "a loopback address"},
	{netip.MustParsePrefix("169.254.0.0/16"), "a link-local address, where clouds serve metadata and credentials"},
	{netip.MustParsePrefix("172.16.0.0/12"), "a private address"},
	{netip.MustParsePrefix("192.0.0.0/24"), "a reserved address"},
	{netip.MustParsePrefix("192.0.2.0/24"), "a documentation address"},
	{netip.MustParsePrefix("192.88.99.0/24"), "a 6to4 relay"},
	{netip.MustParsePrefix("192.168.0.0/16"), "a private address"},
	{netip.MustParsePrefix("198.18.0.0/15"), "a benchmarking address"},
	{netip.MustParsePrefix("198.51.100.0/24"), "a documentation address"},
	{netip.MustParsePrefix("203.0.113.0/24"), "a documentation address"},
	{netip.MustParsePrefix("224.0.0.0/4"), "a multicast address"},
	{netip.MustParsePrefix("240.0.0.0/4"), "a reserved address"},

	{netip.MustParsePrefix("::1/128"), "a loopback address"},
	{netip.MustParsePrefix("::/96"), "an unspecified or IPv4-compatible address"},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "a local translation address"},
	{netip.MustParsePrefix("2001::/23"), "a reserved address, such as Teredo's"},
	{netip.MustParsePrefix("2001:db8::/32"), "a documentation address"},
	{netip.MustParsePrefix("2002::/16"), "a 6to4 address"},
	{netip.MustParsePrefix("3fff::/20"), "a documentation address"},
	{netip.MustParsePrefix("fc00::/7"), "a private address"},
	{netip.MustParsePrefix("fe80::/10"), "a link-local address"},
	{netip.MustParsePrefix("fec0::/10"), "a private address"},
	{netip.MustParsePrefix("ff00::/8"), "a multicast address"},
}

var (
	// nat64 carries an IPv4 address in its last four bytes (RFC 6052).
	nat64 = netip.MustParsePrefix("64:ff9b::/96")
	// public is all of IPv6 that has been given out as global unicast.
	public = netip.MustParsePrefix("2000::/3")
)

// Special says what addr is when it isn't an address of the public Internet,
// and returns "" when it is. IPv4 addresses inside of IPv6 ones are judged as
// what they are.
func Special(addr netip.Addr) string {
	if !addr.IsValid() {
		return "no address"
	}
	if addr.Zone() != "" {
		return "an address of one interface"
	}
	addr = addr.Unmap()
	if nat64.Contains(addr) {
		b := addr.As16()
		return Special(netip.AddrFrom4([4]byte(b[12:])))
	}
	for _, s := range special {
		if s.prefix.Contains(addr) {
			return s.name
		}
	}
	if addr.Is6() && !public.Contains(addr) {
		return "a reserved address"
	}
	return ""
}
