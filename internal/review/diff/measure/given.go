package measure

import (
	"fmt"
	"slices"

	"paddock"
)

// given compares which programs get which secrets as variables, and says of each
// change whether it widened or narrowed what is allowed, or is unclear.
func given(before, after []paddock.Given, say func(effect, secret, text string)) {
	find := func(list []paddock.Given, name string) paddock.Given {
		if i := slices.IndexFunc(list, func(g paddock.Given) bool { return g.Secret == name }); i >= 0 {
			return list[i]
		}
		return paddock.Given{}
	}
	for _, n := range after {
		o := find(before, n.Secret)
		for _, word := range n.To {
			if !slices.Contains(o.To, word) {
				say("widened", n.Secret, fmt.Sprintf("`%s` gets it as a variable.", word))
			}
		}
		if o.Secret != "" && (o.File != n.File || !Same(o.Provider, n.Provider)) {
			say("unclear", n.Secret, "It comes from another file or program.")
		}
	}
	for _, o := range before {
		n := find(after, o.Secret)
		for _, word := range o.To {
			if !slices.Contains(n.To, word) {
				say("narrowed", o.Secret, fmt.Sprintf("`%s` doesn't get it as a variable any more.", word))
			}
		}
	}
}

// Same reports whether the same program says a secret, if any.
func Same(a, b *paddock.Provider) bool {
	if a == nil || b == nil {
		return a == b
	}
	return slices.Equal(a.Argv, b.Argv)
}

// SameInjection reports whether the same secret goes to the same place.
func SameInjection(o, n paddock.Injection) bool {
	said := Same(o.Provider, n.Provider)
	o.Provider, n.Provider = nil, nil
	return said && o == n
}
