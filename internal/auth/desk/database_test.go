package desk_test

import (
	"path/filepath"
	"strings"
	"testing"

	"paddock/internal/auth/desk"
	"paddock/internal/store"
	"paddock/internal/store/storetest"
	"paddock/internal/store/tables/postgres"
	"paddock/internal/store/tables/sqlite"
)

// databases are the stores on which a test that is run below one of these names works.
var databases = map[string]func(t *testing.T) desk.Store{
	"TestSQLite": func(t *testing.T) desk.Store {
		t.Helper()
		s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "store.db"))
		return opened(t, s, err)
	},
	"TestPostgreSQL": func(t *testing.T) desk.Store {
		t.Helper()
		s, err := postgres.Open(t.Context(), storetest.Database(t), postgres.Options{})
		return opened(t, s, err)
	},
}

func opened(t *testing.T, s store.Store, err error) desk.Store {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// before is the name of the test that a test is a part of.
func before(name string) string {
	first, _, _ := strings.Cut(name, "/")
	return first
}

// onDatabases are tests of this package that look at nothing but what a desk says: the
// databases give it the same answers as the memory does.
var onDatabases = map[string]func(*testing.T){
	"FirstStart": TestFirstStart, "FirstLinkOnlyForTheFirst": TestFirstLinkOnlyForTheFirst, "LinkExpires": TestLinkExpires, "LinkOnce": TestLinkOnce,
	"LinkByAdmin": TestLinkByAdmin, "LoginRefused": TestLoginRefused, "SetPassword": TestSetPassword,
	"SessionEnds": TestSessionEnds, "SessionWords": TestSessionWords, "Devices": TestDevices, "Forget": TestForget,
	"Invitation": TestInvitation, "InvitationIsOver": TestInvitationIsOver, "InvitationOnce": TestInvitationOnce, "Users": TestUsers,
	"Token": TestToken, "TokenEnds": TestTokenEnds, "TokensOfOthers": TestTokensOfOthers,
	"SecondFactor": TestSecondFactor, "OneTimeIsOnce": TestOneTimeIsOnce, "WrongOneTime": TestWrongOneTime, "FactorsOfOthers": TestFactorsOfOthers,
	"OpenID": TestOpenID, "GitHub": TestGitHub, "InvitedIdentities": TestInvitedIdentities, "ComingBackOnce": TestComingBackOnce,
	"Passkey": TestPasskey, "PasskeyOnce": TestPasskeyOnce,
}

func TestSQLite(t *testing.T) {
	t.Parallel()
	for name, test := range onDatabases {
		t.Run(name, test)
	}
}

// Both databases pass one suite of the store's own, so of the second one only what
// happens at the same time, and one of each kind, is tried.
func TestPostgreSQL(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"FirstStart", "LinkOnce", "InvitationOnce", "Devices", "Token", "OneTimeIsOnce", "OpenID", "PasskeyOnce"} {
		t.Run(name, onDatabases[name])
	}
}
