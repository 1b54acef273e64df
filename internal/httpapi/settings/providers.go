package settings

import (
	"net"
	"net/url"
	"slices"
	"strings"

	"paddock/internal/policy/compiled/document/shape"
)

// A Provider is a server of somebody else's that says who people are.
type Provider struct {
	// Name stands in invitations, and in the address by which people come back.
	Name string
	Kind string // oidc or github
	// Issuer is where an OpenID provider is; of GitHub, empty is https://github.com.
	Issuer string
	// API is where GitHub tells of users; empty is https://api.github.com.
	API      string
	ClientID string
	// SecretFile has the client's secret.
	SecretFile string
	// Inside lists its hosts, as host:port, that may have addresses which aren't public.
	Inside []string
	// Agents says that access tokens of it are taken at /mcp.
	Agents bool
}

// providersKey is what the file may say of them.
func providersKey() shape.Key {
	word := func(say string) shape.Text { return shape.Text{Say: say, Loose: true} }
	return shape.Key{Name: "providers", Doc: "Who says who people are, beside this server.", Shape: shape.List{Of: shape.Object{Keys: []shape.Key{
		{Name: "name", Doc: "short, of lower case letters, digits and dashes.", Shape: word("a name such as example"), Required: true},
		{Name: "kind", Doc: "what it speaks.", Shape: shape.Choice{"oidc", "github"}, Required: true},
		{Name: "issuer", Doc: "where it is.", Shape: word("a URL such as https://accounts.example.org")},
		{Name: "api", Doc: "where GitHub tells of users.", Shape: word("a URL such as https://api.github.com")},
		{Name: "client_id", Doc: "by what it knows this server.", Shape: word("the client's id"), Required: true},
		{Name: "client_secret_file", Doc: "file of the client's secret.", Shape: word("an absolute path"), Required: true},
		{Name: "inside", Doc: "hosts of it that may have addresses which aren't public.", Shape: shape.List{Of: word("host:port")}},
		{Name: "agents", Doc: "whether its access tokens are taken at /mcp.", Shape: shape.Boolean{}},
	}}}}
}

// A block is one provider as it was written: what its keys say, and where.
type block map[string][]said

func (b block) text(key string) string {
	if len(b[key]) == 0 {
		return ""
	}
	return b[key][0].text
}

// block keeps what one item of the list says.
func (r *reader) block(item *shape.Value, place func(line, column int) string) {
	b := block{"": {{"", place(item.Line, item.Column)}}}
	for _, e := range item.Pairs() {
		for _, inner := range e.Value.Items() {
			b[e.Key.Text] = append(b[e.Key.Text], said{inner.Text, place(inner.Line, inner.Column)})
		}
		if len(e.Value.Items()) == 0 {
			b[e.Key.Text] = append(b[e.Key.Text], said{e.Value.Text, place(e.Value.Line, e.Value.Column)})
		}
	}
	r.blocks = append(r.blocks, b)
}

// providers are those that the file has, as far as they are right.
func (r *reader) providers(publicURL string) []Provider {
	var all []Provider
	for _, b := range r.blocks {
		p := Provider{b.text("name"), b.text("kind"), b.text("issuer"), b.text("api"), b.text("client_id"), b.text("client_secret_file"), nil, b.text("agents") == "true"}
		for _, one := range b["inside"] {
			if host, port, err := net.SplitHostPort(one.text); err != nil || host == "" || port == "" {
				r.fault(one.where, "%.100q is no place inside; want one such as login.internal:443.", one.text)
			}
			p.Inside = append(p.Inside, one.text)
		}
		at := func(key string) string {
			if len(b[key]) > 0 {
				return b[key][0].where
			}
			return b[""][0].where
		}
		if why := wrongName(p.Name); why != "" && b["name"] != nil {
			r.fault(at("name"), "name is %.60q; %s.", p.Name, why)
		}
		if slices.ContainsFunc(all, func(o Provider) bool { return o.Name == p.Name }) {
			r.fault(at("name"), "There is another provider of the name %.60q.", p.Name)
		}
		if p.Agents && p.Kind != "oidc" {
			r.fault(at("agents"), "agents is true, and a provider of the kind github gives no access tokens that could be checked; one of the kind oidc does.")
		}
		if p.Agents && slices.ContainsFunc(all, func(o Provider) bool { return o.Agents && o.Issuer == p.Issuer }) {
			r.fault(at("agents"), "agents is true for another provider of the same issuer already.")
		}
		if p.Kind == "oidc" && p.Issuer == "" {
			r.fault(at("kind"), "A provider of the kind oidc needs an issuer, such as https://accounts.example.org.")
		}
		for key, text := range map[string]string{"issuer": p.Issuer, "api": p.API} {
			if why := wrongPlace(text, p.Inside); why != "" {
				r.fault(at(key), "%s is %.100q; %s.", key, text, why)
			}
		}
		if why := relative(p.SecretFile); why != "" && b["client_secret_file"] != nil {
			r.fault(at("client_secret_file"), "client_secret_file is %.100q; %s.", p.SecretFile, why)
		}
		if p.ClientID == "" && b["client_id"] != nil {
			r.fault(at("client_id"), "client_id is empty; the provider says which it is.")
		}
		all = append(all, p)
	}
	if len(all) > 0 && publicURL == "" {
		r.fault(r.blocks[0][""][0].where, "Providers send people back to public_url, and there is none.")
	}
	return all
}

func wrongName(s string) string {
	for i, c := range []byte(s) {
		if letter := c >= 'a' && c <= 'z'; !letter && (i == 0 || c != '-' && (c < '0' || c > '9')) {
			s = ""
		}
	}
	if s == "" || len(s) > 32 {
		return "a name has lower case letters, digits and dashes, a letter first, and at most 32 of them"
	}
	return ""
}

// wrongPlace says what is wrong with the URL of a provider. What isn't encrypted must be
// inside, as the operator says.
func wrongPlace(s string, inside []string) string {
	if s == "" {
		return ""
	}
	u, err := url.Parse(s)
	if err != nil || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "a URL such as https://accounts.example.org is wanted"
	}
	if u.Scheme == "https" || u.Scheme == "http" && slices.Contains(inside, strings.ToLower(u.Host)) {
		return ""
	}
	return "it must be https, or else its host and port be listed under inside"
}
