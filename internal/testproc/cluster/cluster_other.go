//go:build !linux

package cluster

import (
	"testing"

	"paddock/internal/testproc"
)

// Address skips the test: here there is no cluster.
func Address(t testing.TB) string {
	t.Helper()
	testproc.Skip(t, "a PostgreSQL for tests is started on Linux only")
	return ""
}

// Trusting skips the test too.
func Trusting(t testing.TB) string {
	t.Helper()
	return Address(t)
}

// Stopped skips the test too.
func Stopped(t testing.TB) (address string, start func()) {
	t.Helper()
	return Address(t), func() {}
}
