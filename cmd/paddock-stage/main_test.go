//go:build linux

package main

import (
	"strings"
	"testing"

	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

func TestAPersonIsToldWhatItIs(t *testing.T) {
	cmd := testproc.Command(t, testproc.Build(t, "paddock/cmd/paddock-stage"))
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "paddock run") {
		t.Errorf("%v: %s", err, out)
	}
}
