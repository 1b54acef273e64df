package auth

import (
	"fmt"
	"slices"

	"paddock/internal/store"
)

// A Role is what a person may be, as it is kept. The zero Role may do nothing.
type Role = store.Role

// The roles, from the least on.
const (
	Viewer   = store.Viewer
	Operator = store.Operator
	Approver = store.Approver
	Admin    = store.Admin
)

// Roles returns all roles, from the least on.
func Roles() []Role { return []Role{Viewer, Operator, Approver, Admin} }

// ParseRole returns the role that s names.
func ParseRole(s string) (Role, error) {
	if r := Role(s); slices.Contains(Roles(), r) {
		return r, nil
	}
	return "", fmt.Errorf("%.40q is no role: want viewer, operator, approver or admin", s)
}

// Below reports whether r is a lesser role than other.
func Below(r, other Role) bool { return slices.Index(Roles(), r) < slices.Index(Roles(), other) }

// A Reach is how far a role gets with a verb.
type Reach int

// The reaches. Others leaves out what is one's own, so that nobody approves what
// he asked for himself.
const (
	Nothing Reach = iota
	Own
	Others
	All
)

// Whose says whose a thing is to the one who asks. The zero value is someone else's.
type Whose int

// What a thing can be to who asks. What belongs to nobody, as a policy or a worker,
// is Foreign, and reached by All only.
const (
	Foreign Whose = iota
	Mine          // his own, or in a workspace that he owns
)

// Includes reports whether the reach includes a thing that is whose.
func (r Reach) Includes(whose Whose) bool {
	switch r {
	case All:
		return true
	case Own:
		return whose == Mine
	case Others:
		return whose == Foreign
	case Nothing:
	}
	return false
}

// Reaches says how far a role gets with a verb: to nothing if either is unknown.
func Reaches(r Role, v Verb) Reach {
	at := slices.Index(Roles(), r)
	row, known := rowOf(v)
	if at < 0 || !known {
		return Nothing
	}
	return row.reach[at]
}

// May reports whether r may do v to a thing that is whose to him.
func May(r Role, v Verb, whose Whose) bool { return Reaches(r, v).Includes(whose) }

// Starts reports whether a program may be started by v.
func (v Verb) Starts() bool { row, _ := rowOf(v); return row.marks&starts != 0 }

// Second reports whether v wants a second factor that was shown lately. An unknown
// verb wants it.
func (v Verb) Second() bool { row, known := rowOf(v); return !known || row.marks&second != 0 }

// Placed reports whether a token that is for some workspaces alone may have v: what v does
// is held to them wherever it is asked. An unknown verb isn't.
func (v Verb) Placed() bool { row, _ := rowOf(v); return row.marks&placed != 0 }

// Delegable reports whether v can be given to an API token. What makes, changes or
// ends credentials can't, and neither can what wants a second factor: a stolen token
// must not make itself a successor.
func (v Verb) Delegable() bool {
	row, known := rowOf(v)
	return known && row.marks&(person|second) == 0
}
