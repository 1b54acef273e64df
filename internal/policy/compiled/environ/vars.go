package environ

import (
	"slices"
	"strings"
)

// Vars are variables, sorted by name, each once: the value of Names[i] is Values[i], and
// Own[i] is set where a policy alone doesn't say it. The zero Vars has none.
type Vars struct {
	Names, Values []string
	Own           []bool
}

// Of returns the variables of m, which no policy says.
func Of(m map[string]string) Vars {
	v := Vars{make([]string, 0, len(m)), make([]string, len(m)), make([]bool, len(m))}
	for name := range m {
		v.Names = append(v.Names, name)
	}
	slices.Sort(v.Names)
	for i, name := range v.Names {
		v.Values[i], v.Own[i] = m[name], true
	}
	return v
}

// Set gives a variable the value that the policy says, in the place of what it had.
func (v *Vars) Set(name, value string) { v.set(name, value, false) }

// SetOwn gives it one that hangs on the request, or on the machine.
func (v *Vars) SetOwn(name, value string) { v.set(name, value, true) }

func (v *Vars) set(name, value string, own bool) {
	i, found := slices.BinarySearch(v.Names, name)
	if found {
		v.Values[i], v.Own[i] = value, own
		return
	}
	v.Names, v.Values, v.Own = append(v.Names, ""), append(v.Values, ""), append(v.Own, false)
	copy(v.Names[i+1:], v.Names[i:])
	copy(v.Values[i+1:], v.Values[i:])
	copy(v.Own[i+1:], v.Own[i:])
	v.Names[i], v.Values[i], v.Own[i] = name, value, own
}

// Reset forgets the variables and keeps their room, in which nothing is left.
func (v *Vars) Reset() {
	clear(v.Names)
	clear(v.Values)
	v.Names, v.Values, v.Own = v.Names[:0], v.Values[:0], v.Own[:0]
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

// List returns the variables as sorted NAME=value strings, their names and those of
// also, sorted: copies, in one piece of memory.
func (v Vars) List(also []string) (list, names []string) {
	size, n := 0, len(v.Names)
	for i := range v.Names {
		size += len(v.Names[i]) + 1 + len(v.Values[i])
	}
	all := make([]string, 0, 2*n+len(also))
	var text strings.Builder // one for all of them
	text.Grow(size)
	for i, name := range v.Names {
		from := text.Len()
		text.WriteString(name)
		text.WriteByte('=')
		text.WriteString(v.Values[i])
		all = append(all, text.String()[from:])
	}
	all = append(append(all, v.Names...), also...)
	list, names = all[:n:n], all[n:]
	if len(also) > 0 {
		slices.Sort(names)
	}
	return list, names
}
