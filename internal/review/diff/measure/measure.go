// Package measure compares bounds, places and variables.
//
// # Limits
//
// It knows no policy.
package measure

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"paddock"
	"paddock/internal/policy/compiled"
)

// Bound says a bound in words.
func Bound(n int64) string {
	if n == math.MaxInt64 {
		return "any number of"
	}
	return fmt.Sprint(n)
}

// Unbounded is a limit where zero means none.
func Unbounded(n int64) int64 {
	if n == 0 {
		return math.MaxInt64
	}
	return n
}

// Covered reports whether p is one of dirs or lies below one.
func Covered(p string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool {
		return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
	})
}

// Reached reports whether a list of places has entry.
func Reached(list []string, entry string) bool {
	return slices.ContainsFunc(list, func(in string) bool {
		suffix, ok := strings.CutPrefix(in, "*")
		return in == entry || ok && strings.HasSuffix(entry, suffix)
	})
}

// Merged has what either has.
func Merged(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// Values are the fixed values of variables.
func Values(e compiled.Environment) map[string]string {
	m := map[string]string{}
	for _, p := range e.Set {
		m[p.Name] = p.Value
	}
	return m
}

// A Part holds for some requests only, and is compared by how it reads.
type Part struct {
	At, Text string
	Where    paddock.Position
}

// Same reports whether both say the same of the same requests.
func (p Part) Same(o Part) bool { return p.At == o.At && p.Text == o.Text }

// Parts are those that hold for some requests only.
func Parts(narrow []compiled.Narrowing) []Part {
	var out []Part
	for _, n := range narrow {
		at := "principals"
		if n.Root != "" {
			at = "roots." + n.Root + ".narrow"
		} else if n.Provider != "" {
			at = "delegates.providers." + n.Provider + ".narrow"
		} else if n.Kind != "" {
			at += "." + n.Kind
		}
		id := ""
		if n.ID != nil {
			id = n.ID.Text()
		}
		out = append(out, Part{at, id + "\x00" + n.Text, n.At})
	}
	return out
}

// Approvals says whether n lets more be approved than o, or less: a further key or
// other owner of one, a further verifier, fewer who must approve, longer and oftener is more.
func Approvals(o, n paddock.Approvals) (wider, narrower bool) {
	wider = len(o.Keys) > 0 && len(n.Keys) > 0 && (n.Approvers < o.Approvers || n.Expires > o.Expires || n.Lasts > o.Lasts || n.Uses > o.Uses)
	narrower = n.Approvers > o.Approvers || n.Expires < o.Expires || n.Lasts < o.Lasts || n.Uses < o.Uses
	for _, k := range n.Keys {
		wider = wider || !slices.Contains(o.Keys, k)
	}
	for _, k := range o.Keys {
		narrower = narrower || !slices.Contains(n.Keys, k)
	}
	for _, v := range n.Verifiers {
		wider = wider || !slices.Contains(o.Verifiers, v)
	}
	for _, v := range o.Verifiers {
		narrower = narrower || !slices.Contains(n.Verifiers, v)
	}
	return wider, narrower
}
