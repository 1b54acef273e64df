package attempt

import (
	"errors"
	"fmt"
	"runtime"

	"paddock/internal/contain/probe/attempt/ordinary"
)

// deeds are those of all attempts but the rough ones.
func deeds() map[string]Deed {
	all := map[string]Deed{}
	for _, group := range []map[string]Deed{
		files(), own(), outsideFiles(), protected(), processes(), outsider(), holder(), mounts(), kernel(), devices(), sockets(), reached(), views(), powers(),
	} {
		for name, deed := range group {
			if all[name] != nil {
				panic("bug: two attempts called " + name)
			}
			all[name] = deed
		}
	}
	for name, do := range ordinary.Deeds() {
		all[name] = func(t Targets) error { return do(t.Root) }
	}
	return all
}

// Try makes the attempts of these names, one after the other, and says what came of
// each. more are the deeds of rough attempts, for who makes these too.
func Try(t Targets, names []string, more map[string]Deed) (map[string]Answer, error) {
	all, found := deeds(), map[string]Answer{}
	for _, name := range names {
		deed := all[name]
		if deed == nil {
			deed = more[name]
		}
		if deed == nil {
			return nil, fmt.Errorf("there is no attempt called %q", name)
		}
		found[name] = alone(deed, t)
	}
	return found, nil
}

// alone makes an attempt on a thread of its own, which ends with it: what it does to
// itself doesn't last.
func alone(deed Deed, t Targets) Answer {
	answer := make(chan Answer)
	go func() {
		runtime.LockOSThread()
		defer func() {
			if r := recover(); r != nil {
				answer <- Answer{Hindrance: fmt.Sprint("panic: ", r)}
			}
		}()
		switch err := deed(t); {
		case err == nil:
			answer <- Answer{Succeeded: true}
		case errors.Is(err, ErrUntried):
			answer <- Answer{Untried: true, Hindrance: err.Error()}
		default:
			answer <- Answer{Hindrance: err.Error()}
		}
	}()
	return <-answer
}

// on makes a deed that goes for one thing, if that is there.
func on(target func(Targets) string, do func(target string) error) Deed {
	return func(t Targets) error {
		if it := target(t); it != "" {
			return do(it)
		}
		return ErrUntried
	}
}

// The targets, one by one.
func theKey(t Targets) string      { return t.Key }
func thePolicy(t Targets) string   { return t.Policy }
func theNeighbor(t Targets) string { return t.Neighbor }
func theState(t Targets) string    { return t.State }
func theJournal(t Targets) string  { return t.Journal }
func theHome(t Targets) string     { return t.Home }
func theOutside(t Targets) string  { return t.Outside }

// outside is a file in the directory outside.
func outside(name string) func(Targets) string {
	return func(t Targets) string {
		if t.Outside == "" {
			return ""
		}
		return t.Outside + "/" + name
	}
}
