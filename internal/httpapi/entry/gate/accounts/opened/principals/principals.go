// Package principals has the route about whoever has used the server: who had something
// run by it, the latest first, and after them accounts that never had.
//
// # Limits
//
// What was started at the machine's own command line isn't among it, unless the store has
// adopted it. Who starts something while the pages are read may be on two of them or on
// none.
package principals

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"paddock"
	"paddock/internal/dispatch/rows"
	"paddock/internal/httpapi/entry"
	"paddock/internal/httpapi/entry/gate"
	"paddock/internal/store"
)

const (
	usual = 50
	most  = 200
)

// A Store is what is asked. [store.Store] is one.
type Store interface {
	UserNamed(ctx context.Context, name string) (store.User, error)
	Users(ctx context.Context, after store.Cursor, most int) (store.Page[store.User], error)
	Sessions(ctx context.Context, owner store.UserID, now store.Moment) ([]store.Session, error)
	Tokens(ctx context.Context, s store.Scope, after store.Cursor, most int) (store.Page[store.Token], error)
	Runs(ctx context.Context, s store.Scope, f store.RunFilter, after store.Cursor, most int) (store.Page[store.Run], error)
	Latest(ctx context.Context, after store.Cursor, most int) (store.Page[store.Run], error)
}

// A One is somebody or something that acts.
type One struct {
	ID   string                `json:"id"`
	Kind paddock.PrincipalKind `json:"kind"`
	// Account is what is known of its user; left out where there is no account of that
	// name.
	Account *Account `json:"account,omitempty"`
	// LastRun is what it had run last, and LastRunAt when; left out if it never had.
	LastRun   paddock.RunID `json:"last_run,omitempty"`
	LastRunAt *time.Time    `json:"last_run_at,omitempty"`
}

// An Account is one's, by which one logs in.
type Account struct {
	ID       store.UserID `json:"id"`
	Role     gate.Role    `json:"role"`
	Disabled bool         `json:"disabled,omitempty"`
	// LastSeen is when a session that still is or a token was used last.
	LastSeen *time.Time `json:"last_seen_at,omitempty"`
}

// Listing is a page of them.
type Listing struct {
	Principals []One `json:"principals"`
	// Next is the cursor of the next page; it is left out at the end.
	Next string `json:"next,omitempty"`
}

type query struct {
	Limit  int    `query:"limit" doc:"How many at most, from 1 to 200; 50 if it is left out"`
	Cursor string `query:"cursor" doc:"The next of the page before"`
}

// Routes adds the route.
func Routes(in *entry.Entrance, s Store, now func() time.Time) {
	row := entry.NewRow(http.MethodGet, "principals", "listPrincipals", "Who had something run, the latest first, and then accounts that never had", "users", gate.UsersRead)
	entry.Add(in, row, func(ctx context.Context, _ *entry.Call, in *query) (Listing, error) {
		if in.Limit == 0 {
			in.Limit = usual
		}
		if in.Limit < 1 || in.Limit > most {
			return Listing{}, paddock.Refused(paddock.InvalidRequest, "limit is %d; it is from 1 to %d.", in.Limit, most)
		}
		phase, at, err := parse(in.Cursor)
		if err != nil {
			return Listing{}, err
		}
		p := &pages{store: s, now: store.At(now()), limit: in.Limit, newest: map[store.UserID]store.Run{}, page: Listing{Principals: []One{}}}
		if phase == byRun {
			if full, err := p.runs(ctx, at); full || err != nil {
				return p.page, err
			}
			at = store.Cursor{}
		}
		return p.page, p.accounts(ctx, at)
	})
}

// The phases of a listing: those who ran something, and accounts that didn't.
const (
	byRun     = "r"
	byAccount = "u"
)

// cursor is where a listing goes on.
func cursor(phase string, at store.Cursor) string {
	return fmt.Sprintf("%s.%d.%s", phase, at.Created.UnixMicro(), at.ID)
}

// parse reads what cursor gave; nothing is the beginning.
func parse(word string) (phase string, at store.Cursor, err error) {
	if word == "" {
		return byRun, store.Cursor{}, nil
	}
	parts := strings.Split(word, ".")
	bad := paddock.Refused(paddock.InvalidRequest, "cursor is %.80q, which isn't the next of a page.", word)
	if len(parts) != 3 || parts[0] != byRun && parts[0] != byAccount || len(parts[2]) != 27 || !strings.HasPrefix(parts[2], parts[0]) ||
		strings.Trim(parts[2], "0123456789abcdefghijklmnopqrstuvwxyz") != "" {
		return "", at, bad
	}
	micros, err := strconv.ParseInt(parts[1], 10, 56)
	if err != nil || micros < 0 || parts[1] != strconv.FormatInt(micros, 10) {
		return "", at, bad
	}
	return parts[0], store.Cursor{Created: store.At(time.UnixMicro(micros)), ID: parts[2]}, nil
}

// pages are being made.
type pages struct {
	store  Store
	now    store.Moment
	limit  int
	newest map[store.UserID]store.Run // of the owners of rows; without an id if there is none
	page   Listing
}

// runs adds whoever has the newest of his runs after at; full says that the page ends
// here.
func (p *pages) runs(ctx context.Context, at store.Cursor) (full bool, err error) {
	list, err := p.store.Latest(ctx, at, p.limit)
	if err != nil {
		return false, err
	}
	for _, r := range list.Items {
		p.newest[r.Owner] = r
		if err := p.add(ctx, r); err != nil {
			return false, err
		}
	}
	if list.More {
		p.page.Next = cursor(byRun, list.Next)
	}
	return list.More, nil
}

// last is the newest run of an owner.
func (p *pages) last(ctx context.Context, owner store.UserID) (store.Run, error) {
	if r, ok := p.newest[owner]; ok {
		return r, nil
	}
	list, err := p.store.Runs(ctx, store.Of(owner), store.RunFilter{}, store.Cursor{}, 1)
	if err != nil {
		return store.Run{}, err
	}
	var r store.Run
	if len(list.Items) > 0 {
		r = list.Items[0]
	}
	p.newest[owner] = r
	return r, nil
}

// add adds whose run r is.
func (p *pages) add(ctx context.Context, r store.Run) error {
	one := One{ID: r.Principal, Kind: kind(r), LastRun: r.ID, LastRunAt: &r.Created.Time}
	if name, ok := strings.CutPrefix(r.Principal, "user:"); ok && one.Kind == paddock.User {
		user, err := p.store.UserNamed(ctx, name)
		switch {
		case err == nil:
			if one.Account, err = p.account(ctx, user); err != nil {
				return err
			}
		case !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrInvalid):
			return err
		}
	}
	p.page.Principals = append(p.page.Principals, one)
	return nil
}

// kind is what a run's principal is: rows say whose a run is by a digest of kind and name.
func kind(r store.Run) paddock.PrincipalKind {
	for _, k := range []paddock.PrincipalKind{paddock.User, paddock.Agent, paddock.Operator, paddock.Host} {
		if rows.Owner(paddock.Principal{Kind: k, ID: r.Principal}) == r.Owner {
			return k
		}
	}
	return ""
}

// accounts adds those after at that never had anything run.
func (p *pages) accounts(ctx context.Context, at store.Cursor) error {
	for {
		list, err := p.store.Users(ctx, at, store.MostPage)
		if err != nil {
			return err
		}
		for _, u := range list.Items {
			self := gate.Caller{Name: u.Name}.Self()
			r, err := p.last(ctx, rows.Owner(self))
			if err != nil {
				return err
			}
			if r.ID == "" && len(p.page.Principals) == p.limit {
				if at == (store.Cursor{}) { // the page was full before the first of them
					at = store.Cursor{Created: p.now, ID: byAccount + strings.Repeat("z", 26)}
				}
				p.page.Next = cursor(byAccount, at)
				return nil
			}
			at = store.Cursor{Created: u.Created, ID: string(u.ID)}
			if r.ID != "" {
				continue
			}
			account, err := p.account(ctx, u)
			if err != nil {
				return err
			}
			p.page.Principals = append(p.page.Principals, One{ID: self.ID, Kind: self.Kind, Account: account})
		}
		if !list.More {
			return nil
		}
	}
}

// account is what is told of a user.
func (p *pages) account(ctx context.Context, u store.User) (*Account, error) {
	a := &Account{ID: u.ID, Role: u.Role, Disabled: u.Disabled}
	sessions, err := p.store.Sessions(ctx, u.ID, p.now)
	if err != nil {
		return nil, err
	}
	tokens, err := p.store.Tokens(ctx, store.Of(u.ID), store.Cursor{}, store.MostPage)
	if err != nil {
		return nil, err
	}
	var last time.Time
	for _, s := range sessions {
		last = later(last, s.LastSeen)
	}
	for _, t := range tokens.Items {
		last = later(last, t.LastUsed)
	}
	if !last.IsZero() {
		a.LastSeen = &last
	}
	return a, nil
}

func later(a time.Time, b store.Moment) time.Time {
	if b.Time.After(a) {
		return b.Time
	}
	return a
}
