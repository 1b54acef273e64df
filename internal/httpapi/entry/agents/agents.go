// Package agents is /mcp, as far as HTTP goes: who may ask there, and how programs find
// out what credential is wanted (RFC 9728).
//
// A request is let in like any other, by the verb mcp.use. Beside that a cookie isn't
// taken, since browsers send those unasked; and a page of elsewhere is refused whatever
// it has its browser send, since streams are opened by GET.
//
// # Limits
//
// It speaks no MCP: a [Server] does. It gives out no credentials; the document names
// whoever the configuration says does.
package agents

import (
	"context"
	"net/http"
	"net/url"
	"slices"

	"paddock"
	"paddock/internal/auth"
	"paddock/internal/httpapi/entry"
)

const (
	path      = "/mcp"
	wellKnown = "/.well-known/oauth-protected-resource"
)

// A Server speaks MCP.
type Server interface {
	// Serve answers one request of whoever calls, as far as his credential is good.
	Serve(c *entry.Call)
}

// Config says how the routes are told of.
type Config struct {
	// Public is how the server is reached from outside, as https://host; empty means by
	// the name that a request was sent to.
	Public string
	// Secure says that it is reached by TLS.
	Secure bool
	// Servers are those whose access tokens are taken.
	Servers []string
	// Docs is where people read how to connect.
	Docs string
}

// A Resource is what programs are told of /mcp, as RFC 9728 says.
type Resource struct {
	Resource string `json:"resource"`
	Name     string `json:"resource_name"`
	Docs     string `json:"resource_documentation,omitempty"`
	// Servers give out access tokens for it; without any a person makes an API token.
	Servers []string `json:"authorization_servers,omitempty"`
	// Methods are how a token is shown.
	Methods []string `json:"bearer_methods_supported"`
	// Scopes are those that a token can have that are of use here.
	Scopes []string `json:"scopes_supported"`
}

// Routes adds the routes.
func Routes(in *entry.Entrance, s Server, cfg Config) {
	for _, one := range []struct{ method, id, summary, media string }{
		{http.MethodPost, "mcpSend", "Messages of the Model Context Protocol, for agents; docs/mcp.md", "text/event-stream"},
		{http.MethodGet, "mcpListen", "What an MCP session is told beside answers, for revisions that have sessions", "text/event-stream"},
		{http.MethodDelete, "mcpEnd", "End an MCP session", ""},
	} {
		row := entry.NewRow(one.method, "", one.id, one.summary, "mcp", auth.MCPUse)
		row.Path, row.Media, row.Challenge = path, one.media, cfg.challenge
		in.Route(row, func(c *entry.Call) error { return cfg.serve(c, s) })
	}
	for _, at := range []struct{ path, id string }{{wellKnown, "protectedResource"}, {wellKnown + path, "protectedResourceOfMCP"}} {
		row := entry.NewRow(http.MethodGet, "", at.id, "What credential /mcp wants (RFC 9728)", "mcp", "api.read")
		row.Path = at.path
		entry.Add(in, row, func(_ context.Context, c *entry.Call, _ *entry.Nothing) (Resource, error) {
			return Resource{
				Resource: cfg.base(c.Request) + path, Name: "Paddock", Docs: cfg.Docs, Servers: cfg.Servers, Methods: []string{"header"}, Scopes: scopes(),
			}, nil
		})
	}
}

// scopes are those of tools, and the one that opens the door.
func scopes() []string {
	var all []string
	for _, v := range []auth.Verb{
		auth.MCPUse, auth.RunsStart, auth.RunsList, auth.RunsRead, auth.RunsOutput, auth.RunsKill, auth.GitRead,
		auth.TasksRead, auth.TasksWrite, auth.WorkspacesRead, auth.WorkspacesClone, auth.WorkspacesRemove, auth.DelegatesStart, auth.DelegatesRead, auth.DelegatesCancel,
	} {
		all = append(all, string(v))
	}
	return all
}

// serve lets in who may ask.
func (cfg Config) serve(c *entry.Call, s Server) error {
	if c.Request.Header.Get("Authorization") == "" {
		refusal := paddock.Refused(paddock.Unauthenticated, "A cookie is for people at a browser; /mcp wants an API token.")
		refusal.Hint = "Make one with the scope mcp.use and those of the tools, and send it as `Authorization: Bearer …`."
		return refusal
	}
	if !cfg.ours(c.Request) {
		return paddock.Refused(paddock.Forbidden, "A page from elsewhere asked your browser to send this.")
	}
	if c.URL.RawQuery != "" {
		return paddock.Refused(paddock.InvalidRequest, "The URL of /mcp has no parameters.")
	}
	s.Serve(c)
	return nil
}

// ours reports whether a request is from no page, or from one of ours. What pages send
// that changes something was looked at before.
func (cfg Config) ours(r *http.Request) bool {
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return true
	}
	from, err := url.Parse(origins[0])
	return len(origins) == 1 && err == nil && (slices.Contains([]string{cfg.Public}, origins[0]) || from.Host == r.Host && from.Host != "")
}

// base is how the server is reached.
func (cfg Config) base(r *http.Request) string {
	switch {
	case cfg.Public != "":
		return cfg.Public
	case cfg.Secure || r.TLS != nil:
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// challenge says where it is written what credential is wanted.
func (cfg Config) challenge(r *http.Request, status int) string {
	more := `, resource_metadata="` + cfg.base(r) + wellKnown + path + `", scope="` + string(auth.MCPUse) + `"`
	switch {
	case status == http.StatusForbidden:
		return `, error="insufficient_scope"` + more
	case r.Header.Get("Authorization") != "":
		return `, error="invalid_token"` + more
	}
	return more
}
