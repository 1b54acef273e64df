package password_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"paddock/internal/auth/desk/internal/hall/password"
)

// quick is what tests hash with where the cost isn't what they are about.
var quick = password.Cost{Memory: 64, Passes: 1, Lanes: 1}

const good = "correct horse battery"

func TestMatches(t *testing.T) {
	t.Parallel()
	h := password.New(quick, 2, 2, nil)
	want := uint64(2)
	defer func() {
		if h.Hashed() != want {
			t.Errorf("%d were hashed, want %d", h.Hashed(), want)
		}
	}()
	hash, err := h.Hash(t.Context(), good)
	if err != nil || !strings.HasPrefix(hash, "$argon2id$v=19$m=64,t=1,p=1$") || strings.Contains(hash, good) {
		t.Fatalf("%q, %v", hash, err)
	}
	again, err := h.Hash(t.Context(), good)
	if err != nil || again == hash {
		t.Errorf("two hashes of one password are the same: %v", err)
	}
	for _, tc := range []struct {
		hash, text string
		want       bool
	}{
		{hash, good, true},
		{again, good, true},
		{hash, good + " ", false},
		{hash, strings.ToUpper(good), false},
		{hash, "", false},
		{"", "", false},
		{"", good, false},
		{hash, strings.Repeat("x", password.Longest), false},
		{hash, good + strings.Repeat("x", 10*password.Longest), false},
		{hash, good + "\x00", false},
		{hash, "\xff" + good, false},
	} {
		if len(tc.text) <= password.Longest {
			want++ // also where there is nothing to compare with
		}
		ok, anew, err := h.Matches(t.Context(), tc.hash, tc.text)
		if ok != tc.want || anew || err != nil {
			t.Errorf("%q: %.40q: %t, %t, %v", tc.hash, tc.text, ok, anew, err)
		}
	}
}

// The key of the hash that stands for nobody can't be had, and if it could it
// wouldn't match.
func TestNobodyMatchesNothing(t *testing.T) {
	t.Parallel()
	h := password.New(quick, 1, 1, bytes.NewReader(make([]byte, 64)))
	for _, text := range []string{"", "\x00", string(make([]byte, 32))} {
		if ok, _, err := h.Matches(t.Context(), "", text); ok || err != nil {
			t.Errorf("%q: %t, %v", text, ok, err)
		}
	}
}

// A letter with an accent is one password however the keyboard writes it.
func TestComposed(t *testing.T) {
	t.Parallel()
	h := password.New(quick, 1, 1, nil)
	hash, err := h.Hash(t.Context(), "caf\u00e9 caf\u00e9 caf\u00e9")
	if err != nil {
		t.Fatal(err)
	}
	if ok, _, err := h.Matches(t.Context(), hash, "cafe\u0301 cafe\u0301 cafe\u0301"); !ok || err != nil {
		t.Errorf("%t, %v", ok, err)
	}
}

// Hashes of other parameters are compared, and made anew.
func TestOtherParameters(t *testing.T) {
	t.Parallel()
	h := password.New(quick, 1, 1, nil)
	other := password.New(password.Cost{Memory: 128, Passes: 2, Lanes: 2}, 1, 1, nil)
	dear, err := other.Hash(t.Context(), good)
	if err != nil {
		t.Fatal(err)
	}
	if ok, anew, err := h.Matches(t.Context(), dear, good); !ok || !anew || err != nil {
		t.Errorf("%t, %t, %v", ok, anew, err)
	}
	if ok, anew, err := h.Matches(t.Context(), dear, good+"."); ok || anew || err != nil {
		t.Errorf("a wrong one: %t, %t, %v", ok, anew, err)
	}
}

func TestHostileHashes(t *testing.T) {
	t.Parallel()
	h := password.New(quick, 1, 1, nil)
	salt, key := "c29tZXNhbHQ", "CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"
	for _, bad := range []string{
		"x", "$", good,
		"$argon2id$v=19$m=4194304,t=1,p=1$" + salt + "$" + key,
		"$argon2id$v=19$m=99999999999999999999,t=1,p=1$" + salt + "$" + key,
		"$argon2id$v=19$m=64,t=9999,p=1$" + salt + "$" + key,
		"$argon2id$v=19$m=64,t=1,p=255$" + salt + "$" + key,
		"$argon2id$v=19$m=8,t=1,p=2$" + salt + "$" + key,
		"$argon2id$v=19$m=0,t=1,p=1$" + salt + "$" + key,
		"$argon2id$v=19$m=064,t=1,p=1$" + salt + "$" + key,
		"$argon2id$v=16$m=64,t=1,p=1$" + salt + "$" + key,
		"$argon2i$v=19$m=64,t=1,p=1$" + salt + "$" + key,
		"$argon2id$v=19$m=64,t=1,p=1$" + salt + "$",
		"$argon2id$v=19$m=64,t=1,p=1$$" + key,
		"$argon2id$v=19$m=64,t=1,p=1$QQ$" + key,
		"$argon2id$v=19$m=64,t=1,p=1$" + salt + "$" + key + "\n",
		"$argon2id$v=19$m=64,t=1,p=1$" + salt + "$" + strings.Repeat("A", 400),
		"$argon2id$v=19$m=64,t=1,p=1$" + salt + "$" + key + "=",
		"$2a$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy",
	} {
		ok, _, err := h.Matches(t.Context(), bad, good)
		if ok || err == nil || strings.Contains(err.Error(), "$") {
			t.Errorf("%q: %t, %v", bad, ok, err)
		}
	}
}

// No more are hashed at once than was said, and no more wait.
func TestBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := password.New(quick, 1, 1, nil)
		results := make(chan error, 4)
		hash := func(ctx context.Context) {
			_, _, err := h.Matches(ctx, "", good)
			results <- err
		}
		release := password.Occupy(h)
		ctx, cancel := context.WithCancel(t.Context())
		go hash(ctx) // waits
		synctest.Wait()
		go hash(t.Context()) // one too many
		synctest.Wait()
		if err := <-results; !errors.Is(err, password.ErrBusy) {
			t.Errorf("one too many: %v", err)
		}
		cancel()
		synctest.Wait()
		if err := <-results; !errors.Is(err, context.Canceled) {
			t.Errorf("who waits and goes away: %v", err)
		}
		release()
		go hash(t.Context())
		if err := <-results; err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

func TestShortOfRandomness(t *testing.T) {
	t.Parallel()
	h := password.New(quick, 1, 1, bytes.NewReader(make([]byte, 15)))
	if hash, err := h.Hash(t.Context(), good); err == nil || hash != "" {
		t.Errorf("%q, %v", hash, err)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ text, name, want string }{
		{good, "ann", ""},
		{"ein Löwe im Garten", "ann", ""},
		{strings.Repeat("abcdefgh", 128), "ann", ""},
		{strings.Repeat("abcdefgh", 128) + "x", "ann", "at most 1024 bytes"},
		{strings.Repeat("x", 10<<20), "ann", "at most 1024 bytes"},
		{"", "ann", "at least 12"},
		{"elevenchars", "ann", "at least 12"},
		{"ééééééééééé", "ann", "at least 12"},
		{"aaaaaaaaaaaaaaaa", "ann", "different characters"},
		{"correct\x00horse battery", "ann", "control characters"},
		{"correct\nhorse battery", "ann", "control characters"},
		{"correct horse \xff battery", "ann", "UTF-8"},
		{"annabella-smith1", "annabella-smith", "hardly more than the name"},
		{"AnnaBella-Smith1", "annabella-smith", "hardly more than the name"},
		{"ann " + good, "ann", ""},
	} {
		err := password.Check(tc.text, tc.name)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%.40q: %v, want %q", tc.text, err, tc.want)
		}
	}
}

// What is logged doesn't have the password or the hash in it.
func TestErrorsSayNothing(t *testing.T) {
	t.Parallel()
	for _, err := range []error{password.Check("short", "ann"), password.Check("annannannann1", "ann")} {
		if err == nil || strings.Contains(fmt.Sprint(err), "short\"") || strings.Contains(err.Error(), "annann") {
			t.Errorf("%v", err)
		}
	}
}
