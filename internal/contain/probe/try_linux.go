package probe

import (
	"errors"
	"fmt"
	"runtime"

	"paddock/internal/contain/probe/attempt"
	"paddock/internal/contain/probe/attempt/calls/files"
	"paddock/internal/contain/probe/attempt/calls/kernel"
	"paddock/internal/contain/probe/attempt/calls/network"
	"paddock/internal/contain/probe/attempt/calls/ordinary"
	"paddock/internal/contain/probe/attempt/calls/processes"
)

// every returns those of all attempts but the rough ones.
func every() map[string]attempt.Deed {
	all := map[string]attempt.Deed{}
	for _, group := range []map[string]attempt.Deed{files.Deeds(), processes.Deeds(), kernel.Deeds(), network.Deeds()} {
		for name, deed := range group {
			if all[name] != nil {
				panic("bug: two attempts called " + name)
			}
			all[name] = deed
		}
	}
	for name, do := range ordinary.Deeds() {
		all[name] = func(t attempt.Targets) error { return do(t.Root) }
	}
	return all
}

// Try makes the attempts of these names, one after the other, and says what came of
// each. more are the deeds of rough attempts, for who makes these too.
func Try(t attempt.Targets, names []string, more map[string]attempt.Deed) (map[string]attempt.Answer, error) {
	all, found := every(), map[string]attempt.Answer{}
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
func alone(deed attempt.Deed, t attempt.Targets) attempt.Answer {
	answer := make(chan attempt.Answer)
	go func() {
		runtime.LockOSThread()
		defer func() {
			if r := recover(); r != nil {
				answer <- attempt.Answer{Hindrance: fmt.Sprint("panic: ", r)}
			}
		}()
		switch err := deed(t); {
		case err == nil:
			answer <- attempt.Answer{Succeeded: true}
		case errors.Is(err, attempt.ErrUntried):
			answer <- attempt.Answer{Untried: true, Hindrance: err.Error()}
		default:
			answer <- attempt.Answer{Hindrance: err.Error()}
		}
	}()
	return <-answer
}
