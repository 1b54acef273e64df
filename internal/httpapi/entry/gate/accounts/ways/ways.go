// Package ways has the routes of the ways in that a browser does by itself: passkeys,
// and providers of identity. Each has two halves, and what must be the same in both is
// carried by the browser, encrypted.
//
// A provider sends people back to a page of ours, with its answer in the address. The
// page takes it out of there and hands it over in a body, like everything that lets
// somebody in.
//
// # Limits
//
// What is believed of passkeys and providers is package desk's to say. Factors are listed
// and taken away by routes of package accounts, passkeys among them.
package ways

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	"paddock"
	"paddock/internal/auth/desk"
	"paddock/internal/auth/presented"
	"paddock/internal/httpapi/entry"
	"paddock/internal/httpapi/entry/gate"
)

// Config says what the routes work with.
type Config struct {
	Desk *desk.Desk
	// Host is the name by which browsers have passkeys of ours; empty means none.
	Host string
	// Whence is where a call is from, Word that of the session which asks.
	Whence func(c *entry.Call) desk.From
	Word   func(c *entry.Call) string
	// Enter gives the browser a session that was begun, if err is nil.
	Enter func(c *entry.Call, e desk.Entry, err error) error
	// Way is how cookies go out.
	Way presented.Way
}

// Ways are those in which one can log in beside name, password and codes.
type Ways struct {
	// Passkeys is the host whose pages can ask for one; it is left out where there are
	// none.
	Passkeys  string   `json:"passkeys,omitempty"`
	Providers []string `json:"providers"`
}

// A Ceremony is the first half of what is done with a passkey.
type Ceremony struct {
	// Options are for the browser: parseCreationOptionsFromJSON or
	// parseRequestOptionsFromJSON takes its publicKey.
	Options any `json:"options"`
	// Carried goes back with the browser's answer.
	Carried string `json:"carried"`
}

// An Answer is the second half: what the browser's toJSON gives.
type Answer struct {
	Carried string         `json:"carried"`
	Answer  map[string]any `json:"answer"`
}

// A NewPasskey is one that the browser made.
type NewPasskey struct {
	Carried string         `json:"carried"`
	Answer  map[string]any `json:"answer"`
	Name    string         `json:"name"`
}

// A Trip is where the browser goes to log in.
type Trip struct {
	URL string `json:"url"`
}

// A Return is what a provider answered.
type Return struct {
	// Query is that of the address by which the provider sent the browser back.
	Query string `json:"query"`
}

// A Present is the password of who has one, or else the session must be young.
type Present struct {
	Password string `json:"password,omitempty"`
}

// Routes adds the routes.
func Routes(in *entry.Entrance, c Config) {
	c.logins(in)
	c.providers(in)
	c.passkeys(in)
}

func quiet(r entry.Row) entry.Row {
	r.Status = http.StatusNoContent
	return r
}

// logins adds what is asked by who isn't logged in yet.
func (w Config) logins(in *entry.Entrance) {
	entry.Add(in, entry.NewRow(http.MethodGet, "login/ways", "loginWays", "By what one can log in beside a name and a password", "session", gate.Login), func(context.Context, *entry.Call, *entry.Nothing) (Ways, error) {
		return Ways{w.Host, append([]string{}, w.Desk.Providers.Names()...)}, nil
	})
	entry.Add(in, entry.NewRow(http.MethodPost, "login/passkey/ask", "askPasskey", "Begin to log in by a passkey", "session", gate.Login), func(_ context.Context, c *entry.Call, _ *entry.Nothing) (Ceremony, error) {
		return told(w.Desk.Passkeys.Ask(w.Whence(c)))
	})
	entry.Add(in, quiet(entry.NewRow(http.MethodPost, "login/passkey", "loginByPasskey", "Log in by a passkey", "session", gate.Login)), func(ctx context.Context, c *entry.Call, in *struct {
		Body Answer `body:""`
	}) (entry.Nothing, error) {
		text, err := json.Marshal(in.Body.Answer)
		if err != nil {
			return entry.Nothing{}, err
		}
		e, err := w.Desk.Passkeys.Login(ctx, w.Whence(c), in.Body.Carried, text)
		return entry.Nothing{}, w.Enter(c, e, err)
	})
}

type provider struct {
	Name string `path:"name"`
}

// providers adds the way to a provider and back.
func (w Config) providers(in *entry.Entrance) {
	entry.Add(in, entry.NewRow(http.MethodPost, "login/providers/{name}", "askProvider", "Begin to log in at a provider of identity", "session", gate.Login), func(ctx context.Context, c *entry.Call, in *provider) (Trip, error) {
		trip, err := w.Desk.Providers.Begin(ctx, w.Whence(c), in.Name)
		if err != nil {
			return Trip{}, elsewhere(c, err)
		}
		if cookie := presented.Away(w.Way, trip.Carried, desk.ProviderLasts); cookie != nil {
			http.SetCookie(c, cookie)
		}
		return Trip{trip.URL}, nil
	})
	entry.Add(in, quiet(entry.NewRow(http.MethodPost, "login/providers/{name}/finish", "loginByProvider", "Log in by what a provider answered", "session", gate.Login)), func(ctx context.Context, c *entry.Call, in *struct {
		provider
		Body Return `body:""`
	}) (entry.Nothing, error) {
		query, err := url.ParseQuery(in.Body.Query)
		if err != nil || len(in.Body.Query) > 8192 {
			return entry.Nothing{}, paddock.Refused(paddock.InvalidRequest, "The provider's answer isn't the query of a URL, or has more than 8192 bytes.")
		}
		e, err := w.Desk.Providers.Finish(ctx, w.Whence(c), in.Name, presented.Back(c.Request, w.Way), query)
		if err != nil {
			return entry.Nothing{}, elsewhere(c, err)
		}
		if cookie := presented.Away(w.Way, "", -1); cookie != nil { // it has served
			http.SetCookie(c, cookie)
		}
		return entry.Nothing{}, w.Enter(c, e, nil)
	})
}

// elsewhere tells apart what is wrong with a provider from what is wrong with us.
func elsewhere(c *entry.Call, err error) error {
	if errors.Is(err, desk.ErrProvider) {
		return c.Elsewhere(err, "The provider can't be asked now, or answers what can't be read. Try again later; the server's log says more.")
	}
	return err
}

// passkeys adds what is done with them by who is logged in.
func (w Config) passkeys(in *entry.Entrance) {
	entry.Add(in, entry.NewRow(http.MethodPost, "passkeys/offer", "offerPasskey", "Begin to make a passkey", "session", gate.FactorsChange), func(ctx context.Context, c *entry.Call, in *struct {
		Body Present `body:""`
	}) (Ceremony, error) {
		return told(w.Desk.Passkeys.Offer(ctx, c.Caller.Who, w.Whence(c), in.Body.Password))
	})
	entry.Add(in, quiet(entry.NewRow(http.MethodPost, "passkeys", "addPasskey", "Keep the passkey that the browser made", "session", gate.FactorsChange)), func(ctx context.Context, c *entry.Call, in *struct {
		Body NewPasskey `body:""`
	}) (entry.Nothing, error) {
		text, err := json.Marshal(in.Body.Answer)
		if err != nil {
			return entry.Nothing{}, err
		}
		e, err := w.Desk.Passkeys.Add(ctx, c.Caller.Who, w.Whence(c), w.Word(c), in.Body.Carried, text, in.Body.Name)
		return entry.Nothing{}, w.Enter(c, e, err)
	})
	entry.Add(in, entry.NewRow(http.MethodPost, "passkeys/ask", "askPasskeyAgain", "Begin to show a passkey as a second factor", "session", gate.FactorsChange), func(ctx context.Context, c *entry.Call, _ *entry.Nothing) (Ceremony, error) {
		return told(w.Desk.Passkeys.AskAgain(ctx, c.Caller.Who))
	})
	entry.Add(in, quiet(entry.NewRow(http.MethodPost, "passkeys/prove", "provePasskey", "Show a passkey as a second factor; it counts for some minutes", "session", gate.FactorsChange)), func(ctx context.Context, c *entry.Call, in *struct {
		Body Answer `body:""`
	}) (entry.Nothing, error) {
		text, err := json.Marshal(in.Body.Answer)
		if err != nil {
			return entry.Nothing{}, err
		}
		e, err := w.Desk.Passkeys.Prove(ctx, c.Caller.Who, w.Whence(c), w.Word(c), in.Body.Carried, text)
		return entry.Nothing{}, w.Enter(c, e, err)
	})
}

// told is a ceremony as JSON.
func told(c desk.Ceremony, err error) (Ceremony, error) {
	return Ceremony{json.RawMessage(c.Options), c.Carried}, err
}
