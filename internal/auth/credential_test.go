package auth_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"paddock/internal/auth"
)

func TestNew(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^pd[kspilw]_[0-9A-Za-z]{49}$`)
	seen := map[string]bool{}
	for range 200 {
		for _, k := range auth.Kinds() {
			word, err := auth.NewWord(k, nil)
			if err != nil || !form.MatchString(word) || len(word) != auth.WordLength || !auth.IsWord(k, word) || seen[word] {
				t.Fatalf("%q, %v", word, err)
			}
			seen[word] = true
			for _, other := range auth.Kinds() {
				if _, err := auth.DigestOf(other, word); (err == nil) != (other == k) {
					t.Errorf("%s as %s: %v", k, other, err)
				}
			}
		}
	}
}

// The form doesn't change: words that were given out stay good.
func TestKnownWords(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		random byte
		want   string
	}{
		{0x00, "pdk_00000000000000000000000000000000000000000003yhVP1"},
		{0xff, "pdk_yhjskwdA6OZ1AL1YmHWZWm8LLG7HjnuCA2j5rOw8Xp126KFdr"},
	} {
		word, err := auth.NewWord(auth.TokenWord, bytes.NewReader(bytes.Repeat([]byte{tc.random}, 32)))
		if err != nil || word != tc.want {
			t.Errorf("%q, %v", word, err)
		}
	}
}

func TestShortOfRandomness(t *testing.T) {
	t.Parallel()
	if word, err := auth.NewWord(auth.SessionWord, bytes.NewReader(make([]byte, 31))); err == nil || word != "" {
		t.Errorf("31 bytes made %q", word)
	}
}

// One wrong, missing or further character makes it no word of ours.
func TestMistyped(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "random")
		word, err := auth.NewWord(auth.TokenWord, bytes.NewReader(seed))
		if err != nil {
			t.Fatal(err)
		}
		at := rapid.IntRange(0, len(word)-1).Draw(t, "at")
		other := rapid.Byte().Draw(t, "other")
		if other == word[at] {
			return
		}
		wrong := []byte(word)
		wrong[at] = other
		for _, bad := range []string{string(wrong), word[:at] + word[at+1:], word[:at] + string(other) + word[at:]} {
			if _, err := auth.DigestOf(auth.TokenWord, bad); !errors.Is(err, auth.ErrMalformed) {
				t.Fatalf("%q, from %q: %v", bad, word, err)
			}
		}
	})
}

func TestHostileWords(t *testing.T) {
	t.Parallel()
	word, err := auth.NewWord(auth.TokenWord, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"", "pdk_", word + "\n", " " + word, word + "\x00", strings.Repeat(word, 10), strings.Repeat("\xff", auth.WordLength), strings.ToUpper(word)} {
		for _, k := range auth.Kinds() {
			if auth.IsWord(k, bad) {
				t.Errorf("%.80q is a credential", bad)
			}
		}
	}
}

func TestMask(t *testing.T) {
	t.Parallel()
	word, err := auth.NewWord(auth.LinkWord, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		text, want string
		within     bool
	}{
		{"", "", false},
		{"/api/v1/runs?after=3", "/api/v1/runs?after=3", false},
		{"GET /x?t=" + word + "&y=1", "GET /x?t=pdl_…&y=1", true},
		{word + word, "pdl_…", true},
		{"pdk_", "pdk_", false},
		{"pdk_short and " + word[:40], "pdk_… and pdl_…", true},
		{"pdk_pdi_" + word[4:], "pdk_…", true},
		{word + "," + word, "pdl_…,pdl_…", true},
	} {
		if got := auth.Mask(tc.text); got != tc.want {
			t.Errorf("Mask(%q) is %q, want %q", tc.text, got, tc.want)
		}
		if got := auth.Within(tc.text); got != tc.within {
			t.Errorf("Within(%q): %t", tc.text, got)
		}
	}
	if shown := auth.ShownOf(word); len(shown) != 8 || !strings.HasPrefix(word, shown) || auth.ShownOf("ab") != "ab" {
		t.Errorf("shown is %q", shown)
	}
}

// What is kept of a word is its SHA-256 digest, and nothing by which it could be shown.
func TestDigestOf(t *testing.T) {
	t.Parallel()
	for _, kind := range auth.Kinds() {
		word, err := auth.NewWord(kind, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := auth.DigestOf(kind, word)
		if err != nil || got != sha256.Sum256([]byte(word)) {
			t.Errorf("%s: %x, %v", kind, got, err)
		}
		for _, other := range auth.Kinds() {
			if _, err := auth.DigestOf(other, word); (err == nil) != (other == kind) {
				t.Errorf("a %s taken for a %s: %v", kind, other, err)
			}
		}
	}
}
