package httpapi

import (
	"context"
	"net/http"
	"slices"
	"time"

	"paddock"
	"paddock/internal/httpapi/gate"
	"paddock/internal/httpapi/meter"
	"paddock/internal/httpapi/shield"
	"paddock/internal/httpapi/shield/problem"
	"paddock/internal/httpapi/table"
)

const apiDescription = `Runs of programs under a policy. Names are snake_case, times RFC 3339, durations whole milliseconds (_ms), sizes bytes. What isn't understood is refused: unknown parameters and keys, doubled ones, wrong types. What one may not see looks like what isn't there.`

// Health is how the server is.
type Health struct {
	OK      bool    `json:"ok"`
	Version string  `json:"version,omitempty"`
	Checks  []Check `json:"checks,omitempty"`
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
	// Code is that of a one-time link.
	Code     string `json:"code,omitempty"`
	Name     string `json:"name,omitempty"`
	Password string `json:"password,omitempty"`
}

// system adds the routes that are about the server and who is logged in.
func (d *Door) system() {
	live := row{table.Route{Method: http.MethodGet, Path: "/livez", ID: "live", Summary: "Whether the server answers", Tag: "health"}, gate.Health}
	add(d, live, func(context.Context, *call, *nothing) (Health, error) { return Health{OK: true}, nil })
	ready := row{table.Route{Method: http.MethodGet, Path: "/readyz", ID: "ready", Summary: "Whether the server is of use; 503 if not", Tag: "health"}, gate.Health}
	ready.Out = table.Type[Health]()
	d.route(ready, d.ready)
	metrics := row{table.Route{Method: http.MethodGet, Path: "/metrics", ID: "metrics", Summary: "Numbers, as Prometheus reads them", Tag: "health", Media: "text/plain"}, gate.MetricsRead}
	d.route(metrics, func(c *call) error {
		c.Header().Set("Content-Type", meter.ContentType)
		_ = d.numbers.Write(c.ResponseWriter) // who asked is gone then
		return nil
	})
	openAPI := row{table.Route{Method: http.MethodGet, Path: "/api/v1/openapi.json", ID: "openapi", Summary: "This document", Tag: "api", Media: "application/json"}, gate.APIRead}
	d.route(openAPI, func(c *call) error {
		text, err := d.openAPI()
		if err != nil {
			return err
		}
		c.Header().Set("Content-Type", "application/json")
		_, _ = c.Write(text) // the same
		return nil
	})
	who := row{table.Route{Method: http.MethodGet, Path: "/api/v1/whoami", ID: "whoami", Summary: "Who is logged in, and for what", Tag: "session"}, gate.WhoAmI}
	add(d, who, func(_ context.Context, c *call, _ *nothing) (Me, error) { return me(c.caller), nil })
	login := row{table.Route{Method: http.MethodPost, Path: "/api/v1/login", ID: "login", Summary: "Log in by the code of a one-time link, or by name and password", Tag: "session"}, gate.Login}
	add(d, login, d.login)
	logout := row{table.Route{Method: http.MethodPost, Path: "/api/v1/logout", ID: "logout", Summary: "End the session", Tag: "session", Status: http.StatusNoContent}, gate.Logout}
	add(d, logout, func(_ context.Context, c *call, _ *nothing) (nothing, error) {
		cookie, err := d.cfg.Gate.Logout(c.Request)
		if err == nil && cookie != nil {
			http.SetCookie(c, cookie)
			c.Header().Set("Clear-Site-Data", `"cache", "storage"`)
		}
		return nothing{}, err
	})
}

func me(c gate.Caller) Me {
	m := Me{Name: c.Name, Role: c.Role, Principal: c.Self()}
	for _, v := range gate.Verbs() {
		if c.May(v) {
			m.Verbs = append(m.Verbs, v)
		}
	}
	if !c.Until.IsZero() {
		m.Until = &c.Until
	}
	return m
}

func (d *Door) login(ctx context.Context, c *call, in *struct {
	Body Credentials `body:""`
}) (Me, error) {
	addr := shield.NoteOf(ctx).Addr
	if ok, after := d.logins.Allow(addr); !ok {
		return Me{}, tooMany(after)
	}
	s, err := d.cfg.Gate.Login(ctx, addr, gate.Proof(in.Body))
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
func (d *Door) ready(c *call) error {
	h := Health{OK: true}
	if d.cfg.Ready != nil {
		h.Checks = d.cfg.Ready(c.Context())
	}
	h.OK = !slices.ContainsFunc(h.Checks, func(k Check) bool { return !k.OK })
	if c.caller.May(gate.ReadinessTells) {
		h.Version = d.cfg.Version
	} else {
		h.Checks = nil
	}
	status := http.StatusOK
	if !h.OK {
		status = http.StatusServiceUnavailable
	}
	return c.answer(status, h)
}

// describe makes the OpenAPI document, which is the same for every version of the
// program that has the same routes.
func (d *Door) describe() ([]byte, error) {
	routes := make([]table.Route, len(d.table))
	for i, r := range d.table {
		routes[i] = r.Route
	}
	return table.OpenAPI(table.Info{Title: "Paddock", Version: "1", Description: apiDescription, Problem: table.Type[problem.Problem]()}, routes)
}
