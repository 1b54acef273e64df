// Package enter logs in at a server for long enough to make a token, and ends tokens.
//
// # Limits
//
// It keeps nothing: where the token's word goes is the caller's to say.
package enter

import (
	"context"
	"errors"
	"net/http"

	"paddock/internal/client"
)

// A Proof is what somebody logs in with: a name and a password, the code of a link, or the
// code of an invitation with the name and the password to be.
type Proof struct {
	Code     string `json:"code,omitempty"`
	Name     string `json:"name,omitempty"`
	Password string `json:"password,omitempty"`
}

// An Entry is what a login gave.
type Entry struct {
	Name string
	Role string
	Made client.MadeToken
}

// Enter logs in, makes the token that is wanted and logs out. The session ends also where
// no token could be made.
func Enter(ctx context.Context, address string, p Proof, want client.NewToken) (e Entry, err error) {
	c, err := client.New(address, "")
	if err != nil {
		return e, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	var me struct {
		Name string `json:"name"`
		Role string `json:"role"`
	}
	if err := c.Ask(ctx, http.MethodPost, "login", nil, p, &me); err != nil {
		return e, err
	}
	made, err := c.MakeToken(ctx, want)
	return Entry{me.Name, me.Role, made}, errors.Join(err, c.Tell(context.WithoutCancel(ctx), http.MethodPost, "logout", nil))
}

// End ends the token itself, for good.
func End(ctx context.Context, address, token string) error {
	c, err := client.New(address, token)
	if err != nil {
		return err
	}
	return errors.Join(c.Tell(ctx, http.MethodPost, "logout", nil), c.Close())
}
