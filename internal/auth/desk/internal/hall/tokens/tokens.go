package tokens

import (
	"context"
	"errors"
	"slices"
	"time"

	"paddock"
	"paddock/internal/auth"
	"paddock/internal/auth/desk/internal/hall"
	"paddock/internal/store"
)

// mostLasts is the longest life of a token.
const mostLasts = 366 * 24 * time.Hour

// A Request asks for an API token.
type Request struct {
	// Owner is whose it is to be, where the operator of the machine asks; everybody
	// else makes his own, and leaves it empty.
	Owner store.UserID
	// Name is for people.
	Name string
	// Scopes are verbs, or `runs.*` for those of that beginning that the owner may; Workspaces names, or
	// `*` for every one that its owner may use.
	Scopes, Workspaces []string
	Lasts              time.Duration
}

// Authenticate says whose token the word is of. Everything that isn't good any more, and
// what never was, has the same answer.
func (d *Desk) Authenticate(ctx context.Context, word string) (auth.Who, error) {
	bad := hall.Unproven("The token isn't known here, or is over, or its owner is disabled.")
	hash, err := auth.DigestOf(auth.TokenWord, word)
	if err != nil {
		return auth.Who{}, bad
	}
	now := d.hall.Now()
	t, user, err := d.hall.Store.Token(ctx, hash, now)
	if errors.Is(err, store.ErrNotFound) {
		return auth.Who{}, bad
	}
	if err != nil {
		return auth.Who{}, err
	}
	if (t.LastUsed.IsZero() || t.LastUsed.After(hall.SeenEvery).Past(now)) && d.hall.First(string(t.ID)) {
		if err := d.hall.Store.SeeToken(ctx, t.ID, now); err != nil && !errors.Is(err, store.ErrNotFound) {
			return auth.Who{}, err
		}
	}
	return auth.OfToken(user, t, now), nil
}

// Make makes a token. Its word is told once.
func (d *Desk) Make(ctx context.Context, by auth.Who, r Request) (string, store.Token, error) {
	if err := by.May(auth.TokensCreate, auth.Mine); err != nil {
		return "", store.Token{}, err
	}
	owner, err := d.owner(ctx, by, r.Owner)
	if err != nil {
		return "", store.Token{}, err
	}
	scopes, err := r.check(owner.Role)
	if err != nil {
		return "", store.Token{}, err
	}
	now := d.hall.Now()
	id, err := store.NewID[store.TokenID]('t', now.Time, d.hall.Random)
	if err != nil {
		return "", store.Token{}, err
	}
	word, hash, err := d.hall.Word(auth.TokenWord)
	if err != nil {
		return "", store.Token{}, err
	}
	t := store.Token{
		ID: id, Secret: hash, Prefix: auth.ShownOf(word), Name: r.Name, Owner: owner.ID,
		Scopes: scopes, Workspaces: r.Workspaces, Created: now, Expires: now.After(r.Lasts),
	}
	if err := d.hall.Record(ctx, by, auth.Event{What: auth.TokenMade, User: owner.ID, Detail: string(id)}); err != nil {
		return "", store.Token{}, err
	}
	if err := d.hall.Store.AddToken(ctx, t); err != nil {
		return "", store.Token{}, hall.Refusal(err, "token")
	}
	t.Secret = store.Hash{}
	return word, t, nil
}

// owner returns the user whose token it is to be.
func (d *Desk) owner(ctx context.Context, by auth.Who, of store.UserID) (store.User, error) {
	if !by.IsLocal() {
		if of != "" && of != by.User {
			return store.User{}, paddock.Refused(paddock.Forbidden, "Everybody makes his own tokens.")
		}
		of = by.User
	}
	if of == "" {
		r := paddock.Refused(paddock.InvalidRequest, "The operator of the machine has no account, so a token of his own can't be made.")
		r.Hint = "Say whose it is to be: `\"owner\": \"NAME\"` in the request, or paddock token create --owner NAME."
		return store.User{}, r
	}
	if err := hall.ID(of, "user"); err != nil {
		return store.User{}, err
	}
	user, err := d.hall.Store.User(ctx, of)
	if err == nil && user.Disabled {
		return store.User{}, paddock.Refused(paddock.Conflict, "%s is disabled, so no token of his is any good.", user.Name)
	}
	return user, hall.Refusal(err, "user")
}

// check returns the verbs of a token whose owner has the role.
func (r Request) check(owner auth.Role) (store.Words, error) {
	bad := func(format string, args ...any) (store.Words, error) {
		return nil, paddock.Refused(paddock.InvalidRequest, format, args...)
	}
	switch {
	case !auth.Printable(r.Name):
		return bad("A token has a name of one line and at most %d bytes.", auth.MostLabel)
	case r.Lasts < time.Minute || r.Lasts > mostLasts:
		return bad("A token lasts from a minute to %v.", mostLasts)
	case len(r.Scopes) == 0 || len(r.Scopes) > len(auth.Verbs()):
		return bad("A token has from 1 to %d scopes.", len(auth.Verbs()))
	case len(r.Workspaces) == 0 || len(r.Workspaces) > 64:
		return bad("A token is for 1 to 64 workspaces, or for `*`.")
	}
	narrow := !slices.Contains(r.Workspaces, "*")
	verbs, err := auth.Scope(r.Scopes, owner, narrow)
	if err != nil {
		return bad("%v.", err)
	}
	var scopes store.Words
	for _, v := range verbs {
		if auth.Reaches(owner, v) == auth.Nothing {
			return nil, paddock.Refused(paddock.Forbidden, "With the role %s one may not do %s, and neither may one's tokens.", owner, v)
		}
		if narrow && !v.Placed() {
			return bad("%s isn't held to workspaces, so a token for some of them can't have it; make another, for all.", v)
		}
		scopes = append(scopes, string(v))
	}
	for i, w := range r.Workspaces {
		switch {
		case !auth.Printable(w):
			return bad("%.40q can't be the name of a workspace.", w)
		case slices.Contains(r.Workspaces[:i], w):
			return bad("The workspace %.40q is named twice.", w)
		}
	}
	return scopes, nil
}

// List lists tokens that who may see, also those that are over, without their digests.
func (d *Desk) List(ctx context.Context, by auth.Who, after store.Cursor, most int) (store.Page[store.Token], error) {
	if err := by.May(auth.TokensList, auth.Mine); err != nil {
		return store.Page[store.Token]{}, err
	}
	page, err := d.hall.Store.Tokens(ctx, by.Scope(auth.TokensList), after, most)
	for i := range page.Items {
		page.Items[i].Secret = store.Hash{}
	}
	return page, err
}

// Revoke ends a token for good.
func (d *Desk) Revoke(ctx context.Context, by auth.Who, id store.TokenID) error {
	if err := by.May(auth.TokensRevoke, auth.Mine); err != nil {
		return err
	}
	if err := hall.ID(id, "token"); err != nil {
		return err
	}
	if err := d.hall.Record(ctx, by, auth.Event{What: auth.TokenRevoked, Detail: auth.Label(string(id))}); err != nil {
		return err
	}
	return hall.Refusal(d.hall.Store.RevokeToken(ctx, by.Scope(auth.TokensRevoke), id, d.hall.Now()), "token")
}

// End ends the token that was shown, which every one may do to itself.
func (d *Desk) End(ctx context.Context, by auth.Who) error {
	if by.Token == "" {
		return paddock.Refused(paddock.InvalidRequest, "No token was shown that could be ended.")
	}
	if err := d.hall.Record(ctx, by, auth.Event{What: auth.TokenRevoked, Detail: auth.Label(string(by.Token))}); err != nil {
		return err
	}
	return hall.Refusal(d.hall.Store.RevokeToken(ctx, store.Of(by.User), by.Token, d.hall.Now()), "token")
}
