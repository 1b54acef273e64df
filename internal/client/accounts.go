package client

import (
	"context"
	"net/http"
	"time"

	"paddock"
)

// A User is a person with an account.
type User struct {
	ID       string     `json:"id"`
	Name     string     `json:"name"`
	Role     string     `json:"role"`
	Password bool       `json:"has_password"`
	Disabled bool       `json:"disabled,omitempty"`
	Created  *time.Time `json:"created_at"`
}

// A Change of a user has what is to be another way.
type Change struct {
	Role     *string `json:"role,omitempty"`
	Disabled *bool   `json:"disabled,omitempty"`
}

// A Code is told once.
type Code struct {
	Code    string     `json:"code"`
	Expires *time.Time `json:"expires_at"`
}

// An Invitation lets one person make an account.
type Invitation struct {
	ID      string     `json:"id"`
	Role    string     `json:"role"`
	Invitee string     `json:"invitee,omitempty"`
	Created *time.Time `json:"created_at"`
	Expires *time.Time `json:"expires_at"`
	Used    *time.Time `json:"used_at,omitempty"`
	UsedBy  string     `json:"used_by_id,omitempty"`
}

// A NewInvitation is one to be made: for who has the code, or for whom a provider calls
// so.
type NewInvitation struct {
	Role     string `json:"role"`
	Provider string `json:"provider,omitempty"`
	Identity string `json:"identity,omitempty"`
}

// Invited is an invitation with its code, which is told once; who is invited by what a
// provider calls him needs none.
type Invited struct {
	Code       string     `json:"code,omitempty"`
	Invitation Invitation `json:"invitation"`
}

// A Token lets a program ask in its owner's name.
type Token struct {
	ID         string     `json:"id"`
	Name       string     `json:"name"`
	Prefix     string     `json:"prefix"`
	Owner      string     `json:"owner_id"`
	Scopes     []string   `json:"scopes"`
	Workspaces []string   `json:"workspaces"`
	Created    *time.Time `json:"created_at"`
	Expires    *time.Time `json:"expires_at"`
	LastUsed   *time.Time `json:"last_used_at,omitempty"`
	Revoked    *time.Time `json:"revoked_at,omitempty"`
}

// A NewToken is one to be made.
type NewToken struct {
	Name       string           `json:"name"`
	Scopes     []string         `json:"scopes"`
	Workspaces []string         `json:"workspaces,omitempty"`
	Lasts      paddock.Duration `json:"lasts_ms"`
	Owner      string           `json:"owner,omitempty"`
}

// MadeToken is a token with its word, which is told once.
type MadeToken struct {
	Word  string `json:"word"`
	Token Token  `json:"token"`
}

// Users lists who has an account, newest first.
func (c *Client) Users(ctx context.Context) ([]User, error) {
	var all struct {
		Users []User `json:"users"`
	}
	err := c.Ask(ctx, http.MethodGet, "users", nil, nil, &all)
	return all.Users, err
}

// ChangeUser gives a user another role, or keeps one out.
func (c *Client) ChangeUser(ctx context.Context, name string, what Change) (u User, err error) {
	err = c.Ask(ctx, http.MethodPost, "users/"+inPath(name), nil, what, &u)
	return u, err
}

// Link makes a code that logs a user in once; with reset, his password is taken away.
func (c *Client) Link(ctx context.Context, name string, reset bool) (code Code, err error) {
	body := struct {
		Reset bool `json:"reset,omitempty"`
	}{reset}
	err = c.Ask(ctx, http.MethodPost, "users/"+inPath(name)+"/link", nil, body, &code)
	return code, err
}

// Invitations lists them, newest first.
func (c *Client) Invitations(ctx context.Context) ([]Invitation, error) {
	var all struct {
		Invitations []Invitation `json:"invitations"`
	}
	err := c.Ask(ctx, http.MethodGet, "invitations", nil, nil, &all)
	return all.Invitations, err
}

// Invite lets one person make an account.
func (c *Client) Invite(ctx context.Context, what NewInvitation) (made Invited, err error) {
	err = c.Ask(ctx, http.MethodPost, "invitations", nil, what, &made)
	return made, err
}

// RemoveInvitation takes one back.
func (c *Client) RemoveInvitation(ctx context.Context, id string) error {
	return c.Tell(ctx, http.MethodDelete, "invitations/"+inPath(id), nil)
}

// Tokens lists API tokens, newest first.
func (c *Client) Tokens(ctx context.Context) ([]Token, error) {
	var all struct {
		Tokens []Token `json:"tokens"`
	}
	err := c.Ask(ctx, http.MethodGet, "tokens", nil, nil, &all)
	return all.Tokens, err
}

// MakeToken makes one; its word is told once.
func (c *Client) MakeToken(ctx context.Context, what NewToken) (made MadeToken, err error) {
	err = c.Ask(ctx, http.MethodPost, "tokens", nil, what, &made)
	return made, err
}

// RevokeToken ends one for good.
func (c *Client) RevokeToken(ctx context.Context, id string) error {
	return c.Tell(ctx, http.MethodDelete, "tokens/"+inPath(id), nil)
}
