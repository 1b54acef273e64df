package policy_test

import (
	"encoding/json"
	"strings"
	"testing"

	"paddock"
	"paddock/internal/policy"
)

// Where the policy's own programs lie is no secret from who may ask for them: who is
// allowed is told the same path. Of any other file nobody is told whether it is there.
func TestWhatCallersAreToldOfPaths(t *testing.T) {
	t.Parallel()
	p := load(t, minimal)
	req := ask("go", "test")
	facts := friendly(p, req)
	allowed := policy.Decide(p, req, facts)
	if allowed.Effect != paddock.Allow {
		t.Fatal(allowed.Refusals)
	}
	told := allowed.Grant().Executable.Path
	for code, change := range map[paddock.Code]func(*policy.Facts){
		paddock.ExecutableMissing: func(f *policy.Facts) { f.Executable.Found = false },
		paddock.ExecutableUnsafe:  func(f *policy.Facts) { f.Executable.Unsafe = told + " is writable by others" },
	} {
		f := facts
		change(&f)
		r := policy.Decide(p, req, f).Refusal()
		if r == nil || r.Code != code || !strings.Contains(r.Message, told) {
			t.Errorf("%s: %v, and an allowed run is told %s", code, r, told)
		}
	}

	other := ask("/home/ann/.ssh/id_ed25519", "test")
	said := func(change func(*policy.Facts)) string {
		f := friendly(p, other)
		change(&f)
		text, err := json.Marshal(policy.Decide(p, other, f))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	there := said(func(*policy.Facts) {})
	if !strings.Contains(there, string(paddock.ExecutableNotAllowed)) {
		t.Error(there)
	}
	for name, change := range map[string]func(*policy.Facts){
		"missing": func(f *policy.Facts) { f.Executable = policy.ExecutableFacts{} },
		"unsafe":  func(f *policy.Facts) { f.Executable.Unsafe = "/home/ann is writable by others" },
		"another": func(f *policy.Facts) { f.Executable.Digest = "sha256:1" },
	} {
		if got := said(change); got != there {
			t.Errorf("where it is %s a caller is told\n%s\nand else\n%s", name, got, there)
		}
	}
	if w := p.Wanted(other); w.Executable != "" {
		t.Errorf("it is looked at: %+v", w)
	}
}
