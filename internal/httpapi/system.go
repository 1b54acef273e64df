package httpapi

import (
	"context"
	"net/http"
	"slices"
	"time"

	"paddock"
	"paddock/internal/httpapi/entry"
	"paddock/internal/httpapi/entry/gate"
	"paddock/internal/httpapi/entry/shield"
	"paddock/internal/httpapi/entry/shield/problem"
	"paddock/internal/httpapi/entry/table"
	"paddock/internal/httpapi/meter"
)

const apiDescription = `Runs of programs under a policy. Names are snake_case, times RFC 3339, durations whole milliseconds (_ms), sizes bytes. What isn't understood is refused: unknown parameters and keys, doubled ones, wrong types. What one may not see looks like what isn't there.`

// Health is how the server is.
type Health struct {
	OK      bool    `json:"ok"`
	Version string  `json:"version,omitempty"`
	Build   *Build  `json:"build,omitempty"`
	Checks  []Check `json:"checks,omitempty"`
}

// A Build is what a program was made of.
type Build struct {
	Revision string `json:"revision,omitempty"`
	// Modified is set when the sources differed from the revision.
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Me is who is logged in.
type Me struct {
	Name      string            `json:"name"`
	Role      gate.Role         `json:"role"`
	Principal paddock.Principal `json:"principal"`
	// Verbs are what the role and the credential are good for.
	Verbs []gate.Verb `json:"verbs"`
	Until *time.Time  `json:"until,omitempty"`
}

// Credentials are what somebody logs in with.
type Credentials struct {
	// Code is that of a one-time link, or of an invitation: then name and password are
	// those of the account to be.
	Code     string `json:"code,omitempty"`
	Name     string `json:"name,omitempty"`
	Password string `json:"password,omitempty"`
}

// system adds the routes that are about the server and who is logged in.
func (d *Door) system() {
	live := entry.Row{Route: table.Route{Method: http.MethodGet, Path: "/livez", ID: "live", Summary: "Whether the server answers", Tag: "health"}, Verb: gate.Health}
	entry.Add(d.in, live, func(context.Context, *entry.Call, *entry.Nothing) (Health, error) { return Health{OK: true}, nil })
	ready := entry.Row{Route: table.Route{Method: http.MethodGet, Path: "/readyz", ID: "ready", Summary: "Whether the server is of use; 503 if not", Tag: "health"}, Verb: gate.Health}
	ready.Out, ready.Also = table.Type[Health](), []int{http.StatusServiceUnavailable}
	d.in.Route(ready, d.ready)
	metrics := entry.Row{Route: table.Route{Method: http.MethodGet, Path: "/metrics", ID: "metrics", Summary: "Numbers, as Prometheus reads them", Tag: "health", Media: "text/plain"}, Verb: gate.MetricsRead}
	d.in.Route(metrics, func(c *entry.Call) error {
		c.Header().Set("Content-Type", meter.ContentType)
		_ = d.numbers.Write(c.ResponseWriter) // who asked is gone then
		return nil
	})
	openAPI := entry.Row{Route: table.Route{Method: http.MethodGet, Path: "/api/v1/openapi.json", ID: "openapi", Summary: "This document", Tag: "api", Media: "application/json"}, Verb: gate.APIRead}
	d.in.Route(openAPI, func(c *entry.Call) error {
		text, err := d.openAPI()
		if err != nil {
			return err
		}
		c.Header().Set("Content-Type", "application/json")
		_, _ = c.Write(text) // the same
		return nil
	})
	who := entry.Row{Route: table.Route{Method: http.MethodGet, Path: "/api/v1/whoami", ID: "whoami", Summary: "Who is logged in, and for what", Tag: "session"}, Verb: gate.WhoAmI}
	entry.Add(d.in, who, func(_ context.Context, c *entry.Call, _ *entry.Nothing) (Me, error) { return me(c.Caller), nil })
	login := entry.Row{Route: table.Route{Method: http.MethodPost, Path: "/api/v1/login", ID: "login", Summary: "Log in by the code of a one-time link, by name and password, or by an invitation with both to be", Tag: "session"}, Verb: gate.Login}
	entry.Add(d.in, login, d.login)
	logout := entry.Row{Route: table.Route{Method: http.MethodPost, Path: "/api/v1/logout", ID: "logout", Summary: "End the session, or the token that is shown", Tag: "session", Status: http.StatusNoContent}, Verb: gate.Logout}
	entry.Add(d.in, logout, func(_ context.Context, c *entry.Call, _ *entry.Nothing) (entry.Nothing, error) {
		cookie, err := d.cfg.Gate.Logout(c.Request)
		if err == nil && cookie != nil {
			http.SetCookie(c, cookie)
			c.Header().Set("Clear-Site-Data", `"cache", "storage"`)
		}
		return entry.Nothing{}, err
	})
}

func me(c gate.Caller) Me {
	m := Me{Name: c.Name, Role: c.Role, Principal: c.Self()}
	m.Verbs = slices.DeleteFunc(slices.Clone(gate.Verbs()), func(v gate.Verb) bool { return !c.May(v) })
	if !c.Until.IsZero() {
		m.Until = &c.Until
	}
	return m
}

func (d *Door) login(ctx context.Context, c *entry.Call, in *struct {
	Body Credentials `body:""`
}) (Me, error) {
	addr := shield.NoteOf(ctx).Addr
	if ok, after := d.logins.Allow(addr); !ok {
		return Me{}, entry.TooMany(after)
	}
	s, err := d.cfg.Gate.Login(ctx, gate.From{Addr: addr, Device: c.UserAgent()}, gate.Proof(in.Body))
	if err != nil {
		return Me{}, err
	}
	shield.NoteOf(ctx).Name = s.Caller.Name
	if s.Cookie != nil {
		http.SetCookie(c, s.Cookie)
	}
	return me(s.Caller), nil
}

// ready tells everybody whether, and admins why.
func (d *Door) ready(c *entry.Call) error {
	h := Health{OK: true}
	if d.cfg.Ready != nil {
		h.Checks = d.cfg.Ready(c.Context())
	}
	h.OK = !slices.ContainsFunc(h.Checks, func(k Check) bool { return !k.OK })
	if c.Caller.May(gate.MetricsRead) {
		h.Version, h.Build = d.cfg.Version, &d.cfg.Build
	} else {
		h.Checks = nil
	}
	status := http.StatusOK
	if !h.OK {
		status = http.StatusServiceUnavailable
		c.Header().Set("Retry-After", "5")
	}
	return c.Answer(status, h)
}

// describe makes the OpenAPI document, which is the same for every version of the
// program that has the same routes.
func (d *Door) describe() ([]byte, error) {
	routes := make([]table.Route, len(d.in.Table))
	for i, r := range d.in.Table {
		routes[i] = r.Route
	}
	return table.OpenAPI(table.Info{Title: "Paddock", Version: "1", Description: apiDescription, Problem: table.Type[problem.Problem]()}, routes)
}
