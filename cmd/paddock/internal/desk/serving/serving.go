// Package serving puts the server together: the house, who may log in, the queue, the
// tools for agents, and the door in front of them.
//
// # Limits
//
// It reads no flags and finds no programs: the command does, and hands in what it opens.
package serving

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"strings"

	"paddock/cmd/paddock/internal/desk"
	"paddock/cmd/paddock/internal/desk/conf"
	"paddock/cmd/paddock/internal/desk/crew"
	"paddock/cmd/paddock/internal/desk/doctor"
	"paddock/cmd/paddock/internal/desk/doorway/remote"
	"paddock/cmd/paddock/internal/desk/people"
	"paddock/cmd/paddock/internal/desk/rules/lookup"
	"paddock/internal/app"
	"paddock/internal/app/used"
	"paddock/internal/dispatch"
	"paddock/internal/executor"
	"paddock/internal/httpapi"
	"paddock/internal/httpapi/entry"
	"paddock/internal/httpapi/entry/agents"
	"paddock/internal/httpapi/entry/gate/profile"
	"paddock/internal/httpapi/entry/shield"
	"paddock/internal/httpapi/listen"
	"paddock/internal/httpapi/listen/sd"
	"paddock/internal/httpapi/settings"
	"paddock/internal/relay"
	"paddock/internal/web"
)

// A Rig is what the program hands in. All of it must be set.
type Rig struct {
	Version  string
	Build    httpapi.Build
	Policies *lookup.Source
	// Accounts opens who may log in.
	Accounts func(ctx context.Context, c people.Config) (people.Accounts, error)
	// House puts an executor together over the state directory.
	House func(ctx context.Context) (*executor.Executor, error)
	// Tools has the house serve delegates the tools that they have.
	Tools func(rooms *app.App)
}

// Serve serves until we are asked to end.
func Serve(ctx context.Context, d *desk.Desk, s settings.Settings, r Rig) (err error) {
	ctx, cancel := crew.UntilAsked(ctx, d)
	defer cancel()
	l, err := listener(ctx, d, s)
	if err != nil {
		return err
	}
	defer func() { // what listens to it has closed it
		if closing := l.Close(); !errors.Is(closing, net.ErrClosed) {
			err = errors.Join(err, closing)
		}
	}()
	operator, err := conf.Operator(s)
	if err != nil {
		return err
	}
	exec, err := r.House(ctx)
	if err != nil {
		return err
	}
	rooms := app.New(exec)
	defer func() { err = errors.Join(err, rooms.Close()) }()
	log := conf.Logger(d, s)
	workers := relay.NewHub(ctx, 0)
	defer workers.Close()
	all, err := r.Accounts(ctx, people.Config{
		State: d.StateDir(d.State), Postgres: s.Postgres, Accept: s.Accept, Secure: s.Secure(), Now: d.Now, Other: operator,
		Origin: conf.Origin(s, l.Addr()), Providers: conf.Providers(s), Hub: workers, House: rooms, Roots: s.Workspaces,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, all.Close()) }()
	defer people.Tidy(ctx, all, log)()
	queue, err := crew.Serve(ctx, d, crew.Server{Executor: exec, App: rooms, Store: all.Rows(), Hints: all.Hints(), Idle: s.NoWorker, Runs: s.Runs, Version: r.Version})
	if err != nil {
		return err
	}
	defer queue.Close()
	r.Tools(rooms)
	tools := remote.New(ctx, d, r.Version, r.Policies, rooms, log)
	defer tools.Close()
	door, err := newDoor(ctx, d, s, behind{r, rooms, queue, all, tools, workers}, log)
	if err != nil {
		return err
	}
	defer door.Close()
	code, until, err := all.FirstLink(ctx)
	if err = errors.Join(err, all.Forget(ctx)); err != nil {
		return err
	}
	conf.Welcome(d, s, l.Addr(), code, until)
	notify(ctx, d, "READY=1")
	return listen.Serve(ctx, l, listen.Options{
		Handler: door, Connections: s.Connections, Cert: s.Cert, Key: s.Key, Log: log, Now: d.Now,
		Ending: func() {
			notify(context.WithoutCancel(ctx), d, "STOPPING=1")
			door.Close()
			workers.Close()
			tools.Close()
		},
	})
}

// behind is what stands behind the door.
type behind struct {
	Rig
	rooms   *app.App
	queue   *dispatch.Service
	people  people.Accounts
	tools   agents.Server
	workers *relay.Hub
}

func newDoor(ctx context.Context, d *desk.Desk, s settings.Settings, h behind, log *slog.Logger) (*httpapi.Door, error) {
	public := strings.TrimSuffix(s.PublicURL, "/")
	var origins []string
	if public != "" {
		origins = []string{public}
	}
	return httpapi.New(ctx, httpapi.Config{
		App: h.queue, Gate: h.people, Vouch: h.people.Vouch, Workers: h.workers.Connected, Workspaces: h.people, Limits: entry.Limits(s.Limits), Version: h.Version, Pages: web.Handler,
		More: conf.Routes(d, h.rooms, used.House{State: d.StateDir(d.State), Policy: h.Policies, Now: d.Now}, func(in *entry.Entrance) {
			h.people.Routes(in)
			profile.Routes(in, s.Pprof)
			agents.Routes(in, h.tools, agents.Config{Public: public, Secure: s.Secure()})
		}),
		Build:   h.Build,
		Numbers: conf.Numbers(d.StateDir(d.State)),
		Shield:  shield.Config{Hosts: s.Names(), Loopback: s.Loopback(), Origins: origins, Secure: s.Secure(), Proxies: s.Proxies, Log: log, Now: d.Now},
		Policy: func() (httpapi.Policy, error) {
			p, err := h.Policies.Load()
			if err != nil {
				return httpapi.Policy{}, err
			}
			now := httpapi.Policy{Digest: p.Digest(), File: p.Name(), Roots: p.Roots(), Words: p.Words(), Text: string(p.Text())}
			if trouble := h.Policies.Trouble(); trouble != nil {
				now.Problem = trouble.Problem
			}
			return now, nil
		},
		Ready: doctor.Ready(ctx, d, doctor.House{Policy: h.Policies.Load, List: h.rooms.List, Accounts: h.people.Ping}),
	})
}

// listener is where requests come in: what the service manager handed over, or an
// address of the settings, if others may reach it.
func listener(ctx context.Context, d *desk.Desk, s settings.Settings) (net.Listener, error) {
	l, err := sd.Listener(d.Env, os.Getpid())
	if l == nil && err == nil {
		l, err = (&net.ListenConfig{}).Listen(ctx, "tcp", s.Listen)
	}
	if err != nil {
		return nil, desk.Usage("can't listen: "+err.Error(), "--listen names another address; port 0 takes a free one")
	}
	if err := conf.Exposed(s, l.Addr()); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// notify tells the service manager how we are.
func notify(ctx context.Context, d *desk.Desk, state string) {
	if err := sd.Notify(ctx, d.Env, state); err != nil {
		d.Say("warning", err.Error())
	}
}
