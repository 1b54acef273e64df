package opened

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"paddock/internal/auth/desk"
	"paddock/internal/auth/keyfile"
	"paddock/internal/httpapi/entry/gate"
)

// mostSecret is the longest secret of a client.
const mostSecret = 4096

// party is how browsers know a server that they reach by an origin. Passkeys are bound
// to a name, and browsers have them under TLS and on localhost only: elsewhere there are
// none.
func party(origin string) desk.Party {
	u, err := url.Parse(origin)
	if err != nil || u.Hostname() == "" {
		return desk.Party{}
	}
	_, notAName := netip.ParseAddr(u.Hostname())
	if notAName == nil || u.Scheme != "https" && u.Hostname() != "localhost" {
		return desk.Party{}
	}
	return desk.Party{ID: strings.ToLower(u.Hostname()), Origins: []string{strings.ToLower(u.Scheme + "://" + u.Host)}}
}

// providersOf reads the secrets of clients. People come back to a page of ours that is
// named like the provider.
func providersOf(list []gate.Provider, origin string) ([]desk.Provider, error) {
	var all []desk.Provider
	for _, p := range list {
		text, err := keyfile.Secret(p.SecretFile, mostSecret)
		if err != nil {
			return nil, fmt.Errorf("the provider %s: client_secret_file %s: %w", p.Name, p.SecretFile, err)
		}
		all = append(all, desk.Provider{
			Name: p.Name, Kind: p.Kind, Issuer: p.Issuer, API: p.API, ClientID: p.ClientID, ClientSecret: strings.TrimSpace(string(text)),
			Redirect: origin + "/login/" + p.Name, Inside: p.Inside, Access: p.Agents,
		})
	}
	return all, nil
}
