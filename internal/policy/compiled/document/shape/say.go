package shape

import (
	"fmt"
	"strings"

	"paddock/internal/policy/compiled/document/shape/spelling"
)

func (o Object) say() string {
	names := make([]string, len(o.Keys))
	for i, k := range o.Keys {
		names[i] = k.Name
	}
	return "a mapping with the keys " + quoted(names)
}

func (m Map) say() string { return "a mapping from " + m.Name.say() + " to " + m.Of.say() }

func (l List) say() string {
	if l.Min > 0 {
		return "a list of at least one item"
	}
	return "a list"
}

func (t Text) say() string {
	if t.Say == "" {
		return "text"
	}
	return t.Say
}

func (i Integer) say() string {
	if i.Min == i.Max {
		return fmt.Sprintf("the number %d", i.Min)
	}
	return fmt.Sprintf("a whole number from %d to %d", i.Min, i.Max)
}

func (b Boolean) say() string { return "true or false" }

func (c Choice) say() string {
	if len(c) == 1 {
		return "`" + c[0] + "`"
	}
	if len(c) > 6 {
		return "one of " + quoted(c)
	}
	return strings.Join(tick(c[:len(c)-1]), ", ") + " or `" + c[len(c)-1] + "`"
}

func (e Either) say() string { return e.Scalar.say() + " or " + e.Other.say() }

func (d Decimal) say() string { return fmt.Sprintf("a number from %g to %g", d.Min, d.Max) }

func (s Number) say() string { return s.Say }

func tick(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = "`" + w + "`"
	}
	return out
}

func quoted(words []string) string { return strings.Join(tick(words), ", ") }

// unknown explains a key that isn't of the object: one that comes later, one
// that is misspelt, or one that isn't known at all.
func (o Object) unknown(key string) string {
	if what, ok := o.Later[key]; ok {
		return fmt.Sprintf("`%s` (%s) can't be enforced by this version, so it is refused rather than ignored; remove it", key, what)
	}
	names := make([]string, len(o.Keys))
	for i, k := range o.Keys {
		names[i] = k.Name
	}
	if near := spelling.Nearest(key, names); near != "" {
		return fmt.Sprintf("unknown key `%s`; did you mean `%s`?", clip(key), near)
	}
	return fmt.Sprintf("unknown key `%s`; the keys here are %s", clip(key), quoted(names))
}
