// Package search says where a program's own programs are looked for.
//
// # Limits
//
// It looks for none.
package search

import (
	"strings"

	"paddock"
	"paddock/internal/policy"
)

// Expected is the PATH that req's program is expected to get.
func Expected(p *policy.Policy, req paddock.Request) string {
	if req.Command.ReplaceEnv != nil {
		return req.Command.ReplaceEnv["PATH"]
	}
	if p == nil {
		return ""
	}
	return p.SearchPath()
}

// Granted returns the PATH of a granted environment.
func Granted(g *paddock.Grant) (string, bool) {
	if g == nil {
		return "", false
	}
	for _, v := range g.Environment {
		if value, ok := strings.CutPrefix(v, "PATH="); ok {
			return value, true
		}
	}
	return "", true
}
