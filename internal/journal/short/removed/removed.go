// Package removed is what the journal says of what is about to be removed.
//
// # Limits
//
// Of many things it names the first: how many there were, and who had them go, is
// always there.
package removed

import (
	"paddock"
	"paddock/internal/journal/short"
)

// Output is what is removed of a settled run, and why.
type Output struct {
	Reason paddock.PruneReason `json:"reason"`
	By     string              `json:"by"`
	// Bytes is the size of the output and standard input that go.
	Bytes int64 `json:"bytes"`
	// Record is set when the record goes too, and only the journal is left.
	Record bool `json:"record,omitempty"`
}

// What is removed of plans.
const (
	Checklists = "checklists" // that are complete, by their principals
	Results    = "results"    // of delegates, which nobody acknowledged, by their ids
)

// Bounds of what is named.
const (
	most      = 32  // things
	mostBytes = 200 // of one
)

// Plans is what is removed of checklists and of what delegates reported.
type Plans struct {
	What  string `json:"what"`
	Count int    `json:"count"`
	// IDs has as many as there is room for, each in part where it is long.
	IDs []string `json:"ids"`
}

// PlansOf names what goes.
func PlansOf(what string, ids []string) Plans {
	p := Plans{What: what, Count: len(ids), IDs: []string{}}
	for _, id := range ids[:min(len(ids), most)] {
		p.IDs = append(p.IDs, short.Text(id, mostBytes))
	}
	return p
}
