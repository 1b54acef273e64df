package house

import (
	"fmt"
	"go/token"
	"path"
	"slices"
	"strings"

	"paddock/internal/house/source"
)

// room returns the room that dir belongs to and its floor.
func room(dir string) (name string, floor float64, ok bool) {
	for d := dir; ; d = path.Dir(d) {
		if floor, ok := floors[d]; ok && (d != "." || dir == ".") {
			return d, floor, true
		}
		if d == "." {
			return "", 0, false
		}
	}
}

// Floors finds packages that have no floor, names that say nothing, and imports
// that go up, to a neighbour, or into a room that is for tests only. Tests may
// look at a neighbour, never up.
func Floors(t *source.Tree) []Finding {
	var found []Finding
	for _, dir := range t.Dirs(func(f *source.File) bool { return !f.Script }) {
		if _, _, ok := room(dir); !ok {
			found = append(found, source.Found("floors", dir, "this package has no floor; give it one in internal/house/plan.go"))
		}
		if slices.Contains(vague, path.Base(dir)) {
			found = append(found, source.Found("floors", dir, "this name says nothing; name the package for what it holds"))
		}
	}
	t.EachImport(func(f *source.File, target string, at token.Pos) {
		to, ours := t.Local(target)
		if !ours || f.Script {
			return
		}
		if what := crossing(f, to); what != "" {
			found = append(found, source.Found("floors", t.Where(at), "%s", what))
		}
	})
	return found
}

// crossing says what is wrong with f importing the package at to.
func crossing(f *source.File, to string) string {
	fromRoom, from, ok1 := room(f.Dir)
	toRoom, there, ok2 := room(to)
	switch {
	case !ok1 || !ok2:
		return "" // reported as a package without a floor
	case f.Dir == to: // an external test and its package
		return ""
	case source.Kit(to) && !f.Test:
		return fmt.Sprintf("%s is for tests only", to)
	case there == testOnly:
		if f.Test || fromRoom == toRoom {
			return ""
		}
		return fmt.Sprintf("%s is for tests only", to)
	case from == testOnly:
		return fmt.Sprintf("%s serves every room, so it imports none of them", f.Dir)
	case fromRoom == toRoom && (source.Within(f.Dir, to) || source.Within(to, f.Dir)):
		return ""
	case there < from:
		return ""
	case there == from && f.Test:
		return ""
	case there == from:
		return fmt.Sprintf("%s and %s are neighbours on floor %g; declare an interface for what you need, or move it down", f.Dir, to, from)
	}
	return fmt.Sprintf("%s (floor %g) reaches up to %s (floor %g)", f.Dir, from, to, there)
}

// Reserved finds imports that are reserved for others, dot imports, and rooms
// that reach what they are banned from, through however many other rooms.
func Reserved(t *source.Tree) []Finding {
	var found []Finding
	t.EachImport(func(f *source.File, target string, at token.Pos) {
		if f.DotImport(at) {
			found = append(found, source.Found("reserved", t.Where(at), "a dot import hides where names come from"))
		}
		for _, r := range reservations {
			if matches(t, target, r.what) && !r.permits(f) {
				found = append(found, source.Found("reserved", t.Where(at),
					"%s is reserved for %s: %s", r.what, orNobody(r.by), r.why))
			}
		}
	})
	for _, b := range bans {
		for _, from := range b.from {
			if way := t.Way(b.room, from); way != nil {
				found = append(found, source.Found("reserved", b.room,
					"reaches %s by way of %s: %s", from, strings.Join(way, " → "), b.why))
			}
		}
	}
	return found
}

// matches reports whether an import path is what, or below it, where what is a
// directory of this module or an import path.
func matches(t *source.Tree, target, what string) bool {
	if dir, ours := t.Local(target); ours {
		target = dir
	}
	return source.Within(target, what)
}

func (r reservation) permits(f *source.File) bool {
	if source.WithinAny(f.Dir, r.by) || source.Within(f.Dir, r.what) {
		return true
	}
	return f.Test && (slices.Contains(r.tests, "*") || source.WithinAny(f.Dir, r.tests))
}

func orNobody(rooms []string) string {
	if len(rooms) == 0 {
		return "nobody"
	}
	return strings.Join(rooms, ", ")
}
