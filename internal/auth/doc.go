// Package auth is the words of who asks the server, and what each may: roles and verbs in
// one table, [Who] asks, the words of credentials, and the events that are written down.
//
// It computes, and keeps nothing. Package desk makes credentials and believes them;
// package presented says how they come in by HTTP.
//
// # Limits
//
// It decides about persons, not about commands: what is run is the policy's to decide,
// whoever asks. A [Who] is believed as it is made, and whose a thing is, is found out by
// who calls; that what isn't visible looks like what isn't there, too.
package auth
