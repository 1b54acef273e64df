package accounts

import (
	"context"
	"net/http"
	"time"

	"paddock"
	"paddock/internal/auth/desk"
	"paddock/internal/httpapi/entry"
	"paddock/internal/httpapi/entry/gate"
	"paddock/internal/httpapi/entry/gate/accounts/ways"
	"paddock/internal/store"
)

// mostListed is how many things a list has at most.
const mostListed = store.MostPage

// Routes adds the routes by which accounts and credentials are kept.
func (g *Gate) Routes(in *entry.Entrance) {
	g.sessions(in)
	g.tokens(in)
	g.users(in)
	g.invitations(in)
	g.factors(in)
	ways.Routes(in, ways.Config{Desk: g.desk, Host: g.Host, Whence: whence, Word: g.word, Enter: g.enter, Way: g.way()})
}

type one struct {
	ID string `path:"id"`
}

// moment is how a time is told: nothing for never.
func moment(m store.Moment) *time.Time {
	if m.IsZero() {
		return nil
	}
	return &m.Time
}

// whence is where a call came from.
func whence(c *entry.Call) desk.From {
	return from(c.Addr(), c.UserAgent())
}

// A Session is a browser that is logged in.
type Session struct {
	ID       store.SessionID `json:"id"`
	Device   string          `json:"device,omitempty"`
	Address  string          `json:"address,omitempty"`
	Created  *time.Time      `json:"created_at"`
	LastSeen *time.Time      `json:"last_seen_at"`
	Expires  *time.Time      `json:"expires_at"`
	// This is set for the one that asks.
	This bool `json:"this,omitempty"`
}

// Sessions is a list of them.
type Sessions struct {
	Sessions []Session `json:"sessions"`
}

// A Password is a new one, and the present one if there is one.
type Password struct {
	Old      string `json:"old,omitempty"`
	Password string `json:"password"`
}

func (g *Gate) sessions(in *entry.Entrance) {
	entry.Add(in, entry.NewRow(http.MethodGet, "sessions", "listSessions", "Where one is logged in", "session", gate.SessionsList), func(ctx context.Context, c *entry.Call, _ *entry.Nothing) (Sessions, error) {
		who := c.Caller.Who
		list, err := g.desk.Sessions(ctx, who, who.User)
		out := Sessions{[]Session{}}
		for _, s := range list {
			out.Sessions = append(out.Sessions, Session{s.ID, s.Device, s.Address, moment(s.Created), moment(s.LastSeen), moment(s.Expires), s.ID == who.Session})
		}
		return out, err
	})
	entry.Add(in, entry.NewRow(http.MethodDelete, "sessions/{id}", "endSession", "Log one of them out", "session", gate.SessionsRevoke), func(ctx context.Context, c *entry.Call, in *one) (entry.Nothing, error) {
		who := c.Caller.Who
		return entry.Nothing{}, g.desk.EndSession(ctx, who, who.User, store.SessionID(in.ID))
	})
	password := entry.NewRow(http.MethodPost, "password", "setPassword", "Set one's password; all other sessions end", "session", gate.PasswordChange)
	password.Status = http.StatusNoContent
	entry.Add(in, password, func(ctx context.Context, c *entry.Call, in *struct {
		Body Password `body:""`
	}) (entry.Nothing, error) {
		e, err := g.desk.SetPassword(ctx, c.Caller.Who, whence(c), in.Body.Old, in.Body.Password)
		return entry.Nothing{}, g.enter(c, e, err)
	})
}

// enter gives a browser the session that was begun for it.
func (g *Gate) enter(c *entry.Call, e desk.Entry, err error) error {
	if err == nil {
		http.SetCookie(c, g.session(e).Cookie)
	}
	return err
}

// A Token lets a program ask in its owner's name.
type Token struct {
	ID   store.TokenID `json:"id"`
	Name string        `json:"name"`
	// Prefix is the beginning of its word.
	Prefix     string     `json:"prefix"`
	Owner      string     `json:"owner_id"`
	Scopes     []string   `json:"scopes"`
	Workspaces []string   `json:"workspaces"`
	Created    *time.Time `json:"created_at"`
	Expires    *time.Time `json:"expires_at"`
	LastUsed   *time.Time `json:"last_used_at,omitempty"`
	Revoked    *time.Time `json:"revoked_at,omitempty"`
}

// Tokens is a list of them.
type Tokens struct {
	Tokens []Token `json:"tokens"`
}

// A NewToken is one to be made.
type NewToken struct {
	Name string `json:"name"`
	// Scopes are verbs, or runs.* for all of that beginning.
	Scopes []string `json:"scopes"`
	// Workspaces are names, or * for all; the latter if there are none here.
	Workspaces []string         `json:"workspaces,omitempty"`
	Lasts      paddock.Duration `json:"lasts_ms"`
	// Owner is the name of the account, where the operator of the machine asks.
	Owner string `json:"owner,omitempty"`
}

// MadeToken is a token with its word, which is told once.
type MadeToken struct {
	Word  string `json:"word"`
	Token Token  `json:"token"`
}

func tokenOf(t store.Token) Token {
	return Token{t.ID, t.Name, t.Prefix, string(t.Owner), t.Scopes, t.Workspaces, moment(t.Created), moment(t.Expires), moment(t.LastUsed), moment(t.Revoked)}
}

func (g *Gate) tokens(in *entry.Entrance) {
	entry.Add(in, entry.NewRow(http.MethodGet, "tokens", "listTokens", "API tokens, newest first", "tokens", gate.TokensList), func(ctx context.Context, c *entry.Call, _ *entry.Nothing) (Tokens, error) {
		page, err := g.desk.Tokens.List(ctx, c.Caller.Who, store.Cursor{}, mostListed)
		out := Tokens{[]Token{}}
		for _, t := range page.Items {
			out.Tokens = append(out.Tokens, tokenOf(t))
		}
		return out, err
	})
	made := entry.NewRow(http.MethodPost, "tokens", "makeToken", "Make an API token; its word is told once", "tokens", gate.TokensCreate)
	made.Status = http.StatusCreated
	entry.Add(in, made, func(ctx context.Context, c *entry.Call, in *struct {
		Body NewToken `body:""`
	}) (MadeToken, error) {
		r := desk.TokenRequest{Name: in.Body.Name, Scopes: in.Body.Scopes, Workspaces: in.Body.Workspaces, Lasts: time.Duration(in.Body.Lasts)}
		if r.Workspaces == nil {
			r.Workspaces = []string{"*"}
		}
		if in.Body.Owner != "" {
			user, err := g.desk.People.UserNamed(ctx, c.Caller.Who, in.Body.Owner)
			if err != nil {
				return MadeToken{}, err
			}
			r.Owner = user.ID
		}
		word, t, err := g.desk.Tokens.Make(ctx, c.Caller.Who, r)
		return MadeToken{word, tokenOf(t)}, err
	})
	entry.Add(in, entry.NewRow(http.MethodDelete, "tokens/{id}", "revokeToken", "End a token for good", "tokens", gate.TokensRevoke), func(ctx context.Context, c *entry.Call, in *one) (entry.Nothing, error) {
		return entry.Nothing{}, g.desk.Tokens.Revoke(ctx, c.Caller.Who, store.TokenID(in.ID))
	})
}
