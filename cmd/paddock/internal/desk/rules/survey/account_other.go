//go:build !unix

package survey

// RunAs returns none: nothing is root here.
func RunAs(string) (account string, owns bool) { return "", false }
