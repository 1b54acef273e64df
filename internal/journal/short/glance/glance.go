// Package glance is what the journal says of somebody who was shown what is hidden of
// secrets in a run's output.
//
// # Limits
//
// It says which part was read, and nothing of what was there.
package glance

import "paddock"

// Detail is one read, or what several read together.
type Detail struct {
	Stream paddock.Stream `json:"stream"`
	// From is the offset of the first byte that was shown, To is behind the last.
	From int64 `json:"from"`
	To   int64 `json:"to"`
	// Pages is how many there were, where there were more than one.
	Pages int64 `json:"pages,omitempty"`
}

// With has d cover another page, too.
func (d *Detail) With(from, to int64) {
	if d.Pages == 0 {
		d.From, d.To = from, to
	}
	d.From, d.To, d.Pages = min(d.From, from), max(d.To, to), d.Pages+1
}
