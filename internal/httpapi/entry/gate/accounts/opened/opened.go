// Package opened puts together what a server with accounts needs: its store, its key, the
// desk over both, and the gate.
//
// # Limits
//
// The state directory is made by others. All servers of one database need the same key.
package opened

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"paddock/internal/approval/vouched"
	"paddock/internal/auth"
	"paddock/internal/auth/desk"
	"paddock/internal/auth/keyfile"
	"paddock/internal/dispatch"
	"paddock/internal/httpapi/entry"
	"paddock/internal/httpapi/entry/gate"
	"paddock/internal/httpapi/entry/gate/accounts"
	"paddock/internal/httpapi/entry/gate/accounts/opened/machines"
	"paddock/internal/httpapi/entry/gate/accounts/opened/principals"
	"paddock/internal/httpapi/entry/gate/accounts/opened/served"
	"paddock/internal/httpapi/entry/gate/accounts/opened/workspaces"
	"paddock/internal/journal"
	"paddock/internal/journal/short/account"
	"paddock/internal/journal/sign"
	"paddock/internal/journal/writer"
	"paddock/internal/relay"
	"paddock/internal/relay/anchors"
	"paddock/internal/store"
	"paddock/internal/store/tables"
	"paddock/internal/store/tables/postgres"
	"paddock/internal/store/tables/sqlite"
)

// Database is the file in the state directory.
const Database = "server.db"

// forgetAfter is how long sessions, tokens and the like are kept that are over.
const forgetAfter = 90 * 24 * time.Hour

// Config says what is opened.
type Config struct {
	State string // directory
	// Postgres is a file with the address of a database, that nobody else can read;
	// empty means SQLite in the state directory.
	Postgres string
	// Serving is the digest of how a server is set up, which is written down when it
	// starts; empty where nothing is served.
	Serving string
	// Settings are those of which Serving is the digest, by their keys.
	Settings map[string]string
	// Accept is what is put up with of that database, by the words of the settings.
	Accept []string
	Secure bool // browsers reach us by TLS
	// Origin is how browsers reach us, as https://paddock.example.org; empty means that
	// nobody said, and so there are no passkeys.
	Origin    string
	Providers []gate.Provider
	Now       func() time.Time
	// Other is asked about bearers that aren't tokens of accounts; it may be nil.
	Other gate.Gate
	// Hub takes workers in; nil means that none are.
	Hub *relay.Hub
	// Warn is told what is wrong with the journals of workers.
	Warn func(error)
	// Roots are those below which workspaces are made.
	Roots []string
}

// Accounts are the accounts of a server.
type Accounts struct {
	*accounts.Gate
	desk    *desk.Desk
	store   *tables.Tables
	journal *writer.Writer
	workers *machines.Machines // nil if none are taken in
	asking  func()             // ends asking workers for the heads of their journals; nil if nobody does
	// verifier signs that second factors were shown.
	verifier *sign.Key
	now      func() time.Time
	// Workspaces are those that people make.
	*workspaces.Workspaces
	hints func(context.Context, func(string)) error
}

// Open opens them; Close lets go of what they are kept in.
func Open(ctx context.Context, c Config) (*Accounts, error) {
	s, hints, err := open(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("the accounts' store: %w", err)
	}
	a := &Accounts{store: s, hints: hints, now: c.Now}
	key, err := keyfile.Open(filepath.Join(c.State, keyfile.Name))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the accounts' key: %w", err), a.Close())
	}
	if a.verifier, err = keyfile.Verifier(key); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	if a.journal, err = writer.Open(journal.Dir(c.State), writer.Options{Now: c.Now}); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	others, err := providersOf(c.Providers, c.Origin)
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	self := party(c.Origin)
	a.desk, err = desk.New(desk.Config{Store: s, Recorder: recorder{a.journal}, Clock: c.Now, Key: key, Party: self, Providers: others})
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	a.Workspaces = workspaces.New(workspaces.Config{Store: s, Recorder: recorder{a.journal}, Roots: c.Roots, Now: c.Now})
	if c.Hub != nil {
		heads, err := anchors.Open(anchors.Config{Hub: c.Hub, State: c.State, Append: a.journal.Append, Now: c.Now, Warn: c.Warn, Removed: removed(s)})
		if err != nil {
			return nil, errors.Join(err, a.Close())
		}
		a.workers = machines.New(machines.Config{Store: s, Hub: c.Hub, Heads: heads, Recorder: recorder{a.journal}, Now: c.Now})
		if c.Serving != "" {
			a.asking = background(ctx, heads.Run)
		}
	}
	if c.Serving != "" {
		if err := a.configured(ctx, c); err != nil {
			return nil, errors.Join(err, a.Close())
		}
	}
	a.Gate = accounts.New(a.desk, c.Secure, c.Now, c.Other)
	a.Gate.Host = self.ID
	if c.Origin != "" {
		a.Gate.Audience = c.Origin + "/mcp"
	}
	return a, nil
}

// removed says of workers whether they were taken away.
func removed(s store.Workers) func(context.Context, string) (bool, error) {
	return func(ctx context.Context, worker string) (bool, error) {
		w, err := s.Worker(ctx, store.WorkerID(worker))
		if errors.Is(err, store.ErrNotFound) {
			return false, nil // nobody takes rows away
		}
		return !w.Removed.IsZero(), err
	}
}

// configured tells how a server is set up that starts, and what is new of that.
func (a *Accounts) configured(ctx context.Context, c Config) error {
	said := c.Serving
	if changes := served.Changes(c.State, c.Settings); changes != "" {
		said += ", " + changes
	}
	if err := (recorder{a.journal}).Record(ctx, auth.Event{What: auth.Configured, Local: true, Detail: said}); err != nil {
		return err
	}
	return served.Keep(c.State, c.Settings)
}

// background has f work until what it returns is called.
func background(ctx context.Context, f func(context.Context)) (end func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var work sync.WaitGroup
	work.Go(func() { f(ctx) })
	return func() { cancel(); work.Wait() }
}

// A recorder writes events into the journal of the state directory.
type recorder struct{ to *writer.Writer }

// Record implements auth.Recorder.
func (r recorder) Record(ctx context.Context, e auth.Event) error {
	d := &account.Detail{What: string(e.What), By: string(e.By), Local: e.Local, User: string(e.User), More: e.Detail}
	if e.From.IsValid() {
		d.From = e.From.String()
	}
	return r.to.Append(ctx, journal.Entry{Kind: journal.Account, Account: d})
}

func open(ctx context.Context, c Config) (*tables.Tables, func(context.Context, func(string)) error, error) {
	if c.Postgres == "" {
		s, err := sqlite.Open(ctx, filepath.Join(c.State, Database))
		return s, nil, err
	}
	return remote(ctx, c.Postgres, postgres.Options{
		AnyPassword: slices.Contains(c.Accept, "any_password"), Superuser: slices.Contains(c.Accept, "superuser"), PlainText: slices.Contains(c.Accept, "plain_text"),
	})
}

// Worker opens the queue for a worker, whose user may change no table's form.
func Worker(ctx context.Context, file string) (*tables.Tables, func(context.Context, func(string)) error, error) {
	return remote(ctx, file, postgres.Options{NoMigration: true, MostConnections: 4})
}

// remote opens the database whose address is in a file that nobody else can read, with
// what calls for its hints.
func remote(ctx context.Context, file string, o postgres.Options) (*tables.Tables, func(context.Context, func(string)) error, error) {
	text, err := keyfile.Secret(file, 4096)
	if err != nil {
		return nil, nil, err
	}
	address := strings.TrimSpace(string(text))
	s, err := postgres.Open(ctx, address, o)
	return s, func(ctx context.Context, heard func(string)) error { return postgres.Listen(ctx, address, o, heard) }, err
}

// Vouch is the envelope of a vote with our word that who brings it has just shown a
// second factor, where he has; else it is the vote alone. Who decides knows the rest.
func (a *Accounts) Vouch(who auth.Who, vote []byte) ([]byte, error) {
	if who.Session == "" || !who.Fresh() || len(vote) > vouched.MostBytes || vouched.Is(vote) {
		return vote, nil
	}
	return vouched.Sign(a.verifier, vouched.Statement{Vote: string(vote), Account: who.Name, ShownAt: who.Shown, At: a.now()})
}

// FirstLink returns the code that logs the first admin in, as long as he is alone and has
// no other way in; else an empty one.
func (a *Accounts) FirstLink(ctx context.Context) (code string, until time.Time, err error) {
	code, m, err := a.desk.FirstLink(ctx)
	return code, m.Time, err
}

// Routes adds the routes by which accounts and workers are kept.
func (a *Accounts) Routes(in *entry.Entrance) {
	a.Gate.Routes(in)
	a.Workspaces.Routes(in)
	principals.Routes(in, a.store, a.now)
	if a.workers != nil {
		a.workers.Routes(in)
	}
}

// Rows are what the store keeps of runs and workers.
func (a *Accounts) Rows() dispatch.Store { return a.store }

// Hints calls heard with what the database says of runs; nil where it says nothing.
func (a *Accounts) Hints() func(context.Context, func(string)) error { return a.hints }

// Through has what is cloned into workspaces started by h. It is called once, before
// anything is served.
func (a *Accounts) Through(h workspaces.House) { a.Workspaces.House = h }

// Ping says what is wrong with the store.
func (a *Accounts) Ping(ctx context.Context) error { return a.store.Ping(ctx) }

// Forget removes what was over long ago, a part of it at a time.
func (a *Accounts) Forget(ctx context.Context) error {
	_, err := a.desk.Forget(ctx, forgetAfter)
	return err
}

// Close lets go of the store and the journal.
func (a *Accounts) Close() error {
	if a.asking != nil {
		a.asking()
	}
	err := a.store.Close()
	if a.journal != nil {
		err = errors.Join(err, a.journal.Close())
	}
	return err
}
