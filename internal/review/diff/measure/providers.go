package measure

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"paddock/internal/policy/compiled"
)

// Secrets compares who gets secrets as variables, and who says them.
func Secrets(before, after compiled.File, say func(effect, secret, text string)) {
	given(before.Given, after.Given, say)
	providers(before.Providers, after.Providers, say)
}

// providers compares the programs that say secrets, by what judges each.
func providers(before, after map[string]*compiled.File, say func(effect, secret, text string)) {
	for _, name := range slices.Sorted(maps.Keys(after)) {
		n, o := after[name], before[name]
		is := n.Executables[0]
		if o == nil || o.Executables[0].Path != is.Path {
			say("widened", name, fmt.Sprintf("%s is run to say it.", is.Path))
			continue
		}
		was := o.Executables[0]
		for _, place := range is.Reach {
			if !Reached(was.Reach, place) {
				say("widened", name, fmt.Sprintf("The program that says it may reach %s.", place))
			}
		}
		for _, path := range n.Contain.Read {
			if !Covered(path, o.Contain.Read) {
				say("widened", name, fmt.Sprintf("The program that says it may read %s.", path))
			}
		}
		switch {
		case was.Pin != is.Pin:
			say("unclear", name, "The program that says it has another content, or isn't pinned in the same way.")
		case was.Limits.Timeout != is.Limits.Timeout || !reflect.DeepEqual(was.Environment, is.Environment):
			say("unclear", name, "The program that says it gets other variables or another time.")
		case len(is.Reach) < len(was.Reach) || len(n.Contain.Read) < len(o.Contain.Read):
			say("narrowed", name, "The program that says it may reach or read less.")
		}
	}
}
