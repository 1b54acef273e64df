package desk_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"paddock"
	"paddock/internal/auth"
	"paddock/internal/auth/desk"
	"paddock/internal/auth/desk/internal/hall/password"
	"paddock/internal/store"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

const good = "correct horse battery"

var quick = password.Cost{Memory: 64, Passes: 1, Lanes: 1}

// A world is a desk with all that it works with.
type world struct {
	*desk.Desk
	t      *testing.T
	store  *memory
	hasher *password.Hasher
	config desk.Config

	mu     sync.Mutex
	now    time.Time
	events []auth.Event
	full   error // the recorder answers it
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, store: newMemory(), hasher: password.New(quick, 8, 64, nil), now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
	w.config = desk.Config{Store: w.store, Recorder: w, Clock: w.clock, Hasher: w.hasher}
	if open := databases[before(t.Name())]; open != nil {
		w.config.Store = open(t)
	}
	w.restart()
	return w
}

// users counts them.
func (w *world) users() int {
	w.t.Helper()
	page, err := w.config.Store.Users(w.t.Context(), store.Cursor{}, store.MostPage)
	w.must(err)
	return len(page.Items)
}

// restart makes a new desk on the same store, as a server does that starts again.
func (w *world) restart() {
	w.t.Helper()
	desk, err := desk.New(w.config)
	if err != nil {
		w.t.Fatal(err)
	}
	w.Desk = desk
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// Record keeps an event.
func (w *world) Record(_ context.Context, e auth.Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.full != nil {
		return w.full
	}
	w.events = append(w.events, e)
	return nil
}

func (w *world) last() auth.Event {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.events) == 0 {
		w.t.Fatal("nothing was recorded")
	}
	return w.events[len(w.events)-1]
}

// everything is all that was recorded, as text.
func (w *world) everything() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return fmt.Sprintf("%+v", w.events)
}

func at(address string) desk.From {
	return desk.From{Address: netip.MustParseAddr(address), Device: "Test/1.0"}
}

var home = at("192.0.2.1")

// admin is the first admin, logged in, with a password.
func (w *world) admin() auth.Who {
	w.t.Helper()
	word, _, err := w.FirstLink(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	e, err := w.Redeem(w.t.Context(), home, word)
	if err != nil {
		w.t.Fatal(err)
	}
	if e, err = w.SetPassword(w.t.Context(), e.Who, home, "", good); err != nil {
		w.t.Fatal(err)
	}
	return e.Who
}

// user is a new user of the role, logged in.
func (w *world) user(name string, r auth.Role) desk.Entry {
	w.t.Helper()
	code, _, err := w.People.Invite(w.t.Context(), auth.Local(), r)
	if err != nil {
		w.t.Fatal(err)
	}
	e, err := w.People.Accept(w.t.Context(), home, code, name, good)
	if err != nil {
		w.t.Fatal(err)
	}
	return e
}

// session says whose session it is.
func (w *world) session(secret string) (auth.Who, error) {
	return w.Authenticate(w.t.Context(), auth.SessionWord, secret)
}

// in fails the test unless the session is good.
func (w *world) in(secret string) auth.Who {
	w.t.Helper()
	by, err := w.session(secret)
	if err != nil {
		w.t.Fatalf("the session isn't good: %v", err)
	}
	return by
}

// refused fails the test unless err is a refusal with the code and words.
func refused(t *testing.T, err error, code paddock.Code, words string) {
	t.Helper()
	var r *paddock.Refusal
	if !errors.As(err, &r) || r.Code != code || !strings.Contains(r.Message, words) || r.Hint == "" {
		t.Errorf("got %v, want a refusal %s with %q", err, code, words)
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	for _, c := range []desk.Config{{}, {Store: newMemory()}, {Recorder: &world{}}, {Store: newMemory(), Recorder: &world{}, Idle: -1}} {
		if _, err := desk.New(c); err == nil {
			t.Errorf("%+v is enough", c)
		}
	}
	if _, err := desk.New(desk.Config{Store: newMemory(), Recorder: &world{}}); err != nil {
		t.Error(err)
	}
}

func TestAuthenticateByOtherWords(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	word, _, err := w.FirstLink(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	code, _, err := w.People.Invite(t.Context(), auth.Local(), auth.Admin)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range append(auth.Kinds(), "", "pd_", "x") {
		for _, word := range []string{word, code, "", "\x00", strings.Repeat("pds_", 1<<10)} {
			_, err := w.Authenticate(t.Context(), kind, word)
			refused(t, err, paddock.Unauthenticated, "")
		}
	}
}

// What the store can't do is our fault and no refusal, and lets nobody in.
func TestStoreFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin := w.admin()
	e := w.user("ann", auth.Operator)
	word, tok, err := w.Tokens.Make(t.Context(), e.Who, request())
	if err != nil {
		t.Fatal(err)
	}
	link, _, err := w.People.Link(t.Context(), admin, e.Who.User, false)
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("the disk is gone")
	w.store.fail(broken)
	for name, deed := range w.deeds(admin, e, word, tok.ID, link) {
		err := deed()
		var r *paddock.Refusal
		if !errors.Is(err, broken) || errors.As(err, &r) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What can't be written down isn't done.
func TestUnrecordable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin := w.admin()
	e := w.user("ann", auth.Operator)
	word, tok, err := w.Tokens.Make(t.Context(), e.Who, request())
	if err != nil {
		t.Fatal(err)
	}
	link, _, err := w.People.Link(t.Context(), admin, e.Who.User, false)
	if err != nil {
		t.Fatal(err)
	}
	full := errors.New("the journal is full")
	w.mu.Lock()
	w.full = full
	w.mu.Unlock()
	before := fmt.Sprintf("%+v %+v %+v %+v", w.store.users, w.store.sessions, w.store.tokens, w.store.invitations)
	for name, deed := range w.deeds(admin, e, word, tok.ID, link) {
		switch name {
		case "list", "session", "token", "redeem": // are recorded by what comes of them, or use up what lets in
			continue
		}
		if err := deed(); !errors.Is(err, full) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if after := fmt.Sprintf("%+v %+v %+v %+v", w.store.users, w.store.sessions, w.store.tokens, w.store.invitations); after != before {
		t.Errorf("something was done:\n%s\n%s", before, after)
	}
}

// deeds is one of everything that changes something or lets somebody in.
func (w *world) deeds(admin auth.Who, e desk.Entry, token string, id store.TokenID, link string) map[string]func() error {
	ctx := w.t.Context()
	return map[string]func() error{
		"login":        func() error { _, err := w.Login(ctx, home, "ann", good); return err },
		"wrong":        func() error { _, err := w.Login(ctx, home, "ann", "wrong"); return err },
		"session":      func() error { _, err := w.session(e.Secret); return err },
		"token":        func() error { _, err := w.Authenticate(ctx, auth.TokenWord, token); return err },
		"redeem":       func() error { _, err := w.Redeem(ctx, home, link); return err },
		"password":     func() error { _, err := w.SetPassword(ctx, e.Who, home, good, good+"!"); return err },
		"logout":       func() error { return w.Logout(ctx, e.Who) },
		"end sessions": func() error { _, err := w.EndSessions(ctx, e.Who, e.Who.User); return err },
		"role":         func() error { _, err := w.People.SetRole(ctx, admin, e.Who.User, auth.Viewer); return err },
		"disable":      func() error { _, err := w.People.Disable(ctx, admin, e.Who.User); return err },
		"enable":       func() error { _, err := w.People.Enable(ctx, admin, e.Who.User); return err },
		"link":         func() error { _, _, err := w.People.Link(ctx, admin, e.Who.User, false); return err },
		"reset":        func() error { _, _, err := w.People.Link(ctx, admin, e.Who.User, true); return err },
		"invite":       func() error { _, _, err := w.People.Invite(ctx, admin, auth.Viewer); return err },
		"make":         func() error { _, _, err := w.Tokens.Make(ctx, e.Who, request()); return err },
		"revoke":       func() error { return w.Tokens.Revoke(ctx, e.Who, id) },
		"list":         func() error { _, err := w.People.Users(ctx, admin, store.Cursor{}, 10); return err },
	}
}

// No event has a secret in it, nor what was typed as a name by who wasn't let in.
func TestEventsHaveNoSecrets(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin := w.admin()
	e := w.user("ann", auth.Operator)
	word, tok, err := w.Tokens.Make(t.Context(), e.Who, request())
	if err != nil {
		t.Fatal(err)
	}
	link, _, err := w.People.Link(t.Context(), admin, e.Who.User, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Login(t.Context(), home, "my secret as a name", good); err == nil {
		t.Fatal("somebody was let in")
	}
	for _, deed := range w.deeds(admin, e, word, tok.ID, link) {
		_ = deed() // some are refused, since others came first
	}
	text := w.everything()
	for _, secret := range []string{good, "wrong", "my secret", "argon2", e.Secret, word, link, "pds_", "pdk_", "pdl_", "pdi_"} {
		if strings.Contains(text, secret) {
			t.Errorf("%q was recorded:\n%s", secret, text)
		}
	}
	if !strings.Contains(text, "192.0.2.1") || !strings.Contains(text, string(e.Who.User)) {
		t.Errorf("where from, or who, isn't recorded:\n%s", text)
	}
}
