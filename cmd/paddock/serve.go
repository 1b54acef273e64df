package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"paddock/cmd/paddock/internal/desk"
	"paddock/cmd/paddock/internal/desk/conf"
	"paddock/cmd/paddock/internal/desk/rules/lookup"
	"paddock/internal/app"
	"paddock/internal/httpapi"
	"paddock/internal/httpapi/entry"
	"paddock/internal/httpapi/entry/gate/alone"
	"paddock/internal/httpapi/entry/shield"
	"paddock/internal/httpapi/listen"
	"paddock/internal/httpapi/listen/sd"
	"paddock/internal/httpapi/settings"
	"paddock/internal/web"
)

// warmForServer is how many supervisors wait for the next commands.
const warmForServer = 2

func serveCommand(d *desk.Desk) *cobra.Command {
	var config, address string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve people and programs over HTTP",
		Long: `Serve the HTTP API and a small page, by default to this machine alone. Runs are
started under the policy that applies here, as at every other door, and go on when
the server ends.

The first thing printed is a link to log in with, good once and for an hour. Only an
address with TLS, or behind a proxy that is named as trusted, may be reached from
other machines. docs/server.md has the configuration file.`,
		Example: `  paddock serve
  paddock serve --listen 127.0.0.1:8080
  paddock serve --config /etc/paddock/server.yaml`,
		Args: desk.Wants(0, 0, "no words"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			flags := map[string]string{}
			if cmd.Flags().Changed("listen") {
				flags["listen"] = address
			}
			s, err := conf.Read(d, config, flags)
			if err != nil {
				return err
			}
			return serveHTTP(cmd.Context(), d, s)
		},
	}
	cmd.Flags().StringVar(&address, "listen", settings.DefaultListen, "`ADDRESS` to listen on")
	conf.Flag(cmd, &config)
	return cmd
}

// serveHTTP serves until we are asked to end.
func serveHTTP(ctx context.Context, d *desk.Desk, s settings.Settings) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	signals, restore := d.Signals()
	defer restore()
	go func() {
		select {
		case <-signals:
			cancel()
		case <-ctx.Done():
		}
	}()
	token, err := conf.Token(s)
	if err != nil {
		return err
	}
	guard, err := alone.New(alone.Config{Name: "admin", Token: token, Secure: s.Secure(), Now: d.Now})
	if err != nil {
		return err
	}
	l, err := sd.Listener(d.Env, os.Getpid())
	if l == nil && err == nil {
		l, err = (&net.ListenConfig{}).Listen(ctx, "tcp", s.Listen)
	}
	if err != nil {
		return desk.Usage("can't listen: "+err.Error(), "--listen names another address; port 0 takes a free one")
	}
	if err := conf.Exposed(s, l.Addr()); err != nil {
		return errors.Join(err, l.Close())
	}
	policies := source(d)
	rooms, err := house(ctx, d, d.State, policies, warmForServer)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer func() { err = errors.Join(err, rooms.Close()) }()
	log := logger(d, s)
	door, err := newDoor(ctx, d, s, rooms, policies, guard, log)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer door.Close()
	welcome(d, s, l, guard)
	if err := sd.Notify(ctx, d.Env, "READY=1"); err != nil {
		warn(d, err)
	}
	return listen.Serve(ctx, l, listen.Options{
		Handler: door, Connections: s.Connections, Cert: s.Cert, Key: s.Key, Log: log, Now: d.Now,
		Ending: func() {
			if err := sd.Notify(context.WithoutCancel(ctx), d.Env, "STOPPING=1"); err != nil {
				warn(d, err)
			}
			door.Close()
		},
	})
}

func newDoor(ctx context.Context, d *desk.Desk, s settings.Settings, rooms *app.App, policies *lookup.Source, guard *alone.Gate, log *slog.Logger) (*httpapi.Door, error) {
	public := strings.TrimSuffix(s.PublicURL, "/")
	var origins []string
	if public != "" {
		origins = []string{public}
	}
	return httpapi.New(ctx, httpapi.Config{
		App: rooms, Gate: guard, Limits: entry.Limits(s.Limits), Version: thisVersion().Version, Pages: web.Handler,
		Shield: shield.Config{Hosts: s.Names(), Loopback: s.Loopback(), Origins: origins, Secure: s.Secure(), Proxies: s.Proxies, Log: log, Now: d.Now},
		Policy: func() (httpapi.Policy, error) {
			p, err := policies.Load()
			if err != nil {
				return httpapi.Policy{}, err
			}
			return httpapi.Policy{Digest: p.Digest(), File: p.Name(), Roots: p.Roots(), Words: p.Words(), Text: string(p.Text())}, nil
		},
		Ready: func(ctx context.Context) []httpapi.Check {
			_, policyErr := policies.Load()
			_, stateErr := rooms.List(ctx, d.Operator(), app.Filter{Limit: 1})
			var some *app.Unreadable
			if errors.As(stateErr, &some) {
				stateErr = nil // of some runs; the others are there
			}
			return []httpapi.Check{check("policy", policyErr), check("state", stateErr)}
		},
	})
}

func check(name string, err error) httpapi.Check {
	if err != nil {
		return httpapi.Check{Name: name, Detail: err.Error()}
	}
	return httpapi.Check{Name: name, OK: true}
}

func logger(d *desk.Desk, s settings.Settings) *slog.Logger {
	if s.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(d.Err, nil))
	}
	return slog.New(slog.NewTextHandler(d.Err, nil))
}

// An opening is what a server says when it is ready.
type opening struct {
	Address string    `json:"address"`
	URL     string    `json:"url"`
	Login   string    `json:"login_url"`
	Until   time.Time `json:"login_until"`
}

// welcome prints where the server is and the link to log in with. The code is behind
// the #, so no browser sends it to anybody as part of an address.
func welcome(d *desk.Desk, s settings.Settings, l net.Listener, guard *alone.Gate) {
	url := strings.TrimSuffix(s.PublicURL, "/")
	if url == "" {
		scheme := "http"
		if s.Cert != "" {
			scheme = "https"
		}
		url = scheme + "://" + l.Addr().String()
	}
	o := opening{Address: l.Addr().String(), URL: url, Login: url + "/login#" + guard.Link(), Until: d.Now().Add(alone.LinkLasts).UTC()}
	if d.JSON {
		_ = d.Object(o) // nobody reads it then, and the server serves
		return
	}
	fmt.Fprintf(d.Out, "paddock serves %s\nlog in once, within an hour: %s\n", o.URL, o.Login)
}
