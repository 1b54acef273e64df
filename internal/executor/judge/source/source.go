// Package source is where policies come from: a file that is looked at for every
// request, or a text.
//
// # Limits
//
// It reads and compiles; what a policy says is package policy's matter, and whose
// files are believed package trust's.
package source

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"paddock"
	"paddock/internal/lineage"
	"paddock/internal/policy"
	"paddock/internal/trust"
)

// A Source gives the policy that applies now, or says why there is none, by a
// [*paddock.Refusal]; any other error is our own fault. It is asked for every
// request and must be safe for concurrent use.
type Source interface {
	Load() (*policy.Policy, error)
}

// mostPolicy bounds what is read as a policy.
const mostPolicy = 16 << 20

// File is the policy in the file at path. The file is looked at for every
// request and read again when it has changed. While a change has errors the policy
// before it holds, and decisions say so. It must belong to root or to the user that
// runs Paddock, and neither it nor a directory above it may be writable by
// others. An empty path is no policy.
func File(path string) Source {
	return FileOf(path, lineage.System())
}

// FileOf is File where what belongs to a policy is read by r.
func FileOf(path string, r lineage.Reader) Source {
	return &policyFile{path: path, reader: r}
}

type policyFile struct {
	path   string
	reader lineage.Reader

	mu      sync.Mutex // guards all below
	read    bool
	id      trust.Identity
	data    []byte
	more    []policy.Source
	policy  *policy.Policy
	problem error
	last    lineage.Last
}

// Place is where the file lies, for whoever must not be shown it.
func (f *policyFile) Place() string { return f.path }

// Trouble says what is wrong with the newest text while an earlier one holds.
func (f *policyFile) Trouble() *lineage.Trouble { return f.last.Trouble() }

// Load implements Source.
func (f *policyFile) Load() (*policy.Policy, error) {
	if f.path == "" {
		return nil, paddock.Refused(paddock.NoPolicy, "No policy applies here, so nothing may run.")
	}
	path, err := filepath.Abs(f.path)
	if err != nil {
		return nil, paddock.Refused(paddock.PolicyInvalid, "The policy can't be found: %v.", err)
	}
	file, id, err := f.reader.User.Open(path)
	if trust.Fault(err) {
		return nil, fmt.Errorf("the policy %s: %w", path, err)
	}
	if err != nil {
		f.last.Forget()
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil, paddock.Refused(paddock.NoPolicy, "There is no policy file at %s, so nothing may run.", path)
	}
	if err != nil {
		return nil, paddock.Refused(paddock.PolicyInvalid, "The policy can't be trusted: %v.", err)
	}
	defer file.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.read || f.id != id {
		data, err := readPolicy(path, file)
		if trust.Fault(err) {
			return nil, err // not for good
		}
		if f.data, f.problem = data, err; err != nil {
			f.read, f.policy = false, nil
			return nil, err
		}
		f.read, f.id, f.policy = true, id, nil
	}
	more, err := f.reader.Read(path, f.data)
	if err != nil {
		return nil, err
	}
	if f.policy == nil && f.problem == nil || !slices.EqualFunc(f.more, more, policy.Source.Equal) {
		f.more = more
		f.policy, f.problem = compile(path, f.data, more...)
	}
	return f.last.Take(path, f.data, more, f.policy, f.problem)
}

func readPolicy(name string, r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, mostPolicy+1))
	if trust.Fault(err) {
		return nil, fmt.Errorf("the policy %s: %w", name, err)
	}
	if err != nil {
		return nil, paddock.Refused(paddock.PolicyInvalid, "The policy can't be read: %v.", err)
	}
	if len(data) > mostPolicy {
		return nil, paddock.Refused(paddock.PolicyInvalid, "The policy is longer than %d bytes.", mostPolicy)
	}
	return data, nil
}

// Text is the policy that data, the content of a file called name, says.
// It changes only with what it extends and with the floor of the machine.
func Text(name string, data []byte) Source { return TextOf(name, data, lineage.System()) }

// TextOf is Text where what belongs to a policy is read by r.
func TextOf(name string, data []byte, r lineage.Reader) Source {
	return &policyText{name: name, data: data, reader: r}
}

type policyText struct {
	name   string
	data   []byte
	reader lineage.Reader

	mu      sync.Mutex // guards all below
	more    []policy.Source
	policy  *policy.Policy
	problem error
}

// Load implements Source.
func (t *policyText) Load() (*policy.Policy, error) {
	more, err := t.reader.Read(t.name, t.data)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.policy == nil && t.problem == nil || !slices.EqualFunc(t.more, more, policy.Source.Equal) {
		t.more = more
		t.policy, t.problem = compile(t.name, t.data, more...)
	}
	return t.policy, t.problem
}

// shownErrors is how many faults of a policy a refusal lists.
const shownErrors = 10

func compile(name string, data []byte, more ...policy.Source) (*policy.Policy, error) {
	p, err := policy.Load(name, data, more...)
	if err == nil {
		return p, nil
	}
	var faults *policy.Errors
	if !errors.As(err, &faults) || len(faults.List) == 0 {
		return nil, paddock.Refused(paddock.PolicyInvalid, "The policy has an error: %v", err)
	}
	text := fmt.Sprintf("The policy %s has %d errors:", filepath.Base(name), len(faults.List))
	if len(faults.List) == 1 {
		text = fmt.Sprintf("The policy %s has an error:", filepath.Base(name))
	}
	for i, fault := range faults.List {
		if i == shownErrors {
			text += fmt.Sprintf("\nand %d more", len(faults.List)-i)
			break
		}
		text += "\n"
		if fault.Position.File != name {
			text += fault.Position.File + ", "
		}
		text += fmt.Sprintf("line %d, column %d: %s", fault.Position.Line, fault.Position.Column, fault.Message)
	}
	refusal := paddock.Refused(paddock.PolicyInvalid, "%s", text)
	first := faults.List[0].Position
	refusal.Position = &first
	return nil, refusal
}
