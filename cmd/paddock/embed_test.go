//go:build linux

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"paddock"
	"paddock/cmd/paddock/internal/desk/built"
	"paddock/internal/testproc"
)

// A release is one file: it works without anything beside it, runs what it
// carries, and trusts what it unpacked only for its content.
func TestReleaseCarriesItsStage(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	stage, err := os.ReadFile(testproc.Build(t, "paddock/cmd/paddock-stage"))
	if err != nil {
		t.Fatal(err)
	}
	y.paddock = buildRelease(t)
	digest := paddock.DigestOf(sha256.Sum256(stage))
	var v built.Info
	if err := json.Unmarshal([]byte(y.output("version", "--json")), &v); err != nil {
		t.Fatal(err)
	}
	if v.Stage != "inside this program" || v.StageDigest != digest || v.StageProblem != "" {
		t.Errorf("version: %+v, want the stage inside with digest %s", v, digest)
	}
	state := filepath.Join(y.work, "state")
	unpacked := filepath.Join(state, "stage", digest.Hex(), "paddock-stage")
	for _, c := range []struct {
		name  string
		spoil func() error
	}{
		{"nothing there", func() error { return nil }},
		{"there already", func() error { return nil }},
		{"other content", func() error { return os.WriteFile(unpacked, bytes.ToUpper(stage), 0o700) }},
		{"cut short", func() error { return os.Truncate(unpacked, 100) }},
		{"writable by others", func() error { return os.Chmod(unpacked, 0o777) }},
		{"a link", func() error { return errors.Join(os.Remove(unpacked), os.Symlink("/bin/true", unpacked)) }},
	} {
		err := c.spoil()
		for errors.Is(err, syscall.ETXTBSY) { // the last run's supervisor is about to end
			<-time.After(10 * time.Millisecond)
			err = c.spoil()
		}
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got := y.output("run", "--state", state, "--", "prog", "say", "hello"); got != "hello\n" {
			t.Errorf("%s: the run prints %q", c.name, got)
		}
		got, err := os.ReadFile(unpacked)
		info, statErr := os.Lstat(unpacked)
		if err != nil || statErr != nil || !bytes.Equal(got, stage) || info.Mode() != 0o700 {
			t.Errorf("%s: what was unpacked isn't the stage (%v, %v, %v)", c.name, info, err, statErr)
		}
	}
	started, err := filepath.Glob(filepath.Join(state, "runs/*/*/started.json"))
	if err != nil || len(started) == 0 {
		t.Fatalf("%v, %v", started, err)
	}
	for _, name := range started {
		if b, err := os.ReadFile(name); err != nil || !strings.Contains(string(b), string(digest)) {
			t.Errorf("%s doesn't name the stage (%v): %s", name, err, b)
		}
	}
	if left, err := filepath.Glob(unpacked + ".*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// buildRelease does what `make release` does, without touching the sources.
func buildRelease(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	inside, err := filepath.Abs("../../internal/executor/stages/dist/paddock-stage")
	if err != nil {
		t.Fatal(err)
	}
	stage := testproc.Build(t, "paddock/cmd/paddock-stage")
	content, err := os.ReadFile(stage)
	if err != nil {
		t.Fatal(err)
	}
	digest := filepath.Join(dir, "digest")
	if err := os.WriteFile(digest, fmt.Appendf(nil, "%x\n", sha256.Sum256(content)), 0o600); err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {inside: stage, inside + ".sha256": digest}})
	if err != nil {
		t.Fatal(err)
	}
	layer, path := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "paddock")
	if err := os.WriteFile(layer, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	build := testproc.Command(t, "go", "build", "-tags", "embed_stage", "-overlay", layer, "-trimpath", "-buildvcs=false", "-o", path, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}
