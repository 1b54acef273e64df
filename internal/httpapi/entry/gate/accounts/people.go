package accounts

import (
	"context"
	"net/http"
	"time"

	"paddock"
	"paddock/internal/auth"
	"paddock/internal/auth/presented"
	"paddock/internal/httpapi/entry"
	"paddock/internal/httpapi/entry/gate"
	"paddock/internal/store"
)

// A User is a person with an account.
type User struct {
	ID       store.UserID `json:"id"`
	Name     string       `json:"name"`
	Role     gate.Role    `json:"role"`
	Password bool         `json:"has_password"`
	Disabled bool         `json:"disabled,omitempty"`
	Created  *time.Time   `json:"created_at"`
}

// Users is a list of them.
type Users struct {
	Users []User `json:"users"`
}

// A Change of a user has what is to be another way.
type Change struct {
	Role     *gate.Role `json:"role,omitempty"`
	Disabled *bool      `json:"disabled,omitempty"`
}

// A NewLink is a code to be made.
type NewLink struct {
	Reset bool `json:"reset,omitempty"`
}

// A NewInvitation is one to be made: for who has the code, or for whom a provider calls
// so.
type NewInvitation struct {
	Role gate.Role `json:"role"`
	// Provider and Identity go together: email:… or sub:… of an OpenID provider, login:…
	// or id:… of GitHub.
	Provider string `json:"provider,omitempty"`
	Identity string `json:"identity,omitempty"`
}

// A Code is told once.
type Code struct {
	Code    string     `json:"code"`
	Expires *time.Time `json:"expires_at"`
}

func userOf(u store.User) User {
	return User{u.ID, u.Name, u.Role, u.Password != "", u.Disabled, moment(u.Created)}
}

type named struct {
	Name string `path:"name"`
}

func (g *Gate) users(in *entry.Entrance) {
	entry.Add(in, entry.NewRow(http.MethodGet, "users", "listUsers", "Who has an account, newest first", "users", gate.UsersRead), func(ctx context.Context, c *entry.Call, _ *entry.Nothing) (Users, error) {
		page, err := g.desk.People.Users(ctx, c.Caller.Who, store.Cursor{}, mostListed)
		out := Users{[]User{}}
		for _, u := range page.Items {
			out.Users = append(out.Users, userOf(u))
		}
		return out, err
	})
	entry.Add(in, entry.NewRow(http.MethodPost, "users/{name}", "changeUser", "Give a user another role, or keep one out; all of his sessions end", "users", gate.UsersChange), func(ctx context.Context, c *entry.Call, in *struct {
		named
		Body Change `body:""`
	}) (User, error) {
		return g.change(ctx, c.Caller.Who, in.Name, in.Body)
	})
	entry.Add(in, entry.NewRow(http.MethodPost, "users/{name}/link", "makeLink", "Make a code that logs a user in once; with reset, his password is taken away", "users", gate.UsersChange), func(ctx context.Context, c *entry.Call, in *struct {
		named
		Body NewLink `body:""`
	}) (Code, error) {
		user, err := g.desk.People.UserNamed(ctx, c.Caller.Who, in.Name)
		if err != nil {
			return Code{}, err
		}
		word, until, err := g.desk.People.Link(ctx, c.Caller.Who, user.ID, in.Body.Reset)
		return Code{word, moment(until)}, err
	})
}

func (g *Gate) change(ctx context.Context, by auth.Who, name string, what Change) (User, error) {
	if what.Role == nil && what.Disabled == nil {
		return User{}, paddock.Refused(paddock.InvalidRequest, "There is nothing to change: say role, or disabled.")
	}
	user, err := g.desk.People.UserNamed(ctx, by, name)
	if err == nil && what.Role != nil {
		user, err = g.desk.People.SetRole(ctx, by, user.ID, *what.Role)
	}
	if err == nil && what.Disabled != nil && *what.Disabled != user.Disabled {
		change := g.desk.People.Enable
		if *what.Disabled {
			change = g.desk.People.Disable
		}
		user, err = change(ctx, by, user.ID)
	}
	return userOf(user), err
}

// An Invitation lets one person make an account.
type Invitation struct {
	ID   store.InvitationID `json:"id"`
	Role gate.Role          `json:"role"`
	// Invitee is the provider, and what that calls the person.
	Invitee string       `json:"invitee,omitempty"`
	Created *time.Time   `json:"created_at"`
	Expires *time.Time   `json:"expires_at"`
	Used    *time.Time   `json:"used_at,omitempty"`
	UsedBy  store.UserID `json:"used_by_id,omitempty"`
}

// Invitations is a list of them.
type Invitations struct {
	Invitations []Invitation `json:"invitations"`
}

// Invited is an invitation with its code, which is told once; who is invited by what a
// provider calls him needs none.
type Invited struct {
	Code       string     `json:"code,omitempty"`
	Invitation Invitation `json:"invitation"`
}

func invitationOf(i store.Invitation) Invitation {
	return Invitation{i.ID, i.Role, i.Invitee, moment(i.Created), moment(i.Expires), moment(i.Used), i.UsedBy}
}

func (g *Gate) invitations(in *entry.Entrance) {
	entry.Add(in, entry.NewRow(http.MethodGet, "invitations", "listInvitations", "Invitations, newest first", "users", gate.InvitationsRead), func(ctx context.Context, c *entry.Call, _ *entry.Nothing) (Invitations, error) {
		page, err := g.desk.People.Invitations(ctx, c.Caller.Who, store.Cursor{}, mostListed)
		out := Invitations{[]Invitation{}}
		for _, i := range page.Items {
			out.Invitations = append(out.Invitations, invitationOf(i))
		}
		return out, err
	})
	made := entry.NewRow(http.MethodPost, "invitations", "invite", "Invite one person; the code is told once", "users", gate.InvitationsChange)
	made.Status = http.StatusCreated
	entry.Add(in, made, func(ctx context.Context, c *entry.Call, in *struct {
		Body NewInvitation `body:""`
	}) (Invited, error) {
		if in.Body.Provider != "" || in.Body.Identity != "" {
			i, err := g.desk.People.InviteIdentity(ctx, c.Caller.Who, in.Body.Role, in.Body.Provider, in.Body.Identity)
			return Invited{"", invitationOf(i)}, err
		}
		word, i, err := g.desk.People.Invite(ctx, c.Caller.Who, in.Body.Role)
		return Invited{word, invitationOf(i)}, err
	})
	entry.Add(in, entry.NewRow(http.MethodDelete, "invitations/{id}", "removeInvitation", "Take an invitation back", "users", gate.InvitationsChange), func(ctx context.Context, c *entry.Call, in *one) (entry.Nothing, error) {
		return entry.Nothing{}, g.desk.People.RemoveInvitation(ctx, c.Caller.Who, store.InvitationID(in.ID))
	})
}

// A Factor is what one proves oneself by beside what one logged in by.
type Factor struct {
	ID       store.FactorID `json:"id"`
	Kind     string         `json:"kind"`
	Name     string         `json:"name"`
	Created  *time.Time     `json:"created_at"`
	LastUsed *time.Time     `json:"last_used_at,omitempty"`
}

// Factors is a list of them.
type Factors struct {
	Factors []Factor `json:"factors"`
}

// A NewOffer has the password of who has one, or else the session must be young.
type NewOffer struct {
	Password string `json:"password,omitempty"`
}

// Shown is a one-time password.
type Shown struct {
	Code string `json:"code"`
}

// An Offer is a secret for one-time passwords that isn't a factor yet.
type Offer struct {
	Secret string `json:"secret"`
	URI    string `json:"uri"`
	Sealed string `json:"sealed"`
}

// A NewFactor is an offer with its first one-time password.
type NewFactor struct {
	Sealed string `json:"sealed"`
	Code   string `json:"code"`
	Name   string `json:"name"`
}

func (g *Gate) factors(in *entry.Entrance) {
	entry.Add(in, entry.NewRow(http.MethodGet, "factors", "listFactors", "One's second factors", "session", gate.FactorsChange), func(ctx context.Context, c *entry.Call, _ *entry.Nothing) (Factors, error) {
		all, err := g.desk.Factors.List(ctx, c.Caller.Who, c.Caller.Who.User)
		out := Factors{[]Factor{}}
		for _, f := range all {
			out.Factors = append(out.Factors, Factor{f.ID, f.Kind, f.Name, moment(f.Created), moment(f.LastUsed)})
		}
		return out, err
	})
	entry.Add(in, entry.NewRow(http.MethodPost, "factors/offer", "offerFactor", "Get a secret for one-time passwords", "session", gate.FactorsChange), func(ctx context.Context, c *entry.Call, in *struct {
		Body NewOffer `body:""`
	}) (Offer, error) {
		o, err := g.desk.Factors.Offer(ctx, c.Caller.Who, whence(c), in.Body.Password)
		return Offer(o), err
	})
	quiet := func(r entry.Row) entry.Row { r.Status = http.StatusNoContent; return r }
	entry.Add(in, quiet(entry.NewRow(http.MethodPost, "factors", "addFactor", "Make an offered secret a factor, by its first one-time password", "session", gate.FactorsChange)), func(ctx context.Context, c *entry.Call, in *struct {
		Body NewFactor `body:""`
	}) (entry.Nothing, error) {
		e, err := g.desk.Factors.Add(ctx, c.Caller.Who, whence(c), g.word(c), in.Body.Sealed, in.Body.Code, in.Body.Name)
		return entry.Nothing{}, g.enter(c, e, err)
	})
	entry.Add(in, quiet(entry.NewRow(http.MethodPost, "factors/prove", "proveFactor", "Show a one-time password; it counts for some minutes", "session", gate.FactorsChange)), func(ctx context.Context, c *entry.Call, in *struct {
		Body Shown `body:""`
	}) (entry.Nothing, error) {
		e, err := g.desk.Factors.Prove(ctx, c.Caller.Who, whence(c), g.word(c), in.Body.Code)
		return entry.Nothing{}, g.enter(c, e, err)
	})
	entry.Add(in, entry.NewRow(http.MethodDelete, "factors/{id}", "removeFactor", "Take one of one's factors away", "session", gate.FactorsChange), func(ctx context.Context, c *entry.Call, in *one) (entry.Nothing, error) {
		return entry.Nothing{}, g.desk.Factors.Remove(ctx, c.Caller.Who, c.Caller.Who.User, store.FactorID(in.ID))
	})
}

// word is that of the session which asks; empty if a token does.
func (g *Gate) word(c *entry.Call) string {
	shown, err := presented.Of(c.Request, presented.WayOf(c.Request, g.secure))
	if err != nil || shown.Kind != auth.SessionWord {
		return ""
	}
	return shown.Word
}
