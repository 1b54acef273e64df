// Package anchored is what a server's journal says of the journals of its workers.
//
// # Limits
//
// It is what the worker told: that a run was as the worker's journal has it, it doesn't
// prove. It proves that the journal was so then.
package anchored

// Detail is how far a worker's journal has come, or what is wrong with it.
type Detail struct {
	// Worker is its id.
	Worker string `json:"worker"`
	// Journal is the id of its journal, Size how many entries that has, and Hash the
	// tree's of them in base 64.
	Journal string `json:"journal,omitempty"`
	Size    int64  `json:"size,omitempty"`
	Hash    string `json:"hash,omitempty"`
	// Note is the signed checkpoint of it, Key the public key that signed it.
	Note string `json:"note,omitempty"`
	Key  string `json:"key,omitempty"`
	// First is set where nothing was known of the worker's journal before, so that
	// nothing could be compared.
	First bool `json:"first,omitempty"`
	// Problem says why what the worker tells isn't believed. Then the rest is what was
	// known before.
	Problem string `json:"problem,omitempty"`
}
