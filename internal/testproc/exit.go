//go:build !race

package testproc

import "os"

// exit ends the process.
func exit(code int) { os.Exit(code) }
