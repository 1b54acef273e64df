package crew

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/app"
	"paddock/internal/app/evidence"
	"paddock/internal/dispatch"
	"paddock/internal/executor"
	"paddock/internal/journal/sign"
	"paddock/internal/policy/compiled/document/shape"
	"paddock/internal/relay"
	"paddock/internal/relay/anchors"
	"paddock/internal/relay/asking"
	"paddock/internal/relay/outward"
	"paddock/internal/store"
	"paddock/internal/trust"
)

// Linked reaches the runs of workers that are connected to a hub.
func Linked(hub *relay.Hub) dispatch.Elsewhere { return linked{hub} }

type linked struct{ hub *relay.Hub }

// At implements [dispatch.Elsewhere].
func (l linked) At(worker store.WorkerID) dispatch.House {
	if !l.hub.Has(string(worker)) {
		return nil
	}
	return l.hub.At(string(worker))
}

// Workers implements [dispatch.Elsewhere].
func (l linked) Workers() (all []store.WorkerID) {
	for _, w := range l.hub.Workers() {
		all = append(all, store.WorkerID(w))
	}
	return all
}

// A server is one that a worker connects to, so that it can show what is printed here.
type server struct {
	url, token string
	tls        *tls.Config
}

// serverKeys are those of the configuration.
func serverKeys(path shape.Text) shape.Object {
	return shape.Object{Keys: []shape.Key{
		{Name: "url", Doc: "its address, https.", Shape: shape.Text{Say: "a URL such as https://paddock.example.org", Loose: true}, Required: true},
		{Name: "token_file", Doc: "file with the worker's credential.", Shape: path, Required: true},
		{Name: "ca", Doc: "file with the certificates of those who vouch for it, beside the system's.", Shape: path},
	}}
}

// takeServers takes all of them.
func takeServers(v *shape.Value, fault func(at *shape.Value, format string, args ...any)) (all []server) {
	if len(v.Items()) == 0 {
		fault(v, "servers is empty; there is nobody to ask whether an order is for this worker.")
	}
	for _, one := range v.Items() {
		to, err := takeServer(one)
		if err != nil {
			fault(one, "%v.", err)
			continue
		}
		all = append(all, to)
	}
	return all
}

// takeServer takes one, or says what is wrong with it.
func takeServer(v *shape.Value) (s server, err error) {
	for _, p := range v.Pairs() {
		switch p.Key.Text {
		case "url":
			s.url = p.Value.Text
			_, err = outward.Address(s.url)
		case "token_file":
			s.token, err = secret(p.Value.Text)
		case "ca":
			var text []byte
			if text, err = believed(p.Value.Text); err == nil {
				pool := x509.NewCertPool()
				if own, bad := x509.SystemCertPool(); bad == nil {
					pool = own
				}
				if !pool.AppendCertsFromPEM(text) {
					err = errors.New("there is no certificate in " + p.Value.Text)
				}
				s.tls = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
			}
		}
		if err != nil {
			return s, err
		}
	}
	return s, nil
}

// secret reads a file that nobody else can read or change.
func secret(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", errors.New("an absolute path is wanted")
	}
	f, _, err := trust.User().Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		err = errors.New(path + " can be read by others; chmod 600 it")
	}
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(f, most))
	return strings.TrimSpace(string(text)), err
}

// link keeps a connection to each server, and returns what ends them.
func link(ctx context.Context, d *desk.Desk, s settings, e *executor.Executor, wants *asking.Desk) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	attest := attester(d, e)
	var all sync.WaitGroup
	for _, to := range s.servers {
		all.Go(func() {
			err := relay.Serve(ctx, relay.Config{
				Server: to.url, Token: to.token, TLS: to.tls, House: app.New(e), Head: anchors.Teller(e.StateDir()), Desk: wants, Attest: attest, Now: d.Now,
				Log: slog.New(slog.NewTextHandler(d.Err, &slog.HandlerOptions{Level: slog.LevelWarn})),
			})
			if err != nil {
				d.Say("warning", "server "+to.url+": "+err.Error())
			}
		})
	}
	return func() { cancel(); all.Wait() }
}

// attester makes statements about runs, for one server at a time: the journal and the
// output are read for each.
func attester(d *desk.Desk, e *executor.Executor) func(context.Context, paddock.RunID) (sign.Envelope, error) {
	busy := make(chan struct{}, 1)
	return func(ctx context.Context, id paddock.RunID) (sign.Envelope, error) {
		select {
		case busy <- struct{}{}:
			defer func() { <-busy }()
		default:
			return sign.Envelope{}, paddock.Refused(paddock.Busy, "The worker makes a statement for somebody else. Ask again in a moment.")
		}
		return evidence.Stated(ctx, func() (*evidence.Evidence, error) { return evidence.Open(d.Operator(), e.StateDir(), d.Now) }, id)
	}
}
