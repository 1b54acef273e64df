//go:build !unix

package durable

import "os"

// Nothing is run on these systems in this version, so there is no record that
// could be lost or disputed: what they can't do like the others is left out.

// NoFollow has no meaning here.
const NoFollow = 0

// SyncDir does nothing: directories can't be synced here.
func SyncDir(string) error { return nil }

// Lock says yes: without runs nobody competes for them.
func Lock(*os.File) (bool, error) { return true, nil }

// LockShared says so too.
func LockShared(*os.File) (bool, error) { return true, nil }

// Unlock undoes Lock.
func Unlock(*os.File) error { return nil }
