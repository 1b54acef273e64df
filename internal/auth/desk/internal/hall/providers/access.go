package providers

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"paddock"
	"paddock/internal/auth"
	"paddock/internal/auth/desk/internal/hall"
	"paddock/internal/auth/desk/internal/hall/providers/openid"
	"paddock/internal/store"
)

// elsewhere is the id of every token that somebody else made: none of ours has it.
const elsewhere = store.TokenID("elsewhere")

// Servers are the issuers of access tokens that are taken.
func (d *Desk) Servers() (issuers []string) {
	for _, s := range d.access {
		issuers = append(issuers, s.Issuer())
	}
	return issuers
}

// Access says whose access token the word is: of whom a provider that gives access calls
// so and who has an account here. It was made for the audience and for nothing else, and
// may what its scopes name and its owner may, whichever is less. No account is made by it.
func (d *Desk) Access(ctx context.Context, raw, audience string) (auth.Who, error) {
	bad := hall.Unproven("The access token isn't good here: it must be of a provider that this server takes them from, for %s, in time, and of somebody who has an account.", audience)
	issuer := openid.IssuerOf(raw)
	at := slices.Index(d.Servers(), issuer)
	if issuer == "" || at < 0 {
		return auth.Who{}, bad
	}
	is, err := d.access[at].Access(ctx, raw, audience)
	if errors.Is(err, hall.ErrDenied) {
		return auth.Who{}, bad
	}
	if err != nil {
		return auth.Who{}, paddock.Refused(paddock.Busy, "The provider can't be asked for its keys now: try again.")
	}
	return d.whose(ctx, issuer, is, bad)
}

func (d *Desk) whose(ctx context.Context, issuer string, is openid.Access, bad error) (auth.Who, error) {
	now := d.hall.Now()
	known, err := d.hall.Store.Identity(ctx, issuer, is.Subject, now)
	if errors.Is(err, store.ErrNotFound) {
		return auth.Who{}, bad
	}
	if err != nil {
		return auth.Who{}, fmt.Errorf("the identity of an access token: %w", err)
	}
	user, err := d.hall.Store.User(ctx, known.Owner)
	if err != nil {
		return auth.Who{}, err
	}
	if user.Disabled {
		return auth.Who{}, bad
	}
	var scopes store.Words
	for _, s := range is.Scopes {
		if v := auth.Verb(s); slices.Contains(auth.Verbs(), v) && v.Delegable() {
			scopes = append(scopes, s)
		}
	}
	return auth.OfToken(user, store.Token{ID: elsewhere, Owner: user.ID, Scopes: scopes, Workspaces: store.Words{"*"}}, now), nil
}
