//go:build linux

package lookup

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"paddock"
)

// A place is a workspace with a directory below it, beside a machine's policy.
func place(t *testing.T) (p Places, workspace string) {
	t.Helper()
	base := RealPath(t.TempDir())
	workspace = filepath.Join(base, "workspace")
	if err := os.MkdirAll(filepath.Join(workspace, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	p = Places{Config: filepath.Join(base, "config"), Dir: filepath.Join(workspace, "sub"), System: filepath.Join(base, "system.yaml")}
	write(t, p.System, policyFor(base+"/elsewhere"))
	return p, workspace
}

func policyFor(root string) string {
	return fmt.Sprintf("version: 1\nroots: [{path: %s}]\nexecutables: []\ncontainment: {require: off}\n", root)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (p Places) mustTrust(t *testing.T, path string) {
	t.Helper()
	_, digest, err := ReadProposal(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Trust(Trust{Path: path, Digest: digest, At: time.Unix(0, 0)}); err != nil {
		t.Fatal(err)
	}
}

func mustFind(t *testing.T, p Places, want string) {
	t.Helper()
	found, refusal := refused(p.Find())
	if refusal != nil {
		t.Fatal(refusal)
	}
	if found.Path != want {
		t.Errorf("found %s, want %s", found.Path, want)
	}
}

// Whoever works in a workspace can add files to it and change those that are
// there; neither may choose another policy than the operator's.
func TestWorkspaceCannotChooseAnotherPolicy(t *testing.T) {
	t.Parallel()
	p, workspace := place(t)
	own := filepath.Join(workspace, WorkspaceFile)
	mustFind(t, p, p.System)

	write(t, own, policyFor(workspace))
	mustFind(t, p, p.System) // a proposal is nothing
	p.mustTrust(t, own)
	mustFind(t, p, own)

	planted := filepath.Join(workspace, "sub", WorkspaceFile)
	write(t, planted, policyFor("/"))
	mustFind(t, p, own)
	if err := os.Remove(planted); err != nil {
		t.Fatal(err)
	}

	write(t, own, policyFor(workspace)+"# changed\n")
	_, refusal := refused(p.Find())
	if refusal == nil || refusal.Code != paddock.NoPolicy || !strings.Contains(refusal.Message, "has changed since") {
		t.Errorf("a changed file gives %v", refusal)
	}
}

// A record of trust that can't be used refuses, and says what mends it.
func TestBrokenTrustRefuses(t *testing.T) {
	t.Parallel()
	p, workspace := place(t)
	own := filepath.Join(workspace, WorkspaceFile)
	write(t, own, policyFor(workspace))
	for _, text := range []string{"", "{}", "\x00", `{"path":"/other","digest":"sha256:x"}`} {
		p.mustTrust(t, own)
		write(t, p.trustFile(own), text)
		_, refusal := refused(p.Find())
		if refusal == nil || refusal.Code != paddock.PolicyInvalid || !strings.Contains(refusal.Hint, "`paddock policy trust "+own+"` again") {
			t.Errorf("%q gives %v", text, refusal)
		}
	}
	p.mustTrust(t, own)
	mustFind(t, p, own)
}

// A file inside its own root counts by whichever way it is named, once its
// content was trusted: nothing else can make a policy of which / is a root count.
func TestTrustedFileMayBeNamed(t *testing.T) {
	t.Parallel()
	p, workspace := place(t)
	own := filepath.Join(workspace, WorkspaceFile)
	write(t, own, policyFor("/"))
	p.Flag = own
	load := func() *paddock.Refusal {
		_, refusal := refused((&Source{Places: p}).Load())
		return refusal
	}
	if refusal := load(); refusal == nil || refusal.Code != paddock.PolicyInvalid || !strings.Contains(refusal.Message, "lies inside its own root") {
		t.Errorf("untrusted: %v", refusal)
	}
	p.mustTrust(t, own)
	if refusal := load(); refusal != nil {
		t.Errorf("trusted: %v", refusal)
	}
	write(t, own, policyFor("/")+"# changed\n")
	if refusal := load(); refusal == nil {
		t.Error("changed, and it counts")
	}
}

// What is only looked at is read to an end, even where the file has none.
func TestReadAnyIsBounded(t *testing.T) {
	t.Parallel()
	if _, err := ReadAny("/dev/zero"); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("a file without an end: %v", err)
	}
}
