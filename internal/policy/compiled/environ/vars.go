package environ

import (
	"slices"
	"strings"
)

// Vars are variables, sorted by name, each once: the value of Names[i] is Values[i].
// The zero Vars has none.
type Vars struct{ Names, Values []string }

// Of returns the variables of m.
func Of(m map[string]string) Vars {
	v := Vars{make([]string, 0, len(m)), make([]string, len(m))}
	for name := range m {
		v.Names = append(v.Names, name)
	}
	slices.Sort(v.Names)
	for i, name := range v.Names {
		v.Values[i] = m[name]
	}
	return v
}

// Set gives a variable its value, in the place of what it had.
func (v *Vars) Set(name, value string) {
	i, found := slices.BinarySearch(v.Names, name)
	if found {
		v.Values[i] = value
		return
	}
	v.Names, v.Values = append(v.Names, ""), append(v.Values, "")
	copy(v.Names[i+1:], v.Names[i:])
	copy(v.Values[i+1:], v.Values[i:])
	v.Names[i], v.Values[i] = name, value
}

// Reset forgets the variables and keeps their room, in which nothing is left.
func (v *Vars) Reset() {
	clear(v.Names)
	clear(v.Values)
	v.Names, v.Values = v.Names[:0], v.Values[:0]
}

// Secrets returns, sorted, the names of the variables that look like secrets.
func (v Vars) Secrets() (names []string) {
	for _, name := range v.Names {
		if IsSecret(name) {
			names = append(names, name)
		}
	}
	return names
}

// List returns the variables as sorted NAME=value strings, and their names, with
// room for more names.
func (v Vars) List(more int) (list, names []string) {
	size, n := 0, len(v.Names)
	for i := range v.Names {
		size += len(v.Names[i]) + 1 + len(v.Values[i])
	}
	all := make([]string, 2*n+more)
	list, names = all[:n:n], all[n:n:len(all)]
	var text strings.Builder // one for all of them
	text.Grow(size)
	for i, name := range v.Names {
		from := text.Len()
		text.WriteString(name)
		text.WriteByte('=')
		text.WriteString(v.Values[i])
		list[i] = text.String()[from:]
	}
	return list, append(names, v.Names...)
}
