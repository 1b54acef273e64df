package desk_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/descope/virtualwebauthn"

	"paddock"
	"paddock/internal/auth"
	"paddock/internal/auth/desk"
	"paddock/internal/auth/desk/internal/hall/passkeys"
)

var party = virtualwebauthn.RelyingParty{ID: "paddock.example.org", Name: "Paddock", Origin: "https://paddock.example.org"}

// known is a world with passkeys.
func known(t *testing.T) *world {
	t.Helper()
	w := keyed(t)
	w.config.Party = desk.Party{ID: party.ID, Origins: []string{party.Origin}}
	w.restart()
	return w
}

// A device has a passkey.
type device struct {
	t    *testing.T
	auth virtualwebauthn.Authenticator
	key  virtualwebauthn.Credential
	at   virtualwebauthn.RelyingParty // where it believes to be
}

// newKey makes a key of a device. The library writes coordinates without the zeros that
// they may begin with, so that one key of 128 isn't one: such a key isn't taken.
func newKey(t *testing.T) virtualwebauthn.Credential {
	t.Helper()
	for {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		point, err := key.PublicKey.Bytes() // 4, X, Y
		if err != nil {
			t.Fatal(err)
		}
		if point[1] == 0 || point[33] == 0 {
			continue
		}
		text, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		return virtualwebauthn.NewCredentialWithImportedKey(virtualwebauthn.KeyTypeEC2, text)
	}
}

func newDevice(t *testing.T, e desk.Entry) *device {
	t.Helper()
	d := &device{t, virtualwebauthn.NewAuthenticator(), newKey(t), party}
	d.auth.Options.UserHandle = []byte(e.Who.User)
	return d
}

func (d *device) makes(c passkeys.Ceremony) []byte {
	d.t.Helper()
	options, err := virtualwebauthn.ParseAttestationOptions(string(c.Options))
	if err != nil {
		d.t.Fatal(err)
	}
	return []byte(virtualwebauthn.CreateAttestationResponse(d.at, d.auth, d.key, *options))
}

func (d *device) signs(c passkeys.Ceremony) []byte {
	d.t.Helper()
	options, err := virtualwebauthn.ParseAssertionOptions(string(c.Options))
	if err != nil {
		d.t.Fatal(err)
	}
	d.key.Counter++
	return []byte(virtualwebauthn.CreateAssertionResponse(d.at, d.auth, d.key, *options))
}

// pair gives who a passkey on a new device.
func (w *world) pair(e desk.Entry) (*device, desk.Entry) {
	w.t.Helper()
	d := newDevice(w.t, e)
	c, err := w.Passkeys.Offer(w.t.Context(), e.Who, home, good)
	w.must(err)
	e, err = w.Passkeys.Add(w.t.Context(), e.Who, home, e.Secret, c.Carried, d.makes(c), "laptop")
	w.must(err)
	return d, e
}

func TestPasskey(t *testing.T) {
	t.Parallel()
	w := known(t)
	first := w.user("ann", auth.Approver)
	d, e := w.pair(first)
	w.must(w.in(e.Secret).May(auth.ApprovalsVote, auth.Foreign))
	_, err := w.session(first.Secret)
	refused(t, err, paddock.Unauthenticated, "over")
	// It logs in, and that is two factors.
	c, err := w.Passkeys.Ask(home)
	w.must(err)
	if !strings.Contains(string(c.Options), `"userVerification":"required"`) || strings.Contains(string(c.Options), "ann") {
		t.Errorf("%s", c.Options)
	}
	in, err := w.Passkeys.Login(t.Context(), home, c.Carried, d.signs(c))
	if err != nil || in.Who.Name != "ann" {
		t.Fatalf("%+v, %v", in, err)
	}
	w.must(w.in(in.Secret).May(auth.ApprovalsVote, auth.Foreign))
	// Later it is shown again, in a session that was begun by password.
	w.pass(time.Hour)
	e, err = w.Login(t.Context(), home, "ann", good)
	w.must(err)
	refused(t, e.Who.May(auth.ApprovalsVote, auth.Foreign), paddock.SecondFactorRequired, "")
	c, err = w.Passkeys.AskAgain(t.Context(), e.Who)
	w.must(err)
	shown, err := w.Passkeys.Prove(t.Context(), e.Who, home, e.Secret, c.Carried, d.signs(c))
	w.must(err)
	w.must(w.in(shown.Secret).May(auth.ApprovalsVote, auth.Foreign))
	list, err := w.Factors.List(t.Context(), shown.Who, shown.Who.User)
	if err != nil || len(list) != 1 || list[0].Kind != passkeys.Kind || list[0].Data != nil || list[0].Handle != "" || !list[0].LastUsed.Equal(w.clock()) {
		t.Errorf("%+v, %v", list, err)
	}
	w.must(w.Factors.Remove(t.Context(), shown.Who, shown.Who.User, list[0].ID))
	c, err = w.Passkeys.Ask(home)
	w.must(err)
	_, err = w.Passkeys.Login(t.Context(), home, c.Carried, d.signs(c))
	refused(t, err, paddock.Unauthenticated, "isn't known here")
}

func TestBadPasskeys(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]func(w *world, d *device, c *passkeys.Ceremony) []byte{
		"at another place": func(_ *world, d *device, c *passkeys.Ceremony) []byte {
			d.at.Origin = "https://paddock.example.org.evil.example"
			return d.signs(*c)
		},
		"at another port": func(_ *world, d *device, c *passkeys.Ceremony) []byte { d.at.Origin += ":8443"; return d.signs(*c) },
		"without TLS": func(_ *world, d *device, c *passkeys.Ceremony) []byte {
			d.at.Origin = "http://paddock.example.org"
			return d.signs(*c)
		},
		"for another": func(_ *world, d *device, c *passkeys.Ceremony) []byte { d.at.ID = "evil.example"; return d.signs(*c) },
		"owner not asked": func(_ *world, d *device, c *passkeys.Ceremony) []byte {
			d.auth.Options.UserNotVerified = true
			return d.signs(*c)
		},
		"nobody there": func(_ *world, d *device, c *passkeys.Ceremony) []byte {
			d.auth.Options.UserNotPresent = true
			return d.signs(*c)
		},
		"a copy": func(_ *world, d *device, c *passkeys.Ceremony) []byte {
			d.key.Counter = 100
			return d.signs(*c)
		},
		"another's handle": func(_ *world, d *device, c *passkeys.Ceremony) []byte {
			d.auth.Options.UserHandle = []byte("u1")
			return d.signs(*c)
		},
		"no handle": func(_ *world, d *device, c *passkeys.Ceremony) []byte {
			d.auth.Options.UserHandle = nil
			return d.signs(*c)
		},
		"another key": func(_ *world, d *device, c *passkeys.Ceremony) []byte {
			d.key.Key = newKey(d.t).Key
			return d.signs(*c)
		},
		"unknown": func(_ *world, d *device, c *passkeys.Ceremony) []byte {
			d.key = newKey(d.t)
			return d.signs(*c)
		},
		"another question": func(w *world, d *device, _ *passkeys.Ceremony) []byte {
			other, err := w.Passkeys.Ask(home)
			w.must(err)
			return d.signs(other)
		},
		"a made one": func(w *world, d *device, c *passkeys.Ceremony) []byte {
			return d.makes(passkeys.Ceremony{Options: []byte(strings.Replace(string(c.Options), `"publicKey":{`, `"publicKey":{"rp":{"id":"x","name":"x"},"user":{"id":"dQ","name":"x"},`, 1))})
		},
		"nothing":            func(*world, *device, *passkeys.Ceremony) []byte { return nil },
		"no JSON":            func(*world, *device, *passkeys.Ceremony) []byte { return []byte("\x00\xff{") },
		"too long":           func(*world, *device, *passkeys.Ceremony) []byte { return []byte(strings.Repeat(" ", 1<<20)) },
		"too late":           func(w *world, d *device, c *passkeys.Ceremony) []byte { w.pass(5 * time.Minute); return d.signs(*c) },
		"nothing is carried": func(_ *world, d *device, c *passkeys.Ceremony) []byte { a := d.signs(*c); c.Carried = ""; return a },
		"another is carried": func(w *world, d *device, c *passkeys.Ceremony) []byte {
			a := d.signs(*c)
			other, err := w.Passkeys.Ask(home)
			w.must(err)
			c.Carried = other.Carried
			return a
		},
		"disabled": func(w *world, d *device, c *passkeys.Ceremony) []byte {
			w.all(w.People.Disable(w.t.Context(), auth.Local(), w.named("ann")))
			return d.signs(*c)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := known(t)
			d, _ := w.pair(w.user("ann", auth.Approver))
			sessions := len(w.store.sessions)
			c, err := w.Passkeys.Ask(home)
			w.must(err)
			answer := tc(w, d, &c)
			e, err := w.Passkeys.Login(t.Context(), home, c.Carried, answer)
			if name == "a copy" { // the first one counts higher than any other ever will
				w.must(err)
				d.key.Counter = 5
				c, err = w.Passkeys.Ask(home)
				w.must(err)
				e, err = w.Passkeys.Login(t.Context(), home, c.Carried, d.signs(c))
				sessions++
			}
			refused(t, err, paddock.Unauthenticated, "")
			if e.Secret != "" || len(w.store.sessions) != sessions {
				t.Errorf("%+v", e)
			}
		})
	}
}

func TestPasskeyOnce(t *testing.T) {
	t.Parallel()
	w := known(t)
	d, _ := w.pair(w.user("ann", auth.Approver))
	c, err := w.Passkeys.Ask(home)
	w.must(err)
	answer := d.signs(c)
	var in atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := w.Passkeys.Login(t.Context(), home, c.Carried, answer); err == nil {
				in.Add(1)
			}
		})
	}
	wg.Wait()
	if in.Load() != 1 {
		t.Errorf("%d were let in", in.Load())
	}
	// Nor by another server, which doesn't know that the challenge was used: the key counts.
	w.restart()
	_, err = w.Passkeys.Login(t.Context(), home, c.Carried, answer)
	refused(t, err, paddock.Unauthenticated, "")
}

func TestMakingPasskeys(t *testing.T) {
	t.Parallel()
	w := known(t)
	ann, bob := w.user("ann", auth.Approver), w.user("bob", auth.Approver)
	_, err := w.Passkeys.Offer(t.Context(), ann.Who, home, "wrong")
	refused(t, err, paddock.Unauthenticated, "The present password is wrong")
	for name, tc := range map[string]func(d *device, c *passkeys.Ceremony) []byte{
		"at another place": func(d *device, c *passkeys.Ceremony) []byte { d.at.Origin = "https://evil.example"; return d.makes(*c) },
		"for another":      func(d *device, c *passkeys.Ceremony) []byte { d.at.ID = "evil.example"; return d.makes(*c) },
		"owner not asked": func(d *device, c *passkeys.Ceremony) []byte {
			d.auth.Options.UserNotVerified = true
			return d.makes(*c)
		},
		"nothing":  func(*device, *passkeys.Ceremony) []byte { return nil },
		"too long": func(*device, *passkeys.Ceremony) []byte { return []byte(strings.Repeat(" ", 1<<20)) },
		"a login's": func(d *device, c *passkeys.Ceremony) []byte {
			l, err := w.Passkeys.Ask(home)
			w.must(err)
			c.Carried = l.Carried
			return d.makes(*c)
		},
		"offered to another": func(d *device, c *passkeys.Ceremony) []byte {
			o, err := w.Passkeys.Offer(t.Context(), bob.Who, home, good)
			w.must(err)
			*c = o
			return d.makes(o)
		},
	} {
		c, err := w.Passkeys.Offer(t.Context(), ann.Who, home, good)
		w.must(err)
		answer := tc(newDevice(t, ann), &c)
		_, err = w.Passkeys.Add(t.Context(), ann.Who, home, ann.Secret, c.Carried, answer, "laptop")
		var r *paddock.Refusal
		if !errors.As(err, &r) || r.Code != paddock.Unauthenticated || len(w.store.factors) != 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	c, err := w.Passkeys.Offer(t.Context(), ann.Who, home, good)
	w.must(err)
	d := newDevice(t, ann)
	_, err = w.Passkeys.Add(t.Context(), ann.Who, home, ann.Secret, c.Carried, d.makes(c), "a\x00")
	refused(t, err, paddock.InvalidRequest, "has a name")
	e, err := w.Passkeys.Add(t.Context(), ann.Who, home, ann.Secret, c.Carried, d.makes(c), "laptop")
	w.must(err)
	_, err = w.Passkeys.Add(t.Context(), e.Who, home, e.Secret, c.Carried, d.makes(c), "laptop")
	refused(t, err, paddock.Unauthenticated, "finished before")
	// The same key isn't bob's too.
	c, err = w.Passkeys.Offer(t.Context(), bob.Who, home, good)
	w.must(err)
	_, err = w.Passkeys.Add(t.Context(), bob.Who, home, bob.Secret, c.Carried, d.makes(c), "laptop")
	refused(t, err, paddock.Conflict, "exists already")
	// Who has one must show it before there is another.
	w.pass(time.Hour)
	_, err = w.Passkeys.Offer(t.Context(), w.in(e.Secret), home, good)
	refused(t, err, paddock.SecondFactorRequired, "")
	_, err = w.Passkeys.AskAgain(t.Context(), auth.Local())
	refused(t, err, paddock.Forbidden, "")
	_, err = w.Passkeys.Prove(t.Context(), auth.Local(), home, "", "", nil)
	refused(t, err, paddock.Forbidden, "")
}

// Somebody else's passkey is no second factor, and one that somebody wrote into the
// database is none at all.
func TestPasskeysOfOthers(t *testing.T) {
	t.Parallel()
	w := known(t)
	d, ann := w.pair(w.user("ann", auth.Approver))
	_, bob := w.pair(w.user("bob", auth.Approver))
	c, err := w.Passkeys.AskAgain(t.Context(), bob.Who)
	w.must(err)
	_, err = w.Passkeys.Prove(t.Context(), bob.Who, home, bob.Secret, c.Carried, d.signs(c))
	refused(t, err, paddock.Unauthenticated, "isn't known here")
	_, err = w.Passkeys.Prove(t.Context(), ann.Who, home, ann.Secret, c.Carried, d.signs(c))
	refused(t, err, paddock.Unauthenticated, "Begin again")
	cyd := w.user("cyd", auth.Approver)
	_, err = w.Passkeys.AskAgain(t.Context(), cyd.Who)
	refused(t, err, paddock.NotFound, "no passkey")
	for id, f := range w.store.factors {
		if f.Owner == ann.Who.User {
			f.Owner = bob.Who.User
			w.store.factors[id] = f
		}
	}
	d.auth.Options.UserHandle = []byte(bob.Who.User)
	c, err = w.Passkeys.Ask(home)
	w.must(err)
	_, err = w.Passkeys.Login(t.Context(), home, c.Carried, d.signs(c))
	var r *paddock.Refusal
	if err == nil || errors.As(err, &r) {
		t.Errorf("%v", err)
	}
}

func TestNoPasskeys(t *testing.T) {
	t.Parallel()
	w := keyed(t)
	e := w.user("ann", auth.Approver)
	for _, deed := range []func() error{
		func() error { _, err := w.Passkeys.Ask(home); return err },
		func() error { _, err := w.Passkeys.AskAgain(t.Context(), e.Who); return err },
		func() error { _, err := w.Passkeys.Offer(t.Context(), e.Who, home, good); return err },
		func() error { _, err := w.Passkeys.Add(t.Context(), e.Who, home, e.Secret, "", nil, "x"); return err },
		func() error { _, err := w.Passkeys.Login(t.Context(), home, "", nil); return err },
		func() error { _, err := w.Passkeys.Prove(t.Context(), e.Who, home, e.Secret, "", nil); return err },
	} {
		refused(t, deed(), paddock.Conflict, "has no passkeys")
	}
	w.config.Party = desk.Party{ID: "https://paddock.example.org"}
	if _, err := desk.New(w.config); err == nil {
		t.Error("a URL is a name")
	}
}
