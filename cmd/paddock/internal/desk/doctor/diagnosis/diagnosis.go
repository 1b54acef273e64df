// Package diagnosis says what of this machine decides on what can be held, in
// lines for people, each with what could be done about it.
//
// # Limits
//
// It reads settings and attempts nothing: what really holds is found out by
// attempts, which package doctor lets a program make. It changes nothing.
package diagnosis

import "strings"

// A Fact is something about this machine that matters for containment.
type Fact struct {
	Name string `json:"name"`
	Text string `json:"text"`
	// Remedy is set where something could be better.
	Remedy string `json:"remedy,omitempty"`
}

// Shared reports whether every program may write there at level standard.
func Shared(path string) bool {
	return path == "/tmp" || path == "/var/tmp" || strings.HasPrefix(path, "/tmp/") || strings.HasPrefix(path, "/var/tmp/")
}
