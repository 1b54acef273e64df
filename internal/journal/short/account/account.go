// Package account is what the journal says of accounts of a server and of what lets
// people in.
//
// # Limits
//
// There is never a secret in it, nor what somebody typed who wasn't let in.
package account

// Detail is one thing that is about to be done.
type Detail struct {
	// What is a word of package auth's: login, token-made, ….
	What string `json:"what"`
	// By is the id of the user who does it; empty for who isn't known, and where Local
	// says that it is the operator of the machine.
	By    string `json:"by,omitempty"`
	Local bool   `json:"local,omitempty"`
	// User is the id of the user to whom it is done.
	User string `json:"user,omitempty"`
	// From is the address of the client.
	From string `json:"from,omitempty"`
	More string `json:"more,omitempty"`
}
