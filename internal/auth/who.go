package auth

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"paddock"
	"paddock/internal/store"
)

// A Who is who asks, as far as it was proven. The zero Who is nobody and may do
// nothing.
type Who struct {
	User store.UserID
	Name string
	Role Role
	// Session or Token is what it was proven by.
	Session store.SessionID
	Token   store.TokenID
	// Scopes and Workspaces narrow what a token may: verbs, and names of workspaces,
	// of which `*` stands for every one that its owner may use.
	Scopes, Workspaces []string
	// Proven is until when a second factor counts that was shown in the session.
	Proven time.Time
	// Shown is when it was shown.
	Shown time.Time

	began time.Time // the session
	at    time.Time // when it was found out
	local bool      // the operator of the machine, who can read the store anyway
}

// Local is the operator of the machine that the store is on.
func Local() Who { return Who{Name: "the operator of this machine", Role: Admin, local: true} }

// OfSession is the user whose session s is, at a moment. A second factor counts for as
// long as fresh.
func OfSession(user store.User, s store.Session, fresh time.Duration, now store.Moment) Who {
	return Who{User: user.ID, Name: user.Name, Role: user.Role, Session: s.ID, Proven: s.Proven.After(fresh).Time, Shown: s.Proven.Time, began: s.Created.Time, at: now.Time}
}

// OfToken is the user whose token t is, as far as it lets him.
func OfToken(user store.User, t store.Token, now store.Moment) Who {
	return Who{User: user.ID, Name: user.Name, Role: user.Role, Token: t.ID, Scopes: t.Scopes, Workspaces: t.Workspaces, at: now.Time}
}

// Fresh reports whether a second factor was shown lately.
func (w Who) Fresh() bool { return w.Proven.After(w.at) }

// Age is how long ago somebody logged in.
func (w Who) Age() time.Duration { return w.at.Sub(w.began) }

// IsLocal reports whether it is the operator of the machine.
func (w Who) IsLocal() bool { return w.local }

// May refuses what who may not do to a thing: with not_found where others do it to
// theirs and this one isn't his to see, else with forbidden, or with
// second_factor_required where only that is missing.
func (w Who) May(v Verb, whose Whose) error {
	if w.User == "" && !w.local {
		return paddock.Refused(paddock.Unauthenticated, "Nobody in particular asks.")
	}
	if w.Token != "" && (!v.Delegable() || !slices.Contains(w.Scopes, string(v))) {
		return paddock.Refused(paddock.Forbidden, "This token may not do %s: its scopes don't name it.", v)
	}
	if w.Narrow() && !v.Placed() {
		return paddock.Refused(paddock.Forbidden, "This token is for some workspaces alone, and %s isn't held to them.", v)
	}
	switch reach := Reaches(w.Role, v); {
	case reach == Nothing:
		return paddock.Refused(paddock.Forbidden, "With the role %s one may not do %s.", w.Role, v)
	case reach == Others && whose == Mine:
		return paddock.Refused(paddock.Forbidden, "Nobody may do %s to what is his own.", v)
	case !reach.Includes(whose):
		return paddock.Refused(paddock.NotFound, "There is no such thing among those that you may see.")
	}
	if v.Second() && !w.Fresh() {
		return paddock.Refused(paddock.SecondFactorRequired, "For %s a second factor must have been shown in the last minutes.", v)
	}
	return nil
}

// Narrow reports whether it was proven by a token that is for some workspaces alone.
func (w Who) Narrow() bool { return w.Token != "" && !slices.Contains(w.Workspaces, "*") }

// In refuses a workspace that a token isn't for, as one that isn't there.
func (w Who) In(workspace string) error {
	if !w.Narrow() || slices.Contains(w.Workspaces, workspace) {
		return nil
	}
	return paddock.Refused(paddock.NotFound, "There is no such workspace among those that you may see.")
}

// Scope is the store's word for what who reaches with v.
func (w Who) Scope(v Verb) store.Scope {
	if w.May(v, Foreign) == nil {
		return store.Everyone()
	}
	return store.Of(w.User)
}

// Whose says whether a user's things are his own.
func (w Who) Whose(user store.UserID) Whose {
	if w.User == user && user != "" {
		return Mine
	}
	return Foreign
}

// MostLabel is the longest label, in bytes.
const MostLabel = 100

var nameForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[a-z][a-z0-9]*(?:[._-][a-z0-9]+)*$`)
})

// ParseName returns the name that s is. Names are few characters of ASCII, so that no
// two look the same by their alphabet, case or composition.
func ParseName(s string) (string, error) {
	if len(s) < 2 || len(s) > 32 || !nameForm().MatchString(s) {
		return "", paddock.Refused(paddock.InvalidRequest,
			"%.40q can't be a name. A name has 2 to 32 characters: lower case letters and digits, a letter first, with single dots, dashes or underscores between them.", s)
	}
	return s, nil
}

// Printable says whether text can be a name that people gave: one line of few bytes.
func Printable(text string) bool {
	if text == "" || len(text) > MostLabel || !utf8.ValidString(text) {
		return false
	}
	for _, r := range text {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

// Label makes text of somebody's choice short, of one line and printable.
func Label(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, text[:min(len(text), 4*MostLabel)])
	return strings.TrimSpace(text[:min(len(text), MostLabel)])
}
