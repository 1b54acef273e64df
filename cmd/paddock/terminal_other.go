//go:build !linux

package main

import "os"

// isTerminal is used for colour only, so "no" is always a right answer.
func isTerminal(*os.File) bool { return false }
