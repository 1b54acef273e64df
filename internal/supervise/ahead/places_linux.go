package ahead

import (
	"paddock/internal/contain/lifecycle"
	"paddock/internal/supervise/ahead/mounts"
)

// Places are where limits can be held, found before the job is there. Nil are none.
type Places struct {
	found *lifecycle.Places
	since *mounts.Table // from before they were found
}

// FindPlaces finds them. Nil is harmless: they are found later then.
func FindPlaces() *Places {
	since, err := mounts.Open()
	if err != nil {
		return nil
	}
	return &Places{lifecycle.FindPlaces(), since}
}

// Now returns them if nothing was mounted meanwhile, once, and nil else.
func (p *Places) Now() *lifecycle.Places {
	if p == nil || p.since == nil {
		return nil
	}
	defer func() {
		p.since.Close()
		p.since = nil
	}()
	if p.since.Changed() {
		p.found.Close()
		return nil
	}
	return p.found
}

// Close takes away what was made there for a run that didn't come. Nil may be closed, too.
func (p *Places) Close() {
	if p != nil {
		p.since.Close()
		p.since = nil
		p.found.Close()
	}
}
