package app

import (
	"context"
	"errors"
	"io/fs"

	"paddock"
	"paddock/internal/egress/ledger"
)

// A Detail is everything that was written down about a run.
type Detail struct {
	Run paddock.Run `json:"run"`
	// Request is what was asked, without values of environment variables and
	// without the text of standard input: these are never written down.
	Request paddock.Request `json:"request"`
	// EnvironmentNames are the variables that the request asked for.
	EnvironmentNames []string `json:"environment_names"`
	// Decision has every gate's answer, and the grant.
	Decision paddock.Decision `json:"decision"`
	// Connections are what the run's proxy decided; absent if it had none.
	Connections []ledger.Entry `json:"connections,omitempty"`
}

// Look returns the run as of now. Unlike Status it doesn't count as reading the run's
// end.
func (a *App) Look(ctx context.Context, p paddock.Principal, id paddock.RunID) (paddock.Run, error) {
	return a.visible(ctx, p, id)
}

// Detail returns the whole record of a run. Unlike Status it doesn't count as
// reading the run's end.
func (a *App) Detail(ctx context.Context, p paddock.Principal, id paddock.RunID) (Detail, error) {
	run, err := a.visible(ctx, p, id)
	if err != nil {
		return Detail{}, err
	}
	kept, err := a.exec.Kept(ctx, id)
	if err != nil {
		return Detail{}, err
	}
	sealed, err := kept.Sealed()
	if err != nil {
		return Detail{}, err
	}
	d := Detail{Run: run, Request: sealed.Request, EnvironmentNames: sealed.EnvironmentNames, Decision: discreet(p, sealed.Decision)}
	connections, err := kept.OpenConnections()
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	} else if err == nil {
		d.Connections, err = ledger.Read(connections)
		err = errors.Join(err, connections.Close())
	}
	if err != nil {
		return Detail{}, err
	}
	if d.EnvironmentNames == nil {
		d.EnvironmentNames = []string{} // none is an answer
	}
	return d, nil
}
