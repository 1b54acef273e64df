package desk_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"paddock"
	"paddock/internal/auth"
	"paddock/internal/auth/desk/internal/hall/tokens"
	"paddock/internal/store"
)

func request() tokens.Request {
	return tokens.Request{Name: "ci", Scopes: []string{"runs.start", "runs.read"}, Workspaces: []string{"app"}, Lasts: 24 * time.Hour}
}

func TestInvitation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin := w.admin()
	code, i, err := w.People.Invite(t.Context(), admin, auth.Approver)
	if err != nil || !auth.IsWord(auth.InvitationWord, code) || i.Role != auth.Approver || i.Owner != admin.User || i.Code != (store.Hash{}) {
		t.Fatalf("%q, %+v, %v", code, i, err)
	}
	// What is wrong with the name or the password doesn't use it up.
	for _, name := range []string{"", "a", "Ann", "ann\x00", "ann\n", " ann", "ann ", "аnn", "ａnn", "a\u0301nn", "ann..b", "-ann", "ann-", "1ann", "ann/b", "\xff\xfe", strings.Repeat("a", 33), strings.Repeat("ann", 1<<20)} {
		_, err := w.People.Accept(t.Context(), home, code, name, good)
		refused(t, err, paddock.InvalidRequest, "can't be a name")
		if err != nil && len(err.Error()) > 400 {
			t.Errorf("the refusal has %d bytes", len(err.Error()))
		}
	}
	_, err = w.People.Accept(t.Context(), home, code, "ann", "short")
	refused(t, err, paddock.InvalidRequest, "at least 12")
	_, err = w.People.Accept(t.Context(), home, code, "admin", good)
	refused(t, err, paddock.Conflict, "exists already")

	e, err := w.People.Accept(t.Context(), home, code, "ann", good)
	if err != nil || e.Who.Role != auth.Approver || w.in(e.Secret).Name != "ann" {
		t.Fatalf("%+v, %v", e, err)
	}
	_, err = w.People.Accept(t.Context(), home, code, "bob", good)
	refused(t, err, paddock.Unauthenticated, "was used before")
	page, err := w.People.Invitations(t.Context(), admin, store.Cursor{}, 10)
	if err != nil || len(page.Items) != 1 || page.Items[0].UsedBy != e.Who.User || page.Items[0].Code != (store.Hash{}) {
		t.Errorf("%+v, %v", page, err)
	}
}

// What the operator of the machine invites is the oldest admin's who is one still.
func TestInvitationOfTheMachine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.admin()
	for _, name := range []string{"one", "two"} {
		w.pass(time.Second)
		w.user(name, auth.Admin)
	}
	admins := []store.UserID{w.named("admin"), w.named("one"), w.named("two")}
	for i, want := range admins {
		if _, invitation, err := w.People.Invite(t.Context(), auth.Local(), auth.Viewer); err != nil || invitation.Owner != want {
			t.Errorf("it is of %s, %v; want %s", invitation.Owner, err, want)
		}
		if i < len(admins)-1 {
			w.all(w.People.Disable(t.Context(), auth.Local(), want))
		}
	}
}

func TestInvitationIsOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin := w.admin()
	old, _, err := w.People.Invite(t.Context(), admin, auth.Viewer)
	w.must(err)
	w.pass(7 * 24 * time.Hour)
	taken, i, err := w.People.Invite(t.Context(), admin, auth.Viewer)
	w.must(err)
	w.must(w.People.RemoveInvitation(t.Context(), admin, i.ID))
	refused(t, w.People.RemoveInvitation(t.Context(), admin, i.ID), paddock.NotFound, "no such invitation")
	before := w.hasher.Hashed()
	for _, code := range []string{old, taken, "", old[:10], "pdi_" + strings.Repeat("0", 49), strings.Repeat(taken, 100)} {
		_, err := w.People.Accept(t.Context(), home, code, "ann", good)
		refused(t, err, paddock.Unauthenticated, "The invitation was used before")
	}
	if w.hasher.Hashed() != before {
		t.Error("passwords were hashed for who isn't invited")
	}
}

func TestInvitationOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	code, _, err := w.People.Invite(t.Context(), auth.Local(), auth.Viewer)
	w.must(err)
	var in atomic.Int32
	var wg sync.WaitGroup
	for _, name := range []string{"ann", "bob", "cyd", "dan", "ann"} {
		wg.Go(func() {
			if _, err := w.People.Accept(t.Context(), home, code, name, good); err == nil {
				in.Add(1)
			}
		})
	}
	wg.Wait()
	if in.Load() != 1 || w.users() != 2 {
		t.Errorf("%d were let in, %d users", in.Load(), w.users())
	}
}

// Only admins may, and their tokens may not.
func TestPeopleAreForAdmins(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin := w.admin()
	ann := w.user("ann", auth.Viewer).Who
	deeds := []struct {
		name string
		deed func(by auth.Who) error
	}{
		{"users", func(by auth.Who) error { _, err := w.People.Users(t.Context(), by, store.Cursor{}, 1); return err }},
		{"user", func(by auth.Who) error { _, err := w.People.UserNamed(t.Context(), by, "ann"); return err }},
		{"role", func(by auth.Who) error { _, err := w.People.SetRole(t.Context(), by, ann.User, auth.Admin); return err }},
		{"disable", func(by auth.Who) error { _, err := w.People.Disable(t.Context(), by, ann.User); return err }},
		{"enable", func(by auth.Who) error { _, err := w.People.Enable(t.Context(), by, ann.User); return err }},
		{"link", func(by auth.Who) error { _, _, err := w.People.Link(t.Context(), by, ann.User, true); return err }},
		{"invite", func(by auth.Who) error { _, _, err := w.People.Invite(t.Context(), by, auth.Admin); return err }},
		{"invitations", func(by auth.Who) error {
			_, err := w.People.Invitations(t.Context(), by, store.Cursor{}, 1)
			return err
		}},
		{"remove", func(by auth.Who) error { return w.People.RemoveInvitation(t.Context(), by, "i1") }},
	}
	token := admin
	token.Session, token.Token, token.Scopes = "", "t1", nil
	for _, v := range auth.Verbs() {
		token.Scopes = append(token.Scopes, string(v))
	}
	for _, d := range deeds {
		for _, r := range []auth.Role{auth.Viewer, auth.Operator, auth.Approver} {
			by := ann
			by.Role = r
			refused(t, d.deed(by), paddock.Forbidden, "With the role "+string(r))
		}
		refused(t, d.deed(token), paddock.Forbidden, "This token may not")
		refused(t, d.deed(auth.Who{}), paddock.Unauthenticated, "Nobody")
		refused(t, d.deed(auth.Who{Role: auth.Admin}), paddock.Unauthenticated, "Nobody")
		if d.name != "remove" {
			w.must(d.deed(admin))
		}
	}
}

func TestUsers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin := w.admin()
	w.pass(time.Second)
	e := w.user("ann", auth.Viewer)
	page, err := w.People.Users(t.Context(), admin, store.Cursor{}, 10)
	if err != nil || len(page.Items) != 2 || page.Items[0].Name != "ann" || page.Items[0].Password != "set" {
		t.Fatalf("%+v, %v", page, err)
	}
	u, err := w.People.SetRole(t.Context(), admin, e.Who.User, auth.Operator)
	if err != nil || u.Role != auth.Operator || u.Password != "set" {
		t.Errorf("%+v, %v", u, err)
	}
	_, err = w.People.SetRole(t.Context(), admin, e.Who.User, "root")
	refused(t, err, paddock.InvalidRequest, "is no role")
	_, err = w.People.SetRole(t.Context(), admin, "u1", auth.Viewer)
	refused(t, err, paddock.NotFound, "no such user")
	_, err = w.People.UserNamed(t.Context(), admin, "nobody")
	refused(t, err, paddock.NotFound, "no such user")
	_, err = w.People.UserNamed(t.Context(), admin, "../etc")
	refused(t, err, paddock.InvalidRequest, "can't be a name")
	// Somebody must stay who can undo it.
	_, err = w.People.SetRole(t.Context(), admin, admin.User, auth.Viewer)
	refused(t, err, paddock.Conflict, "the last admin")
	_, err = w.People.Disable(t.Context(), admin, admin.User)
	refused(t, err, paddock.Conflict, "the last admin")
}

func TestToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.user("ann", auth.Operator)
	word, tok, err := w.Tokens.Make(t.Context(), e.Who, request())
	if err != nil || !auth.IsWord(auth.TokenWord, word) || tok.Secret != (store.Hash{}) || !strings.HasPrefix(word, tok.Prefix) || len(tok.Prefix) != 8 {
		t.Fatalf("%q, %+v, %v", word, tok, err)
	}
	by, err := w.Authenticate(t.Context(), auth.TokenWord, word)
	if err != nil || by.User != e.Who.User || by.Token != tok.ID || by.Session != "" {
		t.Fatalf("%+v, %v", by, err)
	}
	w.must(by.May(auth.RunsStart, auth.Mine))
	refused(t, by.May(auth.RunsStart, auth.Foreign), paddock.NotFound, "")
	refused(t, by.May(auth.RunsKill, auth.Mine), paddock.Forbidden, "its scopes don't name it")
	refused(t, by.May(auth.TokensCreate, auth.Mine), paddock.Forbidden, "its scopes don't name it")
	w.must(by.In("app"))
	refused(t, by.In("other"), paddock.NotFound, "no such workspace")
	refused(t, by.In(""), paddock.NotFound, "no such workspace")
	w.must(e.Who.In("other"))
	// It is worth what its owner is.
	w.all(w.People.SetRole(t.Context(), auth.Local(), e.Who.User, auth.Viewer))
	by, err = w.Authenticate(t.Context(), auth.TokenWord, word)
	w.must(err)
	refused(t, by.May(auth.RunsStart, auth.Mine), paddock.Forbidden, "With the role viewer")
	// It makes no other tokens and logs nobody in or out.
	_, _, err = w.Tokens.Make(t.Context(), by, request())
	refused(t, err, paddock.Forbidden, "")
	refused(t, w.Logout(t.Context(), by), paddock.InvalidRequest, "")
	_, err = w.Tokens.List(t.Context(), by, store.Cursor{}, 1)
	refused(t, err, paddock.Forbidden, "")
	_, err = w.session(word)
	refused(t, err, paddock.Unauthenticated, "")
}

func TestTokenEnds(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]func(*world, auth.Who, store.TokenID){
		"expired":  func(w *world, _ auth.Who, _ store.TokenID) { w.pass(24 * time.Hour) },
		"revoked":  func(w *world, by auth.Who, id store.TokenID) { w.must(w.Tokens.Revoke(w.t.Context(), by, id)) },
		"by admin": func(w *world, _ auth.Who, id store.TokenID) { w.must(w.Tokens.Revoke(w.t.Context(), auth.Local(), id)) },
		"disabled": func(w *world, by auth.Who, _ store.TokenID) {
			w.all(w.People.Disable(w.t.Context(), auth.Local(), by.User))
		},
		"disabled and enabled": func(w *world, by auth.Who, _ store.TokenID) {
			w.all(w.People.Disable(w.t.Context(), auth.Local(), by.User))
			w.all(w.People.Enable(w.t.Context(), auth.Local(), by.User))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			e := w.user("ann", auth.Operator)
			word, tok, err := w.Tokens.Make(t.Context(), e.Who, request())
			w.must(err)
			w.all(w.Authenticate(t.Context(), auth.TokenWord, word))
			tc(w, e.Who, tok.ID)
			_, err = w.Authenticate(t.Context(), auth.TokenWord, word)
			refused(t, err, paddock.Unauthenticated, "The token isn't known here, or is over")
		})
	}
}

func TestTokenRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann, bob := w.user("ann", auth.Operator), w.user("bob", auth.Viewer)
	many := make([]string, 65)
	for i := range many {
		many[i] = "w"
	}
	for name, tc := range map[string]struct {
		change func(*tokens.Request)
		code   paddock.Code
		words  string
	}{
		"no name":            {func(r *tokens.Request) { r.Name = "" }, paddock.InvalidRequest, "has a name"},
		"a long name":        {func(r *tokens.Request) { r.Name = strings.Repeat("x", 1001) }, paddock.InvalidRequest, "has a name"},
		"NUL in it":          {func(r *tokens.Request) { r.Name = "a\x00b" }, paddock.InvalidRequest, "has a name"},
		"a line break in it": {func(r *tokens.Request) { r.Name = "a\nb" }, paddock.InvalidRequest, "has a name"},
		"written backwards":  {func(r *tokens.Request) { r.Name = "a\u202eb" }, paddock.InvalidRequest, "has a name"},
		"bad UTF-8":          {func(r *tokens.Request) { r.Name = "a\xff" }, paddock.InvalidRequest, "has a name"},
		"for ever":           {func(r *tokens.Request) { r.Lasts = 1 << 62 }, paddock.InvalidRequest, "lasts from"},
		"no time":            {func(r *tokens.Request) { r.Lasts = 0 }, paddock.InvalidRequest, "lasts from"},
		"less than that":     {func(r *tokens.Request) { r.Lasts = -time.Hour }, paddock.InvalidRequest, "lasts from"},
		"no scopes":          {func(r *tokens.Request) { r.Scopes = nil }, paddock.InvalidRequest, "from 1 to"},
		"too many scopes":    {func(r *tokens.Request) { r.Scopes = many }, paddock.InvalidRequest, "from 1 to"},
		"no such scope":      {func(r *tokens.Request) { r.Scopes = []string{"*"} }, paddock.InvalidRequest, "nothing that such a token can do"},
		"what no token can":  {func(r *tokens.Request) { r.Scopes = []string{"approvals.vote"} }, paddock.InvalidRequest, "can't be done by a token"},
		"what he can't":      {func(r *tokens.Request) { r.Scopes = []string{"audit.read"} }, paddock.Forbidden, "With the role operator"},
		"no workspace's":     {func(r *tokens.Request) { r.Scopes = []string{"git.read"} }, paddock.InvalidRequest, "git.read isn't held to workspaces"},
		"no workspaces":      {func(r *tokens.Request) { r.Workspaces = nil }, paddock.InvalidRequest, "1 to 64 workspaces"},
		"too many":           {func(r *tokens.Request) { r.Workspaces = many }, paddock.InvalidRequest, "1 to 64 workspaces"},
		"a bad workspace":    {func(r *tokens.Request) { r.Workspaces = []string{"a\x00"} }, paddock.InvalidRequest, "the name of a workspace"},
		"for somebody else":  {func(r *tokens.Request) { r.Owner = bob.Who.User }, paddock.Forbidden, "his own tokens"},
	} {
		r := request()
		tc.change(&r)
		_, _, err := w.Tokens.Make(t.Context(), ann.Who, r)
		t.Run(name, func(t *testing.T) { refused(t, err, tc.code, tc.words) })
	}
	if n := w.store.counted("AddToken"); n != 0 {
		t.Errorf("%d tokens were made", n)
	}
	// The operator of the machine makes them for users, as far as those may.
	r := request()
	r.Owner, r.Scopes = bob.Who.User, []string{"runs.read"}
	_, tok, err := w.Tokens.Make(t.Context(), auth.Local(), r)
	if err != nil || tok.Owner != bob.Who.User {
		t.Errorf("%+v, %v", tok, err)
	}
	_, _, err = w.Tokens.Make(t.Context(), auth.Local(), tokens.Request{Owner: bob.Who.User, Name: "x", Scopes: []string{"runs.start"}, Workspaces: []string{"*"}, Lasts: time.Hour})
	refused(t, err, paddock.Forbidden, "With the role viewer")
	_, _, err = w.Tokens.Make(t.Context(), auth.Local(), request())
	refused(t, err, paddock.InvalidRequest, "has no account")
	w.all(w.People.Disable(t.Context(), auth.Local(), bob.Who.User))
	_, _, err = w.Tokens.Make(t.Context(), auth.Local(), r)
	refused(t, err, paddock.Conflict, "is disabled")
}

func TestTokensOfOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin := w.admin()
	ann, bob := w.user("ann", auth.Operator), w.user("bob", auth.Operator)
	word, tok, err := w.Tokens.Make(t.Context(), ann.Who, request())
	w.must(err)
	refused(t, w.Tokens.Revoke(t.Context(), bob.Who, tok.ID), paddock.NotFound, "no such token")
	refused(t, w.Tokens.Revoke(t.Context(), bob.Who, "t1"), paddock.NotFound, "no such token")
	for by, want := range map[store.UserID]int{ann.Who.User: 1, bob.Who.User: 0, admin.User: 1} {
		asks := map[store.UserID]auth.Who{ann.Who.User: ann.Who, bob.Who.User: bob.Who, admin.User: admin}[by]
		page, err := w.Tokens.List(t.Context(), asks, store.Cursor{}, 10)
		if err != nil || len(page.Items) != want {
			t.Errorf("%+v, %v", page, err)
		}
		for _, tok := range page.Items {
			if tok.Secret != (store.Hash{}) {
				t.Error("a digest is shown")
			}
		}
	}
	w.all(w.Authenticate(t.Context(), auth.TokenWord, word))
}

func TestTokenLastUsed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.user("ann", auth.Operator)
	word, _, err := w.Tokens.Make(t.Context(), e.Who, request())
	w.must(err)
	for i, tc := range []struct {
		after  time.Duration
		writes int
	}{{0, 1}, {0, 1}, {59 * time.Second, 1}, {time.Second, 2}, {0, 2}} {
		w.pass(tc.after)
		w.all(w.Authenticate(t.Context(), auth.TokenWord, word))
		if n := w.store.counted("SeeToken"); n != tc.writes {
			t.Errorf("%d: %d writes, want %d", i, n, tc.writes)
		}
	}
}
