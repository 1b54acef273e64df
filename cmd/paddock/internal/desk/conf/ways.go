package conf

import (
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/httpapi/entry/gate"
	"paddock/internal/httpapi/entry/shield"
	"paddock/internal/httpapi/settings"
	"paddock/internal/mcpserver/wire/streamable"
)

// Origin is how browsers reach the server at an address, as far as that can be told:
// by public_url, or on this machine alone by localhost, the one name by which browsers
// have passkeys without TLS.
func Origin(s settings.Settings, at net.Addr) string {
	if s.PublicURL != "" {
		return strings.TrimSuffix(s.PublicURL, "/")
	}
	addr, err := netip.ParseAddrPort(at.String())
	if err != nil || !addr.Addr().Unmap().IsLoopback() || s.Cert != "" {
		return ""
	}
	return "http://localhost:" + strconv.Itoa(int(addr.Port()))
}

// MCP are the limits of /mcp.
func MCP(s settings.Settings) streamable.Limits {
	l := streamable.DefaultLimits()
	l.Sessions, l.AllSessions, l.Requests, l.Idle = s.MCP.Sessions, s.MCP.AllSessions, s.MCP.Requests, s.MCP.Idle
	l.Body, l.KeptBytes, l.KeptAnswers = s.MCP.Body, int(s.MCP.KeptBytes), s.MCP.KeptAnswers
	return l
}

// Servers are the providers whose access tokens are taken at /mcp.
func Servers(s settings.Settings) (issuers []string) {
	for _, p := range s.Providers {
		if p.Agents {
			issuers = append(issuers, p.Issuer)
		}
	}
	return issuers
}

// Providers are those of the settings, as the accounts want them.
func Providers(s settings.Settings) []gate.Provider {
	var all []gate.Provider
	for _, p := range s.Providers {
		all = append(all, gate.Provider(p))
	}
	return all
}

// Shield is how requests are looked at before anything else.
func Shield(d *desk.Desk, s settings.Settings, log *slog.Logger) shield.Config {
	c := shield.Config{Hosts: s.Names(), Loopback: s.Loopback(), Secure: s.Secure(), Proxies: s.Proxies, Log: log, Now: d.Now}
	if public := strings.TrimSuffix(s.PublicURL, "/"); public != "" {
		c.Origins = []string{public}
	}
	return c
}
