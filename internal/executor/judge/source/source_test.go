package source

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"paddock"
)

func TestPolicyFile(t *testing.T) {
	t.Parallel()
	const good = "version: 1\nroots: [{path: /srv}]\nexecutables: [{path: /bin/true, args: any}]\n"
	var bad strings.Builder
	bad.WriteString(good)
	for i := range 30 {
		fmt.Fprintf(&bad, "unknown%d: 1\n", i)
	}
	tests := []struct {
		name, text string
		mode       os.FileMode
		code       paddock.Code
		message    string
	}{
		{"good", good, 0o600, "", ""},
		{"readable by all", good, 0o644, "", ""},
		{"one error", good + "unknown: 1\n", 0o600, paddock.PolicyInvalid, "has an error:\nline 4, column 1"},
		{"many errors", bad.String(), 0o600, paddock.PolicyInvalid, "has 30 errors:\nline 4, column 1"},
		{"many errors are cut", bad.String(), 0o600, paddock.PolicyInvalid, "and 20 more"},
		{"empty", "", 0o600, paddock.PolicyInvalid, ""},
		{"writable by all", good, 0o606, paddock.PolicyInvalid, "by everyone"},
		{"too long", "#" + strings.Repeat("x", mostPolicy), 0o600, paddock.PolicyInvalid, "longer than"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := filepath.Join(t.TempDir(), "policy.yaml")
			if err := os.WriteFile(p, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(p, tt.mode); err != nil {
				t.Fatal(err)
			}
			source := File(p)
			for range 2 { // read, and remembered
				got, problem := refused(source.Load())
				switch {
				case tt.code == "" && (problem != nil || got == nil):
					t.Errorf("%v, %v", got, problem)
				case tt.code != "" && (got != nil || problem == nil || problem.Code != tt.code || !strings.Contains(problem.Message, tt.message)):
					t.Errorf("%v, %v; want %s with %q", got, problem, tt.code, tt.message)
				}
			}
		})
	}
}

func TestNoPolicyFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for path, code := range map[string]paddock.Code{"": paddock.NoPolicy, dir + "/none": paddock.NoPolicy, dir: paddock.PolicyInvalid} {
		if p, problem := refused(File(path).Load()); p != nil || problem == nil || problem.Code != code {
			t.Errorf("%q: %v, %v", path, p, problem)
		}
	}
	if p, problem := refused(Text("x", []byte("nonsense: [")).Load()); p != nil || problem == nil || problem.Code != paddock.PolicyInvalid {
		t.Errorf("%v, %v", p, problem)
	}
}

// refused takes an error for the refusal that it must be.
func refused[T any](v T, err error) (T, *paddock.Refusal) {
	var refusal *paddock.Refusal
	if err != nil && !errors.As(err, &refusal) {
		panic(err)
	}
	return v, refusal
}

// A change that has errors doesn't count, and is told of; one that takes the policy
// away does.
func TestPolicyFileChanges(t *testing.T) {
	t.Parallel()
	const good = "version: 1\nroots: [{path: /srv}]\nexecutables: []\n"
	p := filepath.Join(t.TempDir(), "policy.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(p+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(p+".new", p); err != nil {
			t.Fatal(err)
		}
	}
	write(good)
	source := File(p).(*policyFile)
	first, problem := source.Load()
	if problem != nil {
		t.Fatal(problem)
	}
	write(good + "nonsense: 1\n")
	for range 2 {
		if got, problem := source.Load(); got != first || problem != nil || source.Trouble() == nil {
			t.Errorf("%v, %v", got, problem)
		}
	}
	write(good + "limits: {timeout: 1m}\n")
	if got, problem := source.Load(); got == first || problem != nil || source.Trouble() != nil {
		t.Errorf("%v, %v", got, problem)
	}
	if err := os.Chmod(p, 0o666); err != nil {
		t.Fatal(err)
	}
	if got, problem := source.Load(); got != nil || problem == nil {
		t.Errorf("what all can write holds: %v", got)
	}
	if err := os.Remove(p); err != nil {
		t.Fatal(err)
	}
	if got, problem := refused(source.Load()); got != nil || problem == nil || problem.Code != paddock.NoPolicy {
		t.Errorf("what is gone holds: %v", got)
	}
}

// A policy that can't be read because the disk or the process fails isn't invalid,
// and is read again for the next request.
func TestPolicyThatFailsToBeRead(t *testing.T) {
	t.Parallel()
	for _, errno := range []error{syscall.EIO, syscall.ENOMEM, syscall.ENFILE, syscall.EMFILE} {
		var refusal *paddock.Refusal
		if p, err := readPolicy("p", iotest.ErrReader(errno)); p != nil || !errors.Is(err, errno) || errors.As(err, &refusal) {
			t.Errorf("%v: %v, %v", errno, p, err)
		}
	}
	var refusal *paddock.Refusal
	if _, err := readPolicy("p", iotest.ErrReader(syscall.EISDIR)); !errors.As(err, &refusal) || refusal.Code != paddock.PolicyInvalid {
		t.Errorf("%v", err)
	}
}
