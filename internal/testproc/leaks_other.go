//go:build !linux

package testproc

func descriptors() map[string]bool { return nil }

func children() map[string]bool { return nil }
