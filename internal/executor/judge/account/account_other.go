//go:build !linux

package account

import "paddock"

// Find finds none: nothing runs on this system.
func Find(paddock.ContainAs) (*paddock.Account, *paddock.Refusal, error) { return nil, nil, nil }

// Reach doesn't refuse: there are no accounts to reach anything.
func Reach(paddock.Account, string) *paddock.Refusal { return nil }
