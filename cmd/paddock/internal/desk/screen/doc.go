// Package screen shows answers: to a person in few words, to a program as JSON.
//
// # Limits
//
// It asks for nothing and decides nothing. What a program printed doesn't pass
// through it.
package screen
