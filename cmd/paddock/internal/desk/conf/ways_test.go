package conf

import (
	"net"
	"testing"

	"paddock/internal/httpapi/settings"
)

// Browsers have passkeys by a name; an address alone has none, but on its own machine.
func TestOrigin(t *testing.T) {
	t.Parallel()
	at := func(ip string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(ip), Port: 7077} }
	for _, c := range []struct {
		settings settings.Settings
		at, want string
	}{
		{settings.Settings{}, "127.0.0.1", "http://localhost:7077"},
		{settings.Settings{}, "::1", "http://localhost:7077"},
		{settings.Settings{}, "192.0.2.1", ""},
		{settings.Settings{Cert: "/c"}, "127.0.0.1", ""},
		{settings.Settings{PublicURL: "https://paddock.example.org/"}, "127.0.0.1", "https://paddock.example.org"},
	} {
		if got := Origin(c.settings, at(c.at)); got != c.want {
			t.Errorf("%+v at %s: %q", c.settings, c.at, got)
		}
	}
}
