package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"paddock/cmd/paddock/internal/desk"
	"paddock/cmd/paddock/internal/desk/conf"
	"paddock/cmd/paddock/internal/desk/people"
	"paddock/cmd/paddock/internal/desk/rules/lookup"
	"paddock/internal/app"
	"paddock/internal/app/used"
	"paddock/internal/executor/stages"
	"paddock/internal/httpapi"
	"paddock/internal/httpapi/entry"
	"paddock/internal/httpapi/entry/shield"
	"paddock/internal/httpapi/listen"
	"paddock/internal/httpapi/listen/sd"
	"paddock/internal/httpapi/settings"
	"paddock/internal/web"
)

// openAccounts opens who may log in in the build of the server; elsewhere it is nil, since
// the drivers of databases would cost every command that is typed.
var openAccounts func(ctx context.Context, c people.Config) (people.Accounts, error)

// accountsHere opens those of the state directory for commands; other programs become
// the server's for it.
func accountsHere(d *desk.Desk) people.Opener {
	return people.Here(d, func(ctx context.Context) (people.Accounts, error) {
		s, err := conf.Read(d, "", nil)
		if err != nil {
			return nil, err
		}
		if openAccounts == nil {
			return nil, becomeServer(d)
		}
		state := d.StateDir(d.State)
		if _, err := os.Stat(filepath.Join(state, "server.db")); err != nil && s.Postgres == "" {
			return nil, desk.Usage("there are no accounts in "+desk.Plain(state), "paddock serve makes them when it starts; --state names another directory, --server a server elsewhere")
		}
		return openAccounts(ctx, people.Config{State: state, Postgres: s.Postgres, Secure: s.Secure(), Now: d.Now, Providers: conf.Providers(s), Origin: s.PublicURL})
	})
}

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

The server is a program of its own, paddock-server beside this one. As long as there
is only the first admin and he has no other way in, it prints a link to log in with,
good once and for an hour. Only an address with TLS, or behind a proxy that is named as trusted, may be reached from
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
			if openAccounts == nil {
				return becomeServer(d)
			}
			return serveHTTP(cmd.Context(), d, s)
		},
	}
	cmd.Flags().StringVar(&address, "listen", settings.DefaultListen, "`ADDRESS` to listen on")
	conf.Flag(cmd, &config)
	return cmd
}

// becomeServer goes on as the server's program, with the same words. What is wrong with
// them was said before.
func becomeServer(d *desk.Desk) error {
	handed := 0
	if l, _ := d.Env("LISTEN_PID"); l == strconv.Itoa(os.Getpid()) {
		handed = 1 // more than one is refused there
	}
	if err := stages.BecomeServer(os.Args[1:], os.Environ(), handed); err != nil {
		return desk.Usage(err.Error(), "")
	}
	return nil
}

// untilAsked returns a context that ends when we are asked to.
func untilAsked(ctx context.Context, d *desk.Desk) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	signals, restore := d.Signals()
	go func() {
		select {
		case <-signals:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(); restore() }
}

// serveHTTP serves until we are asked to end.
func serveHTTP(ctx context.Context, d *desk.Desk, s settings.Settings) (err error) {
	ctx, cancel := untilAsked(ctx, d)
	defer cancel()
	operator, err := conf.Operator(s)
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
	log := conf.Logger(d, s)
	all, err := openAccounts(ctx, people.Config{
		State: d.StateDir(d.State), Postgres: s.Postgres, Secure: s.Secure(), Now: d.Now, Other: operator,
		Origin: conf.Origin(s, l.Addr()), Providers: conf.Providers(s),
	})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer func() { err = errors.Join(err, all.Close()) }()
	defer people.Tidy(ctx, all, log)()
	door, err := newDoor(ctx, d, s, rooms, policies, all, log)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer door.Close()
	code, until, err := all.FirstLink(ctx)
	if err = errors.Join(err, all.Forget(ctx)); err != nil {
		return errors.Join(err, l.Close())
	}
	conf.Welcome(d, s, l.Addr(), code, until)
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

func newDoor(ctx context.Context, d *desk.Desk, s settings.Settings, rooms *app.App, policies *lookup.Source, all people.Accounts, log *slog.Logger) (*httpapi.Door, error) {
	public := strings.TrimSuffix(s.PublicURL, "/")
	var origins []string
	if public != "" {
		origins = []string{public}
	}
	return httpapi.New(ctx, httpapi.Config{
		App: rooms, Gate: all, More: conf.Routes(d, rooms, used.House{State: d.StateDir(d.State), Policy: policies, Now: d.Now}, all.Routes), Limits: entry.Limits(s.Limits), Version: thisVersion().Version, Pages: web.Handler,
		Shield: shield.Config{Hosts: s.Names(), Loopback: s.Loopback(), Origins: origins, Secure: s.Secure(), Proxies: s.Proxies, Log: log, Now: d.Now},
		Policy: func() (httpapi.Policy, error) {
			p, err := policies.Load()
			if err != nil {
				return httpapi.Policy{}, err
			}
			now := httpapi.Policy{Digest: p.Digest(), File: p.Name(), Roots: p.Roots(), Words: p.Words(), Text: string(p.Text())}
			if trouble := policies.Trouble(); trouble != nil {
				now.Problem = trouble.Problem
			}
			return now, nil
		},
		Ready: func(ctx context.Context) []httpapi.Check {
			_, policyErr := policies.Load()
			_, stateErr := rooms.List(ctx, d.Operator(), app.Filter{Limit: 1})
			var some *app.Unreadable
			if errors.As(stateErr, &some) {
				stateErr = nil // of some runs; the others are there
			}
			return []httpapi.Check{check("policy", policyErr), check("state", stateErr), check("accounts", all.Ping(ctx))}
		},
	})
}

func check(name string, err error) httpapi.Check {
	if err != nil {
		return httpapi.Check{Name: name, Detail: err.Error()}
	}
	return httpapi.Check{Name: name, OK: true}
}
