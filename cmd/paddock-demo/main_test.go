package main

import (
	"strings"
	"testing"

	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

// The demonstration is the main job from end to end, on real input: it must come
// to its end, and what it shows must have happened.
func TestDemo(t *testing.T) {
	testproc.Build(t, "paddock/cmd/paddock")
	testproc.Build(t, "paddock/cmd/paddock-stage")
	demo := testproc.Build(t, "paddock/cmd/paddock-demo")
	out, err := testproc.Command(t, demo).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		"Refused (shell_syntax)", `argv ["go","vet","./..."]`, `argv ["echo","done"]`,
		"go vet ./...                   exited 0", "go test ./internal/policy/...  exited 0",
		"the evidence is whole", "I ignore SIGTERM", "killed", "In your own project, type next",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("it doesn't say %q", want)
		}
	}
	if t.Failed() {
		t.Logf("%s", out)
	}
}
