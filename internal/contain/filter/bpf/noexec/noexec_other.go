//go:build !linux

// Package noexec has a process give up for good the right to become another program or
// to start one.
//
// # Limits
//
// Linux alone can do that.
package noexec

import "errors"

// GiveUp refuses.
func GiveUp() error {
	return errors.New("the right to start programs can't be given up on this system")
}
